"""Exporting to JSON lines: a head, one line a record, and an end that tells whether the file is whole."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from hermes_memory.domain.archive import FORMAT_VERSION, KINDS, archived_kind
from hermes_memory.domain.archive_lines import json_line, line_of
from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.model import Theme
from hermes_memory.ports.archive import Snapshot

HEAD: Final = "hermes-memory"
END: Final = "end"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """What an export wrote: records by kind, and the SHA-256 of all lines before the last one, in hexadecimal."""

    counts: Mapping[str, int]
    sha256: str


class Writer:
    """Writes lines and remembers what they were."""

    def __init__(self, write: Callable[[bytes], object]) -> None:
        """Write to `write`."""
        self._write = write
        self._digest = hashlib.sha256()
        self.counts = dict.fromkeys(KINDS, 0)

    def line(self, line: bytes) -> None:
        """Write a line that the end will vouch for."""
        self._digest.update(line)
        self._write(line)

    def end(self) -> Exported:
        """Write the end."""
        done = Exported(counts=dict(self.counts), sha256=self._digest.hexdigest())
        self._write(json_line({"kind": END, "counts": done.counts, "sha256": done.sha256}))
        return done


async def export_jsonl(
    snapshot: Snapshot,
    write: Callable[[bytes], object],
    *,
    theme: Theme | None = None,
    vectors: bool = False,
    progress: Callable[[int], object] = lambda _: None,
) -> Exported:
    """Write a snapshot. The same memory gives the same bytes, wherever it lies.

    Args:
        write: Takes the lines, each with its end.
        theme: The only theme to write; all by default.
        vectors: Whether vectors are written too.
        progress: Hears how many records were written.

    Raises:
        InvalidInput: There is no such theme.
        StoreUnavailable, SchemaNotApplied: The memory cannot be read.
    """
    themes = await snapshot.themes()
    if theme is not None:
        if theme not in themes:
            raise InvalidInput(f"there is no theme '{theme}'", field="theme")
        themes = [theme]
    writer = Writer(write)
    writer.line(json_line(await _head(snapshot, theme, vectors=vectors)))
    for each in themes:
        async for record in snapshot.records(each, vectors=vectors):
            writer.line(line_of(record))
            writer.counts[archived_kind(record)] += 1
            progress(1)
    return writer.end()


async def _head(snapshot: Snapshot, theme: Theme | None, *, vectors: bool) -> dict[str, Any]:
    model = await snapshot.model() if vectors else None
    told = None
    if model is not None:
        told = {"model": model.name, "dimension": model.dimension, "part_tokens": model.part_tokens}
    return {"kind": HEAD, "version": FORMAT_VERSION, "theme": theme, "vectors": told}
