"""Reads all of history and its seals, and what is stored beside, as the owner, for verification."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import TYPE_CHECKING, Final, LiteralString, TypeAlias

from hermes_memory.adapters.postgres.administrator import Administrator
from hermes_memory.adapters.postgres.lexicon import indexed
from hermes_memory.adapters.postgres.pacing import Pace
from hermes_memory.adapters.postgres.rows import utc
from hermes_memory.domain.chain import ERASED, Flaw, Link, Seal, examined, microseconds
from hermes_memory.domain.lexemes import indexed_text

if TYPE_CHECKING:
    from datetime import datetime
    from uuid import UUID

    from hermes_memory.adapters.postgres.entries import Analyze
    from hermes_memory.adapters.postgres.rows import Record
    from hermes_memory.adapters.postgres.statements import Connection

    Progress: TypeAlias = Callable[[int], object]

ROWS_AHEAD: Final = 500
GONE: Final = "a memory is gone that no change took away"
HALF_DONE: Final = "a memory is not there yet, or not any more: an import or an erasure began and did not end"
ALTERED_TURN: Final = "a turn is not what was said"
RESTAMPED_TURN: Final = "a turn is not as it was stored"
OTHER_TURNS: Final = "turns of a session are missing, or not those that were said in it"
FEW_TURNS: Final = 10
FEW_OF_ALL: Final = 100
"""Turns with other words that are named: so many, or of all turns of a theme one in so many, if that is more."""
STRANGE_WORDS: Final = "a turn is found by words that are not those of its text"

THEMES: Final[LiteralString] = """
select h.agent_identity from hermes_memory.history h
 union select s.agent_identity from hermes_memory.seals s
 union select i.agent_identity from hermes_memory.inbox i where i.changed
 union select e.agent_identity from hermes_memory.memory_entries e
 union select c.agent_identity from hermes_memory.conversations c
 union select s.agent_identity from hermes_memory.sessions s order by 1"""
LINKS: Final[LiteralString] = """
select h.*, h.metadata::text as metadata_text from hermes_memory.history h where h.agent_identity = $1"""
# The newest change of a memory tells what it is and by whom it was written; of two at one moment either does. Of one
# that was erased nothing is told, and it stands if the record of that erasure says so, which the chain binds. Where a
# theme came back, a change stands beside what was left of it and tells alone.
STRAYING: Final[LiteralString] = """
with told as (
  select h.row_id, h.subject, h.target, h.new_content, h.origin, h.tool, h.session_id, h.operation, h.at, h.said_at,
         h.erasure, h.erasure is not null as erased,
         h.erasure is null and h.change <> 'removed' and h.merged_into is null as stands,
         rank() over (partition by h.row_id order by h.recorded_at desc) as age
    from hermes_memory.history h
   where h.agent_identity = $1 and h.target in ('memory', 'user') and h.change <> 'erased'),
newest as (
  select t.*, t.erased and exists (
         select from hermes_memory.history r
          where r.agent_identity = $1 and r.id = t.erasure and r.change = 'erased'
            and strpos(r.reason, t.row_id::text) > 0) as bared
    from told t where t.age = 1),
came as (
  select distinct on (h.row_id) h.row_id, h.metadata from hermes_memory.history h
   where h.agent_identity = $1 and h.target in ('memory', 'user') and h.metadata is not null
   order by h.row_id, h.recorded_at desc),
kept as (
  select e.id, e.subject, e.target, e.content, e.origin, e.tool, e.session_id, e.operation, e.updated_at, e.said_at,
         e.metadata, sha256(convert_to(e.content, 'UTF8')) = e.content_hash as whole
    from hermes_memory.memory_entries e where e.agent_identity = $1),
compared as (
  select coalesce(k.id, n.row_id) as id, k.id is not null as kept, coalesce(k.whole, true) as whole,
         coalesce(n.erased, false) as erased, coalesce(n.bared, false) as bared, n.row_id is not null as told,
         coalesce(n.stands, false) as stands,
         n.stands and (n.subject, n.target, n.new_content) = (k.subject, k.target, k.content) as alike,
         (n.origin, n.tool, n.session_id, n.operation, n.at, n.said_at, coalesce(c.metadata, k.metadata))
           is not distinct from
         (k.origin, k.tool, k.session_id, k.operation, k.updated_at, k.said_at, k.metadata) as stamped
    from kept k full join newest n on n.row_id = k.id left join came c on c.row_id = k.id),
judged as (
  select c.id, bool_or(c.kept) as kept, bool_and(c.whole) as whole, bool_or(c.told) as told,
         bool_and(c.erased) as blank, bool_or(c.bared) as bared, bool_or(c.stands) as stands,
         bool_and(c.stands) as surely, coalesce(bool_or(c.alike), false) as alike,
         coalesce(bool_or(c.alike and c.stamped), false) as stamped
    from compared c group by c.id)
select j.id, case when not j.kept then 'a memory is gone that no change took away'
                  when not j.whole then 'a memory is not what its last change says'
                  when j.bared and j.blank then null
                  when not j.told or j.blank then 'a memory stands that no change made'
                  when not j.stands then 'a memory stands that its last change took away'
                  when not j.alike then 'a memory is not what its last change says'
                  else 'a memory was not written as its last change says' end as what
  from judged j
 where (j.kept and not (j.whole and j.stamped)) or (not j.kept and j.surely)
 order by 1"""
# Each text that a change found was made by another change of the memory. What was erased does not tell what it made: of
# each erasure the next text that nothing made is taken for that, wherever it comes among what another theme brought
# along. What is left of a change that stands beside it is passed over. Sorted and not joined: the history of one theme
# is joined with itself in a time that grows as its square where the planner takes it to be short.
SKIPPED: Final[LiteralString] = """
with told as (
  select h.id, h.row_id, h.seal, h.recorded_at, h.old_content, h.new_content, h.erasure,
         bool_and(h.erasure is not null) over (partition by h.row_id, h.recorded_at) as blank
    from hermes_memory.history h
   where h.agent_identity = $1 and h.target in ('memory', 'user') and h.change <> 'erased'),
texts as (
  select t.id, t.row_id, t.seal, t.recorded_at, t.blank, u.made,
         bool_or(u.made) over (partition by t.row_id, u.digest) as is_made,
         row_number() over (partition by t.row_id, t.blank, t.erasure order by t.recorded_at, t.id) = 1 as is_first
    from told t cross join lateral (
         values (sha256(convert_to(t.old_content, 'UTF8')), false), (sha256(convert_to(t.new_content, 'UTF8')), true)
         ) as u(digest, made)
   where case when t.blank then u.made else u.digest is not null end),
strange as (
  select t.id, t.row_id, t.seal, t.blank,
         sum(case when t.blank then t.is_first::int else -1 end) over (
           partition by t.row_id order by t.recorded_at, t.id) as unspent
    from texts t where t.blank or not (t.made or t.is_made))
select s.id, s.row_id, s.seal from strange s where not s.blank and s.unspent < 0 order by 1"""
# A write is noted where it had its effect, so a change that is gone with all it did is missed there.
UNTOLD: Final[LiteralString] = """
select i.row_id from hermes_memory.inbox i
 where i.agent_identity = $1 and i.changed
   and not exists (select from hermes_memory.history h where h.agent_identity = $1 and h.operation = i.operation)
 order by 1"""
TURNS: Final[LiteralString] = """
select c.id, c.content, c.speaker, c.ts, sha256(convert_to(c.content, 'UTF8')) = c.content_hash as whole,
       c.row_hash = hermes_memory.turn_hash(
         c.agent_identity, c.subject, c.id, c.session_id, c.role, c.speaker, c.content_hash, c.occurrence, c.origin,
         c.embed, c.metadata, c.ts, c.created_at, c.operation) as stamped
  from hermes_memory.conversations c where c.agent_identity = $1"""
UNLIKE_TALLIES: Final[LiteralString] = """
select session_id
  from (select s.subject, s.session_id, s.tally from hermes_memory.sessions s where s.agent_identity = $1) s
  full join (select c.subject, c.session_id, bit_xor(hermes_memory.tally_of(c.row_hash)) as tally
               from hermes_memory.conversations c where c.agent_identity = $1 group by c.subject, c.session_id) t
       using (subject, session_id)
 where coalesce(s.tally, 0::bit(256)) <> coalesce(t.tally, 0::bit(256)) order by 1"""
OTHER_WORDS: Final[LiteralString] = """
select c.id from hermes_memory.conversations c join unnest($2::uuid[], $3::text[]) as u(id, lex) on u.id = c.id
 where c.agent_identity = $1 and c.lex <> u.lex::tsvector"""
# Both take one part after the other: the history before the memories that it tells of, and the memories before theirs.
# The one that was broken off is over once it is carried through later.
UNFINISHED: Final[LiteralString] = """
select exists (
  select from hermes_memory.memory_maintenance_log l
   where l.verb in ('import', 'erase') and l.detail ->> 'finished' = 'false'
     and not exists (
         select from hermes_memory.memory_maintenance_log o
          where o.verb = l.verb and o.at > l.at and o.detail ->> 'finished' = 'true'
            and (o.detail -> 'kind', o.detail -> 'name') is not distinct from (l.detail -> 'kind', l.detail -> 'name')))
"""
NO_LOOPS: Final[LiteralString] = "set local enable_nestloop = off"
SEALS: Final[LiteralString] = "select s.* from hermes_memory.seals s where s.agent_identity = $1 order by s.seal"


async def histories(
    administrator: Administrator, theme: str | None = None, *, progress: Progress = lambda _: None
) -> AsyncIterator[tuple[str, Sequence[Link], Sequence[Seal]]]:
    """Yield each theme, or the one named, with all its changes, examined, and seals, as they stood at one moment.

    Args:
        progress: Told how many changes were read, page by page.
    """
    async with administrator.transaction(isolation="repeatable_read", read_only=True) as connection:
        themes = [record["agent_identity"] for record in await connection.fetch(THEMES)]
        for each in themes:
            if theme in {None, each}:
                links: list[Link] = []
                rows = await connection.cursor(LINKS, each)
                while page := await rows.fetch(ROWS_AHEAD):
                    links += [examined(_link(record)) for record in page]
                    progress(len(page))
                yield each, links, [_seal(record) for record in await connection.fetch(SEALS, each)]


async def straying(administrator: Administrator, theme: str | None = None) -> AsyncIterator[Flaw | None]:
    """Yield what history does not tell of the memories as they are, of all themes or the one named, at one moment.

    Each memory is held against its last change: its text, whose it is, where it is kept, and by whom, where and when it
    was written. A change is missed where another one of the memory found its text, and where its write left a trace.
    None stands for a memory whose history was erased while it stayed. While an import or an erasure is not ended, one
    that is gone is named as `HALF_DONE`.
    """
    async with administrator.transaction(isolation="repeatable_read", read_only=True) as connection:
        await connection.execute(NO_LOOPS)
        gone = HALF_DONE if await connection.fetchval(UNFINISHED) else GONE
        for each in [record["agent_identity"] for record in await connection.fetch(THEMES)]:
            if theme in {None, each}:
                async for record in connection.cursor(STRAYING, each, prefetch=ROWS_AHEAD):
                    told, row = record["what"], record["id"]
                    what = gone if told == GONE else told
                    yield told and Flaw(theme=each, seal=None, change=None, what=what, entry=row)
                async for record in connection.cursor(SKIPPED, each, prefetch=ROWS_AHEAD):
                    what, change = "the change before this one is missing", record["id"]
                    yield Flaw(theme=each, seal=record["seal"], change=change, what=what, entry=record["row_id"])
                async for record in connection.cursor(UNTOLD, each, prefetch=ROWS_AHEAD):
                    what = "a write had its effect and no change tells of it"
                    yield Flaw(theme=each, seal=None, change=None, what=what, entry=record["row_id"])


async def altered_turns(
    administrator: Administrator, analyze: Analyze, theme: str | None = None, *, progress: Progress = lambda _: None
) -> AsyncIterator[Flaw | int]:
    """Yield the turns, of all themes or the one named, that are not what and as they were stored.

    No change tells of a turn that is there: its text is held against its hash, all that is told of it against the hash
    of its row, and both against the words, those of its time and its speaker among them, by which it is found. Where
    the words of many differ, they are made otherwise than when those turns were stored: a number stands for these turns
    of a theme. The hashes of all turns of a session are held against what they came to with each one that came or went.

    Args:
        analyze: Turns a text into its lexemes as it did for what is stored.
        progress: Told how many turns were held against their words, page by page.
    """
    async with administrator.transaction(isolation="repeatable_read", read_only=True) as connection:
        for each in [record["agent_identity"] for record in await connection.fetch(THEMES)]:
            if theme in {None, each}:
                strange: list[UUID] = []
                turns, rows = 0, await connection.cursor(TURNS, each)
                while page := await rows.fetch(ROWS_AHEAD):
                    turns += len(page)
                    for turn in page:
                        if not (turn["whole"] and turn["stamped"]):
                            what = RESTAMPED_TURN if turn["whole"] else ALTERED_TURN
                            yield Flaw(theme=each, seal=None, change=None, what=what, entry=turn["id"])
                    whole = [turn for turn in page if turn["whole"] and turn["stamped"]]
                    strange += await _strange(connection, analyze, each, whole)
                    progress(len(page))
                for record in await connection.fetch(UNLIKE_TALLIES, each):
                    session = record["session_id"]
                    yield Flaw(theme=each, seal=None, change=None, what=OTHER_TURNS, session=session)
                if len(strange) > max(FEW_TURNS, turns // FEW_OF_ALL):
                    yield len(strange)
                    continue
                for row in strange:
                    yield Flaw(theme=each, seal=None, change=None, what=STRANGE_WORDS, entry=row)


async def _strange(connection: Connection, analyze: Analyze, theme: str, page: Sequence[Record]) -> list[UUID]:
    """Return the turns among these that are found by other words than those of their texts."""
    pace, words = Pace(), []
    for turn in page:
        await pace.breathe()
        text = indexed_text(turn["content"], at=utc(turn["ts"]), speaker=turn["speaker"])
        words.append(indexed(analyze(text)).vector)
    return [row["id"] for row in await connection.fetch(OTHER_WORDS, theme, [turn["id"] for turn in page], words)]


def _link(record: Record) -> Link:
    return Link(
        id=record["id"],
        fields=(
            *(record["agent_identity"], record["subject"].hex()),
            *(str(record["id"]), str(record["row_id"]), str(record["operation"])),
            *(record["change"], record["target"], record["old_content"], record["new_content"]),
            *(record["origin"], record["tool"], record["session_id"], record["reason"]),
            *(_moment(record["at"]), _moment(record["said_at"]), _moment(record["recorded_at"])),
            *(record["metadata_text"], str(record["merged_into"]) if record["merged_into"] else None),
        ),
        salt=record["salt"],
        row_hash=record["row_hash"],
        seal=record["seal"],
        erasure=record["erasure"],
        record=record["reason"] if record["change"] == ERASED else None,
    )


def _moment(at: datetime | None) -> str | None:
    return None if at is None else microseconds(utc(at))


def _seal(record: Record) -> Seal:
    return Seal(
        number=record["seal"],
        ids=record["ids"],
        count=record["n"],
        root=record["root"],
        prev=record["prev"],
        chained=record["chained"],
        at=utc(record["at"]),
    )
