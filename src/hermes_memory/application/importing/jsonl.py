"""Importing JSON lines as `hermes_memory.application.exporting.jsonl` writes them, or as somebody else does."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Final

from hermes_memory.application.exporting.jsonl import END, HEAD
from hermes_memory.application.importing.records import RecordPreparing, unvouched
from hermes_memory.application.preparing import Preparing
from hermes_memory.domain.archive import FORMAT_VERSION, Archived, EmbeddingModel, archived_kind
from hermes_memory.domain.archive_lines import record_of
from hermes_memory.domain.errors import DeliveryRejected, InvalidInput
from hermes_memory.ports.archive import Archive

BATCH: Final = 500
BATCH_BYTES: Final = 4_194_304
LINE_MAX_BYTES: Final = 67_108_864
"""Far more than a line of an export takes: texts, metadata and vectors are bounded."""
ANOTHER_MODEL: Final = "the vectors are of another model or length of parts than those in use: new ones are made"
NO_MODEL: Final = "the vectors are left out: no embedder is in use here"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A line that was not imported, counted from 1, and why; its content is never quoted."""

    line: int
    reason: str


@dataclass(slots=True, kw_only=True)
class Imported:
    """What an import did. `read` is the sum of what is `new`, `known`, `altered`, `refused` and `missing`.

    Attributes:
        read: Lines that stand for a record.
        new: Stored now, by kind.
        known: There before, with the same text.
        altered: There before, and changed since the file was written.
        missing: Lines whose record is not to be found after it was stored.
        mended: Records of which a text was cleaned, or a secret taken out.
        unvouched: Records that say to be worth more than an import, or bring vectors or marks of what was
            forgotten, and were not believed.
        whole: Whether the file's end was there and vouches for all lines before it.
    """

    read: int = 0
    new: Counter[str] = field(default_factory=Counter)
    known: int = 0
    altered: int = 0
    mended: int = 0
    unvouched: int = 0
    refused: list[Refused] = field(default_factory=list)
    missing: list[int] = field(default_factory=list)
    whole: bool = False
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    number: int
    record: Archived


class JsonlImport:
    """Imports one file. Stopped at any point it can be run again: what is there is left as it is."""

    def __init__(
        self,
        archive: Archive,
        preparing: Preparing,
        *,
        restoring: bool = False,
        dry_run: bool = False,
        progress: Callable[[int], object] = lambda _: None,
    ) -> None:
        """Import into `archive`; a `dry_run` reads and checks, and stores nothing.

        Who wrote what is believed when `restoring`, for which an operator vouches: the file is an export of a memory of
        theirs. Otherwise each record is kept as `unvouched` returns it.
        """
        self._archive = archive
        self._records = RecordPreparing(preparing)
        self._restoring = restoring
        self._dry_run = dry_run
        self._progress = progress
        self._digest = hashlib.sha256()
        self._told: dict[str, Any] = {}
        self._vectors = False
        self.done = Imported()

    async def run(self, lines: Iterable[bytes]) -> Imported:
        """Import the lines of a file, each with its end; of a file that may be hostile, by `bounded_lines`.

        Raises:
            InvalidInput: It begins with no head that this version understands.
            StoreUnavailable, SchemaNotApplied: The database does not take it; run it again.
        """
        numbered = self._numbered(lines)
        await self._begin(next(numbered, (0, b""))[1])
        if not self._dry_run:
            await self._archive.begin()
        for batch in self._batches(numbered):
            await self._store(batch)
            self._progress(len(batch))
        self._check_end()
        if not self._dry_run:
            await self._archive.end(self.done.new, whole=bool(self._told))
        return self.done

    async def _begin(self, line: bytes) -> None:
        head = _parsed(line)
        if head is None or head.get("kind") != HEAD:
            raise InvalidInput("the first line is no head of an export of this memory: is this another file?")
        if head.get("version") != FORMAT_VERSION:
            raise InvalidInput(f"this version reads exports of version {FORMAT_VERSION}: import it with a newer one")
        self._digest.update(line)
        made_by = _model(head.get("vectors"))
        if made_by is not None and self._restoring:
            in_use = await self._archive.model()
            self._vectors = made_by == in_use
            if not self._vectors:
                self.done.notes.append(NO_MODEL if in_use is None else ANOTHER_MODEL)

    def _numbered(self, pieces: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
        """Count lines from 1, and refuse those that are too long, of whatever pieces they consist."""
        number, inside = 0, False
        for piece in pieces:
            number += not inside
            if not inside and len(piece) <= LINE_MAX_BYTES:
                yield number, piece
                continue
            self._digest.update(piece)
            if not inside:
                self._told = {}
                self.done.read += 1
                self._refuse(number, f"the line is longer than {LINE_MAX_BYTES:,} bytes")
            inside = not piece.endswith(b"\n")

    def _refuse(self, number: int, reason: str) -> None:
        self.done.refused.append(Refused(line=number, reason=reason))

    def _batches(self, numbered: Iterable[tuple[int, bytes]]) -> Iterator[list[_Line]]:
        batch: list[_Line] = []
        size = 0
        for number, line in numbered:
            if not line.strip():
                self._digest.update(line)
                continue
            if (record := self._record(number, line)) is not None:
                batch.append(_Line(number=number, record=record))
                size += len(line)
            if len(batch) >= BATCH or size >= BATCH_BYTES:
                yield batch
                batch, size = [], 0
        if batch:
            yield batch

    def _record(self, number: int, line: bytes) -> Archived | None:
        parsed = _parsed(line)
        if parsed is not None and parsed.get("kind") == END:
            self._told = {**parsed, "found": self._digest.hexdigest(), "read": self.done.read}
            return None
        self._told = {}  # an end is the last line
        self._digest.update(line)
        self.done.read += 1
        try:
            if parsed is None:
                raise InvalidInput("this is no JSON object")
            record = record_of(parsed)
            prepared = self._records.prepared(record)
        except InvalidInput as error:
            self._refuse(number, str(error))
            return None
        self.done.mended += prepared != record
        kept = prepared if self._restoring else unvouched(prepared)
        self.done.unvouched += kept != prepared
        return kept

    async def _store(self, batch: Sequence[_Line]) -> None:
        """Store a batch; of one that the database refuses, all but the lines that it refuses singly."""
        if self._dry_run:
            self.done.new.update(archived_kind(each.record) for each in batch)
            return
        try:
            receipt = await self._archive.store([each.record for each in batch], vectors=self._vectors)
        except DeliveryRejected as error:
            if len(batch) == 1:
                self._refuse(batch[0].number, str(error))
                return
            middle = len(batch) // 2
            await self._store(batch[:middle])
            await self._store(batch[middle:])
            return
        self.done.new.update(receipt.new)
        self.done.known += receipt.known
        self.done.altered += receipt.altered
        self.done.missing += [batch[place].number for place in receipt.missing]

    def _check_end(self) -> None:
        if not self._told:
            self.done.notes.append("the file has no end: it was cut short, or is still being written")
        elif self._told.get("sha256") != self._told["found"]:
            self.done.notes.append("the file was changed since it was written: its checksum does not hold")
        else:
            self.done.whole = True


def bounded_lines(file: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of a file, those that are too long in pieces, so that none of them fills the memory."""
    return iter(lambda: file.readline(LINE_MAX_BYTES + 1), b"")


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _model(told: object) -> EmbeddingModel | None:
    if (
        not isinstance(told, dict)
        or not isinstance(told.get("model"), str)
        or not isinstance(told.get("dimension"), int)
    ):
        return None
    parts = told.get("part_tokens")
    return EmbeddingModel(
        name=told["model"], dimension=told["dimension"], part_tokens=parts if isinstance(parts, int) else None
    )
