"""The heads of the chain of history that were published outside of the database: a file that is only added to.

Heads that cannot be added to it wait in a file beside it, and are added before any others, by whoever publishes next.
What that file holds besides heads holds nothing up: it is kept under another name, and told of.
"""

from __future__ import annotations

import json
import logging
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from hermes_memory.adapters.brief_lock import lock_briefly
from hermes_memory.adapters.modes import PRIVATE_FILE, close_to_others
from hermes_memory.adapters.spool.files import open_private, sync_directory
from hermes_memory.domain.chain import Head
from hermes_memory.domain.errors import ConfigurationError
from hermes_memory.ports.seals import HeadsWait, Sealed

logger = logging.getLogger(__name__)

_PATIENCE: Final = 1.0
"""Seconds to wait for other processes that add."""
_LONGEST_LINE: Final = 65_536
_BROKEN: Final = ".broken-"
_WAITING: Final = "the file of the heads that wait"
_NO_HEAD: Final = "the file of the published heads holds a line that is no published head"


def publish(path: Path, seals: Iterable[Sealed]) -> None:
    """Add heads to the file, durably, a JSON object a line; the file is made for us alone when it is missing.

    Those that wait beside it come first, also when there are no others. Several processes may publish at once: each
    locks the files. All heads are added or none, and none that waited is added twice. Where those that wait are out of
    reach, the others are added without them.

    Raises:
        HeadsWait: The file is a link, another user's, or cannot be written: the heads wait beside it, durably. Or the
            file beside it is: the heads are published, and what waits is not.
        ConfigurationError: Nor can they wait there: they are the caller's still. No message names a file, so that it
            may be logged.
    """
    lines = [f"{json.dumps(_plain(each))}\n" for each in seals]
    beside = waiting_beside(path)
    if _holds_something(beside):
        _settle_or_pass(path, beside, lines)
    elif lines:
        _publish_or_keep(path, beside, lines)


def waiting_beside(path: Path) -> Path:
    """Return where heads wait that cannot be published."""
    return path.with_name(f"{path.name}.waiting")


def set_aside(path: Path) -> Sequence[Path]:
    """Return the damaged files of heads that waited, which are kept beside the published ones."""
    beside = waiting_beside(path)
    return sorted(beside.parent.glob(f"{beside.name}{_BROKEN}*"))


def told(path: Path) -> Sequence[Head]:
    """Return all heads that the home knows: the published ones, then those that wait.

    Raises:
        ConfigurationError: They cannot be read, or a file holds something else.
    """
    return list(dict.fromkeys([*published(path), *published(waiting_beside(path))]))


def published(path: Path) -> Sequence[Head]:
    """Return the heads in a file, oldest first; none when there is no file. A line cut off at the end is left out.

    Raises:
        ConfigurationError: It cannot be read, or holds something else.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path} cannot be read: {type(error).__name__}") from error
    whole, _, _cut = text.rpartition("\n")
    return [_head(path, line) for line in whole.splitlines() if line]


def latest(heads: Iterable[Head]) -> Sequence[Head]:
    """Return the newest head of each theme."""
    newest: dict[str, Head] = {}
    for head in heads:
        if head.theme not in newest or head.seal >= newest[head.theme].seal:
            newest[head.theme] = head
    return list(newest.values())


def _publish_or_keep(path: Path, beside: Path, lines: Sequence[str]) -> None:
    try:
        with _locked(path) as file:
            _add(file, lines)
    except ConfigurationError as obstacle:
        try:
            with _locked(beside, _WAITING) as waiting:
                _add(waiting, lines)
        except ConfigurationError:
            raise obstacle from None
        raise HeadsWait(str(obstacle)) from obstacle


def _settle_or_pass(path: Path, beside: Path, lines: Sequence[str]) -> None:
    """Publish what waits, and the lines after it; the lines alone where nobody gets at what waits."""
    try:
        _settle(path, beside, lines)
    except HeadsWait:
        raise
    except ConfigurationError as obstacle:
        try:
            _add_unknown(path, lines)
        except ConfigurationError:
            raise obstacle from None
        raise HeadsWait(str(obstacle)) from obstacle


def _settle(path: Path, beside: Path, lines: Sequence[str]) -> None:
    """Publish what waits, and the lines after it. A process that died in between has published some of it already."""
    with _locked(beside, _WAITING) as waiting:
        kept = _heads_of(beside, waiting)
        try:
            _add_unknown(path, [*kept, *lines])
        except ConfigurationError as obstacle:
            _add(waiting, [line for line in lines if line not in kept])
            raise HeadsWait(str(obstacle)) from obstacle
        os.ftruncate(waiting, 0)
        os.fsync(waiting)


@contextmanager
def _locked(path: Path, what: str = "the file of the published heads") -> Iterator[int]:
    """Open a file to read it and add to it, made for us alone when it is missing, and keep other processes away."""
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        descriptor = os.open(path, flags, PRIVATE_FILE)
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
                raise ConfigurationError(f"{what} is no plain file of this user's: remove it")
            close_to_others(descriptor)
            lock_briefly(descriptor, _PATIENCE)
            if not found.st_size:
                sync_directory(path.parent)
            yield descriptor
        finally:
            os.close(descriptor)
    except OSError as error:
        raise ConfigurationError(f"{what} cannot be written: {error.strerror}") from error


def _heads_of(beside: Path, waiting: int) -> Sequence[str]:
    """Return the lines of the open file of heads that wait, and take out of it, to be kept, what is no head."""
    content = os.pread(waiting, os.fstat(waiting).st_size, 0)
    held = _lines(content)
    heads = [line for line in held if _parsed(line) is not None]
    cut = len(content) - content.rfind(b"\n") - 1
    if len(heads) < len(held) or cut >= _LONGEST_LINE:
        _keep_broken(beside, content)
        os.ftruncate(waiting, 0)
        _add(waiting, heads)
    return heads


def _keep_broken(beside: Path, content: bytes) -> None:
    number = 1
    while (kept := beside.with_name(f"{beside.name}{_BROKEN}{number}")).exists():
        number += 1
    descriptor = open_private(kept, exclusive=True)
    try:
        _write(descriptor, content)
        sync_directory(beside.parent)
    except OSError:
        kept.unlink()
        raise
    finally:
        os.close(descriptor)
    logger.error(
        "heads of history that waited were damaged: what could be read is published, the file is kept beside it",
        extra={"action": "history.damaged", "file": kept.name},
    )


def _add_unknown(path: Path, lines: Iterable[str]) -> None:
    """Add those of the lines that the file does not hold yet, each once."""
    with _locked(path) as file:
        known = frozenset(_lines(os.pread(file, _drop_cut_line(file), 0)))
        _add(file, [line for line in dict.fromkeys(lines) if line not in known])


def _lines(content: bytes) -> Sequence[str]:
    """Return the whole lines, each with its end."""
    return content[: content.rfind(b"\n") + 1].decode("utf-8", "replace").splitlines(keepends=True)


def _holds_something(path: Path) -> bool:
    with suppress(OSError):
        return path.lstat().st_size > 0
    return False


def _add(descriptor: int, lines: Sequence[str]) -> None:
    _drop_cut_line(descriptor)
    _write(descriptor, "".join(lines).encode())


def _write(descriptor: int, added: bytes) -> None:
    """Write at the end, durably, or not at all."""
    length = os.fstat(descriptor).st_size
    try:
        while added:
            added = added[os.write(descriptor, added) :]
        os.fsync(descriptor)
    except OSError:
        # A disk that fills up takes a part. What is added next would be glued to it, and nobody could read that.
        os.ftruncate(descriptor, length)
        raise


def _drop_cut_line(descriptor: int) -> int:
    """Take away what a process that died while it wrote left of its last line; return the length of the file."""
    length = os.fstat(descriptor).st_size
    end = os.pread(descriptor, _LONGEST_LINE, max(length - _LONGEST_LINE, 0))
    cut = len(end) - (end.rfind(b"\n") + 1)
    if cut == _LONGEST_LINE:
        raise ConfigurationError(_NO_HEAD)
    if cut:
        os.ftruncate(descriptor, length - cut)
    return length - cut


def _plain(sealed: Sealed) -> dict[str, str | int]:
    head = sealed.head
    return {
        "theme": head.theme,
        "seal": head.seal,
        "changes": sealed.changes,
        "chained": head.chained.hex(),
        "at": sealed.at.isoformat(),
    }


def _head(path: Path, line: str) -> Head:
    if (head := _parsed(line)) is None:
        raise ConfigurationError(f"{path} holds a line that is no published head")
    return head


def _parsed(line: str) -> Head | None:
    # No whole number is infinite, and what is nested too deeply for the reader is no head either.
    with suppress(ValueError, KeyError, TypeError, OverflowError, RecursionError):
        read = json.loads(line)
        return Head(theme=str(read["theme"]), seal=int(read["seal"]), chained=bytes.fromhex(read["chained"]))
    return None
