"""Keeping locks and SQLite handles of one process out of its forked children.

An inherited flock outlives its owner for as long as a child keeps the descriptor, and SQLite believes in a child that
it still has the file locks of its parent. So whoever holds such things is told before and after every fork.
"""

from __future__ import annotations

import os
import threading
from typing import Final, Protocol
from weakref import WeakSet


class ForkAware(Protocol):
    """Something that must be at rest while the process forks."""

    def before_fork(self) -> None:
        """Come to rest, and stay so until one of the two below is called in the same thread."""

    def after_fork_in_parent(self) -> None:
        """Go on."""

    def after_fork_in_child(self) -> None:
        """Let go of what belongs to the parent, without unlocking or closing it for the parent too."""


class _Watch:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._members: WeakSet[ForkAware] = WeakSet()
        self._resting: list[ForkAware] = []
        os.register_at_fork(before=self._before, after_in_parent=self._parent, after_in_child=self._child)

    def add(self, member: ForkAware) -> None:
        with self._lock:
            self._members.add(member)

    def _before(self) -> None:
        self._lock.acquire()
        self._resting = list(self._members)
        for member in self._resting:
            member.before_fork()

    def _parent(self) -> None:
        for member in self._resting:
            member.after_fork_in_parent()
        self._resting = []
        self._lock.release()

    def _child(self) -> None:
        self._lock = threading.Lock()  # a fork by C code comes here without the one before
        self._resting = []
        for member in list(self._members):
            member.after_fork_in_child()


_WATCH: Final = _Watch()


def watch_forks(member: ForkAware) -> None:
    """Tell `member` about every fork of this process for as long as it lives."""
    _WATCH.add(member)
