"""Remembers which operations had their effect, so that each has it once."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import TYPE_CHECKING, Final, LiteralString

from hermes_memory.adapters.postgres.pool import Transaction
from hermes_memory.adapters.postgres.rows import columns_in_parts, own_subjects
from hermes_memory.domain.model import Caller, OperationId, RowId
from hermes_memory.domain.operations import Effect, Outcome

if TYPE_CHECKING:
    from hermes_memory.adapters.postgres.rows import Record

RECORDED: Final[LiteralString] = """
select operation, effect, row_id from hermes_memory.inbox
 where agent_identity = $1 and subject = any ($2::bytea[]) and operation = any ($3::uuid[])"""

RECORD: Final[LiteralString] = """
insert into hermes_memory.inbox (agent_identity, subject, operation, effect, row_id, changed)
select $1, $2, u.* from unnest($3::uuid[], $4::text[], $5::uuid[], $6::bool[]) as u(operation, effect, row_id, changed)
 order by u.operation
    on conflict (agent_identity, operation) do nothing
returning operation"""


class DeliveredMeanwhile(Exception):
    """Another transaction stored the same while this one did. Tried again, this one finds it stored."""


async def recorded(
    transaction: Transaction, caller: Caller, operations: Sequence[OperationId]
) -> dict[OperationId, Outcome]:
    """Return the outcomes of those operations that were applied before, as far as they are the caller's to know."""
    found = await transaction.fetch(RECORDED, caller.theme, own_subjects(caller), list(operations))
    return {outcome.operation: outcome for outcome in map(_outcome, found)}


async def record(
    transaction: Transaction, theme: str, subject: bytes, outcomes: Sequence[Outcome], *, changes: Set[OperationId]
) -> None:
    """Record the outcomes of operations that had their effect in this transaction.

    Args:
        changes: The operations that history tells of.

    Raises:
        DeliveredMeanwhile: One of them has an outcome already; everything must be undone.
    """
    # In one order for everybody, or two who deliver the same could wait for each other.
    ordered = sorted(outcomes, key=lambda outcome: outcome.operation.bytes)
    rows = ((each.operation, each.effect.value, each.row, each.operation in changes) for each in ordered)
    for part in columns_in_parts(rows):
        if len(await transaction.fetch(RECORD, theme, subject, *part)) < len(part[0]):
            raise DeliveredMeanwhile


def _outcome(record: Record) -> Outcome:
    row = record["row_id"]
    return Outcome(
        operation=OperationId(record["operation"]),
        effect=Effect(record["effect"]),
        row=RowId(row) if row is not None else None,
    )
