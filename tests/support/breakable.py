"""SQLite connections that break where a test wants it: before the n-th statement, or on a disk without room."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Final
from unittest import mock

from hermes_memory.adapters.spool import database

ENDLESS: Final = 1_073_741_823
"""The most pages that SQLite allows a file."""


class Killed(BaseException):
    """The process ends here: nothing that would come after it comes."""


class Plan:
    """What happens to the next statements of all connections.

    Attributes:
        left: Statements that are carried out before the process dies; None lets it live.
        room: Whether files may grow.
    """

    def __init__(self) -> None:
        self.left: int | None = None
        self.room = True

    def meet(self) -> None:
        """Die when it is time, and stay dead."""
        if self.left is not None:
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


@contextmanager
def breakable(plan: Plan) -> Iterator[None]:
    """Let every connection that a spool opens in the block follow the plan."""
    following = type("Following", (Breakable,), {"plan": plan})
    connect: Callable[..., sqlite3.Connection] = partial(sqlite3.connect, factory=following)
    with mock.patch.object(database, "connect", connect):
        yield
