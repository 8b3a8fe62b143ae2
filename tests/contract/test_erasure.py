"""Erasing for good, on a real Postgres: exactly what was named goes, with all that was made of it, and nothing else."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any, Final

import anyio
import asyncpg
import pytest
import pytest_asyncio

from hermes_memory.adapters.postgres.administrator import administrator
from hermes_memory.adapters.postgres.delivery import PostgresDelivery
from hermes_memory.adapters.postgres.erasure import PostgresEraser
from hermes_memory.adapters.postgres.erasure_statements import TELLING
from hermes_memory.adapters.postgres.granting import PostgresGranting
from hermes_memory.adapters.postgres.history_audit import altered_turns, histories
from hermes_memory.adapters.postgres.history_reader import PostgresHistory
from hermes_memory.adapters.postgres.seals import PostgresSeals
from hermes_memory.adapters.postgres.store import PostgresStore
from hermes_memory.domain.chain import Flaw, Head, verify
from hermes_memory.domain.erasure import Erasure, OneEntry, WholeSession, WholeSubject, WholeTheme
from hermes_memory.domain.grants import Grant
from hermes_memory.domain.model import Caller, RowId, SessionId, Subject, Theme
from hermes_memory.domain.operations import RecordDelegation
from hermes_memory.testing.eraser_contract import EraserContract, EraserUnderTest
from hermes_memory.testing.making import (
    ANA,
    ANA_DIRECTLY,
    BEN_DIRECTLY,
    DESK,
    DESK_WITH_ANA,
    MARKETING,
    add,
    by_content,
    record,
    remove,
    replace,
    said,
    stamp,
)
from tests.contract.test_store_inmemory import Levers
from tests.support.dying import Dying
from tests.support.index_and_rows import INDEX_AND_ROWS
from tests.support.postgres_store import ANALYZE, Installation

SUPPORT: Final = Theme("support")
TALK: Final = SessionId("talk-4711")
TALKING: Final = Caller(theme=SUPPORT, session=TALK)
ELSEWHERE: Final = Caller(theme=SUPPORT, session=SessionId("elsewhere"))
CLARA: Final = Subject(b"c" * 32)
CHILD: Final = Caller(theme=SUPPORT, session=SessionId("child"))
TABLES: Final = """
select c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
 where n.nspname = 'hermes_memory' and c.relkind in ('r', 'p') and not c.relispartition order by 1"""

WITHOUT_FORERUNNER: Final = """
select count(*) from hermes_memory.turn_vectors_g1 v
  join hermes_memory.conversations c on c.agent_identity = v.agent_identity and c.id = v.row_id and c.position > 0
 where not exists (select from hermes_memory.conversations p
                    where p.agent_identity = c.agent_identity and p.session_id = c.session_id
                      and p.position = c.position - 1)"""
"""Counts the vectors of turns that were said after one that is not there any more."""


class TestInMemoryEraser(EraserContract):
    """Every promise, kept in memory."""

    @pytest.fixture
    async def erasing(self) -> EraserUnderTest:
        levers = Levers()
        return EraserUnderTest(store=levers.under_test(), history=levers.store.history, eraser=levers.store.eraser)


class TestPostgresEraser(EraserContract):
    """Every promise, kept by Postgres."""

    @pytest_asyncio.fixture
    async def erasing(self, database: Installation) -> AsyncIterator[EraserUnderTest]:
        async with database.under_test() as store, database.store() as own, eraser_of(database) as eraser:
            yield EraserUnderTest(store=store, history=PostgresHistory(own.pool), eraser=eraser)


@asynccontextmanager
async def eraser_of(database: Installation, **options: int) -> AsyncIterator[PostgresEraser]:
    async with administrator(database.admin_dsn) as opened:
        yield PostgresEraser(opened, **options)


async def everything(database: Installation) -> dict[str, list[str]]:
    """Return every row of every table, as texts."""
    connection = await asyncpg.connect(database.admin_dsn)
    try:
        tables = [row["relname"] for row in await connection.fetch(TABLES)]
        return {
            table: sorted([row[0] for row in await connection.fetch(f"select t::text from hermes_memory.{table} t")])
            for table in tables
        }
    finally:
        await connection.close()


def holding(rows: dict[str, list[str]], *marks: str) -> list[str]:
    return [f"{table}: {row}" for table, found in rows.items() for row in found if any(mark in row for mark in marks)]


async def world(database: Installation, store: PostgresStore) -> dict[str, RowId]:
    """Store something of everybody; words of Ana's hold `anna`, those of the talk `talky`, of the one entry `solo`."""
    made = await store.delivery.apply(
        [
            add("annacode is 4711", ANA_DIRECTLY),
            add("bencode is 8841", BEN_DIRECTLY),
            add("annatea is green", DESK_WITH_ANA),
            add("launch on 3 May", DESK),
            add("solo entry draft", ELSEWHERE),
            add("talky decision", TALKING),
            add("plain decision", ELSEWHERE),
        ]
    )
    await store.delivery.apply(
        [
            record(*(said(f"annatalk number {n} common word") for n in range(30)), caller=ANA_DIRECTLY),
            record(*(said(f"bentalk number {n} common word") for n in range(30)), caller=BEN_DIRECTLY),
            record(*(said(f"talky number {n} common word") for n in range(70)), caller=TALKING),
            record(*(said(f"other number {n} common word") for n in range(70)), caller=ELSEWHERE),
            record(said("child says common word"), caller=CHILD, parent_session=TALK),
            replace(by_content("solo entry draft"), "solo entry final", ELSEWHERE),
            replace(by_content("plain decision"), "talky change of a plain decision", TALKING),
            replace(by_content("talky change of a plain decision"), "plain decision again", ELSEWHERE),
            add("annagone", ANA_DIRECTLY),
            remove(by_content("annagone"), ANA_DIRECTLY),
            delegated(TALKING, "talky task"),
            delegated(DESK, "ask for the other number", child=SUPPORT),
            delegated(ELSEWHERE, "other task"),
        ]
    )
    async with administrator(database.admin_dsn) as opened:
        granting = PostgresGranting(opened)
        await granting.merge([ANA, CLARA])
        await granting.add(Grant(reader=ANA, source=MARKETING))
        await granting.add(Grant(reader=SUPPORT, source=MARKETING))
    jobs = await store.queue.claim(60, lease=60)
    await store.queue.complete({job: [(1.0, 0.0, 0.0, 0.0)] for job in jobs})
    names = ("ana", "ben", "tea", "launch", "solo", "talk", "plain")
    return {name: outcome.row for name, outcome in zip(names, made, strict=True) if outcome.row}


def delegated(caller: Caller, task: str, *, child: Theme | None = None) -> RecordDelegation:
    return RecordDelegation(stamp=stamp(caller), child_session=None, child_theme=child, task=task, result="done")


async def flaws(database: Installation, heads: Sequence[Head] = ()) -> list[Flaw]:
    async with administrator(database.admin_dsn) as opened:
        return [
            *[flaw async for theme, links, seals in histories(opened) for flaw in verify(theme, links, seals, heads)],
            *[flaw async for flaw in altered_turns(opened, ANALYZE) if isinstance(flaw, Flaw)],
        ]


async def sealed(store: PostgresStore) -> list[Head]:
    return [made.head for made in await PostgresSeals(store.pool).seal(1_000)]


CASES: Final[dict[str, tuple[Callable[[dict[str, RowId]], Erasure], tuple[str, ...]]]] = {
    "subject": (lambda _: WholeSubject(subject=ANA), ("anna", ANA.hex())),
    "theme": (lambda _: WholeTheme(theme=SUPPORT), ("talky", "solo", "plain", "other number", "child says")),
    "session": (lambda _: WholeSession(session=TALK, theme=SUPPORT), ("talky", TALK)),
    "entry": (lambda rows: OneEntry(row=rows["solo"]), ("solo",)),
}


@pytest.mark.parametrize("case", CASES)
async def test_exactly_what_was_named_goes_from_every_table(database: Installation, case: str) -> None:
    choose, marks = CASES[case]
    async with database.store() as store:
        rows = await world(database, store)
        heads = await sealed(store)
        erasure: Erasure = choose(rows)
        before = await everything(database)
        async with eraser_of(database, rows=25, blocks=40) as eraser:
            foretold = await eraser.count(erasure)
            done = await eraser.erase(erasure)
            again = await eraser.erase(erasure)
        after = await everything(database)
        heads += await sealed(store)

    assert dict(done.counts) == {name: count for name, count in foretold.items() if count or name in done.counts}
    assert sum(done.counts.values()) > 0
    assert [proof for proof in done.proofs if proof.remaining] == []
    assert sum(again.counts.values()) == 0
    assert holding(before, *marks)
    assert holding(after, *marks) == []
    assert await database.administer(INDEX_AND_ROWS) == 0
    assert await flaws(database, heads) == []
    # Whatever is not of the scope is as it was, to the byte: all that went had something of the scope in it.
    gone = {table: sorted(set(found) - set(after[table])) for table, found in before.items()}
    come = {table: sorted(set(found) - set(before[table])) for table, found in after.items()}
    assert {table for table, found in come.items() if found} <= {
        *("history", "memory_maintenance_log", "installation"),
        *(("term_blocks", "sessions", "conversations") if case.startswith("session") else ()),
        *(("term_blocks",) if case == "entry" else ()),
    }
    others = ("bencode", "bentalk", "launch")
    assert holding(gone, *others) == []
    assert (before["subject_members"] != after["subject_members"]) == (case == "subject")
    if case != "theme":
        # What was said in the talk about an entry of others goes with that entry's history, and the entry stays.
        assert holding(gone | {"history": []}, "other number", "plain decision again") == []


ON_RECORD: Final = {"history", "seals", "memory_maintenance_log"}
"""Where the names of erased themes stay: what has proved a history, and what operators did."""


async def test_a_theme_that_was_erased_is_named_on_record_alone(database: Installation) -> None:
    zebra = Theme("zebra-desk")
    there = Caller(theme=zebra, session=TALK)
    async with database.store() as store, eraser_of(database) as eraser:
        await world(database, store)
        await store.delivery.apply(
            [
                *(add("zebracode is 4711", there), add("plan", there), replace(by_content("plan"), "plan two", there)),
                record(said("zebra says hello"), said("and again"), caller=there),
                *(delegated(there, "asked nobody"), delegated(DESK, "ask zebra-desk", child=zebra)),
                delegated(ANA_DIRECTLY, "annazebra asks", child=zebra),
            ]
        )
        await sealed(store)
        async with administrator(database.admin_dsn) as opened:
            granting = PostgresGranting(opened)
            for grant in (
                *(Grant(reader=zebra, source=SUPPORT), Grant(reader=MARKETING, source=zebra)),
                Grant(reader=ANA, source=zebra),
            ):
                await granting.add(grant)
        before = await everything(database)
        foretold = await eraser.count(WholeTheme(theme=zebra))
        done = await eraser.erase(WholeTheme(theme=zebra))
        after = await everything(database)
        shown = await database.rows("select v::text from hermes_memory.v_agent_memory v")

    named = {table for table, rows in before.items() if any(zebra in row for row in rows)}
    assert named >= {
        *("memory_entries", "conversations", "sessions", "memory_agent_edges", "memory_agents", "theme_grants"),
        *("term_blocks", "embedding_jobs", "inbox"),
    }
    assert {table for table, rows in after.items() if any(zebra in row for row in rows)} <= ON_RECORD
    assert (foretold["delegations"], foretold["grants"]) == (3, 3)
    assert {name: done.counts[name] for name in foretold} == dict(foretold)
    assert {proof.remaining for proof in done.proofs} == {0}
    assert not any(zebra in str(row) for row in shown)
    assert holding(after, "other task") == holding(before, "other task")


STATISTICS: Final = (
    "select c.relname || ' ' || s.staattnum from pg_statistic s join pg_class c on c.oid = s.starelid"
    " where c.relnamespace = 'hermes_memory'::regnamespace and strpos(s::text, $1) > 0"
    " union all select 'extended' from pg_statistic_ext_data s where strpos(s::text, $1) > 0"
)


async def test_the_words_of_a_whole_theme_go_without_reading_the_index_again_for_each_step(
    database: Installation,
) -> None:
    looked = """select sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::bigint from pg_stat_user_tables
                 where relname like 'term_blocks%'"""
    async with database.store() as store:
        texts = (" ".join(f"word{n}x{m}" for m in range(40)) for n in range(50))
        await store.delivery.apply([record(*map(said, texts), caller=TALKING)])
    await database.administer_all("analyze hermes_memory.term_blocks")
    blocks = await database.administer("select count(*) from hermes_memory.term_blocks")
    before = await database.administer(looked)
    async with eraser_of(database, blocks=20) as eraser:
        done = await eraser.erase(WholeTheme(theme=SUPPORT))
    after = await database.administer(looked)

    assert done.counts["postings"] >= blocks - 1 >= 2_000
    assert after - before < 10 * blocks


LOOKED: Final = """
select sum(s.seq_scan + coalesce(s.idx_scan, 0))::bigint from pg_stat_xact_user_tables s
 where s.schemaname = 'hermes_memory' and s.relname ~ '^(memory_entries|history)_p'"""


async def test_the_texts_of_an_entry_are_looked_for_once_and_not_for_each_change_of_history(
    database: Installation,
) -> None:
    async with database.store() as store, administrator(database.admin_dsn) as opened:
        (one,) = await store.delivery.apply([add("the code is 8841")])
        await store.delivery.apply([add(f"note {number}") for number in range(300)])
        async with opened.transaction(read_only=True) as connection:
            before = await connection.fetchval(LOOKED) or 0
            await connection.fetch(TELLING, one.row)
            looks = await connection.fetchval(LOOKED) - before

    assert looks < 300


async def test_no_word_of_what_was_erased_stays_in_the_statistics_of_the_planner(database: Installation) -> None:
    async with database.store() as store, eraser_of(database) as eraser:
        await world(database, store)
        await store.delivery.apply([add(f"annaword {n}", ANA_DIRECTLY) for n in range(40)])
        await store.delivery.apply([add(f"bencode {n}", BEN_DIRECTLY) for n in range(40)])
        await database.administer_all("analyze")
        done = await eraser.erase(WholeSubject(subject=ANA))
        await database.administer_all("vacuum")
        await database.administer_all("analyze")
        talk = await eraser.erase(WholeSession(session=TALK))

    for mark in ("anna", "bencode", TALK, "talky"):
        assert await database.rows(STATISTICS, mark) == []
    assert {proof.remaining for proof in (*done.proofs, *talk.proofs) if proof.store == "statistics"} == {0}


async def test_statistics_that_keep_texts_are_left_in_the_certificate_and_named_by_the_doctor(
    database: Installation,
) -> None:
    await database.administer_all("""
        alter table hermes_memory.memory_entries alter column content set statistics 100;
        create index entries_lower on hermes_memory.memory_entries (lower(content));
        create statistics hermes_memory.hosts (mcv) on content, tool from hermes_memory.memory_entries""")
    async with database.store() as store, eraser_of(database) as eraser:
        await store.delivery.apply([add(f"annaword {n}", ANA_DIRECTLY) for n in range(40)])
        await database.administer_all("analyze")
        done = await eraser.erase(WholeSubject(subject=ANA))
        problems = " ".join((await store.inspector.verify()).problems)

    assert [proof.store for proof in done.proofs if proof.remaining] == ["statistics"]
    assert "hermes_memory.memory_entries.content" in problems
    assert "hermes_memory.entries_lower.lower" in problems
    assert "hosts" in problems


async def test_an_erasure_is_noted_without_a_word_of_what_it_took(database: Installation) -> None:
    async with database.store() as store, eraser_of(database) as eraser:
        await world(database, store)
        done = await eraser.erase(WholeSubject(subject=ANA))
    noted: Any = await database.administer(
        "select detail::text from hermes_memory.memory_maintenance_log where id = $1 and verb = 'erase'", done.id
    )

    assert '"finished": true' in noted
    assert '"kind": "subject"' in noted
    assert ANA.hex() not in noted
    assert "anna" not in noted


async def test_writers_go_on_while_their_neighbour_is_erased(database: Installation) -> None:
    async with database.store() as store, eraser_of(database, rows=20, blocks=30) as eraser:
        await world(database, store)
        stop = anyio.Event()
        written: list[str] = []

        async def write() -> None:
            number = 0
            while not stop.is_set():
                number += 1
                await store.delivery.apply(
                    [
                        add(f"ben says {number} common word", BEN_DIRECTLY),
                        add(f"desk says {number} common word", DESK),
                        record(said(f"annanew {number} common word"), caller=ANA_DIRECTLY),
                    ]
                )
                written.append(f"ben says {number} common word")

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(write)
            with anyio.fail_after(60):
                while len(written) < 3:
                    await anyio.sleep(0.01)
            await eraser.erase(WholeSubject(subject=ANA))
            stop.set()
        last = await eraser.erase(WholeSubject(subject=ANA))
        after = await everything(database)

    assert [proof for proof in last.proofs if proof.remaining] == []
    assert holding(after, "anna", ANA.hex()) == []
    assert len(holding(after, "ben says")) >= len(written)
    assert await database.administer(INDEX_AND_ROWS) == 0


async def test_a_vector_that_was_under_way_is_not_stored_for_what_was_erased(database: Installation) -> None:
    async with database.store() as store, eraser_of(database) as eraser:
        await world(database, store)
        jobs = await store.queue.claim(1_000, lease=60)
        await eraser.erase(WholeSession(session=TALK))
        await store.queue.complete({job: [(0.0, 1.0, 0.0, 0.0)] for job in jobs})
        left = await eraser.count(WholeSession(session=TALK))
    orphans = await database.administer("""
        select count(*) from hermes_memory.turn_vectors_g1 v
         where not exists (select from hermes_memory.conversations c where c.id = v.row_id)""")

    assert sum(left.values()) == 0
    assert orphans == 0


async def test_a_delivery_is_waited_for_from_before_it_looks_at_its_texts(database: Installation) -> None:
    waited = []

    async def ask() -> None:
        async with eraser_of(database) as eraser:
            waited.append(await eraser.settle(0.2))

    def analyze(text: str) -> list[str]:
        # The delivery's loop stands still in here, as it does for a long text: who erases is another process.
        with ThreadPoolExecutor(1) as elsewhere:
            elsewhere.submit(anyio.run, ask).result()
        return text.split()

    async with database.store() as store, eraser_of(database) as eraser:
        await PostgresDelivery(store.pool, analyze=analyze).apply([add("annacode is 4711", ANA_DIRECTLY)])
        waited.append(await eraser.settle(60.0))

    assert waited == [False, True]


async def test_two_who_erase_the_same_erase_it_once(database: Installation) -> None:
    async with database.store() as store:
        await world(database, store)
    async with eraser_of(database, rows=10, blocks=20) as one, eraser_of(database, rows=10, blocks=20) as other:
        foretold = await one.count(WholeTheme(theme=SUPPORT))
        done = []

        async def erase(eraser: PostgresEraser) -> None:
            done.append(await eraser.erase(WholeTheme(theme=SUPPORT)))

        async with anyio.create_task_group() as both:
            both.start_soon(erase, one)
            both.start_soon(erase, other)
    total = {name: sum(each.counts.get(name, 0) for each in done) for name in foretold}

    assert total == dict(foretold)
    assert await database.administer(INDEX_AND_ROWS) == 0


async def test_an_erasure_that_was_broken_off_anywhere_is_finished_by_the_next(database: Installation) -> None:
    async with database.store() as store:
        await world(database, store)
        interrupted: list[tuple[Erasure, int]] = [
            *((WholeSubject(subject=ANA), at) for at in (2, 4, 9, 11)),
            *((WholeSession(session=TALK), at) for at in (3, 8)),
            *((WholeTheme(theme=SUPPORT), at) for at in (5, 13)),
        ]
        for scope, at in interrupted:
            connection = await asyncpg.connect(database.admin_dsn)
            with pytest.raises((asyncpg.PostgresError, asyncpg.InterfaceError)):
                await PostgresEraser(Dying(connection, dies_in=at), rows=7, blocks=15).erase(scope)
            assert holding(await everything(database), "bencode")
        for scope in dict.fromkeys(scope for scope, _ in interrupted):
            async with eraser_of(database) as eraser:
                done = await eraser.erase(scope)
            assert [proof for proof in done.proofs if proof.remaining] == []
        heads = await sealed(store)

    assert await database.administer(INDEX_AND_ROWS) == 0
    assert await flaws(database, heads) == []
    assert holding(await everything(database), "anna", "talky", ANA.hex()) == []


@pytest.mark.parametrize("dies_in", [4, 5, 6])
async def test_an_erasure_that_was_broken_off_leaves_no_vector_with_words_of_what_is_gone(
    database: Installation, dies_in: int
) -> None:
    async with database.store() as store:
        await store.delivery.apply([record(*(said(f"talky {n}") for n in range(10)), caller=TALKING)])
        jobs = await store.queue.claim(10, lease=60)
        await store.queue.complete({job: [(1.0, 0.0, 0.0, 0.0)] for job in jobs})
    connection = await asyncpg.connect(database.admin_dsn)
    with pytest.raises((asyncpg.PostgresError, asyncpg.InterfaceError)):
        await PostgresEraser(Dying(connection, dies_in=dies_in), rows=2).erase(WholeSession(session=TALK))

    assert 0 < await database.administer("select count(*) from hermes_memory.turn_vectors_g1") < 10
    assert await database.administer(WITHOUT_FORERUNNER) == 0


async def test_the_subject_of_a_tombstone_is_nobodys(database: Installation) -> None:
    async with database.store() as store, eraser_of(database) as eraser:
        await world(database, store)
        await eraser.erase(WholeSubject(subject=ANA))
    tombstones = await database.administer("""
        select count(*) from hermes_memory.history
         where erasure is not null and agent_identity = 'whatsapp-dm' and octet_length(subject) = 32
           and old_content is null and new_content is null and salt is null and session_id is null""")

    assert tombstones == 3
