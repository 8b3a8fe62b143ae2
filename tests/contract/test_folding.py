"""Folding the text index changes its shape and no answer, whatever goes on beside it."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

import anyio
import asyncpg
import pytest
import pytest_asyncio

from hermes_memory.adapters.postgres.folding import PostgresTextIndex
from hermes_memory.adapters.postgres.pool import Pool
from hermes_memory.adapters.postgres.store import PostgresStore
from hermes_memory.domain.errors import StoreUnavailable
from hermes_memory.domain.model import Caller, SessionId, Theme
from hermes_memory.domain.operations import RecordTurns
from hermes_memory.domain.postings import MAX_FREQUENCY, MAX_LENGTH, impact, pack
from hermes_memory.ports.text_index import Folding
from hermes_memory.testing.making import ANA, CURRENT, PATIENCE, add, by_content, record, remove, replace, said
from tests.support.index_and_rows import INDEX_AND_ROWS
from tests.support.postgres import TestServer
from tests.support.postgres_store import ANALYZE, Installation, migrated

BATCHES: Final = 21
A_BATCH: Final = 110
WORDS: Final = tuple(f"word{n}" for n in range(120))
QUERIES: Final = ("word0 word7", "word1 word2 word3 word90", "word119", "word5 never")
TALKER: Final = Caller(theme=Theme("talkative"), session=SessionId("long"))
GUEST: Final = Caller(theme=Theme("talkative"), subject=ANA, session=SessionId("short"))
_FOLDERS: Final = (
    "pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() "
    "and query like '%fold_term_blocks%'"
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def written(server: TestServer) -> AsyncIterator[Installation]:
    """A theme with thousands of turns as writers left them, and somebody's few entries beside them."""
    chance = random.Random(11)
    async with migrated(server) as place:
        async with place.store() as store:
            for _ in range(BATCHES):
                await store.delivery.apply([_talk(chance, A_BATCH)])
            for number in range(70):
                await store.delivery.apply([add(f"{_text(chance)} note{number}", GUEST)])
        yield place


@pytest_asyncio.fixture
async def place(written: Installation) -> AsyncIterator[Installation]:
    async with written.copy() as copied:
        yield copied


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def folded(written: Installation) -> AsyncIterator[Installation]:
    async with written.copy() as copied:
        async with copied.store() as store:
            await _fold_all(store.pool)
        yield copied


def _text(chance: random.Random) -> str:
    # The square makes some words common and most of them rare.
    return " ".join(WORDS[int(len(WORDS) * chance.random() ** 2)] for _ in range(chance.randint(2, 9)))


def _talk(chance: random.Random, turns: int, caller: Caller = TALKER) -> RecordTurns:
    return record(*(said(_text(chance)) for _ in range(turns)), caller=caller)


async def _answers(store: PostgresStore, caller: Caller = TALKER) -> list[tuple[list[object], dict[str, int]]]:
    found = [await store.search.by_text(caller, CURRENT, ANALYZE(q), limit=40, timeout=PATIENCE) for q in QUERIES]
    return [
        ([(hit.row.id, round(hit.bm25, 6)) for hit in each.hits], dict(each.document_frequencies)) for each in found
    ]


async def _fold_all(pool: Pool, *, postings: int = 2_000, between: Callable[[], Awaitable[None]] | None = None) -> int:
    """Fold until there is nothing to fold; return how many steps it took."""
    index, steps = PostgresTextIndex(pool, postings=postings, rest=0.0), 0
    while (await index.fold()).state is not Folding.IDLE:
        steps += 1
        if between:
            await between()
    return steps


async def _begun(store: PostgresStore) -> None:
    """Fold until words are next."""
    index = PostgresTextIndex(store.pool, postings=3_000, rest=0.0)
    while not (await index.fold()).gone:
        pass


async def _fold_in_vain(store: PostgresStore) -> None:
    with pytest.raises(StoreUnavailable):
        await PostgresTextIndex(store.pool, postings=3_000, rest=0.0).fold()


async def _wait_for(place: Installation, question: str) -> None:
    while not await place.administer(question):
        await anyio.sleep(0.01)


async def _blocks(place: Installation, condition: str = "true") -> int:
    return int(await place.administer(f"select count(*) from hermes_memory.term_blocks where {condition}"))


async def test_answers_are_the_same_before_during_and_after(place: Installation) -> None:
    async with place.store() as store:
        before, guests = await _answers(store), await _answers(store, GUEST)
        many = await _blocks(place, "subject = ''")
        during: list[object] = []

        async def look() -> None:
            during.append(await _answers(store))

        steps = await _fold_all(store.pool, between=look)
        after, guests_after = await _answers(store), await _answers(store, GUEST)

    assert steps > 5
    assert all(len(hits) == 40 for hits, _ in before[:2])
    assert all(answer == before for answer in during)
    assert (after, guests_after) == (before, guests)
    assert await _blocks(place, "subject = ''") * 5 < many
    assert await place.administer(INDEX_AND_ROWS) == 0
    # Few rows are not worth it: of them only the statistics are put together.
    assert await _blocks(place, "subject <> '' and lexeme = ''") == 1
    assert await _blocks(place, "subject <> '' and n > 1 and lexeme <> ''") == 0


async def test_blocks_come_out_full_and_best_first(folded: Installation) -> None:
    disordered = await folded.administer("""
        select count(*) from hermes_memory.term_blocks b
         where b.lexeme <> '' and (b.hi <> hermes_memory.posting_impact(b.packed[1]) or b.n <> cardinality(b.packed)
           or exists (select from unnest(b.packed) with ordinality as p(posting, place)
                       where hermes_memory.posting_impact(p.posting)
                             > hermes_memory.posting_impact(b.packed[greatest(p.place - 1, 1)])))""")
    overlapping = await folded.administer("""
        select count(*) from (
          select b.lowest, lead(b.hi) over (partition by b.lexeme order by b.hi desc, b.lowest desc) as next
            from (select t.lexeme, t.hi, hermes_memory.posting_impact(t.packed[t.n]) as lowest
                    from hermes_memory.term_blocks t where t.lexeme <> '' and t.subject = '') b) o
         where o.next > o.lowest""")

    assert disordered == 0
    assert overlapping == 0
    assert await _blocks(folded, "subject = '' and lexeme = 'word0' and n = 240") >= 1


async def test_impacts_are_exactly_those_that_writers_compute(place: Installation) -> None:
    lengths = [*range(80), *range(80, MAX_LENGTH, 97), MAX_LENGTH]
    postings = [pack(1, tf, length) for tf in range(1, MAX_FREQUENCY + 1) for length in lengths]

    computed = await place.administer(
        "select array_agg(hermes_memory.posting_impact(p) order by place) "
        "from unnest($1::bigint[]) with ordinality as u(p, place)",
        postings,
    )

    assert computed == [impact(tf, length) for tf in range(1, MAX_FREQUENCY + 1) for length in lengths]


async def test_writers_forgetters_and_two_folders_lose_nothing(place: Installation) -> None:
    chance = random.Random(3)
    host = Caller(theme=Theme("talkative"))
    async with place.store() as store, place.store() as other:
        await store.delivery.apply([add(f"host{n}", host) for n in range(30)])
        done = anyio.Event()

        async def write() -> None:
            for _ in range(12):
                await store.delivery.apply([_talk(chance, 60)])
            done.set()

        async def forget() -> None:
            for number in range(30):
                old, new = by_content(f"host{number}"), f"{_text(chance)} again{number}"
                await other.delivery.apply([remove(old, host) if number % 2 else replace(old, new, host)])

        async def fold(pool: Pool) -> None:
            index = PostgresTextIndex(pool, postings=700, rest=0.0)
            while not done.is_set():
                await index.fold()

        with anyio.fail_after(240):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(write)
                tasks.start_soon(forget)
                tasks.start_soon(fold, store.pool)
                tasks.start_soon(fold, other.pool)
        mismatched = await place.administer(INDEX_AND_ROWS)
        before = await _answers(store)
        await _fold_all(store.pool)

        assert mismatched == 0
        assert await _answers(store) == before
        assert await place.administer(INDEX_AND_ROWS) == 0


async def test_a_folder_that_dies_half_way_leaves_the_index_whole_and_the_next_one_goes_on(place: Installation) -> None:
    async with place.store() as store, place.store() as doomed:
        before = await _answers(store)
        await _begun(doomed)
        blocks, during = await _blocks(place), [before[:0]]
        connection = await asyncpg.connect(place.admin_dsn)
        try:
            async with connection.transaction():
                # Its last statement waits here, after blocks were taken out and others put in their place.
                await connection.execute("select from hermes_memory.folding for update")
                with anyio.fail_after(120):
                    async with anyio.create_task_group() as tasks:
                        tasks.start_soon(_fold_in_vain, doomed)
                        await _wait_for(place, f"select count(*) > 0 from {_FOLDERS} and wait_event_type = 'Lock'")
                        during = [await _answers(store)]
                        await place.administer(f"select pg_terminate_backend(pid) from {_FOLDERS}")
        finally:
            await connection.close()
        left = await _blocks(place)
        broken = await place.administer(INDEX_AND_ROWS)
        steps = await _fold_all(store.pool)

        assert during == [before]
        assert (left, broken) == (blocks, 0)
        assert steps > 2
        assert await _answers(store) == before
        assert await place.administer(INDEX_AND_ROWS) == 0


async def test_postings_of_rows_that_went_past_the_index_are_left_out(place: Installation) -> None:
    keys = await place.administer("""
        with gone as (
          delete from hermes_memory.conversations where agent_identity = 'talkative' and position % 20 = 0
          returning lex_key)
        select array_agg(lex_key) from gone""")
    dead = """
        select count(*) from hermes_memory.term_blocks b cross join unnest(b.packed) as p(posting)
         where b.lexeme <> '' and b.shelf = 'turn' and p.posting >> 16 = any ($1::bigint[])"""
    before = await place.administer(dead, keys)
    async with place.store() as store:
        await _fold_all(store.pool)

    assert before > 500
    assert await place.administer(dead, keys) == 0


async def test_whoever_takes_postings_out_is_not_disturbed(place: Installation) -> None:
    connection = await asyncpg.connect(place.admin_dsn)
    try:
        async with place.store() as store, connection.transaction():
            await _begun(store)
            await connection.execute("select pg_advisory_xact_lock(hashtextextended('talkative', 7))")

            assert (await PostgresTextIndex(store.pool).fold()).state is Folding.BUSY
    finally:
        await connection.close()


async def test_where_nothing_needs_folding_nobody_looks_for_a_while(folded: Installation) -> None:
    async with folded.store() as store:
        looked = await folded.administer("select rested_at from hermes_memory.folding")
        states = {(await PostgresTextIndex(store.pool).fold()).state for _ in range(3)}

    assert states == {Folding.IDLE}
    assert await folded.administer("select rested_at from hermes_memory.folding") == looked


async def test_the_runtime_role_cannot_see_where_folding_is(place: Installation) -> None:
    await place.require_refused(
        "select * from hermes_memory.folding",
        "select hermes_memory.begin_folding()",
        "select hermes_memory.fold_words(null, 1)",
    )
