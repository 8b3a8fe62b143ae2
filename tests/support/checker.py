"""Judges a trial: whether what the store holds is what the accepted writes, in the order of acceptance, lead to.

The measure is the in-memory store, which the contract suites hold to the same promises: it is given what each home
accepted, once and in order, and must come out with the rows and outcomes that the trial left. A theme that several
homes write has no common order; there each row's history must lead to what is stored, and each home's turns must keep
their order.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, TypeVar

from hermes_memory.adapters.inmemory.delivery import InMemoryDelivery
from hermes_memory.adapters.inmemory.records import Records
from hermes_memory.domain.model import Entry, OperationId, ReadPolicy, Theme, Turn
from hermes_memory.domain.operations import Operation, RecordTurns
from tests.support import row_checks
from tests.support.evidence import Evidence, StoredEntry, StoredTurn
from tests.support.journal import Event

Row = TypeVar("Row", StoredEntry, StoredTurn)

MOST_REASONS: Final = 12
"""Reasons of a kind that are spelt out; the rest is counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """VALID, or INVALID with the reasons.

    Attributes:
        accepted: How many operations were accepted.
        unanswered: How many of these whose caller never heard so.
    """

    reasons: tuple[str, ...]
    accepted: int
    unanswered: int

    @property
    def valid(self) -> bool:
        return not self.reasons

    def __str__(self) -> str:
        head = f"{'VALID' if self.valid else 'INVALID'}: {self.accepted} accepted, {self.unanswered} of them unanswered"
        return "\n  ".join((head, *self.reasons))


@dataclass(slots=True)
class _Accepted:
    """What the journals tell."""

    operations: dict[OperationId, Operation] = field(default_factory=dict)
    homes: dict[OperationId, str] = field(default_factory=dict)
    answered: set[OperationId] = field(default_factory=set)
    refused: set[OperationId] = field(default_factory=set)
    places: dict[OperationId, int] = field(default_factory=dict)
    moved: set[OperationId] = field(default_factory=set)

    def in_order(self, home: str) -> list[Operation]:
        """Return what a home accepted, in the order of acceptance."""
        mine = [operation for operation in self.places if self.homes.get(operation) == home]
        return [self.operations[each] for each in sorted(mine, key=self.places.__getitem__)]


async def judge(events: Sequence[Event], evidence: Evidence) -> Verdict:
    """Compare what was accepted with what is stored."""
    accepted = _read(events)
    writers: defaultdict[Theme, set[str]] = defaultdict(set)
    for operation in accepted.places:
        if operation in accepted.operations:
            writers[accepted.operations[operation].stamp.caller.theme].add(accepted.homes[operation])
    alone = {theme for theme, homes in writers.items() if len(homes) == 1}
    reasons = [
        *_shortened(_acceptance(accepted, events)),
        *_shortened(_delivery(accepted, evidence)),
        *_shortened(await _replayed(accepted, evidence, alone)),
        *_shortened(_in_common(accepted, evidence, alone)),
        *_shortened(row_checks.history(accepted.operations, evidence)),
        *_shortened(row_checks.vectors(evidence)),
        *_shortened(row_checks.index(evidence)),
    ]
    known = accepted.answered | set(accepted.places)
    return Verdict(reasons=tuple(reasons), accepted=len(known), unanswered=len(known - accepted.answered))


def _read(events: Sequence[Event]) -> _Accepted:
    told = _Accepted()
    for event in events:
        if event.step == "invoke" and event.body is not None:
            told.operations[event.operation] = event.body
            told.homes[event.operation] = event.home
        elif event.step == "ok":
            told.answered.add(event.operation)
        elif event.step == "refused":
            told.refused.add(event.operation)
        elif event.sequence is not None and event.sequence != told.places.setdefault(event.operation, event.sequence):
            told.moved.add(event.operation)
    return told


def _acceptance(accepted: _Accepted, events: Sequence[Event]) -> Iterator[str]:
    """The spool: what it accepted it hands out, at one place, and places follow the order of time."""
    for operation in accepted.answered - set(accepted.places):
        yield f"lost: {operation} was accepted and never handed out"
    for operation in accepted.refused & set(accepted.places):
        yield f"kept: {operation} was refused and handed out"
    for operation in set(accepted.places) - set(accepted.operations):
        yield f"unknown: {operation} was handed out and never handed in"
    for operation in accepted.moved:
        yield f"moved: {operation} had two places in the order"
    latest: dict[str, int] = defaultdict(int)
    behind: dict[OperationId, int] = {}
    for event in events:
        if event.step == "ok":
            latest[event.home] = max(latest[event.home], accepted.places.get(event.operation, 0))
        elif event.step == "invoke":
            behind[event.operation] = latest[event.home]
    for operation, place in accepted.places.items():
        if place <= behind.get(operation, 0):
            yield f"overtaken: {operation} has a place before one that was accepted earlier"


def _delivery(accepted: _Accepted, evidence: Evidence) -> Iterator[str]:
    """Everything accepted had its effect, and nothing else did."""
    for operation, reason in evidence.dead.items():
        yield f"set aside: {operation}, {reason}"
    for operation in set(accepted.places) | accepted.answered:
        if operation not in evidence.outcomes and operation not in evidence.dead:
            yield f"lost: {operation} was accepted and had no effect"
    for operation in set(evidence.outcomes) - set(accepted.places):
        yield f"phantom: {operation} had an effect and was never accepted"


async def _replayed(accepted: _Accepted, evidence: Evidence, alone: set[Theme]) -> list[str]:
    """Themes of one home: outcomes and rows are those of the order of acceptance."""
    records = Records(analyze=str.split, now=lambda: datetime.now(UTC), policy=ReadPolicy.OPEN)
    delivery = InMemoryDelivery(records)
    reasons = []
    for home in sorted(set(accepted.homes.values())):
        for operation in accepted.in_order(home):
            key = operation.stamp.operation
            if operation.stamp.caller.theme not in alone or key in evidence.dead:
                continue
            (due,) = await delivery.apply([operation])
            found = evidence.outcomes.get(key)
            if found is not None and found != (due.effect, due.row):
                reasons.append(f"out of order: {type(operation).__name__} {key} did {found[0]}, not {due.effect}")
    entries = [as_stored_entry(entry) for entry in records.entries.values()]
    turns = [as_stored_turn(turn) for turn in records.turns.values()]
    reasons += _difference("entry", entries, [entry for entry in evidence.entries if entry.theme in alone])
    reasons += _difference("turn", turns, [turn for turn in evidence.turns if turn.theme in alone])
    return reasons


def _difference(what: str, due: Sequence[Row], found: Sequence[Row]) -> Iterator[str]:
    for row in (Counter(due) - Counter(found)).elements():
        yield f"missing {what}: {row}"
    for row in (Counter(found) - Counter(due)).elements():
        yield f"stale, doubled or resurrected {what}: {row}"


def _in_common(accepted: _Accepted, evidence: Evidence, alone: set[Theme]) -> Iterator[str]:
    """Themes of several homes: each turn is there once, numbered without a gap, and each home's are in its order."""
    common = [turn for turn in evidence.turns if turn.theme not in alone]
    positions = {turn.id: turn.position for turn in common}
    yield from row_checks.numbering(common)
    for home in sorted(set(accepted.homes.values())):
        yield from row_checks.turns_in_order(
            positions,
            [
                operation
                for operation in accepted.in_order(home)
                if isinstance(operation, RecordTurns)
                and operation.stamp.caller.theme not in alone
                and operation.stamp.operation not in evidence.dead
            ],
        )


def as_stored_entry(entry: Entry) -> StoredEntry:
    return StoredEntry(
        id=entry.id, theme=entry.theme, subject=entry.subject, target=entry.target, content=entry.content
    )


def as_stored_turn(turn: Turn) -> StoredTurn:
    return StoredTurn(
        id=turn.id,
        theme=turn.theme,
        subject=turn.subject,
        session=turn.session,
        role=turn.role,
        content=turn.content,
        position=turn.position,
    )


def _shortened(reasons: Iterable[str]) -> list[str]:
    told = list(reasons)
    more = len(told) - MOST_REASONS
    return told if more <= 0 else [*told[:MOST_REASONS], f"... and {more} more like that"]
