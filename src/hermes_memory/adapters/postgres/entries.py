"""Stores, changes and removes entries, each together with all that is derived from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, LiteralString, TypeAlias

from hermes_memory.adapters.postgres import history, jobs, lexicon
from hermes_memory.adapters.postgres.history import Change
from hermes_memory.adapters.postgres.lexicon import Indexed, indexed
from hermes_memory.adapters.postgres.pacing import Pace
from hermes_memory.adapters.postgres.pool import Transaction
from hermes_memory.adapters.postgres.rows import columns, columns_in_parts, content_hash, json_text, subject_key, utc
from hermes_memory.adapters.postgres.selection import SEVERAL, Selected, select
from hermes_memory.domain.history import ChangeKind
from hermes_memory.domain.lexemes import indexed_text
from hermes_memory.domain.model import Caller, HomeId, Kind, RowId, Target
from hermes_memory.domain.operations import AddEntry, ById, Effect, Outcome, RemoveEntry, ReplaceEntry, row_id

Analyze: TypeAlias = Callable[[str], Sequence[str]]
Key: TypeAlias = tuple[str, bytes]
"""Target and content hash: what makes two entries of a theme and subject equal."""

ADD: Final[LiteralString] = """
insert into hermes_memory.memory_entries
  (agent_identity, subject, id, target, content, content_hash, origin, tool, session_id, source, metadata, said_at,
   created_at, updated_at, operation, lex, lex_length, lex_key)
select $1, $2, u.id, u.target, u.content, u.content_hash, u.origin, u.tool, u.session_id, u.source, u.metadata,
       u.said_at, u.accepted_at, u.accepted_at, u.operation, u.lex::tsvector, u.lex_length,
       nextval('hermes_memory.lex_numbers') << 16
  from unnest($3::uuid[], $4::text[], $5::text[], $6::bytea[], $7::text[], $8::text[], $9::text[], $10::text[],
              $11::jsonb[], $12::timestamptz[], $13::timestamptz[], $14::uuid[], $15::text[], $16::int[])
    as u(id, target, content, content_hash, origin, tool, session_id, source, metadata, said_at, accepted_at, operation,
         lex, lex_length)
 order by u.target, u.content_hash
    on conflict do nothing
returning id, lex_key"""

EQUAL: Final[LiteralString] = """
select e.id, e.target, e.content_hash from hermes_memory.memory_entries e
  join unnest($3::text[], $4::bytea[]) as u(target, content_hash)
    on e.target = u.target and e.content_hash = u.content_hash
 where e.agent_identity = $1 and e.subject = $2"""

# It is not a change: the entry keeps its place in the order.
ADOPT: Final[LiteralString] = """
update hermes_memory.memory_entries e set source = u.source
  from unnest($3::uuid[], $4::text[]) as u(id, source)
 where e.agent_identity = $1 and e.subject = $2 and e.id = u.id and e.source is null"""

REPLACE: Final[LiteralString] = """
update hermes_memory.memory_entries
   set content = $4, content_hash = $5, origin = $6, tool = $7, session_id = $8, source = $9, said_at = $10,
       updated_at = $11, operation = $12, lex = $13::text::tsvector, lex_length = $14,
       lex_key = nextval('hermes_memory.lex_numbers') << 16
 where agent_identity = $1 and subject = $2 and id = $3
returning lex_key"""

REMOVE: Final[LiteralString] = """
delete from hermes_memory.memory_entries where agent_identity = $1 and subject = $2 and id = $3"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draft:
    """An entry about to be stored."""

    operation: AddEntry
    key: Key
    indexed: Indexed

    @property
    def id(self) -> RowId:
        return row_id(self.operation.stamp.operation)

    def values(self) -> tuple[object, ...]:
        operation, stamp = self.operation, self.operation.stamp
        return (
            self.id,
            *(self.key[0], operation.content, self.key[1]),
            *(stamp.origin.value, stamp.tool, stamp.caller.session, operation.source),
            *(json_text(operation.metadata), operation.at, stamp.accepted_at, stamp.operation),
            *(self.indexed.vector, self.indexed.length),
        )


class Entries:
    """Writes entries on behalf of one theme and subject at a time.

    Args:
        analyze: Turns a text into its lexemes, repetitions kept.
    """

    def __init__(self, analyze: Analyze) -> None:
        self._analyze = analyze

    async def add(self, transaction: Transaction, caller: Caller, additions: Sequence[AddEntry]) -> list[Outcome]:
        """Store entries; one that equals a stored one, or an earlier one of these, leaves that as it is."""
        drafts: dict[Key, _Draft] = {}
        pace = Pace()
        for operation in additions:
            if (key := _key(operation.target, operation.content)) not in drafts:
                await pace.breathe()
                drafts[key] = _Draft(operation=operation, key=key, indexed=self._index(operation.content, operation.at))
        stored = await self._insert(transaction, caller, list(drafts.values()))
        rows = {key: draft.id for key, draft in drafts.items() if draft.id in stored}
        if missing := [key for key in drafts if key not in rows]:
            # Without an equal entry, it is the operation's own one that is there, under another content by now.
            rows.update({key: drafts[key].id for key in missing} | await _equal(transaction, caller, missing))
        await _adopt(transaction, caller, ((rows[_key(a.target, a.content)], a.source) for a in additions))
        return [
            _addition(operation, rows[_key(operation.target, operation.content)], stored) for operation in additions
        ]

    async def replace(self, transaction: Transaction, caller: Caller, change: ReplaceEntry) -> Outcome:
        """Change the content of one entry. When another one has that content already, that one stays in its place."""
        selected = await select(transaction, caller, change.selector)
        if selected is SEVERAL:
            return _outcome(change, Effect.AMBIGUOUS)
        if selected is None:
            return await self._add_instead(transaction, caller, change)
        owner = Caller(theme=caller.theme, subject=caller.subject if selected.subject else None)
        twins = await _equal(transaction, owner, [_key(selected.target, change.content)])
        twin = next(iter(twins.values()), None)
        if twin is None:
            await self._overwrite(transaction, caller, selected, change)
            return _outcome(change, Effect.REPLACED, selected.id)
        await _adopt(transaction, owner, [(twin, change.source)])
        if twin == selected.id:
            return _outcome(change, Effect.UNCHANGED, twin)
        await self._take_out(transaction, caller, selected)
        await _note(transaction, selected, change, change.content, merged_into=twin)
        return _outcome(change, Effect.REPLACED, twin)

    async def remove(self, transaction: Transaction, caller: Caller, removal: RemoveEntry) -> Outcome:
        """Forget one entry, and with it its words in the index, its vectors and its jobs."""
        selected = await select(transaction, caller, removal.selector)
        if selected is SEVERAL:
            return _outcome(removal, Effect.AMBIGUOUS)
        if selected is None:
            return _outcome(removal, Effect.NOT_FOUND)
        await self._take_out(transaction, caller, selected)
        await _note(transaction, selected, removal, None)
        return _outcome(removal, Effect.REMOVED, selected.id)

    def _index(self, content: str, at: datetime) -> Indexed:
        return indexed(self._analyze(indexed_text(content, at=utc(at))))

    async def _insert(self, transaction: Transaction, caller: Caller, drafts: Sequence[_Draft]) -> set[RowId]:
        """Insert entries with index, history and jobs; return the ids of those that were not there before."""
        theme, subject = caller.theme, subject_key(caller.subject)
        keys: dict[RowId, int] = {}
        # In one order for everybody, or two who add the same could wait for each other.
        for part in columns_in_parts(draft.values() for draft in sorted(drafts, key=lambda draft: draft.key)):
            inserted = await transaction.fetch(ADD, theme, subject, *part)
            keys |= {RowId(record["id"]): record["lex_key"] for record in inserted}
        new = [draft for draft in drafts if draft.id in keys]
        await lexicon.append(
            transaction, theme, subject, [(draft.key[0], draft.indexed.under(keys[draft.id])) for draft in new]
        )
        await jobs.enqueue(
            transaction,
            theme,
            subject,
            [jobs.Waiting(row=draft.id, kind=Kind.ENTRY, content_hash=draft.key[1]) for draft in new],
        )
        await history.note(transaction, theme, subject, [_added(draft) for draft in new])
        return set(keys)

    async def _add_instead(self, transaction: Transaction, caller: Caller, change: ReplaceEntry) -> Outcome:
        if not change.upsert or isinstance(change.selector, ById):
            return _outcome(change, Effect.NOT_FOUND)
        addition = AddEntry(
            stamp=change.stamp,
            target=change.selector.target,
            content=change.content,
            at=change.said_at,
            source=change.source,
        )
        (outcome,) = await self.add(transaction, caller, [addition])
        return outcome

    async def _overwrite(
        self, transaction: Transaction, caller: Caller, selected: Selected, change: ReplaceEntry
    ) -> None:
        theme, subject, stamp = caller.theme, selected.subject, change.stamp
        words, digest = self._index(change.content, change.said_at), content_hash(change.content)
        await _scrub(transaction, caller, selected)
        key = await transaction.fetch_value(
            REPLACE,
            *(theme, subject, selected.id, change.content, digest),
            *(str(stamp.origin), stamp.tool, stamp.caller.session, change.source),
            *(change.said_at, stamp.accepted_at, stamp.operation, words.vector, words.length),
        )
        await lexicon.append(transaction, theme, subject, [(str(selected.target), words.under(key))])
        await jobs.forget(transaction, theme, subject, selected.id)
        waiting = jobs.Waiting(row=selected.id, kind=Kind.ENTRY, content_hash=digest)
        await jobs.enqueue(transaction, theme, subject, [waiting])
        await _note(transaction, selected, change, change.content)

    async def _take_out(self, transaction: Transaction, caller: Caller, selected: Selected) -> None:
        await _scrub(transaction, caller, selected)
        await transaction.execute(REMOVE, caller.theme, selected.subject, selected.id)
        await jobs.forget(transaction, caller.theme, selected.subject, selected.id)


async def _scrub(transaction: Transaction, caller: Caller, selected: Selected) -> None:
    theme, subject = caller.theme, selected.subject
    words = await lexicon.row_document(
        transaction, theme, subject, selected.id, key=selected.key, length=selected.length
    )
    await lexicon.scrub(transaction, theme, str(selected.target), subject, words)


async def _equal(transaction: Transaction, caller: Caller, keys: Sequence[Key]) -> dict[Key, RowId]:
    """Return the stored entries of exactly the caller's subject that have these keys."""
    found = await transaction.fetch(EQUAL, caller.theme, subject_key(caller.subject), *columns(keys))
    return {(record["target"], record["content_hash"]): RowId(record["id"]) for record in found}


async def _adopt(transaction: Transaction, caller: Caller, mirrors: Iterable[tuple[RowId, HomeId | None]]) -> None:
    """Let entries that mirror no home mirror the first one that names them."""
    adopted: dict[RowId, HomeId] = {}
    for row, source in mirrors:
        if source is not None:
            adopted.setdefault(row, source)
    if adopted:
        await transaction.execute(ADOPT, caller.theme, subject_key(caller.subject), *columns(adopted.items()))


async def _note(
    transaction: Transaction,
    selected: Selected,
    operation: ReplaceEntry | RemoveEntry,
    new: str | None,
    *,
    merged_into: RowId | None = None,
) -> None:
    change = Change(
        what=ChangeKind.REMOVED if new is None else ChangeKind.REPLACED,
        stamp=operation.stamp,
        row=selected.id,
        target=selected.target,
        old=selected.content,
        new=new,
        said_at=operation.said_at if isinstance(operation, ReplaceEntry) else None,
        merged_into=merged_into,
    )
    await history.note(transaction, operation.stamp.caller.theme, selected.subject, [change])


def _key(target: Target, content: str) -> Key:
    return str(target), content_hash(content)


def _added(draft: _Draft) -> Change:
    operation = draft.operation
    return Change(
        what=ChangeKind.ADDED,
        stamp=operation.stamp,
        row=draft.id,
        target=operation.target,
        old=None,
        new=operation.content,
        said_at=operation.at,
        metadata=operation.metadata,
    )


def _addition(operation: AddEntry, row: RowId, stored: set[RowId]) -> Outcome:
    is_new = row in stored and row == row_id(operation.stamp.operation)
    return _outcome(operation, Effect.STORED if is_new else Effect.UNCHANGED, row)


def _outcome(operation: AddEntry | ReplaceEntry | RemoveEntry, effect: Effect, row: RowId | None = None) -> Outcome:
    return Outcome(operation=operation.stamp.operation, effect=effect, row=row)
