"""Reading rows out of a damaged SQLite file without SQLite: every page is looked at, whatever points to it.

The layout of pages, cells, records and the journal is that of https://www.sqlite.org/fileformat2.html. A row counts
as sound only when its checksum confirms it, so a page that merely looks like one of ours gives nothing.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Final, TypeAlias, TypeGuard

from hermes_memory.adapters.spool.database import PAGE_SIZE
from hermes_memory.adapters.spool.row import LATEST, Row, Totals

_LEAF: Final = 0x0D
_WAL_HEADER: Final = 32
_FRAME_HEADER: Final = 24
_HIGHEST_SEQUENCE: Final = 2**53
_TOTALS: Final = ("last_sequence", "delivered", "buried", "discarded", "refused")
_INTEGER_BYTES: Final = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}

Column: TypeAlias = "int | float | bytes | None"
Pages: TypeAlias = "dict[int, memoryview]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Carved:
    """What a file still holds.

    Attributes:
        rows: The sound ones by sequence.
        damaged: Those that have the shape of a row and are not what was written.
        totals: The highest of each that is on record, 0 when none is.
    """

    rows: dict[int, Row]
    damaged: list[Row]
    totals: Totals


def carve(path: Path) -> Carved:
    """Read every sound row of a database file and its journal, which need not exist.

    Raises:
        OSError: A file cannot be read.
    """
    pages = _pages(path)
    rows: dict[int, Row] = {}
    damaged: list[Row] = []
    totals = Totals()
    for rowid, columns in _records(pages):
        row = _row(rowid, columns)
        if row is not None and row.sound:
            rows[row.sequence] = row
        elif row is not None:
            damaged.append(row)
        totals = highest(totals, _counted(columns))
    return Carved(rows=rows, damaged=damaged, totals=highest(totals, Totals(last_sequence=max(rows, default=0))))


def highest(one: Totals, other: Totals) -> Totals:
    """Return the higher of each total: none of them ever falls."""
    return Totals(**{field.name: max(getattr(one, field.name), getattr(other, field.name)) for field in fields(Totals)})


def _pages(path: Path) -> Pages:
    """Return the pages by number from 1: those of the file, replaced by the committed ones of the journal."""
    content = memoryview(_read(path))
    pages = {
        offset // PAGE_SIZE + 1: content[offset : offset + PAGE_SIZE]
        for offset in range(0, len(content) - PAGE_SIZE + 1, PAGE_SIZE)
    }
    pages.update(_journal(memoryview(_read(path.with_name(f"{path.name}-wal")))))
    return pages


def _journal(content: memoryview) -> Pages:
    committed: Pages = {}
    written: Pages = {}
    salts = content[16:24]
    for offset in range(_WAL_HEADER, len(content) - _FRAME_HEADER - PAGE_SIZE + 1, _FRAME_HEADER + PAGE_SIZE):
        number, size_after_commit = struct.unpack_from(">II", content, offset)
        if content[offset + 8 : offset + 16] != salts:
            break
        start = offset + _FRAME_HEADER
        written[number] = content[start : start + PAGE_SIZE]
        if size_after_commit:
            committed.update(written)
            written.clear()
    return committed


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


def _records(pages: Pages) -> Iterator[tuple[int, list[Column]]]:
    for number, page in pages.items():
        start = 100 if number == 1 else 0
        if page[start] != _LEAF:
            continue
        (cells,) = struct.unpack_from(">H", page, start + 3)
        for index in range(min(cells, PAGE_SIZE // 4)):
            try:
                (pointer,) = struct.unpack_from(">H", page, start + 8 + 2 * index)
                yield _cell(page, pointer, pages)
            except (IndexError, KeyError, ValueError, struct.error):
                continue  # this cell is part of the damage


def _cell(page: memoryview, offset: int, pages: Pages) -> tuple[int, list[Column]]:
    size, offset = _varint(page, offset)
    rowid, offset = _varint(page, offset)
    local = _local_size(size)
    payload = bytes(page[offset : offset + local])
    if local < size:
        (following,) = struct.unpack_from(">I", page, offset + local)
        payload += _overflow(following, size - local, pages)
    if len(payload) != size:
        raise ValueError("short payload")
    return rowid, _columns(payload)


def _local_size(size: int) -> int:
    largest = PAGE_SIZE - 35
    if size <= largest:
        return size
    smallest = (PAGE_SIZE - 12) * 32 // 255 - 23
    fitting = smallest + (size - smallest) % (PAGE_SIZE - 4)
    return fitting if fitting <= largest else smallest


def _overflow(number: int, size: int, pages: Pages) -> bytes:
    parts: list[memoryview] = []
    while size > 0:
        page = pages[number]
        parts.append(page[4 : 4 + min(size, PAGE_SIZE - 4)])
        size -= PAGE_SIZE - 4
        (number,) = struct.unpack_from(">I", page)
    return b"".join(parts)


def _columns(payload: bytes) -> list[Column]:
    header_size, offset = _varint(payload, 0)
    columns: list[Column] = []
    position = header_size
    while offset < header_size:
        kind, offset = _varint(payload, offset)
        value, width = _value(kind, payload, position)
        columns.append(value)
        position += width
    return columns


def _value(kind: int, payload: bytes, position: int) -> tuple[Column, int]:
    if kind == 0:
        return None, 0
    if kind in _INTEGER_BYTES:
        width = _INTEGER_BYTES[kind]
        return int.from_bytes(payload[position : position + width], "big", signed=True), width
    if kind == 7:
        return struct.unpack_from(">d", payload, position)[0], 8
    if kind in (8, 9):
        return kind - 8, 0
    width = (kind - 12) // 2
    if kind < 12 or position + width > len(payload):
        raise ValueError("no such value")
    return payload[position : position + width], width


def _varint(data: bytes | memoryview, offset: int) -> tuple[int, int]:
    value = 0
    for index in range(8):
        byte = data[offset + index]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, offset + index + 1
    return value << 8 | data[offset + 8], offset + 9


def _row(rowid: int, columns: list[Column]) -> Row | None:
    match columns:
        case [
            None,
            bytes(operation),
            bytes(lane),
            int(),
            int(attempts),
            int() | float() as held_at,
            int() | float() as not_before,
            int() | float() | None as buried_at,
            bytes() | None as reason,
            bytes(checksum),
            bytes(body),
        ] if 0 < rowid < _HIGHEST_SEQUENCE:
            return Row(
                sequence=rowid,
                id=operation,
                lane=lane,
                attempts=max(attempts, 0),
                held_at=_moment(held_at),
                not_before=_moment(not_before),
                buried_at=None if buried_at is None else _moment(buried_at),
                reason=None if reason is None else reason.decode("utf-8", "replace"),
                checksum=checksum,
                body=body,
            )
    return None


def _moment(seconds: float) -> float:
    """Return a time that no checksum confirms, or the oldest one where damage made it none."""
    return float(seconds) if 0 <= seconds < LATEST else 0.0


def _counted(columns: list[Column]) -> Totals:
    """Read the counters; a file that an older version made ends after the first six columns."""
    match columns:
        case [None, int(last_sequence), int(), int(), int(), int(), *rest] if len(rest) in (0, len(_TOTALS) - 1):
            totals = [column for column in (last_sequence, *rest) if _possible(column)]
            if len(totals) == 1 + len(rest):
                return Totals(**dict(zip(_TOTALS, totals, strict=False)))
    return Totals()


def _possible(column: Column) -> TypeGuard[int]:
    return isinstance(column, int) and 0 <= column < _HIGHEST_SEQUENCE
