"""Gives accepted operations their effect: one transaction per batch, each operation once."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import groupby
from typing import Final, LiteralString, TypeAlias, assert_never

import anyio
import asyncpg

from hermes_memory.adapters.postgres import agents, inbox, lexicon
from hermes_memory.adapters.postgres.entries import Analyze, Entries
from hermes_memory.adapters.postgres.errors import COLLISIONS, domain_error
from hermes_memory.adapters.postgres.inbox import DeliveredMeanwhile
from hermes_memory.adapters.postgres.pool import Pool, Transaction
from hermes_memory.adapters.postgres.rows import subject_key
from hermes_memory.adapters.postgres.turn_forgetting import forget_turn
from hermes_memory.adapters.postgres.turns import Turns
from hermes_memory.domain.errors import HermesMemoryError, StoreBusy
from hermes_memory.domain.model import Caller, OperationId, Theme
from hermes_memory.domain.operations import (
    AddEntry,
    Effect,
    Operation,
    Outcome,
    RecordDelegation,
    RecordTurns,
    RemoveEntry,
    ReplaceEntry,
)
from hermes_memory.ports.delivery import Wanted

ATTEMPTS: Final = 3
"""Transactions tried when another one stores the same at the same moment."""

PAUSE_SECONDS: Final = 0.02
"""Longest pause between two of them."""
LOCK_TIMEOUT: Final = "lock_timeout = 2000"
"""Milliseconds to wait for what another transaction holds; so long the other lanes of a batch wait with it. It is more
than the server takes to find a deadlock, by default a second."""

# Who erases waits for the transactions that are under way, and knows them by this number. A transaction without a write
# has none: one that analyses texts before its first write would not be waited for, and store what had been erased. Who
# erases drops what waits before that, so what is asked for behind this number is either dropped by then or waited for.
BE_WAITED_FOR: Final[LiteralString] = "select pg_current_xact_id()"

CHANGING: Final = frozenset({AddEntry, ReplaceEntry, RemoveEntry})
EFFECTIVE: Final = frozenset({Effect.STORED, Effect.REPLACED, Effect.REMOVED})
"""What these leave, history tells of."""

Seen: TypeAlias = dict[Theme, tuple[Caller, datetime]]


class PostgresDelivery:
    """`DeliveryStore` on Postgres.

    Args:
        pool: Connections of the runtime role.
        analyze: Turns a text into its lexemes, repetitions kept. Queries must come through the same analyser.
        timeout: Seconds a batch may take.
    """

    def __init__(self, pool: Pool, *, analyze: Analyze, timeout: float = 30.0) -> None:
        self._pool = pool
        self._timeout = timeout
        self._entries = Entries(analyze)
        self._turns = Turns(analyze)

    async def apply(self, operations: Sequence[Operation], *, wanted: Wanted | None = None) -> Sequence[Outcome]:
        """Apply operations in their order, all or none; see `DeliveryStore.apply`."""
        if not operations:
            return []
        for attempt in range(ATTEMPTS):
            try:
                return await self._apply(operations, wanted)
            except DeliveredMeanwhile as race:
                if attempt == ATTEMPTS - 1:
                    raise _lost(race) from None
                await anyio.sleep(random.uniform(0, PAUSE_SECONDS))  # noqa: S311 - lets one of two pass, guards nothing
        raise AssertionError("the last attempt either returns or raises")

    async def outcome(self, caller: Caller, operation: OperationId) -> Outcome | None:
        """Return a recorded outcome; see `DeliveryStore.outcome`."""
        async with self._pool.transaction(caller, timeout=self._timeout, read_only=True) as transaction:
            return (await inbox.recorded(transaction, caller, [operation])).get(operation)

    async def _apply(self, operations: Sequence[Operation], wanted: Wanted | None) -> Sequence[Outcome]:
        outcomes: dict[OperationId, Outcome] = {}
        seen: Seen = {}
        first = operations[0].stamp.caller
        async with self._pool.transaction(first, timeout=self._timeout, settings=[LOCK_TIMEOUT]) as transaction:
            await transaction.execute(BE_WAITED_FOR)
            if wanted is not None:
                still = await wanted([operation.stamp.operation for operation in operations])
                operations = [operation for operation in operations if operation.stamp.operation in still]
            try:
                await lexicon.lock_themes(transaction, _scrubbed(operations))
                for run in _runs(operations):
                    await self._apply_run(transaction, run, outcomes, seen)
                await agents.register(transaction, seen)
            except COLLISIONS as error:
                # Somebody stored the same between our look and our write, and the next look finds it; or two waited
                # for each other, which says nothing of the database's health.
                raise DeliveredMeanwhile from error
        return [outcomes[operation.stamp.operation] for operation in operations]

    async def _apply_run(
        self, transaction: Transaction, run: Sequence[Operation], outcomes: dict[OperationId, Outcome], seen: Seen
    ) -> None:
        """Apply operations of one theme and subject, and record their outcomes."""
        caller = run[0].stamp.caller
        await transaction.act_for(caller)
        waiting = {each.stamp.operation: each for each in run if each.stamp.operation not in outcomes}
        outcomes.update(await inbox.recorded(transaction, caller, list(waiting)))
        fresh = [each for operation, each in waiting.items() if operation not in outcomes]
        made: list[Outcome] = []
        changes: set[OperationId] = set()
        # What is remembered does not touch what was said, and what is forgotten of it is never stored again: each keeps
        # its own order.
        for kind, group in groupby(sorted(fresh, key=_concerns_entries), key=type):
            became = await self._apply_group(transaction, caller, kind, list(group))
            made += became
            if kind in CHANGING:
                changes |= {outcome.operation for outcome in became if outcome.effect in EFFECTIVE}
        await inbox.record(transaction, caller.theme, subject_key(caller.subject), made, changes=changes)
        outcomes.update({outcome.operation: outcome for outcome in made})
        if any(outcome.effect in {Effect.STORED, Effect.REPLACED} for outcome in made):
            seen[caller.theme] = (caller, max(each.stamp.accepted_at for each in fresh))

    async def _apply_group(
        self, transaction: Transaction, caller: Caller, kind: type[Operation], group: Sequence[Operation]
    ) -> list[Outcome]:
        """Apply consecutive operations of one kind: what only adds goes in together, what changes goes one by one."""
        if kind is AddEntry:
            return await self._entries.add(transaction, caller, [o for o in group if isinstance(o, AddEntry)])
        if kind is RecordTurns:
            return await self._turns.record(transaction, caller, [o for o in group if isinstance(o, RecordTurns)])
        if kind is RecordDelegation:
            delegations = [o for o in group if isinstance(o, RecordDelegation)]
            return await agents.note_delegations(transaction, caller, delegations)
        return [await self._change(transaction, caller, operation) for operation in group]

    async def _change(self, transaction: Transaction, caller: Caller, operation: Operation) -> Outcome:
        match operation:
            case ReplaceEntry():
                return await self._entries.replace(transaction, caller, operation)
            case RemoveEntry():
                outcome = await self._entries.remove(transaction, caller, operation)
                if outcome.effect is not Effect.NOT_FOUND:
                    return outcome
                return await forget_turn(transaction, caller, operation) or outcome
            case AddEntry() | RecordTurns() | RecordDelegation():
                raise AssertionError("applied as a group")
            case _:
                assert_never(operation)


def _lost(race: DeliveredMeanwhile) -> HermesMemoryError:
    """Say what a race means that was lost again and again: a key that is taken for good, or a bad moment."""
    if isinstance(race.__cause__, asyncpg.PostgresError):
        return domain_error(race.__cause__)
    return StoreBusy("others store the same at the same moment: hand it in again")


def _runs(operations: Sequence[Operation]) -> Iterator[Sequence[Operation]]:
    """Split a batch into runs of one theme and subject, as long as the order of effects allows.

    Themes cannot change each other's rows, so each comes at once, and in the same order for every host, which keeps
    two of them from waiting for each other. So do the subjects of a theme, unless someone with a subject changes what
    has none.
    """
    for _, of_theme in groupby(sorted(operations, key=_theme), key=_theme):
        batch = list(of_theme)
        if not any(isinstance(each, ReplaceEntry | RemoveEntry) and _subject(each) for each in batch):
            batch.sort(key=_subject)
        for _, run in groupby(batch, key=_subject):
            yield list(run)


def _theme(operation: Operation) -> Theme:
    return operation.stamp.caller.theme


def _subject(operation: Operation) -> bytes:
    return subject_key(operation.stamp.caller.subject)


def _concerns_entries(operation: Operation) -> bool:
    return isinstance(operation, AddEntry | ReplaceEntry | RemoveEntry)


def _scrubbed(operations: Sequence[Operation]) -> set[Theme]:
    """Return the themes whose index loses postings."""
    return {each.stamp.caller.theme for each in operations if isinstance(each, ReplaceEntry | RemoveEntry)}
