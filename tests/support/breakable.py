"""A spool that breaks where a test wants it: at the n-th statement or write to a file, or on a disk without room."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Final
from unittest import mock

from hermes_memory.adapters.spool import database, files, intake, lock

ENDLESS: Final = 1_073_741_823
"""The most pages that SQLite allows a file."""


class Killed(BaseException):
    """The process ends here: nothing that would come after it comes."""


class Plan:
    """What happens to the next statements of all connections, and writes to the files beside the database.

    Attributes:
        left: Statements and writes that are carried out before the process dies; None lets it live.
        room: Whether the database may grow.
        dead: Whether the process has died in a write.
    """

    def __init__(self) -> None:
        self.left: int | None = None
        self.room = True
        self.dead = False

    def meet(self) -> None:
        """Die when it is time, and stay dead."""
        if self.left is None:
            self.dead = False
            return
        if self.left <= 0:
            raise Killed
        self.left -= 1


class Breakable(sqlite3.Connection):
    """A connection that follows a plan."""

    plan: Plan

    def execute(self, statement: str, *arguments: Any) -> sqlite3.Cursor:
        self.plan.meet()
        if statement == "BEGIN IMMEDIATE":
            self._limit()
        return super().execute(statement, *arguments)

    def executemany(self, statement: str, *arguments: Any) -> sqlite3.Cursor:
        self.plan.meet()
        return super().executemany(statement, *arguments)

    def _limit(self) -> None:
        pages = ENDLESS
        if not self.plan.room:
            (pages,) = super().execute("PRAGMA page_count").fetchone()
        super().execute(f"PRAGMA max_page_count = {pages}").fetchall()


class _BreakableFiles:
    """Stands for the module `os` and follows a plan: a write that the process dies in is half of it."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def pwrite(self, descriptor: int, content: bytes, offset: int) -> int:
        try:
            self._plan.meet()
        except Killed:
            if not self._plan.dead:
                os.pwrite(descriptor, content[: len(content) // 2], offset)
            self._plan.dead = True
            raise
        return os.pwrite(descriptor, content, offset)


@contextmanager
def breakable(plan: Plan) -> Iterator[None]:
    """Let every connection and file that a spool uses in the block follow the plan."""
    following = type("Following", (Breakable,), {"plan": plan})
    connect: Callable[..., sqlite3.Connection] = partial(sqlite3.connect, factory=following)
    breaking = _BreakableFiles(plan)
    with (
        mock.patch.object(database, "connect", connect),
        mock.patch.object(files, "os", breaking),
        mock.patch.object(intake, "os", breaking),
        mock.patch.object(lock, "os", breaking),
    ):
        yield
