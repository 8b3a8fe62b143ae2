"""Does at random what can go wrong, in an order that a seed gives: the same seed, the same misfortunes."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import anyio
import asyncpg

from tests.support.crashable import CrashableServer
from tests.support.embedding_server import (
    EmbeddingServer,
    delayed,
    html,
    not_finite,
    reset,
    status,
    wrong_count,
    wrong_dimension,
)
from tests.support.fault_proxy import FaultProxy
from tests.support.trial import Trial

THREADS: Final = 3
PAUSE: Final = 0.25
"""Seconds that a thread of a writing process rests between two writes."""
CALM: Final = (0.2, 1.2)
"""Seconds between two misfortunes."""
LASTING: Final = (0.5, 3.0)
"""Seconds that one lasts."""
SUSPENDED: Final = 12.0
"""Seconds that a suspended leader stands still at least: longer than its seat is kept for it."""
_TERMINATE: Final = "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()"
_EMBEDDER_FAULTS: Final = (
    status(503, retry_after="1"),
    status(429),
    status(500),
    html(),
    reset(),
    delayed(1.5),
    wrong_count(),
    wrong_dimension(7),
    not_finite(),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Misfortune:
    """What happens next.

    Attributes:
        calm: Seconds before it.
        what: Name of the method that does it.
        seconds: How long it lasts, where it lasts.
        number: Chooses which one, how much, and the like.
    """

    calm: float
    what: str
    seconds: float
    number: int


class Writers:
    """The writing processes of a trial: one that dies is started again."""

    def __init__(self, trial: Trial, homes: Sequence[str], processes: int) -> None:
        self._trial = trial
        self._places = [home for home in homes for _ in range(processes)]
        self._log = trial.folder / "writers.log"
        self._running: list[subprocess.Popen[str]] = []
        self._started = 0
        self._stopped: list[tuple[float, subprocess.Popen[str]]] = []

    def __enter__(self) -> Writers:
        self._running = [self._start(home) for home in self._places]
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._running:
            _end(process)

    def kill(self, number: int) -> None:
        """Kill one."""
        _end(self._running[number % len(self._running)])

    def kill_leader(self, number: int) -> None:
        """Kill the one that delivers for a home."""
        home = self._trial.home(self._places[number % len(self._places)])
        for process in self._running:
            if process.pid in leaders(home):
                _end(process)

    def suspend_leader(self, number: int) -> None:
        """Stop the one that delivers for a home, until `resume`, which lets it go on with what it was about to do."""
        home = self._trial.home(self._places[number % len(self._places)])
        leading = leaders(home)
        for process in self._running:
            if process.pid in leading:
                process.send_signal(signal.SIGSTOP)
                self._stopped.append((time.monotonic() + SUSPENDED, process))

    def resume(self, *, all_of_them: bool = False) -> None:
        """Let those go on that stood still for long enough."""
        for waiting in list(self._stopped):
            due, process = waiting
            if all_of_them or time.monotonic() >= due:
                self._stopped.remove(waiting)
                process.send_signal(signal.SIGCONT)

    def start_again(self) -> None:
        """Replace those that ended.

        Raises:
            AssertionError: One ended that nobody killed.
        """
        for place, process in enumerate(self._running):
            if process.poll() is not None:
                assert process.returncode == -signal.SIGKILL, self._log.read_text()[-4_000:]
                _end(process)
                self._running[place] = self._start(self._places[place])

    def _start(self, home: str) -> subprocess.Popen[str]:
        self._started += 1
        place = self._trial.home(home)
        with self._log.open("a") as log:
            told = ("writers", self._trial.journals, place, THREADS, 0, self._started, PAUSE)
            return self._trial.start(*told, stderr=log)


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait(30)
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()


def leaders(home: Path) -> set[int]:
    """Return the processes that hold the seat of a home's leader."""
    seats = {str(path.stat().st_ino) for path in (home / "hermes-memory" / "spool").glob("drain-*.lock")}
    held = (line.split() for line in Path("/proc/locks").read_text().splitlines())
    return {int(fields[4]) for fields in held if fields[1] == "FLOCK" and fields[5].rpartition(":")[2] in seats}


class Nemesis:
    """Carries out misfortunes on the parts of a trial."""

    def __init__(
        self,
        seed: int,
        *,
        server: CrashableServer,
        database: FaultProxy,
        embedder: FaultProxy,
        embeddings: EmbeddingServer,
        writers: Writers,
    ) -> None:
        self._seed = seed
        self._server = server
        self._database = database
        self._embedder = embedder
        self._embeddings = embeddings
        self._writers = writers
        self.done: list[Misfortune] = []

    async def rage(self, seconds: float) -> None:
        """Let one misfortune follow the other for a time, and leave everything healed."""
        end = time.monotonic() + seconds
        for misfortune in misfortunes(self._seed):
            await anyio.sleep(misfortune.calm)
            if time.monotonic() >= end:
                break
            self.done.append(misfortune)
            await getattr(self, misfortune.what)(misfortune)
            self.heal()
            self._writers.resume()
            await anyio.to_thread.run_sync(self._writers.start_again)
        self.heal()
        self._writers.resume(all_of_them=True)
        await anyio.to_thread.run_sync(self._server.start_again)

    def heal(self) -> None:
        """End what lasts."""
        self._embeddings.fault = None
        self._database.heal()
        self._embedder.heal()

    # --- the database's network

    async def cut(self, _: Misfortune) -> None:
        self._database.cut()

    async def stall(self, misfortune: Misfortune) -> None:
        self._database.stall()
        await anyio.sleep(misfortune.seconds)

    async def swallow(self, misfortune: Misfortune) -> None:
        self._database.swallow()
        await anyio.sleep(misfortune.seconds)

    async def slow(self, misfortune: Misfortune) -> None:
        self._database.slow(delay=0.02 + misfortune.number % 10 / 50, piece=64 << misfortune.number % 6)
        await anyio.sleep(misfortune.seconds)

    async def refuse(self, misfortune: Misfortune) -> None:
        self._database.refuse()
        await anyio.sleep(misfortune.seconds)

    async def reset_in_a_request(self, misfortune: Misfortune) -> None:
        self._database.reset_after(misfortune.number % 20_000, toward="server")
        await anyio.sleep(misfortune.seconds)

    async def reset_in_an_answer(self, misfortune: Misfortune) -> None:
        self._database.reset_after(misfortune.number % 4_000, toward="client")
        await anyio.sleep(misfortune.seconds)

    async def lose_a_commit(self, misfortune: Misfortune) -> None:
        self._database.lose_answer(b"commit")
        await anyio.sleep(misfortune.seconds)

    async def half_open(self, _: Misfortune) -> None:
        self._database.half_open()

    # --- the database

    async def terminate_backends(self, _: Misfortune) -> None:
        with suppress(OSError, asyncpg.PostgresError, asyncpg.InterfaceError):  # it may be recovering
            connection = await asyncpg.connect(self._server.superuser_dsn, timeout=10)
            try:
                await connection.execute(_TERMINATE)
            finally:
                await connection.close()

    async def crash_a_backend(self, misfortune: Misfortune) -> None:
        self._server.kill_one_of(misfortune.number)

    async def crash_the_database(self, misfortune: Misfortune) -> None:
        self._server.kill()
        await anyio.sleep(misfortune.seconds)
        await anyio.to_thread.run_sync(self._server.start_again)

    # --- the embedder

    async def answer_wrongly(self, misfortune: Misfortune) -> None:
        self._embeddings.fault = _EMBEDDER_FAULTS[misfortune.number % len(_EMBEDDER_FAULTS)]
        await anyio.sleep(misfortune.seconds)

    async def spoil_the_way_to_the_embedder(self, misfortune: Misfortune) -> None:
        way, number = self._embedder, misfortune.number
        faults: tuple[Callable[[], None], ...] = (
            way.cut,
            way.refuse,
            way.swallow,
            way.stall,
            way.half_open,
            lambda: way.slow(delay=0.05, piece=256),
            lambda: way.reset_after(number % 2_000, toward="client"),
            lambda: way.reset_after(number % 1_000, toward="server"),
        )
        faults[number % len(faults)]()
        await anyio.sleep(misfortune.seconds)

    # --- the writers

    async def kill_a_writer(self, misfortune: Misfortune) -> None:
        await anyio.to_thread.run_sync(self._writers.kill, misfortune.number)

    async def kill_a_leader(self, misfortune: Misfortune) -> None:
        await anyio.to_thread.run_sync(self._writers.kill_leader, misfortune.number)

    async def suspend_a_leader(self, misfortune: Misfortune) -> None:
        await anyio.to_thread.run_sync(self._writers.suspend_leader, misfortune.number)

    async def kill_a_leader_in_the_dark(self, misfortune: Misfortune) -> None:
        """Kill the one that waits for an answer which never comes."""
        self._database.swallow()
        await anyio.sleep(misfortune.seconds)
        await self.kill_a_leader(misfortune)


WEIGHTS: Final = {
    Nemesis.cut: 3,
    Nemesis.stall: 2,
    Nemesis.swallow: 2,
    Nemesis.slow: 2,
    Nemesis.refuse: 2,
    Nemesis.reset_in_a_request: 3,
    Nemesis.reset_in_an_answer: 3,
    Nemesis.lose_a_commit: 5,
    Nemesis.half_open: 2,
    Nemesis.terminate_backends: 3,
    Nemesis.crash_a_backend: 2,
    Nemesis.crash_the_database: 2,
    Nemesis.answer_wrongly: 4,
    Nemesis.spoil_the_way_to_the_embedder: 4,
    Nemesis.kill_a_writer: 3,
    Nemesis.kill_a_leader: 4,
    Nemesis.suspend_a_leader: 3,
    Nemesis.kill_a_leader_in_the_dark: 2,
}
"""How often each happens, beside the others."""


def misfortunes(seed: int) -> Iterator[Misfortune]:
    """Yield what a seed brings, without end."""
    chance = random.Random(seed)
    names = [what.__name__ for what in WEIGHTS]
    while True:
        (what,) = chance.choices(names, list(WEIGHTS.values()))
        yield Misfortune(
            calm=chance.uniform(*CALM), what=what, seconds=chance.uniform(*LASTING), number=chance.randrange(1 << 30)
        )


def chosen_seed() -> int:
    """Return the seed that the environment names, else a new one."""
    return int(os.environ.get("FAULTS_SEED") or random.SystemRandom().randrange(1 << 32))


def chosen_seconds() -> float:
    """Return how long a trial takes: a minute, unless the environment says otherwise."""
    return float(os.environ.get("FAULTS_SECONDS") or 60)
