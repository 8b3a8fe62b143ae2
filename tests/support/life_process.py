"""An agent's process that ends in one way or another: `python -m tests.support.life_process HOW JOURNALS HOME`.

What it writes is in its journal. It uses nothing but the library and the standard library, so that it runs on every
Python the library runs on.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from hermes_memory.application.memory import Memory
from tests.support.agents import Agent, eventually
from tests.support.journal import Journal, journalling

ENOUGH: Final = 40
"""Writes after which a process may end."""
PATIENCE: Final = 60.0
_NOTING: Final = ExitStack()
PAUSE: Final = 0.03
"""Seconds between two exchanges of a writer, so that those who deliver keep up on a busy machine."""


def exchange(agent: Agent, who: str, number: int, session: str = "s1") -> None:
    """Let somebody say something, and note, change or forget what is counted."""
    provider = agent.provider
    provider.sync_turn(f"What is number {number} of {who}?", f"It is {number * 17} with {who}.", session_id=session)
    counted = {"old_text": f"Count of {who} is", "session_id": session}
    if number % 7 == 6:
        provider.on_memory_write("remove", "memory", "", counted)
    else:
        provider.on_memory_write("replace", "memory", f"Count of {who} is {number}", counted)


class Busy:
    """Threads that write for as long as the process lives, or until they are stopped."""

    def __init__(self, agent: Agent, count: int = 3) -> None:
        self._agent = agent
        self._written = [0] * count
        self._stopping = threading.Event()
        self._threads = [threading.Thread(target=self._write, args=(each,), daemon=True) for each in range(count)]
        for thread in self._threads:
            thread.start()

    def wait(self, count: int = ENOUGH) -> None:
        """Wait until so many exchanges more were written."""
        before, deadline = sum(self._written), time.monotonic() + PATIENCE
        while sum(self._written) < before + count:
            assert time.monotonic() < deadline, "the writers stand still"
            time.sleep(0.005)

    def stop(self) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join(PATIENCE)

    def _write(self, number: int) -> None:
        while not self._stopping.is_set():
            exchange(self._agent, f"writer {number} of {os.getpid()}", self._written[number])
            self._written[number] += 1
            time.sleep(PAUSE)


def tell(what: object) -> None:
    """Say how it goes, as a line of JSON."""
    os.write(1, f"{json.dumps(what)}\n".encode())


def heard(what: str) -> None:
    """Wait for a word from outside."""
    assert sys.stdin.readline().strip() == what


# --- ways to end


def falls_off_the_end(agent: Agent) -> None:
    Busy(agent).wait()


def raises(agent: Agent) -> None:
    Busy(agent).wait()
    raise LookupError("nobody catches this")


def ends_by_os_exit(agent: Agent) -> None:
    Busy(agent).wait()
    os._exit(0)


def is_killed(agent: Agent) -> None:
    Busy(agent).wait()
    os.kill(os.getpid(), signal.SIGKILL)


def is_terminated(agent: Agent) -> None:
    Busy(agent).wait()
    os.kill(os.getpid(), signal.SIGTERM)


def is_terminated_and_leaves_in_order(agent: Agent) -> None:
    """A host that turns the signal into an exit, as most do, and forgets the provider."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    Busy(agent).wait()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(PATIENCE)


def is_interrupted(agent: Agent) -> None:
    Busy(agent).wait()
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(PATIENCE)


def shuts_down_and_writes_on(agent: Agent) -> None:
    busy = Busy(agent)
    busy.wait()
    agent.provider.shutdown()
    busy.wait(ENOUGH // 4)
    agent.provider.shutdown()
    busy.stop()
    exchange(agent, "a straggler", 1)


# --- forks


def forks(agent: Agent) -> None:
    """Fork again and again while threads write; every child writes and recalls, and so does the parent."""
    for ending in (os._exit, sys.exit):
        busy = Busy(agent)
        busy.wait(ENOUGH // 4)
        child = os.fork()
        if child == 0:
            signal.alarm(int(PATIENCE))
            _live(agent, f"child {os.getpid()}")
            ending(0)
        busy.wait(ENOUGH // 4)
        busy.stop()
        _live(agent, "parent")
        _, status = os.waitpid(child, 0)
        assert status == 0, f"a child ended with {status}"
    agent.provider.shutdown()


def forks_a_pool(agent: Agent) -> None:
    """Let the workers of a forked pool write through the agent they inherited."""
    busy = Busy(agent)
    busy.wait(ENOUGH // 4)
    with multiprocessing.get_context("fork").Pool(2, initializer=_inherited.append, initargs=(agent,)) as pool:
        pool.map(_pooled, range(6), chunksize=3)
        pool.close()
        pool.join()
    busy.stop()


def forks_and_dies_first(agent: Agent) -> None:
    """Leave a child that writes on when the parent was killed; it says when it has done."""
    Busy(agent).wait(ENOUGH // 4)
    parent = os.getpid()
    if os.fork() == 0:
        signal.alarm(int(PATIENCE))
        os.kill(parent, signal.SIGKILL)
        _live(agent, "orphan")
        tell("done")
        os._exit(0)
    time.sleep(PATIENCE)


def _live(agent: Agent, who: str) -> None:
    for number in range(10):
        exchange(agent, who, number)
    agent.tool("memory_remember", content=f"What {who} noted")
    eventually(lambda: f"What {who} noted" in agent.facts_if_any(f"noted {who}"))


_inherited: Final[list[Agent]] = []


def _pooled(number: int) -> None:
    exchange(_inherited[0], f"worker {number}", number)


# --- sessions


def rotates_sessions(agent: Agent) -> None:
    """Serve several conversations with one provider, started again and again, as gateways do."""
    for number in range(12):
        for session in ("s1", "s2", "s3"):
            agent.start(session, agent_identity=agent.home.name)
            exchange(agent, f"{session} at {number}", number, session)
        exchange(agent, f"s1 at {number}, later", number, "s1")
        agent.provider.on_session_switch(f"s4-{number}", parent_session_id="s3", reset=False, reason="compression")
        exchange(agent, f"s4 at {number}", number, f"s4-{number}")
        agent.provider.on_session_end([])
    agent.provider.shutdown()
    agent.start("s5", agent_identity=agent.home.name)
    exchange(agent, "s5", 1, "s5")


# --- a database that is away


def is_without_database_throughout(agent: Agent) -> None:
    busy = Busy(agent)
    busy.wait()
    busy.stop()
    agent.provider.shutdown()


def is_without_database_at_first(agent: Agent) -> None:
    busy = Busy(agent)
    busy.wait()
    tell("written")
    heard("it is back")
    busy.wait(ENOUGH // 4)
    busy.stop()
    agent.settle()
    tell("settled")
    os._exit(0)


def is_without_database_for_a_while(agent: Agent) -> None:
    exchange(agent, "before", 1)
    agent.settle()
    tell("settled")
    heard("it is gone")
    is_without_database_at_first(agent)


async def _left(memory: Memory) -> int:
    """Count what is not stored yet, and what is not embedded."""
    status = await memory.services.spool.status()
    return status.depth + (await memory.services.queue.backlog()).waiting


def settles(agent: Agent) -> None:
    """Deliver what earlier processes left, for as long as it goes on, and tell what was set aside."""
    left: int | None = None
    while not agent.runtime.call(lambda memory: memory.settled(timeout=PATIENCE), timeout=PATIENCE + 5):
        before, left = left, agent.runtime.call(_left, timeout=PATIENCE)
        assert before is None or left < before, f"{left} writes wait, and nothing goes on"
    tell([[letter.id.hex, letter.reason] for letter in agent.runtime.local.spool.dead()])
    agent.provider.shutdown()


WAYS: Final[dict[str, Callable[[Agent], None]]] = {
    way.__name__: way
    for way in (
        *(falls_off_the_end, raises, ends_by_os_exit, is_killed, is_terminated, is_terminated_and_leaves_in_order),
        *(is_interrupted, shuts_down_and_writes_on, forks, forks_a_pool, forks_and_dies_first, rotates_sessions),
        *(is_without_database_throughout, is_without_database_at_first, is_without_database_for_a_while, settles),
    )
}


def main(how: str, journals: str, home: str) -> None:
    place = Path(home)
    place.mkdir(exist_ok=True)
    # Never left: threads that write go on until the interpreter stops them, after this function has ended.
    _NOTING.enter_context(journalling(Journal(Path(journals), home)))
    WAYS[how](Agent(place).start("s1", agent_identity=place.name))


if __name__ == "__main__":
    main(*sys.argv[1:])
