"""Reading rows out of a damaged SQLite file without SQLite: every page is looked at, whatever points to it.

The layout of pages, cells, records and the journal is that of https://www.sqlite.org/fileformat2.html. A row counts
only when its checksum confirms it, so a page that merely looks like one of ours gives nothing.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from hermes_memory.adapters.spool.database import PAGE_SIZE
from hermes_memory.adapters.spool.row import Row

_LEAF: Final = 0x0D
_WAL_HEADER: Final = 32
_FRAME_HEADER: Final = 24
_HIGHEST_SEQUENCE: Final = 2**53
_INTEGER_BYTES: Final = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}

Column: TypeAlias = "int | float | bytes | None"
Pages: TypeAlias = "dict[int, memoryview]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Carved:
    """What a file still holds.

    Attributes:
        rows: By sequence.
        last_sequence: The highest sequence that is on record, 0 when none is.
    """

    rows: dict[int, Row]
    last_sequence: int


def carve(path: Path) -> Carved:
    """Read every sound row of a database file and its journal, which need not exist.

    Raises:
        OSError: A file cannot be read.
    """
    pages = _pages(path)
    rows: dict[int, Row] = {}
    last_sequence = 0
    for rowid, columns in _records(pages):
        row = _row(rowid, columns)
        if row is not None:
            rows[row.sequence] = row
        last_sequence = max(last_sequence, _counted(columns))
    return Carved(rows=rows, last_sequence=max([last_sequence, *rows]))


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
            row = Row(
                sequence=rowid,
                id=operation,
                lane=lane,
                attempts=attempts,
                held_at=float(held_at),
                not_before=float(not_before),
                buried_at=None if buried_at is None else float(buried_at),
                reason=None if reason is None else reason.decode("utf-8", "replace"),
                checksum=checksum,
                body=body,
            )
            return row if row.sound else None
    return None


def _counted(columns: list[Column]) -> int:
    match columns:
        case [None, int(last_sequence), int(), int(), int(), int()] if 0 <= last_sequence < _HIGHEST_SEQUENCE:
            return last_sequence
    return 0
