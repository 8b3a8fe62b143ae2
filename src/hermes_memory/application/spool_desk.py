"""What an operator sees of a spool and does to it. No database is asked, and agents may run meanwhile."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, assert_never
from uuid import UUID

from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.model import OperationId
from hermes_memory.domain.neutralising import neutralise
from hermes_memory.domain.operations import (
    AddEntry,
    ByContent,
    BySubstring,
    Operation,
    RecordDelegation,
    RecordTurns,
    RemoveEntry,
    ReplaceEntry,
    Selector,
    lane_of,
)
from hermes_memory.domain.redaction import redact
from hermes_memory.ports.spool import Kept, Spool

PAGE: Final = 200
UNREADABLE: Final = "unreadable"
_KINDS: Final[Mapping[type, str]] = {
    AddEntry: "add",
    ReplaceEntry: "replace",
    RemoveEntry: "remove",
    RecordTurns: "turns",
    RecordDelegation: "delegation",
}


class Standing(StrEnum):
    """How an operation stands: it may be delivered, is held back for a time, or is a dead letter."""

    WAITING = "waiting"
    HELD = "held"
    DEAD = "dead"


def standing_of(kept: Kept) -> Standing:
    """Tell how an operation stands."""
    if kept.buried_at is not None:
        return Standing.DEAD
    return Standing.WAITING if kept.held_until is None else Standing.HELD


def walk(spool: Spool, *, after: int = 0, standing: Standing | None = None) -> Iterator[Kept]:
    """Yield what a spool keeps in the order of acceptance, a page at a time, so that a large one fits into memory."""
    while page := spool.kept(PAGE, after=after):
        yield from (kept for kept in page if standing is None or standing_of(kept) is standing)
        after = page[-1].sequence


def facts_of(kept: Kept, *, content: bool = False) -> dict[str, Any]:
    """Describe an operation without saying who talks and, unless asked, without what was said.

    Args:
        content: Tell the texts too, with credentials taken out once more.
    """
    operation = kept.operation
    facts: dict[str, Any] = {
        "id": kept.id,
        "sequence": kept.sequence,
        "state": standing_of(kept),
        "kind": UNREADABLE if operation is None else _KINDS[type(operation)],
        "theme": None if operation is None else operation.stamp.caller.theme,
        "private": None if operation is None else operation.stamp.caller.subject is not None,
        "lane": None if operation is None else _lane(operation),
        "accepted_at": None if operation is None else operation.stamp.accepted_at,
        "attempts": kept.attempts,
        "bytes": len(kept.body),
        "held_until": kept.held_until,
        "buried_at": kept.buried_at,
        "reason": kept.reason,
    }
    if content:
        texts = () if operation is None else _texts(operation)
        facts["content"] = [neutralise(redact(text).text) for text in texts if text]
    return facts


def export_lines(spool: Spool, *, standing: Standing | None = None) -> Iterator[str]:
    """Yield one JSON text for each operation, complete: everything that was to be stored is in it."""
    for kept in walk(spool, standing=standing):
        yield json.dumps(
            {
                "id": str(kept.id),
                "sequence": kept.sequence,
                "state": standing_of(kept),
                "attempts": kept.attempts,
                "buried_at": None if kept.buried_at is None else kept.buried_at.isoformat(),
                "reason": kept.reason,
                **_body(kept),
            }
        )


def named(ids: Sequence[str]) -> list[OperationId]:
    """Read ids as an operator types them.

    Raises:
        InvalidInput: One of them is no id.
    """
    found = []
    for name in ids:
        try:
            found.append(OperationId(UUID(name)))
        except ValueError as error:
            raise InvalidInput(f"{name!r} is no id: `spool list` shows them", field="id") from error
    return found


def strange(spool: Spool, ids: Sequence[OperationId], *, standing: Standing | None = None) -> Sequence[OperationId]:
    """Return which of the ids the spool does not keep, or not in that standing, each once."""
    if not ids:
        return ()
    there = {kept.id for kept in walk(spool, standing=standing)}
    return [one for one in dict.fromkeys(ids) if one not in there]


def doomed(spool: Spool, ids: Sequence[OperationId], *, waiting: bool) -> list[OperationId]:
    """Return what a purge drops: those of the ids that are kept, or else all dead letters.

    Args:
        waiting: Drop what waits as well.
    """
    if ids:
        wanted = set(ids)
        return [kept.id for kept in walk(spool) if kept.id in wanted]
    return [kept.id for kept in walk(spool) if waiting or standing_of(kept) is Standing.DEAD]


def drop(spool: Spool, operations: Sequence[OperationId], *, dead_only: bool) -> int:
    """Drop operations undelivered, so many at a time that agents are not held up; return how many were there.

    Args:
        dead_only: Spare what another operator put back in line since it was looked up.
    """
    parts = (operations[start : start + PAGE] for start in range(0, len(operations), PAGE))
    return sum(spool.discard(part, dead_only=dead_only) for part in parts)


def _lane(operation: Operation) -> str:
    """Return a mark that operations of one lane share. The lane's own name tells who talks."""
    return hashlib.sha256(lane_of(operation).encode("utf-8", "surrogatepass")).hexdigest()[:8]


def _texts(operation: Operation) -> Sequence[str]:
    match operation:
        case AddEntry():
            return (operation.content,)
        case ReplaceEntry():
            return (_selected(operation.selector), operation.content)
        case RemoveEntry():
            return (_selected(operation.selector),)
        case RecordTurns():
            return [turn.content for turn in operation.turns]
        case RecordDelegation():
            return (operation.task, operation.result)
        case _:
            assert_never(operation)


def _selected(selector: Selector) -> str:
    match selector:
        case ByContent():
            return selector.content
        case BySubstring():
            return selector.text
        case _:
            return ""


def _body(kept: Kept) -> dict[str, Any]:
    """Return the operation as it is encoded, or what is left of a damaged one."""
    if kept.operation is None:
        return {"operation": None, "damaged": base64.b64encode(kept.body).decode("ascii")}
    return {"operation": json.loads(kept.body.decode("utf-8", "surrogatepass"))}
