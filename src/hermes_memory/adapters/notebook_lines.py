"""Whose the lines of a home's notebooks are, in a small file that all processes of the home share.

It holds keyed hashes alone, and their key: no text can be read in it. It is only ever added to. A process in which
somebody's session is keeps the file locked together with others of that kind; the kernel lets go for one that dies.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import logging
import os
import secrets
import stat
import threading
import weakref
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, TypeAlias

from hermes_memory.adapters.brief_lock import lock_briefly
from hermes_memory.adapters.made_once import make_once
from hermes_memory.adapters.modes import close_to_others
from hermes_memory.domain.notebook_lines import HELD, VISITED, KnownLines, Standing, spelling

logger = logging.getLogger(__name__)

KEY_BYTES: Final = 32
NAME_BYTES: Final = 16
_PATIENCE: Final = 0.025
"""Seconds to wait for a process that looks through the notebooks. The host's turn waits with us."""
_MOMENT: Final = 0.02
"""Seconds to try whether somebody's session is there, where no turn waits."""
_GLANCE: Final = 0.002
"""The same where one does. To miss a process that only looks holds back more lines, and no fewer."""

_NO_LOCKS: Final = frozenset({errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS})

Written: TypeAlias = Callable[[], tuple[Sequence[str], bool]]


class FileNotebookLines:
    """Keeps a file (0600), made when the first session of somebody comes. Any thread and any process may call.

    Nothing is raised: where the file cannot be used no line is everybody's, and it is told. Other processes know that
    somebody is here by what is noted, or by the lock; where neither can be had, whatever is asked here tries again.

    Args:
        path: Where the file is, or will be made.
        written: Reads the lines that are there, and tells whether those are all.
    """

    def __init__(self, path: Path, written: Written) -> None:
        self._path = path
        self._written = written
        self._busy = threading.Lock()
        self._here = False
        self._staying: int | None = None
        self._problem = ""
        self._complaint = logging.WARNING
        self._begin((0, 0))
        _all.add(self)

    def told(self, lines: Collection[str], *, private: bool) -> None:
        """Note whose lines are. Everybody's need no note as long as nobody's session was ever there."""
        with self._using(), self._opened(make=private) as descriptor:
            if descriptor is not None and (private or self._known.visited):
                records = self._known.told(self._names(lines), private=private)
                self._add(descriptor, records)
                if private and records:
                    os.fsync(descriptor)

    def come(self) -> None:
        """Note that somebody's session is there, before it can write."""
        with self._using():
            try:
                if not self._here:
                    self._judge_before()
            finally:
                self._here = True
                with self._opened():
                    pass

    def leave(self) -> None:
        """Note that no session of somebody is there any more in this process."""
        with self._using():
            try:
                # A home that was removed is not made again for this.
                if self._here and self._path.parent.exists():
                    with self._opened() as descriptor:
                        self._here, self._staying = False, None
                        if descriptor is not None and _alone(descriptor):
                            self._settle(descriptor)
            finally:
                self._here = False
                self._let_go()

    def standing(self) -> Standing:
        """Return whose the lines are that are there."""
        found: list[Standing] = []
        with self._using(), self._opened() as descriptor:
            found.append(self._standing(descriptor))
        return found[0] if found else self._unknown()

    def state(self) -> tuple[int, int] | None:
        """Return a value that changes when something is noted."""
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_ino, found.st_size

    def _unknown(self) -> Standing:
        lines, _ = self._written()
        return Standing(held=frozenset(lines), problem=self._problem)

    def _standing(self, descriptor: int | None) -> Standing:
        if descriptor is None:
            lines, _ = self._written()
            # Whoever comes says so before they write: what was read before that is none of theirs.
            made = os.path.lexists(self._path)
            return Standing(held=frozenset(lines), passing=True) if made else Standing(shared=frozenset(lines))
        if self._known.visited and not self._here and _alone(descriptor):
            self._settle(descriptor)
        visited = self._here or self._known.visited
        lines, _ = self._written()
        self._follow(descriptor)
        visited = visited or self._known.visited
        # Somebody may be there of whom nothing could be noted, or whose note was written over; or one who only looks.
        alone = not visited and _alone(descriptor)
        kinds = self._known.kinds(self._names(lines), alone=alone)
        return Standing.of(lines, kinds, passing=not (visited or alone))

    def _judge_before(self) -> None:
        """Know of what is there before the first session in this process whose it is."""
        with self._opened(make=True) as descriptor:
            if descriptor is not None and _alone(descriptor, _GLANCE):
                self._settle(descriptor)

    def _stay(self, descriptor: int) -> None:
        """Keep the file locked, and say that somebody is here. Each of these tells it where the other fails."""
        if self._staying is None:
            try:
                self._visit(descriptor)
            finally:
                lock_briefly(descriptor, _PATIENCE, shared=True)
                self._staying = descriptor
        # Another process may have taken the lock in between, found nobody and said so.
        self._visit(descriptor)

    def _visit(self, descriptor: int) -> None:
        self._follow(descriptor)
        if not self._known.visited:
            self._add(descriptor, [VISITED])
            # A power cut that spared what the host writes from now on, but not this, would make it everybody's.
            os.fsync(descriptor)

    def _let_go(self) -> None:
        staying, self._staying = self._staying, None
        if staying is not None:
            _close(staying)

    def _stays(self) -> bool:
        """Tell whether it is the file of that name that we keep locked: it may have been taken away or replaced."""
        if self._staying is None:
            return False
        try:
            return os.path.samestat(self._path.lstat(), os.fstat(self._staying))
        except FileNotFoundError:
            return False

    def _settle(self, descriptor: int) -> None:
        """Say of every line that is there whose it is. The lock is held."""
        self._follow(descriptor)
        lines, whole = self._written()
        records = self._known.settled(self._names(lines), whole=whole)
        self._add(descriptor, records)
        if held := sum(record.startswith(HELD) for record in records):
            facts = {"action": "notebook.held", "lines": held}
            logger.info("lines of the notebooks came in talk with somebody and stay out of the memory", extra=facts)

    def leave_to_parent(self) -> None:
        """Forget, in a process that was forked, who is here: they stay with the parent, and so does their lock."""
        self._busy = threading.Lock()
        self._here = False
        staying, self._staying = self._staying, None
        if staying is not None:
            os.close(staying)

    # --- the file

    @contextmanager
    def _using(self) -> Iterator[None]:
        with self._busy:
            try:
                yield
            except (OSError, ValueError) as error:
                self._problem = f"{self._path} cannot be used: {_cause_and_remedy(error)}"
                facts = {"action": "notebook.lines", "cause": type(error).__name__, "file": str(self._path)}
                level, self._complaint = self._complaint, logging.DEBUG
                logger.log(level, "whose the lines of the notebooks are cannot be read or noted", extra=facts)

    @contextmanager
    def _opened(self, *, make: bool = False) -> Iterator[int | None]:
        """Open the file and read what is new in it; None when there is none and none is to be made.

        As long as somebody is here it is made and kept locked.
        """
        if not self._stays():
            self._let_go()
        descriptor = self._open(make=make or self._here) if self._staying is None else self._staying
        if descriptor is None:
            yield None
            return
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
                raise ValueError("it is no plain file of this user's")
            close_to_others(descriptor)
            self._follow(descriptor)
            if self._here:
                self._stay(descriptor)
            yield descriptor
            self._complaint = logging.WARNING
        finally:
            if descriptor != self._staying:
                _close(descriptor)

    def _open(self, *, make: bool) -> int | None:
        if make:
            make_once(self._path, f"{secrets.token_hex(KEY_BYTES)}\n")
        # Without waiting: somebody may have put a pipe there.
        flags = os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
        try:
            return os.open(self._path, flags)
        except FileNotFoundError:
            if make:
                raise
            return None

    def _begin(self, file: tuple[int, int]) -> None:
        self._file, self._offset, self._key = file, 0, b""
        self._known = KnownLines()

    def _follow(self, descriptor: int) -> None:
        """Read what was added since the last time, by whomever; all of it where it is another file."""
        found = os.fstat(descriptor)
        if (found.st_dev, found.st_ino) != self._file or found.st_size < self._offset:
            self._begin((found.st_dev, found.st_ino))
        text = os.pread(descriptor, found.st_size - self._offset, self._offset)
        ended = text.rfind(b"\n") + 1  # what another process is about to write is read when it is done
        self._offset += ended
        records = text[:ended].decode("ascii", "replace").splitlines()
        if not self._key:
            with suppress(ValueError):
                self._key = bytes.fromhex(records.pop(0)) if records else b""
            if len(self._key) != KEY_BYTES:
                self._begin((0, 0))
                raise ValueError("it holds no usable key")
        for record in records:
            self._known.take(record)

    def _add(self, descriptor: int, records: Sequence[str]) -> None:
        if records:
            # A disk that was full may have left a part of a record, which must not run into this one.
            _write(descriptor, "".join(f"\n{record}" for record in records) + "\n")
            self._follow(descriptor)

    def _names(self, lines: Collection[str]) -> list[str]:
        texts = (spelling(line).encode("utf-8", "replace") for line in lines)
        return [hashlib.blake2b(text, key=self._key, digest_size=NAME_BYTES).hexdigest() for text in texts]


_all: Final[weakref.WeakSet[FileNotebookLines]] = weakref.WeakSet()


def _leave_to_parent() -> None:
    for lines in list(_all):
        lines.leave_to_parent()


# A forked child shares the lock of its parent, and would be somebody's session for as long as it lives.
os.register_at_fork(after_in_child=_leave_to_parent)


def _cause_and_remedy(error: OSError | ValueError) -> str:
    if isinstance(error, ValueError):
        return f"{error}: restore it from a backup, and add a line `*` to it, by which what came since is held"
    cause = error.strerror or str(error)
    if isinstance(error, TimeoutError):
        return f"{cause}: it is tried again"
    if error.errno in _NO_LOCKS:
        return f"{cause}: keep the home on a file system that has locks"
    return f"{cause}: mend that"


def _alone(descriptor: int, patience: float = _MOMENT) -> bool:
    """Take the lock for ourselves if nobody's session is there, and tell whether we have it now."""
    try:
        lock_briefly(descriptor, patience)
    except TimeoutError:
        return False
    return True


def _close(descriptor: int) -> None:
    with suppress(OSError):
        # A child that was forked meanwhile has the descriptor too, and would keep the lock.
        fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)


def _write(descriptor: int, text: str) -> None:
    given = text.encode("ascii")
    if os.write(descriptor, given) != len(given):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
