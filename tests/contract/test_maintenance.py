"""Maintenance, in memory and on a real Postgres: what was foretold is done, and rows and index fit each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace as replaced
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import pairwise
from typing import Any, Final

import anyio
import asyncpg
import pytest
import pytest_asyncio

from hermes_memory.adapters.postgres.administrator import administrator
from hermes_memory.adapters.postgres.erasure import PostgresEraser
from hermes_memory.adapters.postgres.history_audit import RESTAMPED_TURN, altered_turns, histories, straying
from hermes_memory.adapters.postgres.history_reader import PostgresHistory
from hermes_memory.adapters.postgres.seals import PostgresSeals
from hermes_memory.adapters.postgres.store import PostgresStore
from hermes_memory.adapters.postgres.upkeep import Job, PostgresUpkeep
from hermes_memory.adapters.postgres.upkeep_backfilling import Backfilling
from hermes_memory.adapters.postgres.upkeep_cleaning import Cleaning
from hermes_memory.adapters.postgres.upkeep_pruning import Pruning
from hermes_memory.adapters.postgres.upkeep_remapping import Remapping
from hermes_memory.domain.chain import Flaw, Head, verify
from hermes_memory.domain.erasure import WholeSession, WholeSubject
from hermes_memory.domain.maintenance import Backfill, Cleanup, Prune, Remap
from hermes_memory.domain.model import Caller, CurrentScope, Kind, SessionId, Subject, Theme
from hermes_memory.domain.operations import ById, Operation, RecordDelegation, row_id
from hermes_memory.ports.erasure import Erased
from hermes_memory.ports.reading import SearchSpace
from hermes_memory.testing.making import (
    ANA,
    HOME,
    add,
    by_content,
    record,
    remove,
    replace,
    said,
    stamp,
)
from hermes_memory.testing.remap_contract import RemapContract
from hermes_memory.testing.upkeep_contract import UpkeepContract, UpkeepUnderTest, carry_out, counted
from tests.contract.test_store_inmemory import Levers
from tests.support.dying import Dying
from tests.support.index_and_rows import GAPS, INDEX_AND_ROWS
from tests.support.postgres_store import ANALYZE, Installation

OLD: Final = Theme("old name")
NEW: Final = Theme("new name")
LONG_AGO: Final = datetime(2020, 1, 1, tzinfo=UTC)
BETWEEN: Final = datetime(2022, 1, 1, tzinfo=UTC)
LATELY: Final = datetime(2024, 1, 1, tzinfo=UTC)
MOVE: Final = Remap(source=OLD, target=NEW)
CHUNK: Final = (1.0, 0.0, 0.0, 0.0)
OTHER: Final = (0.0, 1.0, 0.0, 0.0)
STALE: Final = """
select count(*) from hermes_memory.turn_vectors_g1 v
 where not exists (select from hermes_memory.conversations c
                    where c.id = v.row_id and c.agent_identity = v.agent_identity)"""
TALK_IN_ORDER: Final = """
select content from hermes_memory.conversations where session_id = 'talk' and subject = '' order by position"""

MISCOUNTED: Final = """
select count(*)
  from (select d.agent_identity, d.shelf, d.subject, count(*) as n
          from hermes_memory.memory_documents d group by 1, 2, 3) d
  full join (select b.agent_identity, b.shelf, b.subject, sum(b.n) as n from hermes_memory.term_blocks b
              where b.lexeme = '' group by 1, 2, 3) b using (agent_identity, shelf, subject)
 where coalesce(d.n, 0) <> coalesce(b.n, 0)"""
"""Counts the places whose statistics tell of other rows than there are."""
UNDER_THE_OLD_SEAL: Final = """
select count(*) from hermes_memory.history o join hermes_memory.history n on n.id = o.id and n.agent_identity = $2
 where o.agent_identity = $1 and o.erasure is not null and o.seal is not null
   and o.row_hash = sha256(n.salt || convert_to(hermes_memory.change_form(
         $1, n.subject, n.id, n.row_id, n.operation, n.change, n.target, n.old_content, n.new_content, n.origin, n.tool,
         n.session_id, n.reason, n.at, n.said_at, n.recorded_at, n.metadata, n.merged_into), 'UTF8'))"""
"""Counts the changes that moved whose hash is still the one that was sealed under the old name."""


class TestInMemoryUpkeep(UpkeepContract, RemapContract):
    """Every promise, kept in memory."""

    @pytest.fixture
    async def kept_up(self) -> UpkeepUnderTest:
        levers = Levers()

        async def lose_jobs() -> None:
            levers.store.lose_jobs()

        async def moment() -> datetime:
            return levers.now

        async def keep_forgotten(days: float) -> None:
            levers.store.keep_forgotten(days)

        return UpkeepUnderTest(
            store=levers.under_test(),
            prune=levers.store.prune,
            backfill=levers.store.backfill,
            cleanup=levers.store.cleanup,
            remap=levers.store.remap,
            history=levers.store.history,
            moment=moment,
            lose_jobs=lose_jobs,
            keep_forgotten=keep_forgotten,
        )


class TestPostgresUpkeep(UpkeepContract, RemapContract):
    """Every promise, kept by Postgres, in steps of a few rows."""

    @pytest_asyncio.fixture
    async def kept_up(self, database: Installation) -> AsyncIterator[UpkeepUnderTest]:
        async def lose_jobs() -> None:
            await database.administer("delete from hermes_memory.embedding_jobs")

        async def moment() -> datetime:
            now: datetime = await database.administer("select clock_timestamp()")
            return now

        async with (
            database.under_test() as store,
            database.store() as beside,
            administrator(database.admin_dsn) as opened,
        ):
            yield UpkeepUnderTest(
                store=store,
                prune=lambda prune: PostgresUpkeep(opened, Pruning(prune, rows=3)),
                backfill=lambda backfill: PostgresUpkeep(opened, Backfilling(backfill, rows=1)),
                cleanup=lambda cleanup: PostgresUpkeep(opened, Cleaning(cleanup, rows=2, read=40)),
                remap=lambda remap: PostgresUpkeep(opened, Remapping(remap, rows=3)),
                history=PostgresHistory(beside.pool),
                moment=moment,
                lose_jobs=lose_jobs,
                keep_forgotten=database.keep_forgotten,
            )
            assert [flaw async for flaw in altered_turns(opened, ANALYZE)] == []
        assert await database.administer(INDEX_AND_ROWS) == 0
        assert await database.administer(STALE) == 0


@asynccontextmanager
async def upkeep(database: Installation, job: Job) -> AsyncIterator[PostgresUpkeep]:
    async with administrator(database.admin_dsn) as opened:
        yield PostgresUpkeep(opened, job)


async def foretold_and_done(database: Installation, make: Callable[[], Job]) -> tuple[dict[str, int], dict[str, int]]:
    """Do a job in steps, and return what was foretold of it and what it did; nothing is left of it."""
    async with upkeep(database, make()) as work:
        foretold = dict(await counted(work))
        done = dict(await carry_out(work))
        assert await counted(work) == {}
    assert await database.administer(INDEX_AND_ROWS) == 0
    return foretold, done


async def flaws(database: Installation, heads: Sequence[Head] = ()) -> list[Flaw]:
    async with administrator(database.admin_dsn) as opened:
        broken = [
            flaw async for theme, links, seals in histories(opened) for flaw in verify(theme, links, seals, heads)
        ]
        broken += [flaw async for flaw in straying(opened) if flaw]
        return broken + [flaw async for flaw in altered_turns(opened, ANALYZE) if isinstance(flaw, Flaw)]


async def embed(store: PostgresStore) -> None:
    while jobs := await store.queue.claim(200, lease=60):
        await store.queue.complete({job: [CHUNK] for job in jobs})


async def found(store: PostgresStore, word: str, caller: Caller) -> set[str]:
    """Search by one word."""
    matches = await store.search.by_text(
        caller, SearchSpace(scope=CurrentScope(), kinds=frozenset(Kind)), ANALYZE(word), limit=500, timeout=60
    )
    return {hit.row.content for hit in matches.hits}


def of(theme: Theme, session: str = "talk", subject: Subject | None = None) -> Caller:
    return Caller(theme=theme, session=SessionId(session), subject=subject)


def world(theme: Theme) -> list[Operation]:
    """Return writes of every kind, of an agent and of somebody it talks with."""
    desk, hers = of(theme), of(theme, "hers", ANA)
    return [
        add("launch on 3 May", desk, source=HOME),
        add("draft", desk),
        replace(by_content("draft"), "final", desk),
        add("passing", desk),
        remove(by_content("passing"), desk),
        add("tea is green", hers),
        record(*(said(f"talk {n} common word", at=LATELY + timedelta(minutes=n)) for n in range(70)), caller=desk),
        record(*(said(f"hers {n} common word", at=LATELY + timedelta(minutes=n)) for n in range(9)), caller=hers),
        RecordDelegation(stamp=stamp(desk), child_session=SessionId("child"), child_theme=theme, task="t", result="r"),
    ]


async def test_a_theme_moves_with_everything_that_is_its(database: Installation) -> None:
    async with database.store() as store:
        await store.delivery.apply(world(OLD))
        await embed(store)
        await store.delivery.apply([add("not embedded yet", of(OLD))])
        heads = [made.head for made in await PostgresSeals(store.pool).seal(1_000)]
        await grant(database, "sales", OLD)
        await grant(database, OLD, "sales")
        before = {word: await found(store, word, of(OLD)) for word in ("launch", "common", "final")}
        history = await changes(database, OLD)
        foretold, done = await foretold_and_done(database, lambda: Remapping(MOVE, rows=7))
        after = {word: await found(store, word, of(NEW)) for word in ("launch", "common", "final")}
        hers = await found(store, "tea", of(NEW, "hers", ANA))
        nothing = await found(store, "common", of(OLD))
        turns = await store.queue.claim(500, lease=60)
        heads += [made.head for made in await PostgresSeals(store.pool).seal(1_000)]

    assert foretold == done
    expected = {"entries": 4, "turns": 79, "sessions": 3, "delegations": 1, "named": 1, "changes": 7, "themes": 1}
    assert {name: done.get(name) for name in expected} == expected
    assert (done["grants"], done["vectors"], done["jobs"], done.get("merged_entries")) == (2, 82, 1, None)
    assert after == before
    assert hers == {"tea is green"}
    assert nothing == set()
    assert [job.text for job in turns] == ["not embedded yet"]
    assert await changes(database, NEW) == history
    assert await database.administer(UNDER_THE_OLD_SEAL, OLD, NEW) == len(history) == 7
    assert await flaws(database, heads) == []
    assert {head.theme for head in heads} == {OLD, NEW}
    assert await left(database, OLD) == {"inbox", "history", "seals"}
    assert await database.administer(GAPS) == 0
    assert await database.rows("select reader, source from hermes_memory.theme_grants order by 1") == [
        (NEW, "sales"),
        ("sales", NEW),
    ]
    assert await database.rows("select agent_identity, child_identity from hermes_memory.memory_agent_edges") == [
        (NEW, NEW)
    ]


async def test_what_both_themes_have_becomes_one(database: Installation) -> None:
    shared = [said(f"turn {n} common", at=LATELY + timedelta(minutes=n)) for n in range(6)]
    async with database.store() as store:
        await store.delivery.apply(
            [
                add("launch", of(OLD), source=HOME),
                add("only old", of(OLD)),
                record(*shared[:4], caller=of(OLD)),
                record(said("a talk of its own"), caller=of(OLD, "own")),
            ]
        )
        kept = await store.delivery.apply([add("launch", of(NEW)), record(*shared[3:], caller=of(NEW))])
        await embed(store)
        foretold, done = await foretold_and_done(database, lambda: Remapping(MOVE, rows=2))
        waiting = {job.text: job.context for job in await store.queue.claim(500, lease=60)}
        entries = await database.rows(
            "select id, content, source from hermes_memory.memory_entries where agent_identity = $1", NEW
        )
        merged = await database.administer(
            "select count(*) from hermes_memory.history where agent_identity = $1 and merged_into = $2",
            NEW,
            kept[0].row,
        )
        told = await database.rows(
            "select position, content from hermes_memory.conversations where session_id = 'talk' order by position",
        )
        await PostgresSeals(store.pool).seal(1_000)

    assert foretold == done
    assert (done["entries"], done["merged_entries"], done["turns"], done["merged_turns"]) == (2, 1, 5, 1)
    assert {(content, source) for _, content, source in entries} == {("launch", HOME), ("only old", None)}
    assert (kept[0].row, "launch", HOME) in entries
    assert merged == 1
    assert told == [(n, f"turn {n} common") for n in range(6)]
    # Who came from the old session, and who comes after another one than before.
    assert waiting == {"turn 0 common": "", **{f"turn {n} common": f"turn {n - 1} common" for n in (1, 2, 3)}}
    assert await flaws(database) == []
    assert await database.administer(GAPS) == 0
    assert await database.administer(STALE) == 0
    await database.administer("update hermes_memory.conversations set role = 'tool' where content = 'turn 5 common'")
    await foretold_and_done(database, lambda: Remapping(Remap(source=NEW, target=OLD)))
    assert [(flaw.theme, flaw.what) for flaw in await flaws(database)] == [(OLD, RESTAMPED_TURN)]


@pytest.mark.parametrize("rows", [1, 2, 3, 100])
async def test_how_many_turns_go_at_once_changes_nothing(database: Installation, rows: int) -> None:
    talk = [said(f"turn {n} common", at=LATELY + timedelta(minutes=n)) for n in range(7)]
    late = said("late common", at=LATELY + timedelta(minutes=9))
    there = record(talk[0], late, talk[1], talk[2], caller=of(NEW))
    async with database.store() as store:
        await store.delivery.apply([record(*talk, caller=of(OLD)), there])
        forgotten = (ById(id=row_id(there.stamp.operation, place)) for place in (0, 2, 3))
        await store.delivery.apply([remove(each, of(NEW)) for each in forgotten])
        await embed(store)
        foretold, done = await foretold_and_done(database, lambda: Remapping(MOVE, rows=rows))
        waiting = {job.text: job.context for job in await store.queue.claim(500, lease=60)}
        told = [content for (content,) in await database.rows(TALK_IN_ORDER)]

    assert foretold == done
    assert (done["turns"], done["merged_turns"]) == (7, 3)
    assert waiting == {text: before for before, text in pairwise(["", *told])}
    assert told == [*(f"turn {n} common" for n in range(3, 7)), "late common"]
    assert await database.administer(GAPS) == 0
    assert await database.administer(STALE) == 0


async def test_history_tells_of_what_stands_after_moves_there_and_back_of_what_was_partly_erased(
    database: Installation,
) -> None:
    first, once, names = stamp(of(OLD)), Caller(theme=OLD, session=SessionId("once")), ("bare", "changed", "gone")
    twice = Caller(theme=OLD, session=SessionId("twice"))
    both = {name: stamp(of(OLD)) for name in ("lost", "blank", "later")}
    async with database.store() as store:
        await store.delivery.apply([replaced(add("there"), stamp=replaced(first, caller=of(NEW)))])
        for name, made in both.items():
            await store.delivery.apply([replaced(add(f"{name} there"), stamp=replaced(made, caller=of(NEW)))])
            await store.delivery.apply([replaced(add(f"{name} in talk", of(OLD)), stamp=made)])
        await store.delivery.apply(
            [replace(by_content(f"{name} in talk"), f"{name} once", once) for name in ("blank", "later")]
        )
        await store.delivery.apply(world(OLD))
        await store.delivery.apply(
            [
                replaced(add("here", of(OLD)), stamp=first),
                *(add(f"{name} in talk", once) for name in names),
                add("said twice", twice),
                replace(by_content("said twice"), "said since", of(OLD)),
                *(replace(by_content(f"{name} in talk"), f"{name} since", of(OLD)) for name in names),
                *(replace(by_content(f"{name} once"), f"{name} since", of(OLD)) for name in ("blank", "later")),
                remove(by_content("lost in talk"), of(OLD)),
            ]
        )
        async with administrator(database.admin_dsn) as opened:
            await PostgresEraser(opened).erase(WholeSession(session=SessionId("once")))
        await store.delivery.apply(
            [
                replace(by_content("changed since"), "changed again", of(OLD)),
                replace(by_content("later there"), "later still there", of(NEW)),
                replace(by_content("later since"), "later again", of(OLD)),
                remove(by_content("gone since"), of(OLD)),
                *(made for name in names for made in (add(name, of(OLD)), remove(by_content(name), of(OLD)))),
            ]
        )
        async with upkeep(database, Remapping(MOVE, rows=3)) as work:
            await work.begin()
            while (step := await work.step()).more:
                assert not step.counts.get("changes") or await flaws(database) == []
        async with administrator(database.admin_dsn) as opened:
            await PostgresEraser(opened).erase(WholeSession(session=SessionId("twice")))
        for source, target in ((OLD, NEW), (NEW, OLD), (OLD, NEW)):
            await foretold_and_done(database, partial(Remapping, Remap(source=source, target=target), rows=2))
            await PostgresSeals(store.pool).seal(1_000)

            assert await flaws(database) == []
        moment = await database.administer("select clock_timestamp()")
        past = PostgresHistory(store.pool)
        entries = await past.entries_at(of(NEW), CurrentScope(), moment, limit=99, timeout=60)
        stood = await past.of_row(of(NEW), row_id(first.operation), limit=9, timeout=60)
        async with administrator(database.admin_dsn) as opened:
            bare = [flaw async for flaw in straying(opened)]
        for source, target in ((NEW, OLD), (OLD, Theme("third"))):
            await foretold_and_done(database, partial(Remapping, Remap(source=source, target=target)))
        moved_on = await flaws(database)
        await database.administer_all(
            "update hermes_memory.memory_entries set content = 'forged', content_hash = sha256('forged')"
            " where content = 'final'"
        )
        forged = await flaws(database)

    assert [(change.after, change.reason) for change in stood][:1] == [("there", "remap")]
    assert sorted(entry.content for entry in entries) == [
        *("blank there", "changed again", "final", "later still there", "launch on 3 May", "lost there", "there")
    ]
    assert bare == [None, None]
    assert moved_on == []
    assert [flaw.what for flaw in forged] == ["a memory is not what its last change says"]


async def test_no_change_is_missed_of_a_memory_that_was_partly_erased_under_two_names_and_moves_on_to_a_third(
    database: Installation,
) -> None:
    made = stamp(of(OLD))
    async with database.store() as store:
        for theme in (OLD, NEW):
            talk = of(theme, f"talk of {theme}")
            await store.delivery.apply([replaced(add(f"{theme} once", talk), stamp=replaced(made, caller=talk))])
            await store.delivery.apply([replace(by_content(f"{theme} once"), f"{theme} since", of(theme))])
        async with administrator(database.admin_dsn) as opened:
            for theme in (OLD, NEW):
                await PostgresEraser(opened).erase(WholeSession(session=SessionId(f"talk of {theme}")))
        for theme in (OLD, NEW):
            await store.delivery.apply([replace(by_content(f"{theme} since"), f"{theme} at last", of(theme))])
        before = await flaws(database)
        for source, target in ((OLD, NEW), (NEW, Theme("third"))):
            await foretold_and_done(database, partial(Remapping, Remap(source=source, target=target)))
        after = await flaws(database)

    assert before == after == []


async def test_what_comes_in_under_the_old_name_afterwards_moves_with_the_next_run(database: Installation) -> None:
    operations = world(OLD)
    async with database.store() as store:
        await store.delivery.apply(operations)
        await foretold_and_done(database, lambda: Remapping(MOVE, rows=30))
        replayed = await store.delivery.apply(operations)
        nothing, _ = await foretold_and_done(database, lambda: Remapping(MOVE))
        later = [said(f"late {n} common word", at=LATELY + timedelta(days=1, minutes=n)) for n in range(5)]
        await store.delivery.apply([record(*later, caller=of(OLD)), add("late entry", of(OLD))])
        _, done = await foretold_and_done(database, lambda: Remapping(MOVE))
        talk = await database.rows(TALK_IN_ORDER)

    assert len(replayed) == len(operations)
    assert nothing == {}
    assert (done["turns"], done["entries"]) == (5, 1)
    assert [content for (content,) in talk[-6:]] == [
        "talk 69 common word",
        *(f"late {n} common word" for n in range(5)),
    ]
    assert await database.administer(GAPS) == 0


async def grant(database: Installation, reader: str, source: str) -> None:
    await database.administer("insert into hermes_memory.theme_grants (reader, source) values ($1, $2)", reader, source)


async def changes(database: Installation, theme: Theme) -> list[tuple[Any, ...]]:
    """Return what the history of a theme tells."""
    return await database.rows(
        """select id, row_id, subject, change, old_content, new_content, said_at, recorded_at, metadata
             from hermes_memory.history
            where agent_identity = $1 and erasure is null and change <> 'erased' order by id""",
        theme,
    )


async def left(database: Installation, theme: Theme) -> set[str]:
    """Return the tables that have rows of a theme, or name it."""
    tables = await database.rows(
        """select c.relname from pg_class c where c.relnamespace = 'hermes_memory'::regnamespace
              and c.relkind in ('r', 'p') and not c.relispartition and c.relname <> 'memory_maintenance_log'""",
    )
    return {
        table
        for (table,) in tables
        if await database.administer(
            f"select exists (select from hermes_memory.{table} t where strpos(t::text, $1) > 0)", theme
        )
    }


async def test_a_cleanup_removes_what_nothing_refers_to_and_nothing_else(database: Installation) -> None:
    async with database.store() as store:
        await store.delivery.apply(world(OLD))
        await embed(store)
        await store.delivery.apply([add("not embedded yet", of(NEW)), record(said("common again"), caller=of(OLD))])
        clean, _ = await foretold_and_done(database, cleaning)
        await orphan(database)
        found_before = await found(store, "common", of(OLD))
        async with upkeep(database, cleaning()) as work:
            foretold = dict(await counted(work))
            done = dict(await carry_out(work))
            again = dict(await counted(work))
        found_after = await found(store, "common", of(OLD))
        await PostgresSeals(store.pool).seal(1_000)

    assert clean == {}
    assert foretold == done
    # Of the history of what was forgotten: that it was noted and that it was removed.
    index = {"postings": 4, "statistics": 1}
    assert done == {"operations": 4, "vectors": 3, "jobs": 2, **index, "grants": 1, "forgotten": 2, "log": 2}
    assert again == {}
    assert found_after == found_before
    assert await database.administer(INDEX_AND_ROWS) == 0
    assert await flaws(database) == []
    assert await database.administer("select count(*) from hermes_memory.embedding_jobs") == 2
    assert await database.administer("select count(*) from hermes_memory.theme_grants") == 1


def cleaning() -> Cleaning:
    lately = datetime.now(UTC) - timedelta(days=30)
    return Cleaning(Cleanup(operations_before=lately, log_before=lately), rows=2, read=40)


async def orphan(database: Installation) -> None:
    """Leave something of every kind that nothing refers to."""
    await database.administer_all("""
        update hermes_memory.inbox set applied_at = now() - interval '40 days'
         where operation in (select i.operation from hermes_memory.inbox i where i.agent_identity = 'old name' limit 4);
        insert into hermes_memory.turn_vectors_g1 (agent_identity, row_id, embedding)
        select 'old name', gen_random_uuid(), '[1,0,0,0]' from generate_series(1, 2);
        insert into hermes_memory.entry_vectors_g1 (agent_identity, row_id, target, embedding)
        values ('gone', gen_random_uuid(), 'memory', '[1,0,0,0]');
        insert into hermes_memory.embedding_jobs (agent_identity, row_id, generation, kind, content_hash, not_before)
        values ('old name', gen_random_uuid(), 1, 'turn', sha256('x'), now()),
               ('gone', gen_random_uuid(), 7, 'entry', sha256('x'), now());
        insert into hermes_memory.term_blocks (agent_identity, shelf, lexeme, hi, n, packed)
        values ('gone', 'turn', '', 0, 1, array[3]), ('gone', 'turn', 'word', 1.5, 1, array[1::bigint << 32]),
               ('old name', 'turn', 'zebra', 1.5, 2, array[1::bigint << 40, 1::bigint << 41]);
        insert into hermes_memory.theme_grants (reader, source, expires_at)
        values ('a', 'old name', now() - interval '1 hour'), ('b', 'old name', now() + interval '1 hour');
        update hermes_memory.term_blocks set packed = packed || (1::bigint << 45)
         where id = (select max(b.id) from hermes_memory.term_blocks b where b.lexeme = 'common' and b.subject = '');
        update hermes_memory.installation set forgotten_days = 0;
        insert into hermes_memory.memory_maintenance_log (id, verb, at)
        select gen_random_uuid(), 'erase', now() - interval '40 days' from generate_series(1, 2)""")


async def test_two_who_do_the_same_share_the_work(database: Installation) -> None:
    async with database.store() as store:
        await store.delivery.apply([*world(OLD), *world(NEW)[:3]])
        await embed(store)
        await database.administer("delete from hermes_memory.turn_vectors_g1")
    await orphan(database)
    for make in (
        cleaning,
        lambda: Backfilling(Backfill(), rows=20),
        lambda: Pruning(Prune(before=LATELY + timedelta(minutes=30)), rows=5),
        lambda: Remapping(MOVE, rows=6),
    ):
        async with upkeep(database, make()) as one, upkeep(database, make()) as other:
            foretold = await counted(one)
            done: list[Counter[str]] = []

            async def work(each: PostgresUpkeep, into: list[Counter[str]]) -> None:
                into.append(Counter(await carry_out(each)))

            async with anyio.create_task_group() as both:
                both.start_soon(work, one, done)
                both.start_soon(work, other, done)

            assert dict(sum(done, Counter())) == foretold
            assert await counted(one) == {}
        assert await database.administer(INDEX_AND_ROWS) == 0
        assert await database.administer(STALE) == 0


async def test_what_was_broken_off_anywhere_is_finished_by_the_next_and_on_record(database: Installation) -> None:
    async with database.store() as store:
        await store.delivery.apply(world(OLD))
        await store.delivery.apply(
            [record(said("turn of the new", at=LONG_AGO), caller=of(NEW)), add("final", of(NEW))]
        )
        await embed(store)
        before = {word: await found(store, word, of(OLD)) for word in ("common", "launch", "final")}
        for dies_in in (2, 5, 8, 10, 12):
            connection = await asyncpg.connect(database.admin_dsn)
            with pytest.raises((asyncpg.PostgresError, asyncpg.InterfaceError)):
                await carry_out(PostgresUpkeep(Dying(connection, dies_in=dies_in), Remapping(MOVE, rows=9)))
            assert await database.administer(MISCOUNTED) == 0
            both = {word: await found(store, word, of(OLD)) | await found(store, word, of(NEW)) for word in before}
            assert both == before
        await foretold_and_done(database, lambda: Remapping(MOVE, rows=9))
        talk = await database.rows(TALK_IN_ORDER)
        await PostgresSeals(store.pool).seal(1_000)
    logged = await database.rows(
        """select affected, (detail ->> 'finished')::boolean, (detail -> 'counts' ->> 'turns')::int
             from hermes_memory.memory_maintenance_log where verb = 'remap' order by at""",
    )

    assert [content for (content,) in talk] == ["turn of the new", *(f"talk {n} common word" for n in range(70))]
    assert sum(turns or 0 for _, _, turns in logged) == 79
    assert len(logged) == 6
    assert await flaws(database) == []
    assert await database.administer(GAPS) == 0


async def test_a_move_taken_back_half_way_leaves_no_word_twice_in_the_index(
    database: Installation,
) -> None:
    async with database.store() as store:
        await store.delivery.apply(world(OLD))
        before = {word: await found(store, word, of(OLD)) for word in ("common", "launch", "final")}
        async with upkeep(database, Remapping(MOVE)) as work:
            await work.begin()
            while not (await work.step()).counts.get("turns"):
                pass
        dead = await database.administer("select hermes_memory.count_dead_postings($1)", OLD)
        back, done = await foretold_and_done(database, lambda: Remapping(Remap(source=NEW, target=OLD)))
        after = {word: await found(store, word, of(OLD)) for word in before}

    assert dead > 0
    assert back == done
    assert done["postings"] > dead
    assert after == before
    assert await database.administer(MISCOUNTED) == 0


async def test_rows_of_one_id_in_two_themes_all_wait_again_and_get_each_its_own_vector(database: Installation) -> None:
    entries, turns = [stamp(), stamp()], [stamp(), stamp()]
    async with database.store() as store:
        for theme in (OLD, NEW):
            own = {each: replaced(each, caller=of(theme)) for each in (*entries, *turns)}
            await store.delivery.apply(
                [
                    *(replaced(add(f"note {n}", of(theme)), stamp=own[each]) for n, each in enumerate(entries)),
                    *(replaced(record(said(f"turn {n}"), caller=of(theme)), stamp=own[t]) for n, t in enumerate(turns)),
                ]
            )
        await database.administer("delete from hermes_memory.embedding_jobs")
        _, done = await foretold_and_done(database, lambda: Backfilling(Backfill(), rows=1))
        jobs = await store.queue.claim(10, lease=60)
        await store.queue.complete({job: [CHUNK if job.theme == OLD else OTHER] for job in jobs})
        cosines = {
            theme: await store.search.cosines(of(theme), [job.row for job in jobs], CHUNK, timeout=60)
            for theme in (OLD, NEW)
        }

    assert done == {"queued": 8}
    assert len({job.row for job in jobs}) == 4
    assert sorted(cosines[OLD].values()) == pytest.approx([1.0] * 4, abs=2e-3)
    assert sorted(cosines[NEW].values()) == pytest.approx([0.0] * 4, abs=2e-3)
    assert {(job.theme, job.text) for job in jobs} == {
        (theme, f"{kind} {n}") for theme in (OLD, NEW) for kind in ("note", "turn") for n in range(2)
    }


async def test_writers_go_on_while_their_theme_moves_and_nothing_is_lost(database: Installation) -> None:
    async with database.store() as store:
        await store.delivery.apply(world(OLD))
        stop = anyio.Event()
        written: list[str] = []

        async def write() -> None:
            number = 0
            while not stop.is_set():
                number += 1
                for theme in (OLD, NEW):
                    turn = record(said(f"{theme} says {number}"), caller=of(theme))
                    await store.delivery.apply([turn, add(f"{theme} notes {number}", of(theme))])
                    written.extend((f"{theme} says {number}", f"{theme} notes {number}"))
                await embed(store)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(write)
            with anyio.fail_after(60):
                while len(written) < 8:
                    await anyio.sleep(0.01)
            async with upkeep(database, Remapping(MOVE, rows=10)) as work:
                await carry_out(work)
            stop.set()
        await foretold_and_done(database, lambda: Remapping(MOVE))
        kept = {text for (text,) in await database.rows("select content from hermes_memory.memory_rows")}

    assert set(written) <= kept
    assert await left(database, OLD) <= {"inbox", "history", "seals", *holding_names()}
    assert await database.administer(INDEX_AND_ROWS) == 0
    assert await database.administer(GAPS) == 0
    assert await database.administer(STALE) == 0


def holding_names() -> set[str]:
    """Return the tables whose texts name the theme, since the writers say its name."""
    return {"conversations", "memory_entries"}


async def test_who_is_erased_while_their_rows_move_is_erased_where_they_went(database: Installation) -> None:
    hers = of(OLD, "hers", ANA)
    talk = record(*(said(f"hers {n} common word", at=LATELY + timedelta(minutes=n)) for n in range(60)), caller=hers)
    async with database.store() as store:
        await store.delivery.apply([talk, *(add(f"her fact {n}", hers) for n in range(20)), *world(OLD)])
    done: list[Erased] = []

    async def erase() -> None:
        async with administrator(database.admin_dsn) as opened:
            done.append(await PostgresEraser(opened, rows=3).erase(WholeSubject(subject=ANA)))

    async def move() -> None:
        async with upkeep(database, Remapping(MOVE, rows=3)) as work:
            await carry_out(work)

    async with anyio.create_task_group() as group:
        group.start_soon(move)
        group.start_soon(erase)
    (erased,) = done
    left = await database.administer(
        "select count(*) from hermes_memory.memory_rows where subject = $1 and agent_identity in ($2, $3)",
        bytes(ANA),
        OLD,
        NEW,
    )
    told = await database.administer(
        "select count(*) from hermes_memory.history where subject = $1 and coalesce(old_content, new_content) <> ''",
        bytes(ANA),
    )

    assert [proof for proof in erased.proofs if proof.remaining] == []
    assert (left, told) == (0, 0)
