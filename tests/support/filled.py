"""Fills a migrated database with so many rows that no planner takes a sequential scan for the quicker way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import asyncpg

THEMES: Final = ("marketing", "sales", *(f"theme{n}" for n in range(14)))
ROWS: Final = 500
"""Of most tables, in each theme."""
MANY: Final = 1_000
"""Of a queue, which is narrow, and long after an outage."""

# A tenth of a theme's rows are one subject's. Every row has the same word and one of its own.
_EACH: Final = """
select t.theme, n, case when n % 10 = 0 then convert_to(repeat('a', 32), 'UTF8') else '' end as subject,
       md5($3 || t.theme || n)::uuid as id, md5('entry' || t.theme || n)::uuid as entry,
       sha256(convert_to(t.theme || n, 'UTF8')) as hash, timestamptz '2024-01-01' + n * interval '1 minute' as at,
       'word own' || n as content, 's' || n / 20 as session, ('''word'':1 ''own' || n || ''':2')::tsvector as lex,
       (10000000 + t.place * 100000 + n) << 16 as key, array[n % 7, n % 11, n % 13, 1]::real[]::public.halfvec as vector
  from unnest($1::text[]) with ordinality as t(theme, place), generate_series(1, $2::int) as n"""


@dataclass(frozen=True, kw_only=True)
class Filling:
    """What fills a table: a value for each column, from a row of `_EACH` and of what is joined to it."""

    table: str
    columns: str
    values: str
    kind: str = "other"
    joined: str = ""
    rows: int = ROWS

    @property
    def statement(self) -> str:
        return (
            f"insert into hermes_memory.{self.table} ({self.columns}) "
            f"select {self.values} from ({_EACH}) e {self.joined}"
        )


_ROW: Final = "agent_identity, id, subject, session_id, content, content_hash, origin, created_at, operation, lex"
_ROW_VALUES: Final = "theme, id, subject, session, content, hash, 'agent', at, id, lex"
_BLOCK: Final = "agent_identity, shelf, subject, lexeme, hi, n, packed"
_SHELVES: Final = "cross join (values ('memory', 0), ('turn', 1)) as s(shelf, high)"
_WORDS: Final = (
    f"{_SHELVES} cross join lateral (select ((key + high::bigint * (1 << 30)) << 16) | 4098) as p(posting) "
    "cross join lateral (values ('word'), ('own' || n)) as w(lexeme)"
)

FILLINGS: Final = (
    Filling(
        table="memory_entries",
        columns=f"{_ROW}, target, source, said_at, updated_at, lex_key, lex_length",
        values=f"{_ROW_VALUES}, 'memory', 'home' || n % 50, at, at, key, 2",
        kind="entry",
    ),
    Filling(
        table="conversations",
        columns=f"{_ROW}, position, role, ts, row_hash, lex_key, lex_length",
        values=f"{_ROW_VALUES}, n % 20, 'user', at, hash, key + (1 << 30), 2",
        kind="turn",
    ),
    Filling(
        table="sessions",
        columns="agent_identity, subject, session_id, turns, started_at, last_at",
        values="theme, subject, 's' || n, 20, at, at",
    ),
    Filling(
        table="term_blocks",
        columns=_BLOCK,
        values="theme, shelf, subject, lexeme, hermes_memory.posting_impact(posting), 1, array[posting]",
        joined=_WORDS,
    ),
    Filling(table="term_blocks", columns=_BLOCK, values="theme, shelf, subject, '', 0, 1, array[2]", joined=_SHELVES),
    Filling(
        table="embedding_jobs",
        columns="agent_identity, row_id, generation, subject, kind, content_hash, not_before",
        values="theme, id, 1, subject, 'entry', hash, at",
        kind="entry",
        rows=MANY,
    ),
    Filling(
        table="inbox",
        columns="agent_identity, operation, subject, effect, row_id",
        values="theme, id, subject, 'stored', id",
    ),
    Filling(
        table="memory_agent_edges",
        columns="agent_identity, id, subject, parent_session_id, created_at",
        values="theme, id, subject, session, at",
    ),
    Filling(
        table="history",
        columns="agent_identity, id, subject, row_id, change, target, new_content, origin, operation, at, said_at, "
        "recorded_at, salt, row_hash, seal, session_id",
        values="theme, id, subject, entry, 'added', 'memory', content, 'agent', id, at, at, at, hash, hash, 1, session",
    ),
    Filling(
        table="seals",
        columns="agent_identity, seal, n, root, prev, chained, at, ids",
        values="theme, n, 1, hash, hash, hash, at, array[id]",
    ),
    Filling(
        table="entry_vectors_g1",
        columns="agent_identity, row_id, subject, target, embedding",
        values="theme, id, subject, 'memory', vector",
        kind="entry",
    ),
    Filling(
        table="turn_vectors_g1",
        columns="agent_identity, row_id, subject, embedding",
        values="theme, id, subject, vector",
        kind="turn",
    ),
)
_AGENTS: Final = """
insert into hermes_memory.memory_agents (agent_identity, first_seen_at, last_seen_at)
select theme, now(), now() from unnest($1::text[]) as t(theme)"""
_NEARLY_EMPTY: Final = """
select string_agg(c.relname, ', ') from pg_inherits i join pg_class c on c.oid = i.inhrelid
  join pg_namespace s on s.oid = c.relnamespace
 where s.nspname = 'hermes_memory' and c.relkind = 'r' and c.reltuples < 500"""

_AS_COUNTED: Final = """
do $$ declare part text; begin
  for part in select c.oid::regclass::text from pg_class c join pg_namespace s on s.oid = c.relnamespace
               where s.nspname = 'hermes_memory' and c.relkind = 'r'
  loop execute 'alter table ' || part || ' set (autovacuum_enabled = false)'; end loop;
end $$"""
"""Keeps the server from counting anew in the middle of a test, when a table that is worked off is empty."""


async def fill(dsn: str) -> None:
    """Fill all row-bearing tables of a migrated database with one embedding generation of four dimensions."""
    connection = await asyncpg.connect(dsn, command_timeout=120.0)
    try:
        # Building the graph afterwards takes a fraction of the time.
        for vectors in ("entry_vectors_g1", "turn_vectors_g1"):
            await connection.execute(f"drop index hermes_memory.{vectors}_near")
        await connection.execute(_AGENTS, list(THEMES))
        for filling in FILLINGS:
            await connection.execute(filling.statement, list(THEMES), filling.rows, filling.kind)
        await connection.execute("select hermes_memory.activate_generation(1)")
        await connection.execute(_AS_COUNTED)
        await connection.execute("analyze")
        await connection.execute("vacuum hermes_memory.term_blocks")
        empty = await connection.fetchval(_NEARLY_EMPTY)
    finally:
        await connection.close()
    if empty:
        raise RuntimeError(f"next to nothing is in {empty}: say here what fills them")
