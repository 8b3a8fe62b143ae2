"""The statements of an erasure. `{rows}` and the like stand for the conditions of what is erased; see `Conditions`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, LiteralString

# The last ones of a session first: no vector with words of one that is gone is left when an erasure is broken off.
TURNS: Final[LiteralString] = """
select t.agent_identity, t.id from hermes_memory.conversations t where {turns}
 order by t.agent_identity, t.subject, t.session_id, t.position desc limit $3"""
ROWS: Final[LiteralString] = """
select t.agent_identity, t.id from hermes_memory.memory_entries t where {rows}
 order by t.agent_identity, t.id limit $3"""
ERASE_ROWS: Final[LiteralString] = """
select entries, turns, vectors, jobs, operations, postings from hermes_memory.erase_rows($1, $2::uuid[], $3)"""

# All changes of a memory go at once: a session is known by one of them, and after that one by none.
CHANGES: Final[LiteralString] = """
select h.agent_identity, array_agg(h.id) as ids, array_agg(distinct h.operation) as operations
  from (select distinct t.agent_identity, t.row_id from hermes_memory.history t
         where t.erasure is null and t.change <> 'erased' and {changes} limit $3) r
  join hermes_memory.history h on h.agent_identity = r.agent_identity and h.row_id = r.row_id and h.erasure is null
 group by h.agent_identity order by h.agent_identity"""
ERASE_CHANGES: Final[LiteralString] = "select hermes_memory.erase_changes($1, $2::uuid[])"
FORGET_OPERATIONS: Final[LiteralString] = """
with gone as (delete from hermes_memory.inbox where agent_identity = $1 and operation = any ($2::uuid[]) returning 1)
select count(*) from gone"""

# In one snapshot: when no row is left in it, all blocks in it are of rows that are gone, and what comes in meanwhile
# brings blocks that are not in it. The statistics go last, since they tell where there are blocks.
ROWS_LEFT: Final[LiteralString] = """
select exists (select from hermes_memory.memory_entries t where {rows})
    or exists (select from hermes_memory.conversations t where {turns})"""
PLACES: Final[LiteralString] = """
select distinct t.agent_identity, t.shelf, t.subject from hermes_memory.term_blocks t where t.lexeme = '' and {place}
 order by 1, 2, 3"""
# By where the blocks lie: to join them with themselves means to read all of the theme each time. From where the step
# before came to, or each step would first pass by all that the others have left behind. A theme lies in one partition.
ERASE_WORDS: Final[LiteralString] = """
with gone as (
  delete from hermes_memory.term_blocks b
   where b.agent_identity = $1
     and b.ctid = any (array(
           select d.ctid from hermes_memory.term_blocks d
            where d.agent_identity = $1 and d.shelf = $2 and d.subject = $3 and d.lexeme > '' and d.ctid >= $5
            limit $4))
  returning b.n, b.ctid)
select count(*) as blocks, coalesce(sum(g.n), 0)::bigint as postings, max(g.ctid) as reached from gone g"""
ERASE_STATISTICS: Final[LiteralString] = """
delete from hermes_memory.term_blocks b
 where b.agent_identity = $1 and b.shelf = $2 and b.subject = $3 and b.lexeme = ''"""

# Locked before they are looked at: who stores a turn of a session locks it as well.
HOLD_SESSIONS: Final[LiteralString] = "select from hermes_memory.sessions t where {sessions} for update"
REST: Final[Sequence[tuple[str, LiteralString]]] = (
    (
        "delegations",
        """
with gone as (delete from hermes_memory.memory_agent_edges t where {delegations} returning 1)
select count(*) from gone""",
    ),
    (
        "sessions",
        """
with gone as (
  delete from hermes_memory.sessions t
   where {sessions} and not exists (
         select from hermes_memory.conversations c
          where c.agent_identity = t.agent_identity and c.subject = t.subject and c.session_id = t.session_id)
  returning 1)
select count(*) from gone""",
    ),
    (
        "links",
        """
with gone as (update hermes_memory.sessions t set parent_session_id = null where {links} returning 1)
select count(*) from gone""",
    ),
    (
        "links",
        """
with gone as (update hermes_memory.conversations t set parent_session_id = null where {links} returning 1)
select count(*) from gone""",
    ),
    (
        "grants",
        """
with gone as (delete from hermes_memory.theme_grants t where {grants} returning 1) select count(*) from gone""",
    ),
    (
        # While there are rows, they tell whoever goes on with an erasure that was broken off who the person is.
        "members",
        """
with gone as (
  delete from hermes_memory.subject_members t
   where {members} and not exists (select from hermes_memory.memory_entries t where {rows})
     and not exists (select from hermes_memory.conversations t where {turns})
  returning 1)
select count(*) from gone""",
    ),
    (
        "themes",
        """
with gone as (
  delete from hermes_memory.memory_agents t
   where {themes}
     and not exists (select from hermes_memory.memory_rows r where r.agent_identity = t.agent_identity)
  returning 1)
select count(*) from gone""",
    ),
)
WHOLESALE: Final[Sequence[tuple[str, LiteralString]]] = (
    (
        "operations",
        """
with gone as (delete from hermes_memory.inbox t where {place} returning 1) select count(*) from gone""",
    ),
    (
        "jobs",
        """
with gone as (
  delete from hermes_memory.embedding_jobs t
   where {place} and not exists (
         select from hermes_memory.memory_rows r where r.agent_identity = t.agent_identity and r.id = t.row_id)
  returning 1)
select count(*) from gone""",
    ),
)
ORPHANED_VECTORS: Final[LiteralString] = "select hermes_memory.erase_orphaned_vectors($1, $2)"
LEAVE_FOLDING: Final[LiteralString] = """
update hermes_memory.folding set theme = null, shelf = null, subject = null, whole = false, next_lexeme = ''
 where theme = $1 or subject = any ($2::bytea[])"""

# What operators did for a person names the subject; that it was done stays on record.
FORGET_IN_LOG: Final[LiteralString] = """
update hermes_memory.memory_maintenance_log
   set detail = replace(detail::text, encode($1::bytea, 'hex'), 'erased')::jsonb
 where strpos(detail::text, encode($1::bytea, 'hex')) > 0"""
COMPANIONS: Final[LiteralString] = """
select other.subject from hermes_memory.subject_members mine
  join hermes_memory.subject_members other on other.person = mine.person and other.subject <> mine.subject
 where mine.subject = $1"""

MIRRORED: Final[LiteralString] = """
select count(*) from hermes_memory.memory_entries t where t.source is not null and {rows}"""
TEXTS: Final[LiteralString] = """
select e.agent_identity, e.subject, e.target, e.content as text from hermes_memory.memory_entries e where e.id = $1
 union all
select h.agent_identity, h.subject, h.target, c.text
  from hermes_memory.history h, unnest(array[h.old_content, h.new_content]) c(text)
 where h.row_id = $1 and h.erasure is null and c.text is not null"""
# Asked before anything goes: afterwards nothing tells which texts these were. They are gathered once, and joined by
# equality alone: all of history is looked through, and not once more for each of its rows.
TELLING: Final[LiteralString] = """
with texts as materialized (
  select e.agent_identity, e.subject, e.target, e.content as text from hermes_memory.memory_entries e where e.id = $1
   union
  select h.agent_identity, h.subject, h.target, c.text
    from hermes_memory.history h, unnest(array[h.old_content, h.new_content]) c(text)
   where h.row_id = $1 and h.erasure is null and c.text is not null)
select h.row_id from hermes_memory.history h
 where h.erasure is null and h.change <> 'erased' and h.row_id <> $1 and h.merged_into = $1
 union
select h.row_id from hermes_memory.history h cross join unnest(array[h.old_content, h.new_content]) c(text)
  join texts t on t.agent_identity = h.agent_identity and t.subject = h.subject and t.target = h.target
              and t.text = c.text
 where h.erasure is null and h.change <> 'erased' and h.row_id <> $1"""
SHARED: Final[LiteralString] = """
with talks as (
  select s.agent_identity, s.session_id from hermes_memory.sessions s where s.subject = any ($1::bytea[])
   union
  select e.agent_identity, e.session_id from hermes_memory.memory_entries e where e.subject = any ($1::bytea[])
   union
  select h.agent_identity, h.session_id from hermes_memory.history h where h.subject = any ($1::bytea[]))
select count(*) from (
  select e.agent_identity, e.id from hermes_memory.memory_entries e join talks t using (agent_identity, session_id)
   where e.subject = ''
   union
  select h.agent_identity, h.row_id from hermes_memory.history h join talks t using (agent_identity, session_id)
   where h.subject = '' and h.erasure is null and h.change <> 'erased' and h.target <> 'turn') shared"""
WRITING_NOW: Final[LiteralString] = "select pg_current_xact_id()::text"
NONE_OLDER: Final[LiteralString] = "select pg_snapshot_xmin(pg_current_snapshot())::text::numeric > $1::text::numeric"

# What counts rows of one table by one condition, before and afterwards. Turns of a session go with it: what links
# others to it is counted without them.
COUNTED: Final[Mapping[str, LiteralString]] = {
    "entries": "select count(*) from hermes_memory.memory_entries t where {rows}",
    "turns": "select count(*) from hermes_memory.conversations t where {turns}",
    "sessions": "select count(*) from hermes_memory.sessions t where {sessions}",
    "delegations": "select count(*) from hermes_memory.memory_agent_edges t where {delegations}",
    "changes": """
select count(*) from hermes_memory.history t where t.erasure is null and t.change <> 'erased' and {changes}""",
    "grants": "select count(*) from hermes_memory.theme_grants t where {grants}",
    "members": "select count(*) from hermes_memory.subject_members t where {members}",
    "themes": "select count(*) from hermes_memory.memory_agents t where {themes}",
    "links": """
select (select count(*) from hermes_memory.sessions t where {links} and not ({sessions}))
     + (select count(*) from hermes_memory.conversations t where {links} and not ({turns}))""",
}
COUNTED_WHOLE: Final[Mapping[str, LiteralString]] = {
    "postings": """
select coalesce(sum(t.n), 0)::bigint from hermes_memory.term_blocks t where t.lexeme > '' and {place}""",
    "jobs": "select count(*) from hermes_memory.embedding_jobs t where {place}",
    "operations": "select count(*) from hermes_memory.inbox t where {place}",
}
# What the planner has kept of columns that would tell; by no condition, for whose it was is not known there.
STATISTICS: Final[LiteralString] = """
select (select count(*) from hermes_memory.telling_columns() t
          join pg_class c on c.oid = t.relation
          join pg_stats s on s.schemaname = 'hermes_memory' and s.tablename = c.relname and s.attname = t.name
         where s.most_common_vals is not null or s.histogram_bounds is not null or s.most_common_elems is not null)
     + (select count(*) from pg_statistic_ext s join pg_class c on c.oid = s.stxrelid
         where c.relnamespace = 'hermes_memory'::regnamespace)"""
VECTORS: Final[LiteralString] = "select hermes_memory.count_vectors($1, $2, $3::uuid[])"

STORES: Final = (*COUNTED, "postings", "vectors", "jobs", "operations")
"""What is counted of every erasure, also where it is nothing."""

DOOMED: Final[LiteralString] = """
select t.agent_identity, t.id, t.operation from hermes_memory.memory_entries t where {rows}
 union all
select t.agent_identity, t.id, t.operation from hermes_memory.conversations t where {turns}
 union all
select t.agent_identity, null, t.operation from hermes_memory.history t
 where t.erasure is null and t.change <> 'erased' and {changes}"""
POSTINGS_OF: Final[LiteralString] = "select hermes_memory.count_postings($1, $2::uuid[])"
JOBS_OF: Final[LiteralString] = """
select count(*) from hermes_memory.embedding_jobs where agent_identity = $1 and row_id = any ($2::uuid[])"""
OPERATIONS_OF: Final[LiteralString] = """
select count(*) from hermes_memory.inbox where agent_identity = $1 and operation = any ($2::uuid[])"""
