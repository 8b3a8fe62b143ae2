"""Grants, persons and themes of an in-memory store, as its owner sees and changes them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from hermes_memory.adapters.inmemory.records import Records
from hermes_memory.domain.grants import Grant, StandingGrant
from hermes_memory.domain.model import SINKS, ReadPolicy, Row, Subject, Theme
from hermes_memory.ports.granting import SubjectCounts, ThemeCounts

OPERATOR: Final = "in memory"
"""Who makes all grants here, where nobody logs in."""


class InMemoryGranting:
    """`Granting` over rows in memory."""

    def __init__(self, records: Records) -> None:
        self._records = records

    async def policy(self) -> ReadPolicy:
        """Return the read policy; see `Granting.policy`."""
        return self._records.policy

    async def grants(self) -> Sequence[StandingGrant]:
        """List all grants; see `Granting.grants`."""
        return sorted(self._records.grants.values(), key=lambda standing: _place(standing.grant))

    async def add(self, grant: Grant) -> bool:
        """Let a grant stand; see `Granting.add`."""
        key = grant.reader, grant.source
        is_new = key not in self._records.grants
        now = self._records.now()
        self._records.grants[key] = StandingGrant(grant=grant, granted_at=now, granted_by=OPERATOR)
        self._note("grants add", 1)
        return is_new

    async def revoke(self, grant: Grant) -> bool:
        """Take a grant back; see `Granting.revoke`."""
        revoked = self._records.grants.pop((grant.reader, grant.source), None) is not None
        self._note("grants revoke", int(revoked))
        return revoked

    async def subjects(self, only: Collection[Subject] | None = None) -> Sequence[SubjectCounts]:
        """Count what subjects have; see `Granting.subjects`."""
        records = self._records
        rows: list[Row] = [*records.entries.values(), *records.turns.values()]
        held = {row.subject for row in rows if row.subject} | set(records.persons.subjects)
        return [self._subject(subject) for subject in sorted(held if only is None else set(only))]

    async def merge(self, subjects: Collection[Subject]) -> int:
        """Let subjects be one person; see `Granting.merge`."""
        together = len(self._records.persons.merge(subjects))
        self._note("subjects merge", together)
        return together

    async def split(self, subject: Subject) -> bool:
        """Take a subject out of its person; see `Granting.split`."""
        was_one = self._records.persons.split(subject)
        self._note("subjects split", int(was_one))
        return was_one

    async def themes(self) -> Sequence[ThemeCounts]:
        """Count what each theme holds; see `Granting.themes`."""
        return [self._theme(theme) for theme in sorted(self._records.themes)]

    def _subject(self, subject: Subject) -> SubjectCounts:
        records = self._records
        entries = [entry.theme for entry in records.entries.values() if entry.subject == subject]
        turns = [turn.theme for turn in records.turns.values() if turn.subject == subject]
        return SubjectCounts(
            subject=subject,
            entries=len(entries),
            turns=len(turns),
            themes=len({*entries, *turns}),
            also=records.persons.of(subject) - {subject},
        )

    def _theme(self, theme: Theme) -> ThemeCounts:
        records = self._records
        entries = [entry.subject for entry in records.entries.values() if entry.theme == theme]
        turns = [turn.subject for turn in records.turns.values() if turn.theme == theme]
        sessions = [subject for held, subject, _ in records.turn_counts if held == theme]
        first_seen_at, last_seen_at = records.themes[theme]
        return ThemeCounts(
            theme=theme,
            governed=theme in SINKS,
            entries=len(entries),
            turns=len(turns),
            sessions=len(sessions),
            subjects=len({*entries, *turns, *sessions} - {None}),
            first_seen_at=first_seen_at,
            last_seen_at=last_seen_at,
        )

    def _note(self, verb: str, affected: int) -> None:
        self._records.note(verb, {"affected": affected})


def _place(grant: Grant) -> tuple[str, str, bytes]:
    theme, subject = ("", grant.reader) if isinstance(grant.reader, bytes) else (grant.reader, b"")
    return grant.source, theme, subject
