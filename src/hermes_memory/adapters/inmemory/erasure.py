"""Erases from an in-memory store."""

from __future__ import annotations

import secrets
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import assert_never
from uuid import uuid4

import anyio

from hermes_memory.adapters.inmemory.records import Records
from hermes_memory.domain.erasure import (
    Erasure,
    OneEntry,
    Proof,
    Told,
    WholeSession,
    WholeSubject,
    WholeTheme,
    concerns,
)
from hermes_memory.domain.history import Change
from hermes_memory.domain.model import SUBJECT_BYTES, Entry, Row, RowId, SessionId, Subject, Target, Theme
from hermes_memory.domain.operations import RecordDelegation
from hermes_memory.ports.erasure import Erased


class InMemoryEraser:
    """`Eraser` over rows in memory. Nothing is ever under way, so nothing has to be waited for."""

    def __init__(self, records: Records) -> None:
        self._records = records

    async def count(self, erasure: Erasure) -> Mapping[str, int]:
        """Count what would be erased; see `Eraser.count`."""
        rows = self._rows(erasure)
        records = self._records
        entries = sum(isinstance(row, Entry) for row in rows)
        return {
            "entries": entries,
            "turns": len(rows) - entries,
            "sessions": sum(_names(erasure, *key) for key in records.turn_counts),
            "delegations": len(self._delegations(erasure)),
            "changes": len(self._changes(erasure)),
            "vectors": sum(records.vectors_of(row.id) for row in rows),
            "jobs": sum(records.jobs_of(row.id) for row in rows),
            "postings": sum(len(records.lexemes[row.id]) for row in rows),
        }

    async def mirrored(self, erasure: Erasure) -> int:
        """Count what mirrors a home; see `Eraser.mirrored`."""
        return sum(isinstance(row, Entry) and row.source is not None for row in self._rows(erasure))

    async def companions(self, erasure: Erasure) -> frozenset[Subject]:
        """Return the other subjects of the same person; see `Eraser.companions`."""
        if not isinstance(erasure, WholeSubject):
            return frozenset()
        return self._records.persons.of(erasure.subject) - {erasure.subject}

    async def shared(self, erasure: Erasure) -> int:
        """Count what was noted for everybody in talk with the person; see `Eraser.shared`."""
        if not isinstance(erasure, WholeSubject):
            return 0
        told = [change for change in self._records.history if not change.erased and change.target is not None]
        entries = self._records.entries.values()
        written = [
            *((theme, subject, session, None) for theme, subject, session in self._records.turn_counts),
            *((entry.theme, entry.subject, entry.session, entry.id) for entry in entries),
            *((change.theme, change.subject, change.session, change.row) for change in told),
        ]
        talks = {(theme, session) for theme, subject, session, _ in written if subject in erasure.subjects and session}
        return len(
            {row for theme, subject, session, row in written if not subject and (theme, session) in talks} - {None}
        )

    async def texts(self, erasure: Erasure) -> frozenset[Told]:
        """Return what the one entry says and said; see `Eraser.texts`."""
        if not isinstance(erasure, OneEntry):
            return frozenset()
        return frozenset(self._texts(erasure.row))

    async def settle(self, timeout: float) -> bool:
        """Wait for the writes under way; see `Eraser.settle`."""
        with anyio.move_on_after(timeout):
            for write in tuple(self._records.under_way):
                await write.wait()
            return True
        return False

    async def erase(self, erasure: Erasure, progress: Callable[[int], object] = lambda _: None) -> Erased:
        """Erase, then ask what is left; see `Eraser.erase`."""
        counts = Counter(await self.count(erasure))
        records, changes = self._records, self._changes(erasure)
        for index in changes:
            left_over = records.history[index].without_texts()
            nobody = Subject(secrets.token_bytes(SUBJECT_BYTES)) if left_over.subject else None
            records.history[index] = replace(left_over, subject=nobody)
        for row in self._rows(erasure):
            if isinstance(row, Entry):
                records.drop_entry(row.id)
            else:
                records.erase_turn(row.id)
        for key in [key for key in records.turn_counts if _names(erasure, *key)]:
            del records.turn_counts[key]
            records.forgotten_turns.pop(key, None)
        for delegation in self._delegations(erasure):
            records.delegations.remove(delegation)
        if isinstance(erasure, WholeTheme):
            records.themes.pop(erasure.theme, None)
        for subject in erasure.subjects if isinstance(erasure, WholeSubject) else ():
            records.persons.split(subject)
        records.erased_at = time.monotonic()
        progress(counts.total())
        left = await self.count(erasure)
        proofs = [Proof(store=name, query=f"all {name}", remaining=remaining) for name, remaining in left.items()]
        return Erased(id=uuid4(), counts=counts, proofs=proofs)

    def _rows(self, erasure: Erasure) -> Sequence[Row]:
        rows: list[Row] = [*self._records.entries.values(), *self._records.turns.values()]
        if isinstance(erasure, OneEntry):
            return [row for row in rows if row.id == erasure.row and isinstance(row, Entry)]
        return [row for row in rows if _names(erasure, row.theme, row.subject, row.session)]

    def _changes(self, erasure: Erasure) -> Sequence[int]:
        """Return where in history the changes stand that lose their texts: all those of a memory, or none of them."""
        history = self._records.history
        if isinstance(erasure, OneEntry):
            rows = {erasure.row} | self._telling(erasure.row)
        else:
            rows = {c.row for c in history if not c.erased and _names(erasure, c.theme, c.subject, c.session)}
        return self._records.told_of(rows)

    def _telling(self, row: RowId) -> set[RowId]:
        """Return the other memories whose history tells a text of this one, of the same theme, subject and target."""
        texts = self._texts(row)
        told = [change for change in self._records.history if not change.erased]
        return {change.row for change in told if change.merged_into == row or texts & _told(change)}

    def _texts(self, row: RowId) -> set[Told]:
        entry = self._records.entries.get(row)
        texts = {_text(entry, entry.target, entry.content)} if entry else set()
        return texts.union(*(_told(change) for change in self._records.history if change.row == row))

    def _delegations(self, erasure: Erasure) -> Sequence[RecordDelegation]:
        return [each for each in self._records.delegations if concerns(erasure, each)]


def _told(change: Change) -> set[Told]:
    """Return the texts that a change tells; none of what was said, nor of what was erased."""
    texts = (text for text in (change.before, change.after) if text is not None)
    return {_text(change, change.target, text) for text in texts if change.target is not None}


def _text(of: Entry | Change, target: Target, text: str) -> Told:
    return Told(theme=of.theme, subject=of.subject, target=target, text=text)


def _names(erasure: Erasure, theme: Theme, subject: Subject | None, session: SessionId | None) -> bool:
    """Tell whether an erasure of more than an entry names this place."""
    match erasure:
        case WholeSubject():
            return subject in erasure.subjects
        case WholeTheme():
            return theme == erasure.theme
        case WholeSession():
            return session in erasure.names and erasure.theme in {None, theme}
        case OneEntry():
            return False
        case _:
            assert_never(erasure)
