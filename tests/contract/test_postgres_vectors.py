"""What the vector leg keeps whatever the size of a theme, the graph, and the age of the connection."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Sequence
from typing import LiteralString

import asyncpg
import pytest
import pytest_asyncio

from hermes_memory.adapters.postgres.pool import Pool, Transaction
from hermes_memory.adapters.postgres.search import PostgresSearch
from hermes_memory.adapters.postgres.store import PostgresStore
from hermes_memory.adapters.postgres.vector_statements import cosines_statement
from hermes_memory.domain.model import AllScope, Caller, RowId, Scope, SubjectScope, Theme
from hermes_memory.domain.operations import ById
from hermes_memory.ports.reading import SearchSpace, VectorHit
from hermes_memory.testing.making import ANA, CURRENT, DESK, PATIENCE, add, remove
from tests.support.postgres import TestServer
from tests.support.postgres_store import Installation, migrated

CROWD = 2_000
"""Rows of one theme, all on one side of the space."""
FEW = 40
"""Rows of each of some themes in the same partition, and of a person, all on the other side."""
THERE = [0.0, 0.0, 1.0, 1.0]
HERE = [1.0, 1.0, 0.0, 0.0]

# $1 theme, $2 subject, $3 how many, $4 where.
ROWS = """
with made as (
  select gen_random_uuid() as id, n, array(select ($4::float8[])[i] + random() * .5 * sign(n)
                                            from generate_series(1, 4) as i)::real[] as vector
    from generate_series(1, $3::int) as n),
vectors as (
  insert into hermes_memory.turn_vectors_g1 (agent_identity, row_id, subject, embedding)
  select $1, m.id, $2, m.vector::public.halfvec from made m),
counted as (
  insert into hermes_memory.term_blocks (agent_identity, shelf, subject, lexeme, hi, n, packed)
  values ($1, 'turn', $2, '', 0, $3, array[$3::bigint])),
known as (
  insert into hermes_memory.memory_agents (agent_identity, first_seen_at, last_seen_at) values ($1, now(), now())
  on conflict do nothing)
insert into hermes_memory.conversations
  (agent_identity, id, subject, session_id, position, role, content, content_hash, origin, ts, created_at, operation,
   row_hash, lex, lex_key, lex_length)
select $1, m.id, $2, 's', m.n, 'user', 'row ' || m.n, sha256(m.id::text::bytea), 'user', now(), now(), m.id,
       sha256(''), '', 0, 2
  from made m"""


CHANGED_PLANS = """
select statement from pg_prepared_statements
 where parameter_types <> '{}' and generic_plans > 0 and custom_plans > 0"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def crowded(server: TestServer) -> AsyncIterator[Installation]:
    """Themes of forty rows in the partition of one of thousands, where a walk in the graph ends after a few steps."""
    async with migrated(server) as place:
        await place.administer(ROWS, "crowd", b"", CROWD, THERE)
        for number in range(12):
            await place.administer(ROWS, f"few {number}", b"", FEW, HERE)
            await place.administer(ROWS, f"few {number}", bytes(ANA), FEW, HERE)
        await place.administer("analyze")
        await place.administer(f"alter database {place.database} set hnsw.max_scan_tuples = 50")
        yield place


def _wide(scope: Scope) -> SearchSpace:
    return SearchSpace(scope=scope)


async def _ask(
    search: PostgresSearch, caller: Caller, space: SearchSpace, vector: Sequence[float], limit: int
) -> Sequence[VectorHit]:
    return await search.by_vector(caller, space, vector, limit=limit, timeout=PATIENCE)


@pytest.mark.parametrize("exact_rows", [0, 30, 5_000])
async def test_a_search_brings_all_rows_that_there_are_however_big_the_crowd_around_them(
    crowded: Installation, exact_rows: int
) -> None:
    async with crowded.store(exact_rows=exact_rows) as store:
        counts = [
            len(await _ask(store.search, Caller(theme=Theme(f"few {number}")), CURRENT, THERE, limit))
            for number in range(12)
            for limit in (1, FEW - 1, FEW, FEW + 60)
        ]
        own = await _ask(store.search, Caller(theme=Theme("few 3"), subject=ANA), CURRENT, THERE, 1_000)
        mine = await _ask(store.search, Caller(theme=Theme("x"), subject=ANA), _wide(SubjectScope()), THERE, 1_000)
        readable = await _ask(store.search, Caller(theme=Theme("few 3"), subject=ANA), _wide(AllScope()), THERE, 1_000)
        all_rows = await _ask(store.search, DESK, _wide(AllScope()), THERE, CROWD + 12 * FEW)

    assert counts == [1, FEW - 1, FEW, FEW] * 12
    assert len({hit.row.id for hit in own}) == 2 * FEW
    assert len({hit.row.id for hit in mine}) == 12 * FEW
    assert len({hit.row.id for hit in readable}) == 13 * FEW
    assert len({hit.row.id for hit in all_rows}) == CROWD + 12 * FEW


async def test_a_connection_gives_the_same_answers_young_and_old(crowded: Installation) -> None:
    chance = random.Random(3)
    vectors = [[chance.gauss(0, 1) for _ in range(4)] for _ in range(3)]
    callers = [Caller(theme=Theme(name)) for name in ("crowd", "few 1", "few 2")]
    pool = Pool(crowded.runtime_dsn, max_size=1)
    try:
        search = PostgresSearch(pool, exact_rows=30)

        async def ask() -> list[list[tuple[RowId, float]]]:
            found = [await _ask(search, caller, CURRENT, vector, 10) for caller in callers for vector in vectors]
            return [[(hit.row.id, hit.cosine) for hit in hits] for hits in found]

        young = await ask()
        for _ in range(12):
            await ask()
        old = await ask()
        async with pool.transaction(DESK, timeout=PATIENCE, read_only=True) as transaction:
            changed = await transaction.fetch(CHANGED_PLANS)
    finally:
        await pool.close()

    assert old == young
    assert changed == []


async def test_what_a_walk_sets_for_its_plan_ends_with_it(crowded: Installation) -> None:
    caller, vector = Caller(theme=Theme("crowd")), [0.1, 0.2, 1.0, 0.9]
    pool = Pool(crowded.runtime_dsn, max_size=1)
    try:
        search = PostgresSearch(pool, exact_rows=30)
        rows = [hit.row.id for hit in await _ask(search, caller, CURRENT, vector, 10)]
        async with search.look(caller, timeout=PATIENCE) as look:
            before = await look.cosines(rows, vector)
            walked = await look.by_vector(CURRENT, vector, limit=10)
            after = await look.cosines(rows, vector)
            await look.by_text(CURRENT, ["row"], limit=5)
        async with pool.transaction(DESK, timeout=PATIENCE, read_only=True) as transaction:
            changed = await transaction.fetch(CHANGED_PLANS)
    finally:
        await pool.close()

    assert before == after == {hit.row.id: pytest.approx(hit.cosine, abs=1e-6) for hit in walked}
    assert changed == []


async def test_the_plan_follows_a_theme_that_grows_and_shrinks_within_a_minute(database: Installation) -> None:
    async with database.store(exact_rows=20) as store:
        first = await _grow(store, 5, seed=1)
        small = await _ask(store.search, DESK, CURRENT, HERE, 10)
        more = await _grow(store, 120, seed=2)
        big = await _ask(store.search, DESK, CURRENT, HERE, 125)
        await store.delivery.apply([remove(ById(id=row)) for row in more])
        shrunk = await _ask(store.search, DESK, CURRENT, HERE, 10)

    assert {hit.row.id for hit in small} == set(first)
    assert {hit.row.id for hit in big} == {*first, *more}
    assert [hit.row.id for hit in shrunk] == [hit.row.id for hit in small]


async def test_a_row_that_waits_for_its_vector_is_not_looked_for_in_other_themes(
    crowded: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []
    fetch = Transaction.fetch

    async def noted(transaction: Transaction, statement: LiteralString, *arguments: object) -> list[asyncpg.Record]:
        ran.append(statement)
        return await fetch(transaction, statement, *arguments)

    elsewhere = Caller(theme=Theme("elsewhere"))
    async with crowded.store() as store:
        outcomes = await store.delivery.apply([add("waits"), add("waits as well", elsewhere)])
        here, there = (outcome.row for outcome in outcomes if outcome.row is not None)
        monkeypatch.setattr(Transaction, "fetch", noted)
        assert dict(await store.search.cosines(DESK, [here], HERE, timeout=PATIENCE)) == {}
        narrow = len(ran)
        assert dict(await store.search.cosines(DESK, [here, there], HERE, timeout=PATIENCE)) == {}

    wide = cosines_statement(1, own_theme=False)
    assert wide not in ran[:narrow]
    assert wide in ran[narrow:]


async def _grow(store: PostgresStore, count: int, *, seed: int) -> list[RowId]:
    """Add entries with vectors and return their ids."""
    chance = random.Random(seed)
    outcomes = await store.delivery.apply([add(f"note {seed}, {number}") for number in range(count)])
    jobs = await store.queue.claim(count, lease=PATIENCE)
    await store.queue.complete({job: [[chance.random() for _ in range(4)]] for job in jobs})
    return [outcome.row for outcome in outcomes if outcome.row is not None]
