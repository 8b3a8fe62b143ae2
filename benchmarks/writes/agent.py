"""An agent that writes: a program with the standard library alone, so that it runs in the peer's environment too.

It reads one JSON object a line. The first one sets it up, each later one is an order, answered by one line. Both
providers are driven as the host drives them: `register`, `initialize`, `sync_turn`, `shutdown`.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

WORDS = tuple(
    re.findall(
        r"\w+",
        """
        the quarterly report needs another look before Friday because numbers of northern region changed
        after audit and nobody told planning team about shipment spare parts that workshop had ordered in
        spring when old supplier closed its warehouse near harbour while our partners kept asking for
        samples
        """,
    )
)
RECORD = 300
"""Bytes of the record that the bare disk is given."""

Answer = dict[str, Any]


def exchange(number: int) -> tuple[str, str]:
    """Return what is said in exchange `number`: two texts unlike those of every other number."""
    source = random.Random(number)
    question = f"Question {number}: " + " ".join(source.choices(WORDS, k=22)) + "?"
    answer = f"Answer {number}: " + " ".join(source.choices(WORDS, k=34)) + "."
    return question, answer


class Ours:
    """Our provider, configured by its environment."""

    def __init__(self, _: dict[str, Any]) -> None:
        self._made: list[Any] = []

    def make(self) -> Any:
        """Return a new provider, as the host gets it."""
        from hermes_memory.hermes.plugin import register

        register(self)
        return self._made.pop()

    def register_memory_provider(self, provider: Any) -> None:
        """Take the provider that registers itself."""
        self._made.append(provider)

    def fill(self, operations: int, turns: int, seconds: float) -> int:
        """Accept operations of 1 or 2 turns into the home's spool, with nothing running that delivers; return how many.

        None is begun after `seconds`.
        """
        from hermes_memory.application.accept import Said
        from hermes_memory.bootstrap.home import open_local_half
        from hermes_memory.domain.model import Caller, Role, SessionId, Theme
        from hermes_memory.settings import Settings

        half = open_local_half(Settings(spool_sync="NORMAL"))
        started, filled = time.perf_counter(), 0
        while filled < operations and time.perf_counter() - started < seconds:
            number, filled = filled, filled + 1
            question, answer = exchange(number)
            # Ten sessions, as of agents that work side by side.
            caller = Caller(theme=Theme("marketing"), session=SessionId(f"session {number % 10}"))
            said = [Said(role=Role.USER, content=question), Said(role=Role.ASSISTANT, content=answer)]
            half.acceptor.turns(caller, said[:turns])
        half.spool.close()
        return filled


class Peer:
    """The peer's provider, configured as its readme says, by the keys of its section."""

    def __init__(self, setup: dict[str, Any]) -> None:
        self._config = setup["config"]

    def make(self) -> Any:
        """Return a new provider."""
        from hermes_pgvector import PgvectorMemoryProvider  # type: ignore[import-not-found]

        return PgvectorMemoryProvider(config=dict(self._config))

    def fill(self, operations: int, turns: int, seconds: float) -> int:
        """Refuse: it keeps nothing outside of its process."""
        raise NotImplementedError


class Writer:
    """Carries out the orders."""

    def __init__(self, setup: dict[str, Any]) -> None:
        self._side = Ours(setup) if setup["side"] == "ours" else Peer(setup)
        self._home = setup["home"]
        self._providers: list[Any] = []
        self._probe = _probe_file(Path(setup["probe"])) if setup.get("probe") else None
        self._numbers = itertools.count(setup.get("first", 0))

    def open(self, sessions: int, seconds: float) -> Answer:
        """Start so many agents, one after another, but begin none after `seconds`."""
        started = time.perf_counter()
        waits = []
        for number in range(sessions):
            if time.perf_counter() - started > seconds:
                break
            provider = self._side.make()
            before = time.perf_counter()
            provider.initialize(
                f"session {number}",
                platform="cli",
                hermes_home=self._home,
                agent_context="primary",
                agent_identity=f"agent {number}",
                agent_workspace="hermes",
            )
            waits.append(time.perf_counter() - before)
            if reason := getattr(provider, "unavailable_reason", str)():
                raise RuntimeError(reason)
            self._providers.append(provider)
        return {"opened": len(waits), "seconds": time.perf_counter() - started, "initialize": waits}

    def say(self, turns: int, seconds: float) -> Answer:
        """Complete exchanges as fast as the provider takes them, of all agents in turn; begin none after `seconds`."""
        started = time.perf_counter()
        waits = []
        for provider, number in zip(itertools.cycle(range(len(self._providers))), self._upto(turns), strict=False):
            waits.append(self._sync(provider, number))
            if time.perf_counter() - started > seconds:
                break
        return {"said": len(waits), "seconds": time.perf_counter() - started, "waits": waits}

    def pace(self, turns: int, interval: float) -> Answer:
        """Complete exchanges with pauses between them, and write a record to the bare disk before each."""
        waits, bare = [], []
        for number in self._upto(turns):
            if self._probe is not None:
                time.sleep(interval)
                bare.append(self._probe())
            time.sleep(interval)
            waits.append(self._sync(0, number))
        return {"said": len(waits), "waits": waits, "bare": bare}

    def die_after(self, turns: int, seconds: float) -> Answer:
        """Complete exchanges, answer, and be killed at once."""
        self.reply(self.say(turns, seconds))
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("killed")

    def fill(self, operations: int, turns: int, seconds: float) -> Answer:
        """Fill the spool."""
        started = time.perf_counter()
        filled = self._side.fill(operations, turns, seconds)
        return {"filled": filled, "seconds": time.perf_counter() - started}

    def threads(self) -> Answer:
        """Count the threads of this process."""
        status = Path("/proc/self/status")
        lines = status.read_text().splitlines() if status.exists() else []
        native = next((int(line.split()[1]) for line in lines if line.startswith("Threads:")), None)
        return {"python": threading.active_count(), "native": native}

    def close(self) -> Answer:
        """Shut every agent down."""
        started = time.perf_counter()
        for provider in self._providers:
            provider.shutdown()
        self._providers.clear()
        return {"seconds": time.perf_counter() - started}

    def reply(self, answer: Answer) -> None:
        """Answer an order."""
        print(json.dumps(answer), flush=True)

    def _upto(self, turns: int) -> Iterator[int]:
        return itertools.islice(self._numbers, turns)

    def _sync(self, provider: int, number: int) -> float:
        question, answer = exchange(number)
        target = self._providers[provider]
        before = time.perf_counter()
        target.sync_turn(question, answer, session_id=f"session {provider}")
        return time.perf_counter() - before


def _probe_file(path: Path) -> Callable[[], float]:
    """Return a function that appends a record to a file, brings it to the disk and returns the seconds it took."""
    descriptor = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    record = b"x" * RECORD

    def probe() -> float:
        before = time.perf_counter()
        os.write(descriptor, record)
        os.fdatasync(descriptor)
        return time.perf_counter() - before

    return probe


def main() -> None:
    """Carry out orders until the input ends."""
    writer = Writer(json.loads(sys.stdin.readline()))
    for line in sys.stdin:
        given = json.loads(line)
        writer.reply(getattr(writer, given.pop("order"))(**given))
    os._exit(0)  # whoever gave the orders is gone, or has seen enough


if __name__ == "__main__":
    main()
