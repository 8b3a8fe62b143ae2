"""Reads all of history and its seals, and the entries that it is about, as the owner, for verification."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Final, LiteralString

from hermes_memory.adapters.postgres.administrator import Administrator
from hermes_memory.adapters.postgres.rows import utc
from hermes_memory.domain.chain import ERASED, Flaw, Link, Seal, examined, microseconds

if TYPE_CHECKING:
    from datetime import datetime

    from hermes_memory.adapters.postgres.rows import Record

ROWS_AHEAD: Final = 500

THEMES: Final[LiteralString] = """
select h.agent_identity from hermes_memory.history h
 union select s.agent_identity from hermes_memory.seals s
 union select e.agent_identity from hermes_memory.memory_entries e order by 1"""
LINKS: Final[LiteralString] = """
select h.*, h.metadata::text as metadata_text from hermes_memory.history h where h.agent_identity = $1"""
# The newest change of a memory tells what it is; of two at one moment either does. Of one that was erased nothing is
# told. Where an import finds the text in another memory already, that one stands for the one that the history is about.
# What was brought in without a history has none, which is no flaw by itself.
STRAYING: Final[LiteralString] = """
with told as (
  select h.row_id, h.subject, h.target, h.new_content, h.erasure is not null as erased,
         h.change <> 'removed' and h.merged_into is null as stands,
         rank() over (partition by h.row_id order by h.recorded_at desc) as age
    from hermes_memory.history h
   where h.agent_identity = $1 and h.target in ('memory', 'user') and h.change <> 'erased'),
newest as (select t.* from told t where t.age = 1),
kept as (
  select e.id, e.subject, e.target, e.content, e.content_hash from hermes_memory.memory_entries e
   where e.agent_identity = $1),
compared as (
  select coalesce(k.id, n.row_id) as id, k.id is not null as kept, n.row_id is not null as told,
         coalesce(n.erased, false) as erased, coalesce(n.stands, false) as stands,
         case when k.id is null
              then n.stands and exists (
                   select from hermes_memory.memory_entries e
                    where e.agent_identity = $1 and e.subject = n.subject and e.target = n.target
                      and e.content_hash = sha256(convert_to(n.new_content, 'UTF8')))
              else sha256(convert_to(k.content, 'UTF8')) = k.content_hash
                   and (n.row_id is null or n.erased
                        or (n.stands and n.subject = k.subject and n.target = k.target and n.new_content = k.content))
         end as alike
    from kept k full join newest n on n.row_id = k.id),
judged as (
  select c.id, bool_or(c.kept) as kept, bool_or(c.told) as told, bool_or(c.erased) as erased,
         bool_or(c.stands) as stands, bool_and(c.stands) as surely, bool_or(c.alike) as alike
    from compared c group by c.id)
select j.id, case when j.kept and j.alike then null
                  when j.kept and j.told and not j.stands and not j.erased
                  then 'a memory stands that its last change took away'
                  when j.kept then 'a memory is not what its last change says'
                  else 'a memory is gone that no change took away' end as what
  from judged j
 where (j.kept and (not j.alike or not j.told)) or (not j.kept and j.surely and not j.erased and not j.alike)
 order by 1"""
SEALS: Final[LiteralString] = "select s.* from hermes_memory.seals s where s.agent_identity = $1 order by s.seal"


async def histories(
    administrator: Administrator, theme: str | None = None
) -> AsyncIterator[tuple[str, Sequence[Link], Sequence[Seal]]]:
    """Yield each theme, or the one named, with all its changes, examined, and seals, as they stood at one moment."""
    async with administrator.transaction(isolation="repeatable_read", read_only=True) as connection:
        themes = [record["agent_identity"] for record in await connection.fetch(THEMES)]
        for each in themes:
            if theme in {None, each}:
                rows = connection.cursor(LINKS, each, prefetch=ROWS_AHEAD)
                links = [examined(_link(record)) async for record in rows]
                yield each, links, [_seal(record) for record in await connection.fetch(SEALS, each)]


async def straying(administrator: Administrator, theme: str | None = None) -> AsyncIterator[Flaw | None]:
    """Yield the memories, of all themes or the one named, that are not what the last change of each says of it.

    What is compared are the texts themselves, whose they are and where they are kept, as they stood at one moment. None
    stands for a memory that has no history.
    """
    async with administrator.transaction(isolation="repeatable_read", read_only=True) as connection:
        for each in [record["agent_identity"] for record in await connection.fetch(THEMES)]:
            if theme in {None, each}:
                async for record in connection.cursor(STRAYING, each, prefetch=ROWS_AHEAD):
                    what = record["what"]
                    yield what and Flaw(theme=each, seal=None, change=None, what=what, entry=record["id"])


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
