"""Grants and themes in Postgres, as the owner sees and changes them."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Final, LiteralString
from uuid import uuid4

from hermes_memory.adapters.postgres.administrator import Administrator
from hermes_memory.domain.grants import Grant, StandingGrant
from hermes_memory.domain.model import ReadPolicy, Subject, Theme
from hermes_memory.ports.granting import SubjectCounts, ThemeCounts

if TYPE_CHECKING:
    from hermes_memory.adapters.postgres.rows import Record
    from hermes_memory.adapters.postgres.statements import Connection

POLICY: Final[LiteralString] = "select read_policy from hermes_memory.installation"

LIST: Final[LiteralString] = """
select reader, subject, source, expires_at, granted_at, granted_by from hermes_memory.theme_grants
 order by source, reader, subject"""

ADD: Final[LiteralString] = """
insert into hermes_memory.theme_grants as g (reader, subject, source, expires_at) values ($1, $2, $3, $4)
    on conflict (reader, subject, source)
    do update set expires_at = excluded.expires_at, granted_at = excluded.granted_at, granted_by = excluded.granted_by
returning xmax = 0 as is_new"""

REVOKE: Final[LiteralString] = """
delete from hermes_memory.theme_grants where reader = $1 and subject = $2 and source = $3 returning true"""

NOTE: Final[LiteralString] = """
insert into hermes_memory.memory_maintenance_log (id, verb, detail, affected) values ($1, $2, $3::text::jsonb, $4)"""

THEMES: Final[LiteralString] = "select * from hermes_memory.theme_counts()"

SUBJECTS: Final[LiteralString] = """
with held as (
  select e.subject, e.agent_identity as theme, count(*) as entries, 0::bigint as turns
    from hermes_memory.memory_entries e where e.subject <> '' group by 1, 2
   union all
  select c.subject, c.agent_identity, 0, count(*)
    from hermes_memory.conversations c where c.subject <> '' group by 1, 2),
named as (
  select distinct h.subject from held h where $1::bytea[] is null
   union select m.subject from hermes_memory.subject_members m where $1::bytea[] is null
   union select u.subject from unnest($1::bytea[]) as u(subject))
select n.subject, coalesce(sum(h.entries), 0)::bigint as entries, coalesce(sum(h.turns), 0)::bigint as turns,
       count(distinct h.theme) as themes,
       array(select other.subject from hermes_memory.subject_members mine
               join hermes_memory.subject_members other on other.person = mine.person
              where mine.subject = n.subject and other.subject <> n.subject order by 1) as also
  from named n left join held h on h.subject = n.subject
 group by n.subject order by n.subject"""

# Two merges at once would make two persons of what is one.
LOCK_MEMBERS: Final[LiteralString] = "lock table hermes_memory.subject_members in share row exclusive mode"

MERGE: Final[LiteralString] = """
with person as (
  select coalesce((select m.person from hermes_memory.subject_members m where m.subject = any ($1::bytea[])
                    order by m.person limit 1), $2) as id),
together as (
  select u.subject from unnest($1::bytea[]) as u(subject)
   union
  select m.subject from hermes_memory.subject_members m
   where m.person in (select k.person from hermes_memory.subject_members k where k.subject = any ($1::bytea[])))
insert into hermes_memory.subject_members (subject, person)
select t.subject, p.id from together t cross join person p
    on conflict (subject) do update set person = excluded.person
returning subject"""

SPLIT: Final[LiteralString] = """
with gone as (
  delete from hermes_memory.subject_members where subject = $1 returning person)
delete from hermes_memory.subject_members m using gone
 where m.person = gone.person and m.subject <> $1
   and (select count(*) from hermes_memory.subject_members o where o.person = gone.person) <= 2"""
IS_MEMBER: Final[LiteralString] = "select exists (select from hermes_memory.subject_members where subject = $1)"


class PostgresGranting:
    """`Granting` on Postgres, with an operator's connection."""

    def __init__(self, administrator: Administrator) -> None:
        self._administrator = administrator

    async def policy(self) -> ReadPolicy:
        """Return the read policy; see `Granting.policy`."""
        async with self._administrator.transaction(read_only=True) as connection:
            return ReadPolicy(await connection.fetchval(POLICY))

    async def grants(self) -> Sequence[StandingGrant]:
        """List all grants; see `Granting.grants`."""
        async with self._administrator.transaction(read_only=True) as connection:
            return [_standing(record) for record in await connection.fetch(LIST)]

    async def add(self, grant: Grant) -> bool:
        """Let a grant stand; see `Granting.add`."""
        async with self._administrator.transaction() as connection:
            is_new = bool(await connection.fetchval(ADD, *_key(grant), grant.expires_at))
            await _note(connection, "grants add", grant, affected=1)
        return is_new

    async def revoke(self, grant: Grant) -> bool:
        """Take a grant back; see `Granting.revoke`."""
        async with self._administrator.transaction() as connection:
            revoked = bool(await connection.fetchval(REVOKE, *_key(grant)))
            await _note(connection, "grants revoke", grant, affected=int(revoked))
        return revoked

    async def subjects(self, only: Collection[Subject] | None = None) -> Sequence[SubjectCounts]:
        """Count what subjects have; see `Granting.subjects`."""
        async with self._administrator.transaction(read_only=True) as connection:
            found = await connection.fetch(SUBJECTS, None if only is None else list(only))
        return [_subject_counts(record) for record in found]

    async def merge(self, subjects: Collection[Subject]) -> int:
        """Let subjects be one person; see `Granting.merge`."""
        async with self._administrator.transaction() as connection:
            await connection.execute(LOCK_MEMBERS)
            together = [record["subject"] for record in await connection.fetch(MERGE, list(subjects), uuid4())]
            detail = {"subjects": sorted(subject.hex() for subject in together)}
            await connection.execute(NOTE, uuid4(), "subjects merge", json.dumps(detail), len(together))
        return len(together)

    async def split(self, subject: Subject) -> bool:
        """Take a subject out of its person; see `Granting.split`."""
        async with self._administrator.transaction() as connection:
            await connection.execute(LOCK_MEMBERS)
            was_member = bool(await connection.fetchval(IS_MEMBER, subject))
            await connection.execute(SPLIT, subject)
            detail = {"subjects": [subject.hex()]}
            await connection.execute(NOTE, uuid4(), "subjects split", json.dumps(detail), int(was_member))
        return was_member

    async def themes(self) -> Sequence[ThemeCounts]:
        """Count what each theme holds; see `Granting.themes`."""
        async with self._administrator.transaction(read_only=True) as connection:
            return [ThemeCounts(**dict(record)) for record in await connection.fetch(THEMES)]


def _key(grant: Grant) -> tuple[str, bytes, str]:
    theme, subject = ("", grant.reader) if isinstance(grant.reader, bytes) else (grant.reader, b"")
    return theme, subject, grant.source


async def _note(connection: Connection, verb: str, grant: Grant, *, affected: int) -> None:
    theme, subject, source = _key(grant)
    until = grant.expires_at.isoformat() if grant.expires_at else None
    detail = {"reader": theme, "subject": subject.hex(), "source": source, "expires_at": until}
    await connection.execute(NOTE, uuid4(), verb, json.dumps(detail), affected)


def _subject_counts(record: Record) -> SubjectCounts:
    return SubjectCounts(
        subject=Subject(record["subject"]),
        entries=record["entries"],
        turns=record["turns"],
        themes=record["themes"],
        also=frozenset(Subject(other) for other in record["also"]),
    )


def _standing(record: Record) -> StandingGrant:
    reader = Subject(record["subject"]) if record["subject"] else Theme(record["reader"])
    grant = Grant(reader=reader, source=Theme(record["source"]), expires_at=record["expires_at"])
    return StandingGrant(grant=grant, granted_at=record["granted_at"], granted_by=record["granted_by"])
