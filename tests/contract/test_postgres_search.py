"""How searches are planned and bounded on Postgres, beyond what every store promises."""

from __future__ import annotations

import json
import random
import re
from collections.abc import AsyncIterator, Iterator
from typing import Any, LiteralString

import asyncpg
import pytest
import pytest_asyncio

from hermes_memory.adapters.postgres.context import opening
from hermes_memory.adapters.postgres.pool import Pool
from hermes_memory.adapters.postgres.store import PostgresStore
from hermes_memory.adapters.postgres.text_search import BY_TEXT_IN_ONE_THEME, BY_TEXT_IN_SESSION
from hermes_memory.adapters.postgres.vector_plan import EXACT_ROWS
from hermes_memory.adapters.postgres.vector_statements import exact_statement, walk_statement
from hermes_memory.adapters.stemming import snowball_stem
from hermes_memory.domain.lexemes import MAX_QUERY_LEXEMES, Analyzer
from hermes_memory.domain.model import (
    AllScope,
    Caller,
    CurrentScope,
    Kind,
    RowId,
    SessionId,
    SubjectScope,
    Theme,
)
from hermes_memory.domain.operations import row_id
from hermes_memory.ports.reading import SearchSpace
from hermes_memory.testing.making import (
    ANA,
    CURRENT,
    DESK,
    ENTRIES,
    MARKETING,
    PATIENCE,
    SALES,
    add,
    by_content,
    record,
    remove,
    said,
)
from tests.support.postgres import TestServer
from tests.support.postgres_store import ANALYZE, Installation, migrated
from tests.support.scans import watched

SHELVES = ["memory", "user", "turn"]
LIMIT = 50
ROWS = 600
COMMON = ("alpha", "beta", "gamma")
ANALYZER = Analyzer(stem=snowball_stem())


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def installation(server: TestServer) -> AsyncIterator[Installation]:
    """A theme of hundreds of turns over a few common words, and others beside it, all embedded and analysed."""
    chance = random.Random(4)
    async with migrated(server) as place:
        async with place.store() as store:
            for start in range(0, ROWS, 100):
                turns = tuple(said(_text(chance, number)) for number in range(start, start + 100))
                await store.delivery.apply([record(*turns)])
            await store.delivery.apply(
                [
                    *(add(_text(chance, n), Caller(theme=SALES)) for n in range(30)),
                    *(add(_text(chance, n), Caller(theme=MARKETING, subject=ANA)) for n in range(20)),
                    *(add(_text(chance, n), Caller(theme=SALES, subject=ANA)) for n in range(20)),
                ]
            )
            while jobs := await store.queue.claim(500, lease=60):
                await store.queue.complete({job: [[chance.gauss(0, 1) for _ in range(4)]] for job in jobs})
        await place.administer("analyze")
        yield place


@pytest_asyncio.fixture
async def store(installation: Installation) -> AsyncIterator[PostgresStore]:
    async with installation.store() as opened:
        yield opened


def _text(chance: random.Random, number: int) -> str:
    words = [word for word in COMMON for _ in range(chance.randint(0, 6))]
    return " ".join([f"w{number}", *words, *(f"filler{chance.randint(0, 40)}" for _ in range(chance.randint(1, 30)))])


async def _plan(
    place: Installation, caller: Caller, statement: str, *arguments: object, settings: LiteralString = ""
) -> str:
    connection = await asyncpg.connect(place.runtime_dsn)
    try:
        extra: list[LiteralString] = [settings] if settings else []
        await connection.execute(opening(caller, read_only=True, timeout=PATIENCE, settings=extra))
        (row,) = await connection.fetch("explain (format json) " + statement, *arguments)
        return str(row[0])
    finally:
        await connection.close()


def _nodes(plan: str) -> list[dict[str, Any]]:
    def walk(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
        yield node
        for child in node.get("Plans", []):
            yield from walk(child)

    return list(walk(json.loads(plan)[0]["Plan"]))


def _partitions(plan: str) -> set[str]:
    return set(re.findall(r"_p(\d+)\"", plan))


async def test_a_text_search_of_one_theme_plans_one_partition_and_reads_blocks_by_their_key(
    installation: Installation,
) -> None:
    arguments = (MARKETING, [b""], SHELVES, list(ANALYZE("alpha beta")), SHELVES, 20_000, 1_000, 300, LIMIT)
    plan = await _plan(installation, DESK, BY_TEXT_IN_ONE_THEME, *arguments)

    blocks = [node for node in _nodes(plan) if str(node.get("Relation Name", "")).startswith("term_blocks")]
    conditions = " ".join(str(node.get("Index Cond")) for node in blocks)
    assert len(_partitions(plan)) == 1
    assert {node["Node Type"] for node in blocks} <= {"Index Scan", "Index Only Scan"}
    assert all("agent_identity = " in str(node["Index Cond"]) for node in blocks)
    assert "lexeme = " in conditions
    assert "hi >= " in conditions
    assert any(node["Node Type"] == "Index Only Scan" for node in blocks)


async def test_a_text_search_of_a_session_plans_one_partition(installation: Installation) -> None:
    arguments = (MARKETING, [b""], SHELVES, list(ANALYZE("alpha")), SHELVES, ["morning", "hidden"], LIMIT)

    plan = await _plan(installation, DESK, BY_TEXT_IN_SESSION, *arguments)

    assert len(_partitions(plan)) == 1


@pytest.mark.parametrize(("exact", "graph"), [(True, False), (False, True)])
async def test_a_vector_search_of_one_theme_plans_one_partition_and_uses_the_graph_only_when_it_is_to(
    installation: Installation, exact: bool, graph: bool
) -> None:
    exactly = exact_statement([Kind.TURN], 1, CurrentScope(), parts_a_row=2)
    statement = exactly if exact else walk_statement(Kind.TURN, 1, CurrentScope(), parts_a_row=2)
    # So few rows could be sorted as quickly: what is tried here is whether the graph can serve this query at all.
    settings = "enable_sort = off"

    how = (SHELVES, 1, EXACT_ROWS, EXACT_ROWS) if exact else ()

    plan = await _plan(installation, DESK, statement, MARKETING, [b""], [1.0, 0, 0, 0], LIMIT, *how, settings=settings)

    assert len(_partitions(plan)) == 1
    assert (
        any("_near" in str(n.get("Index Name")) or "embedding_idx" in str(n.get("Index Name")) for n in _nodes(plan))
        is graph
    )


async def test_a_budget_changes_what_is_read_and_hardly_what_is_found(installation: Installation) -> None:
    query = [*ANALYZE("alpha beta gamma"), *ANALYZE("w7")]
    async with installation.store() as whole, installation.store(postings_budget=60) as frugal:
        best = await whole.search.by_text(DESK, CURRENT, query, limit=10, timeout=PATIENCE)
        cheap = await frugal.search.by_text(DESK, CURRENT, query, limit=10, timeout=PATIENCE)

    exact = {hit.row.id: hit.bm25 for hit in best.hits}
    shared = exact.keys() & {hit.row.id for hit in cheap.hits}
    assert best.document_frequencies == cheap.document_frequencies
    assert best.hits[0].row == cheap.hits[0].row
    assert len(shared) >= 7
    # Whatever is found under a budget carries its exact score, up to the five occurrences that a stored word tells.
    assert [hit.bm25 for hit in cheap.hits if hit.row.id in shared] == pytest.approx(
        [exact[hit.row.id] for hit in cheap.hits if hit.row.id in shared], rel=0.02
    )


@pytest.mark.parametrize(
    ("caller", "space"),
    [
        (DESK, CURRENT),
        (Caller(theme=MARKETING, subject=ANA), CURRENT),
        (DESK, SearchSpace(scope=AllScope())),
        (Caller(theme=Theme("elsewhere"), subject=ANA), SearchSpace(scope=SubjectScope())),
    ],
    ids=["theme", "theme and subject", "all themes", "subject"],
)
async def test_the_graph_finds_what_the_exact_search_finds(
    installation: Installation, caller: Caller, space: SearchSpace
) -> None:
    chance = random.Random(9)
    async with installation.store() as exact, installation.store(exact_rows=0) as graph:
        found = wanted = 0
        for _ in range(10):
            vector = [chance.gauss(0, 1) for _ in range(4)]
            truth = await exact.search.by_vector(caller, space, vector, limit=10, timeout=PATIENCE)
            hits = await graph.search.by_vector(caller, space, vector, limit=10, timeout=PATIENCE)
            assert [hit.cosine for hit in hits] == sorted((hit.cosine for hit in hits), reverse=True)
            wanted += len(truth)
            found += len({hit.row.id for hit in truth} & {hit.row.id for hit in hits})

    assert wanted == 100
    assert found >= 95


@pytest.mark.parametrize(
    ("query", "is_found"),
    [
        ("log line 17: nothing to see\n" * 4_000 + "which needle?", True),
        ("needle " + "'\"&|!()<->:*\\%_ " * 7_000, True),
        ("'needle':* & !('haystack' | \\'); drop table x; --", True),
        ("\" ' \\ & | ! ( ) <-> :* ; -- /* %", False),
        ("whose was it and what is it that we were with", True),
    ],
    ids=["100 KB of log", "100 KB of operators", "operators and quotes", "operators alone", "stop words alone"],
)
async def test_whatever_is_asked_the_work_is_bounded_and_the_words_are_found(
    store: PostgresStore, query: str, is_found: bool
) -> None:
    caller = Caller(theme=Theme("asked"))
    await store.delivery.apply([add("the needle that we were looking for is with it", caller), add("hay", caller)])

    lexemes = ANALYZER.query_lexemes(query)
    found = await store.search.by_text(caller, CURRENT, lexemes, limit=5, timeout=PATIENCE)

    assert len(lexemes) <= MAX_QUERY_LEXEMES
    assert [hit.row.content for hit in found.hits] == (
        ["the needle that we were looking for is with it"] if is_found else []
    )


@pytest.mark.parametrize("statement_cache_size", [100, 0])
async def test_a_lexeme_is_looked_for_as_it_is_whatever_it_is_made_of(
    installation: Installation, statement_cache_size: int
) -> None:
    words = ["it's", "\\", "''", "a:*", "!b", "c&d", "(", "<->", '"', "%", "plain"]
    caller = Caller(theme=Theme(f"odd{statement_cache_size}"))
    pool = Pool(installation.runtime_dsn, statement_cache_size=statement_cache_size)
    try:
        # With no budget every word but the rarest is counted in the rows' own words.
        store = PostgresStore(pool, analyze=str.split, postings_budget=1)
        await store.delivery.apply([add(" ".join(words), caller), *(add(f"{word} alone", caller) for word in words)])
        hits = [
            (await store.search.by_text(caller, CURRENT, [word, "alone"], limit=1, timeout=PATIENCE)).hits[0]
            for word in words
        ]
    finally:
        await pool.close()

    assert [hit.row.content for hit in hits] == [f"{word} alone" for word in words]


async def test_a_plan_that_was_made_while_there_was_nothing_leads_by_indexes_later(database: Installation) -> None:
    async with database.store() as store:
        await store.search.by_text(DESK, CURRENT, ANALYZE("note"), limit=5, timeout=PATIENCE)
        await store.delivery.apply([add(f"note {number}") for number in range(50)])
        with watched() as seen:
            found = await store.search.by_text(DESK, CURRENT, ANALYZE("note 17"), limit=5, timeout=PATIENCE)

    looked = seen[BY_TEXT_IN_ONE_THEME]
    assert found.hits[0].row.content == "note 17"
    assert looked.sequential == set()
    assert dict(looked.partitions).keys() >= {"term_blocks", "memory_entries"}
    assert set(looked.partitions.values()) == {1}


async def test_positions_and_index_keys_go_on_over_stretches_and_batches(store: PostgresStore) -> None:
    caller = Caller(theme=Theme("stretches"), session=SessionId("long"))
    talks = [record(*(said(f"turn{batch}x{n}") for n in range(50)), caller=caller) for batch in range(4)]
    for talk in talks[:3]:
        await store.delivery.apply([talk])
    await store.delivery.apply([talks[3]])

    rows = [RowId(row_id(talk.stamp.operation, n)) for talk in talks for n in range(50)]
    turns = [await store.reader.get(caller, row, timeout=PATIENCE) for row in (rows[0], rows[63], rows[64], rows[199])]
    found = await store.search.by_text(caller, CURRENT, list(ANALYZE("turn1x14")), limit=5, timeout=PATIENCE)
    assert [getattr(turn, "position", None) for turn in turns] == [0, 63, 64, 199]
    assert found.hits[0].row.id == rows[64]


async def test_forgetting_leaves_no_posting_behind(installation: Installation, store: PostgresStore) -> None:
    caller = Caller(theme=Theme("forgetful"))
    contents = ['it\'s a back\\slash, a "quote" and src/api/auth.py', "钥匙在垫子下面 ключ", "zebra zebra zebra " * 30]
    for content in contents:
        await store.delivery.apply([add(content, caller)])
    await store.delivery.apply([remove(by_content(content), caller) for content in contents])

    left = await installation.administer("""
        select coalesce(sum(n) filter (where lexeme <> ''), 0) || ' postings, ' || sum(n) filter (where lexeme = '')
               || ' documents, ' || sum(packed[1]) filter (where lexeme = '') || ' lexemes'
          from hermes_memory.term_blocks where agent_identity = 'forgetful'""")

    assert left == "0 postings, 0 documents, 0 lexemes"


async def test_words_beyond_what_a_tsvector_holds_do_not_keep_a_text_from_being_stored(store: PostgresStore) -> None:
    caller = Caller(theme=Theme("verbose"))
    monster = " ".join(f"{n}" + "x" * 60 + "é" * 60 for n in range(5_000))

    (outcome,) = await store.delivery.apply([add(f"needle {monster}", caller)])

    found = await store.search.by_text(caller, CURRENT, list(ANALYZE("needle")), limit=1, timeout=PATIENCE)
    assert [hit.row.id for hit in found.hits] == [outcome.row]


async def test_a_vector_that_points_nowhere_finds_nothing(store: PostgresStore) -> None:
    assert list(await store.search.by_vector(DESK, CURRENT, [0.0] * 4, limit=5, timeout=PATIENCE)) == []


async def test_the_parts_of_long_texts_leave_room_in_the_graph_for_other_rows(database: Installation) -> None:
    async with database.store(exact_rows=0) as store:
        await store.delivery.apply([add(f"a note of many parts, {number}") for number in range(5)])
        await store.delivery.apply([add(f"a short note, {number}") for number in range(20)])
        near, less_near = (1.0, 0.0, 0.0, 0.0), (1.0, 0.3, 0.0, 0.0)
        jobs = await store.queue.claim(500, lease=60)
        vectors = {job: [near] * 40 if "many parts" in job.text else [less_near] for job in jobs}
        await store.queue.complete(vectors)
        hits = await store.search.by_vector(DESK, ENTRIES, near, limit=20, timeout=PATIENCE)

    assert len({hit.row.id for hit in hits}) == len(hits) == 20
    assert sum("many parts" in hit.row.content for hit in hits) == 5
