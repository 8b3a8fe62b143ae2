"""Threads that write the same few memories: `python -m tests.support.writers JOURNALS HOME THREADS COUNT SEED PAUSE`.

Each thread makes `COUNT` random writes, or writes until it is killed when that is 0, and rests for `PAUSE` seconds
between two. A third of the writes go to a theme that other homes write, too. What was accepted is in the journal.
"""

from __future__ import annotations

import itertools
import os
import random
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from hermes_memory.application.accept import Acceptor, Said
from hermes_memory.domain.errors import StoreUnavailable
from hermes_memory.domain.model import Caller, Origin, Role, SessionId, Subject, Target, Theme
from hermes_memory.domain.operations import ByContent, BySubstring
from tests.support.agents import Agent
from tests.support.journal import Journal, journalling

COMMON: Final = Theme("everybody")
SOMEBODY: Final = Subject(b"s" * 32)
NOTES: Final = 6
VERSIONS: Final = 3


class Writer:
    """One thread's writes, the same for the same seed and number."""

    def __init__(self, acceptor: Acceptor, theme: Theme, seed: str, number: int) -> None:
        self._acceptor = acceptor
        self._chance = random.Random(f"{seed} {number}")
        self._who = f"{theme} {os.getpid()} {number}"
        self._said = itertools.count()
        session = SessionId(f"session {number % 3}")
        mine = Caller(theme=theme, session=session)
        self._callers = {
            mine: 55,
            Caller(theme=theme, subject=SOMEBODY, session=session): 15,
            Caller(theme=COMMON, session=session): 30,
        }

    def write(self) -> None:
        """Make one write."""
        (caller,) = self._chance.choices(list(self._callers), list(self._callers.values()))
        ways: dict[Callable[[Caller], None], int] = {
            self._add: 25,
            self._replace: 20,
            self._replace_found: 10,
            self._remove: 15,
            self._say: 30,
        }
        (way,) = self._chance.choices(list(ways), list(ways.values()))
        way(caller)

    def _add(self, caller: Caller) -> None:
        self._acceptor.add(caller, self._content(caller), target=Target.MEMORY, origin=Origin.AGENT)

    def _replace(self, caller: Caller) -> None:
        selector = ByContent(target=Target.MEMORY, content=self._content(caller))
        upsert = self._chance.random() < 0.5
        self._acceptor.replace(caller, selector, self._content(caller), origin=Origin.AGENT, upsert=upsert)

    def _replace_found(self, caller: Caller) -> None:
        selector = BySubstring(target=Target.MEMORY, text=self._note(caller))
        self._acceptor.replace(caller, selector, self._content(caller), origin=Origin.AGENT, upsert=True)

    def _remove(self, caller: Caller) -> None:
        selector = ByContent(target=Target.MEMORY, content=self._content(caller))
        self._acceptor.remove(caller, selector, origin=Origin.AGENT)

    def _say(self, caller: Caller) -> None:
        number = next(self._said)
        said = [
            Said(role=Role.USER, content=f"{self._who} asks for {number}"),
            Said(role=Role.ASSISTANT, content=f"{self._who} has {number}"),
        ]
        self._acceptor.turns(caller, said)

    def _content(self, caller: Caller) -> str:
        return f"{self._note(caller)} says {self._chance.randrange(VERSIONS)}"

    def _note(self, caller: Caller) -> str:
        # Somebody's memories are never the theme's own: lanes have no order among each other.
        return f"{'memo' if caller.subject else 'note'} {self._chance.randrange(NOTES)}"


def write(writer: Writer, count: int, pause: float) -> None:
    """Make so many writes, or write for ever."""
    for _ in range(count) if count else itertools.count():
        # One that stands still in the middle of a write may hold up others for longer than they wait.
        with suppress(StoreUnavailable):
            writer.write()
        time.sleep(pause)


def main(journals: str, home: str, threads: str, count: str, seed: str, pause: str) -> None:
    place = Path(home)
    place.mkdir(exist_ok=True)
    with journalling(Journal(Path(journals), home)):
        agent = Agent(place).start(agent_identity=place.name)
        acceptor = agent.runtime.local.acceptor
        writers = [Writer(acceptor, Theme(place.name), seed, number) for number in range(int(threads))]
        running = [threading.Thread(target=write, args=(each, int(count), float(pause))) for each in writers]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
        agent.provider.shutdown()


if __name__ == "__main__":
    main(*sys.argv[1:])
