"""What must be true of the rows that a trial left, whoever wrote them and in whichever order."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from hermes_memory.adapters.inmemory.embedder import hashed_vector
from hermes_memory.domain.chunks import ChunkPolicy
from hermes_memory.domain.embedded_text import embedded_parts
from hermes_memory.domain.model import OperationId, RowId, SessionId, Subject, Theme
from hermes_memory.domain.operations import Effect, Operation, RecordDelegation, RecordTurns, row_id
from tests.support.evidence import Evidence, StoredChange, StoredTurn

Session: TypeAlias = tuple[Theme, Subject | None, SessionId]

ALIKE: Final = 0.99
"""Cosine from which a stored vector, of half precision, counts as that of a text."""
_CHANGES: Final = {Effect.STORED: "added", Effect.REPLACED: "replaced", Effect.REMOVED: "removed"}


def numbering(turns: Iterable[StoredTurn]) -> Iterator[str]:
    """Yield the sessions whose turns are not numbered from 0 without a gap."""
    numbered: defaultdict[Session, list[int]] = defaultdict(list)
    for turn in turns:
        numbered[turn.theme, turn.subject, turn.session].append(turn.position)
    for session, taken in numbered.items():
        if sorted(taken) != list(range(len(taken))):
            yield f"misnumbered: the turns of {session} have the positions {sorted(taken)}"


def turns_in_order(positions: Mapping[RowId, int], operations: Iterable[RecordTurns]) -> Iterator[str]:
    """Yield the turns of one home that are missing, or stand before one that it accepted earlier."""
    latest: dict[Session, int] = {}
    for operation in operations:
        caller = operation.stamp.caller
        assert caller.session is not None
        session = (caller.theme, caller.subject, caller.session)
        for index in range(len(operation.turns)):
            position = positions.get(row_id(operation.stamp.operation, index))
            if position is None:
                yield f"missing turn: {operation.stamp.operation}, the one at {index}"
            elif position <= latest.get(session, -1):
                yield f"out of order: the turn at {position} of {session} was accepted after a later one"
            else:
                latest[session] = position


def history(operations: Mapping[OperationId, Operation], evidence: Evidence) -> Iterator[str]:
    """Yield effects on entries that are not in the history once, and rows that their history does not lead to."""
    noted = Counter((change.operation, change.change) for change in evidence.changes)
    due = Counter(
        (operation, _CHANGES[effect])
        for operation, (effect, _) in evidence.outcomes.items()
        if effect in _CHANGES and not isinstance(operations.get(operation), RecordTurns | RecordDelegation | None)
    )
    for (operation, change), times in (due - noted).items():
        yield f"history: {operation} has no line of what it {change}, by {times}"
    for (operation, change), times in (noted - due).items():
        yield f"history: {operation} has a line too many of what it {change}, by {times}"
    lines: defaultdict[RowId, list[StoredChange]] = defaultdict(list)
    for line in evidence.changes:
        lines[line.row].append(line)
    contents = {entry.id: entry.content for entry in evidence.entries}
    for row in set(lines) | set(contents):
        ends = {line.new for line in lines[row] if evidence.outcomes.get(line.operation, (None, row))[1] != row}
        if reason := _chain(lines[row], contents.get(row), ends):
            yield f"history: row {row} {reason}"


def _chain(lines: Sequence[StoredChange], content: str | None, ends: set[str | None]) -> str | None:
    """Say why the changes of one row do not lead to its content, None when they do.

    Args:
        ends: What it was changed into where another row held that already: it gave way to that one.
    """
    if sum(line.change == "added" for line in lines) != 1:
        return "was not added just once"
    balance = Counter(line.new for line in lines if line.new is not None)
    balance.subtract(line.old for line in lines if line.old is not None)
    left = {text: count for text, count in balance.items() if count}
    if content is not None:
        return None if left == {content: 1} else f"holds {content!r}, and its history leaves {left}"
    gave_way = len(left) == 1 and set(left.values()) == {1} and set(left) <= ends
    return None if not left or gave_way else f"is gone, and its history leaves {left}"


def index(evidence: Evidence) -> Iterator[str]:
    """Yield what is wrong with the text index."""
    if evidence.index_errors:
        yield f"index: {evidence.index_errors} themes and shelves have other words than their rows"


def vectors(evidence: Evidence) -> Iterator[str]:
    """Yield rows without the vector of their present text and surroundings, and vectors without a row."""
    if evidence.vectors is None:
        return
    texts = embedded_texts(evidence)
    for row in set(texts) - set(evidence.vectors):
        yield f"no vector: {texts[row]!r}"
    for row in set(evidence.vectors) - set(texts):
        yield f"vector of nothing: {row}"
    for row, vector in evidence.vectors.items():
        if row in texts and _cosine(vector, hashed_vector(texts[row], len(vector))) < ALIKE:
            yield f"stale vector: {texts[row]!r}"


def embedded_texts(evidence: Evidence) -> dict[RowId, str]:
    """Return what is embedded first of each row: of a turn, it begins with the end of the turn before it."""
    texts = {entry.id: entry.content for entry in evidence.entries}
    at = {(turn.theme, turn.subject, turn.session, turn.position): turn for turn in evidence.turns}
    for (theme, subject, session, position), turn in at.items():
        before = at.get((theme, subject, session, position - 1))
        texts[turn.id] = embedded_parts(turn.content, ChunkPolicy(), before.content if before else "")[0]
    return texts


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    product = sum(a * b for a, b in zip(one, other, strict=True))
    return product / (math.hypot(*one) * math.hypot(*other))
