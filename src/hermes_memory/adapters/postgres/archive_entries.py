"""Stores archived entries as they were, with all that is derived from them, and a history where they bring none."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import TYPE_CHECKING, Final, LiteralString
from uuid import UUID

from hermes_memory.adapters.postgres import jobs, lexicon
from hermes_memory.adapters.postgres.archive_vectors import Vectored
from hermes_memory.adapters.postgres.lexicon import indexed
from hermes_memory.adapters.postgres.pacing import Pace
from hermes_memory.adapters.postgres.rows import columns_in_parts, content_hash, json_text, subject_key, utc
from hermes_memory.domain.archive import ArchivedEntry
from hermes_memory.domain.lexemes import indexed_text
from hermes_memory.domain.model import Kind, RowId
from hermes_memory.ports.archive import Receipt

if TYPE_CHECKING:
    from hermes_memory.adapters.postgres.entries import Analyze
    from hermes_memory.adapters.postgres.pool import Transaction

KNOWN: Final[LiteralString] = """
select e.id from hermes_memory.memory_entries e where e.agent_identity = $1 and e.id = any ($2::uuid[])"""

ADD: Final[LiteralString] = """
insert into hermes_memory.memory_entries
  (agent_identity, subject, id, target, content, content_hash, origin, tool, session_id, source, metadata, said_at,
   created_at, updated_at, operation, lex, lex_length, lex_key)
select $1, $2, u.id, u.target, u.content, u.content_hash, u.origin, u.tool, u.session_id, u.source, u.metadata,
       u.said_at, u.created_at, u.updated_at, u.operation, u.lex::tsvector, u.lex_length,
       nextval('hermes_memory.lex_numbers') << 16
  from unnest($3::uuid[], $4::text[], $5::text[], $6::bytea[], $7::text[], $8::text[], $9::text[], $10::text[],
              $11::jsonb[], $12::timestamptz[], $13::timestamptz[], $14::timestamptz[], $15::uuid[], $16::text[],
              $17::int[])
    as u(id, target, content, content_hash, origin, tool, session_id, source, metadata, said_at, created_at, updated_at,
         operation, lex, lex_length)
    on conflict do nothing
returning id, lex_key"""

# What comes without a history, or after it was forgotten here, is told from now on. As of a moment is asked in the time
# of the database, which is when it came in.
TELL: Final[LiteralString] = """
insert into hermes_memory.history
  (agent_identity, subject, id, row_id, operation, change, target, new_content, origin, tool, session_id, at, said_at,
   recorded_at, metadata, salt, row_hash)
select $1, n.subject, n.id, n.row_id, n.operation, 'added', n.target, n.content, n.origin, n.tool, n.session_id, n.at,
       n.said_at, n.now, n.metadata, n.salt,
       sha256(n.salt || convert_to(hermes_memory.change_form(
         $1, n.subject, n.id, n.row_id, n.operation, 'added', n.target, null, n.content, n.origin, n.tool,
         n.session_id, null, n.at, n.said_at, n.now, n.metadata, null), 'UTF8'))
  from (select e.subject, e.id as row_id, e.operation, e.target, e.content, e.origin, e.tool, e.session_id,
               e.updated_at as at, e.said_at, e.metadata, clock_timestamp() as now, gen_random_uuid() as id,
               uuid_send(gen_random_uuid()) as salt
          from hermes_memory.memory_entries e
          left join lateral (
               select h.* from hermes_memory.history h
                where h.row_id = e.id and h.agent_identity = e.agent_identity and h.change <> 'erased'
                order by h.recorded_at desc, h.id limit 1) l on true
         where e.agent_identity = $1 and e.id = any ($2::uuid[])
           and (l.id is null or l.erasure is not null or l.change = 'removed' or l.merged_into is not null
                or (l.subject, l.target, l.new_content, l.origin, l.tool, l.session_id, l.at, l.said_at, l.operation)
                   is distinct from
                   (e.subject, e.target, e.content, e.origin, e.tool, e.session_id, e.updated_at, e.said_at,
                    e.operation))
        offset 0) n"""

# One whose text another one has already does not come in: its history, which did, ends with that one.
MERGE: Final[LiteralString] = """
insert into hermes_memory.history
  (agent_identity, subject, id, row_id, operation, change, target, old_content, new_content, origin, at, said_at,
   recorded_at, merged_into, salt, row_hash)
select $1, $2, n.id, n.row_id, n.id, 'replaced', n.target, n.before, n.after, 'import', n.now, n.said_at, n.now, n.twin,
       n.salt,
       sha256(n.salt || convert_to(hermes_memory.change_form(
         $1, $2, n.id, n.row_id, n.id, 'replaced', n.target, n.before, n.after, 'import', null, null, null, n.now,
         n.said_at, n.now, null, n.twin), 'UTF8'))
  from (select u.id as row_id, e.target, l.new_content as before, e.content as after, e.said_at, e.id as twin,
               clock_timestamp() as now, gen_random_uuid() as id, uuid_send(gen_random_uuid()) as salt
          from unnest($3::uuid[], $4::text[], $5::bytea[]) as u(id, target, hash)
          join hermes_memory.memory_entries e
            on e.agent_identity = $1 and e.subject = $2 and e.target = u.target and e.content_hash = u.hash
               and e.id <> u.id
         cross join lateral (
               select h.* from hermes_memory.history h
                where h.row_id = u.id and h.agent_identity = $1 and h.change <> 'erased'
                order by h.recorded_at desc, h.id limit 1) l
         where l.erasure is null and l.change <> 'removed' and l.merged_into is null
        offset 0) n"""

# The text itself is hashed, not its stored hash compared.
PRESENT: Final[LiteralString] = """
select u.n from unnest($3::text[], $4::bytea[]) with ordinality as u(target, hash, n)
  join hermes_memory.memory_entries e
    on e.agent_identity = $1 and e.subject = $2 and e.target = u.target and e.content_hash = u.hash
 where sha256(convert_to(e.content, 'UTF8')) = u.hash"""


async def store_entries(
    transaction: Transaction, analyze: Analyze, entries: Sequence[ArchivedEntry], vectors: Vectored
) -> Receipt:
    """Store entries of one theme and subject."""
    theme, subject = entries[0].theme, subject_key(entries[0].subject)
    known = {row["id"] for row in await transaction.fetch(KNOWN, theme, [entry.id for entry in entries])}
    first: dict[UUID, ArchivedEntry] = {}
    for entry in entries:
        if entry.id not in known:
            first.setdefault(entry.id, entry)
    fresh = list(first.values())
    pace = Pace()
    words = {}
    for entry in fresh:
        words[entry.id] = indexed(analyze(indexed_text(entry.content, at=utc(entry.said_at))))
        await pace.breathe()
    keys: dict[UUID, int] = {}
    for part in columns_in_parts((*_values(entry), words[entry.id].vector, words[entry.id].length) for entry in fresh):
        keys |= {row["id"]: row["lex_key"] for row in await transaction.fetch(ADD, theme, subject, *part)}
    new = [entry for entry in fresh if entry.id in keys]
    await transaction.execute(TELL, theme, [entry.id for entry in new])
    twins = [(entry.id, entry.target, content_hash(entry.content)) for entry in fresh if entry.id not in keys]
    if twins:
        await transaction.execute(MERGE, theme, subject, *map(list, zip(*twins, strict=True)))
    await lexicon.append(
        transaction, theme, subject, [(each.target, words[each.id].under(keys[each.id])) for each in new]
    )
    waiting = [jobs.Waiting(row=RowId(e.id), kind=Kind.ENTRY, content_hash=content_hash(e.content)) for e in new]
    await jobs.enqueue(transaction, theme, subject, waiting)
    await vectors.store(transaction, theme, waiting, {entry.id: entry.vectors for entry in new})
    pairs = [(entry.target, content_hash(entry.content)) for entry in entries]
    return await _receipt(transaction, theme, subject, entries, pairs, known=known | keys.keys(), new=len(new))


async def _receipt(
    transaction: Transaction,
    theme: str,
    subject: bytes,
    entries: Sequence[ArchivedEntry],
    pairs: Sequence[tuple[str, bytes]],
    *,
    known: Set[object],
    new: int,
) -> Receipt:
    """Look whether all that was handed in is there now."""
    found = await transaction.fetch(PRESENT, theme, subject, [each[0] for each in pairs], [each[1] for each in pairs])
    present = {row["n"] - 1 for row in found}
    absent = [place for place in range(len(entries)) if place not in present]
    missing = [place for place in absent if entries[place].id not in known]
    altered = len(absent) - len(missing)
    return Receipt(
        new={"entry": new}, known=len(entries) - new - altered - len(missing), altered=altered, missing=missing
    )


def _values(entry: ArchivedEntry) -> tuple[object, ...]:
    return (
        *(entry.id, entry.target, entry.content, content_hash(entry.content)),
        *(entry.origin, entry.tool, entry.session, entry.source, json_text(entry.metadata)),
        *(entry.said_at, entry.created_at, entry.updated_at, entry.operation),
    )
