"""How operations lie in the intake: one record after another, then zeros.

A record is a head (mark, length of the body, id, lane, checksum), the body and an end. Neither mark nor end can be part
of a body, which is UTF-8, so that records behind a damaged one are found again. A later layout of records is to lie in
a file of another name: what this one does not know it takes for damage.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from hermes_memory.adapters.spool.row import checksum_of

MARK: Final = b"\xffHM1"
RETIRED: Final = b"\xfdout"
"""Takes the place of the mark of a record that lies elsewhere by now."""
MOVED: Final = b"\xfdall"
"""Takes the place of the first mark when all records lie elsewhere by now."""
END: Final = b"\xfeend"
_MARKS: Final = re.compile(b"|".join(map(re.escape, (MARK, RETIRED))))
_HEAD: Final = struct.Struct(">4sI16s16s16s")
_UNPLACED: Final = 0
"""Stands for the sequence in a record's checksum: an operation gets its number on the way out of the intake."""
_FIRST: Final = len(MARK)
HEAD: Final = _HEAD.size
"""Bytes with which a record begins, its id among them."""
OVERHEAD: Final = _HEAD.size + len(END)
"""Bytes of a record beside its body."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """An operation that lies in the intake. Of a damaged one the fields are what is left of them.

    Attributes:
        start: Where it begins in the file.
        sound: Whether it is what was written.
    """

    start: int
    operation: bytes
    lane: bytes
    checksum: bytes
    body: bytes
    sound: bool = True


def framed(operation: bytes, lane: bytes, body: bytes) -> bytes:
    """Return an operation as a record."""
    head = _HEAD.pack(MARK, len(body), operation, lane, checksum_of(_UNPLACED, operation, lane, body))
    return b"".join((head, body, END))


def used(content: bytes) -> int:
    """Return how many bytes of an intake are taken."""
    return len(content.rstrip(b"\0"))


def read(content: bytes) -> Iterator[Record]:
    """Yield the records of an intake in the order of acceptance, damaged ones in their places; none behind `MOVED`.

    What is left at the end without an end of its own was cut short when its writer died, before anybody was told that
    it had been accepted: it is no record. Neither is what is left behind zeros at the very beginning, where the first
    record would be: where a write need not wait for the disk, a power cut may undo a part of overwriting it.
    """
    if content.startswith(MOVED):
        return
    length = used(content)
    position = 0 if content[:_FIRST].strip(b"\0") else _next_record(content, 0, length)
    while position < length:
        record = _record_at(content, position)
        if record is None:
            following = _next_record(content, position + 1, length)
            yield from _damaged(content[position:following], position, torn=following == length)
            position = following
        else:
            if content[position : position + len(MARK)] == MARK:
                yield record
            position += OVERHEAD + len(record.body)


def _record_at(content: bytes, position: int) -> Record | None:
    """Return the record that begins here, one that is retired too; None when there is none that is sound."""
    if content[position : position + len(MARK)] not in (MARK, RETIRED):
        return None
    begins = position + _HEAD.size
    if begins > len(content):
        return None
    _, size, operation, lane, checksum = _HEAD.unpack_from(content, position)
    body = content[begins : begins + size]
    if len(body) < size or checksum != checksum_of(_UNPLACED, operation, lane, body):
        return None
    return Record(start=position, operation=operation, lane=lane, checksum=checksum, body=body)


def _next_record(content: bytes, position: int, length: int) -> int:
    for mark in _MARKS.finditer(content, position):
        if _record_at(content, mark.start()) is not None:
            return mark.start()
    return length


def _damaged(piece: bytes, position: int, *, torn: bool) -> Iterator[Record]:
    """Yield what was written here and is damaged, one record for each end; the rest too unless it may be torn."""
    *complete, rest = piece.split(END)
    for each in complete:
        if each.strip(b"\0") and not each.startswith(RETIRED):
            yield _remains(each, position)
        position += len(each) + len(END)
    if not torn and rest.strip(b"\0"):
        yield _remains(rest, position)


def _remains(piece: bytes, position: int) -> Record:
    """Return what is left of a record; one without a head is told from others by its content, its mark apart."""
    if len(piece) < _HEAD.size:
        return Record(
            start=position,
            operation=blake2b(piece[len(MARK) :], digest_size=16).digest(),
            lane=bytes(16),
            checksum=bytes(16),
            body=piece,
            sound=False,
        )
    _, _, operation, lane, checksum = _HEAD.unpack_from(piece)
    return Record(
        start=position, operation=operation, lane=lane, checksum=checksum, body=piece[_HEAD.size :], sound=False
    )
