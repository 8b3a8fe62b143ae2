"""Both stores keep what `Seals` promises, and sealing goes on beside writers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace as replaced
from functools import partial
from typing import Final
from uuid import uuid4

import anyio
import asyncpg
import pytest
import pytest_asyncio

from hermes_memory.adapters.inmemory import InMemoryStore
from hermes_memory.adapters.postgres import erasure_log
from hermes_memory.adapters.postgres.administrator import administrator
from hermes_memory.adapters.postgres.context import caller_settings
from hermes_memory.adapters.postgres.erasure import PostgresEraser
from hermes_memory.adapters.postgres.history_audit import (
    ALTERED_TURN,
    FEW_TURNS,
    GONE,
    HALF_DONE,
    OTHER_TURNS,
    RESTAMPED_TURN,
    ROWS_AHEAD,
    STRANGE_WORDS,
    altered_turns,
    histories,
    straying,
)
from hermes_memory.adapters.postgres.history_reader import PostgresHistory
from hermes_memory.adapters.postgres.seals import PostgresSeals
from hermes_memory.adapters.postgres.upkeep import PostgresUpkeep
from hermes_memory.adapters.postgres.upkeep_remapping import Remapping
from hermes_memory.domain.chain import Flaw, verify
from hermes_memory.domain.erasure import OneEntry, WholeSession
from hermes_memory.domain.maintenance import Remap
from hermes_memory.domain.model import Caller, CurrentScope, RowId, SessionId
from hermes_memory.domain.operations import ById
from hermes_memory.ports.seals import Sealed
from hermes_memory.testing.making import (
    DESK,
    PATIENCE,
    PLENTY,
    SALES_DESK,
    add,
    by_content,
    record,
    remove,
    replace,
    said,
)
from hermes_memory.testing.seals_contract import SealsContract, SealsUnderTest
from hermes_memory.testing.upkeep_contract import carry_out
from tests.support.clocks import ticking
from tests.support.postgres_store import ANALYZE, Installation

TALK: Final = SessionId("talk")
IN_TALK: Final = Caller(theme=DESK.theme, session=TALK)


class TestInMemorySeals(SealsContract):
    """Every promise, kept in memory."""

    @pytest.fixture
    async def chain(self) -> SealsUnderTest:
        store = InMemoryStore(analyze=ANALYZE, clock=ticking())

        async def keep(days: float) -> None:
            store.keep_forgotten(days)

        return SealsUnderTest(delivery=store.delivery, history=store.history, seals=store.seals, keep_forgotten=keep)


class TestPostgresSeals(SealsContract):
    """Every promise, kept by Postgres."""

    @pytest_asyncio.fixture
    async def chain(self, template: Installation) -> AsyncIterator[SealsUnderTest]:
        async with template.copy() as installation, installation.store() as store:
            yield SealsUnderTest(
                delivery=store.delivery,
                history=PostgresHistory(store.pool),
                seals=PostgresSeals(store.pool),
                keep_forgotten=installation.keep_forgotten,
            )


FORGERIES = {
    "a time long ago": {"recorded_at": "2020-01-01T00:00:00Z"},
    "a time to come": {"recorded_at": "2120-01-01T00:00:00Z"},
    "a seal": {"seal": 1},
    "an erasure": {"erasure": str(uuid4())},
    "no salt": {"salt": None},
    "a record of an erasure": {"change": "erased"},
}
FORGED: Final = """
insert into hermes_memory.history
select (jsonb_populate_record(h, jsonb_build_object('id', gen_random_uuid(), 'change', 'removed', 'new_content', null,
                                                    'recorded_at', clock_timestamp()) || $1::text::jsonb)).*
  from hermes_memory.history h where h.new_content = 'kept'"""


async def test_the_runtime_role_cannot_note_what_makes_texts_vanish(template: Installation) -> None:
    async with template.copy() as database, database.store() as store:
        await store.delivery.apply([add("kept")])
        connection = await asyncpg.connect(database.runtime_dsn)
        try:
            refused = []
            for what, forged in FORGERIES.items():
                async with connection.transaction():
                    await connection.execute(caller_settings(DESK))
                    try:
                        async with connection.transaction():
                            await connection.execute(FORGED, json.dumps(forged))
                    except asyncpg.InsufficientPrivilegeError:
                        refused.append(what)
            with pytest.raises(asyncpg.UndefinedFunctionError):
                await connection.fetch("select hermes_memory.expire_forgotten(0, 1000)")
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await connection.fetch("update hermes_memory.installation set forgotten_days = 0")
        finally:
            await connection.close()

        assert refused == list(FORGERIES)
        assert await PostgresSeals(store.pool).expire(PLENTY) == 0


async def test_what_is_still_remembered_keeps_its_history_whatever_that_says(template: Installation) -> None:
    async with template.copy() as database, database.store() as store:
        await store.delivery.apply([add("kept")])
        await database.administer(FORGED, json.dumps(FORGERIES["a time long ago"]))

        assert await PostgresSeals(store.pool).expire(PLENTY) == 0
        assert await database.administer("select count(*) from hermes_memory.history where erasure is not null") == 0


async def test_a_tombstone_takes_no_text_and_one_put_there_by_force_is_found_and_not_told(
    template: Installation,
) -> None:
    async with template.copy() as database, database.store() as store:
        await store.delivery.apply([add("gone")])
        await store.delivery.apply([remove(by_content("gone"))])
        await database.keep_forgotten(0)
        assert await PostgresSeals(store.pool).expire(PLENTY) == 2
        planting = "update hermes_memory.history set new_content = 'planted', said_at = at where change = 'added'"
        with pytest.raises(asyncpg.CheckViolationError):
            await database.administer(planting)
        await database.administer_all(
            "alter table hermes_memory.history drop constraint tombstones_tell_nothing; "
            f"{planting}; delete from hermes_memory.history where change = 'removed'"
        )
        moment = await database.administer("select clock_timestamp()")
        stood = await PostgresHistory(store.pool).entries_at(DESK, CurrentScope(), moment, limit=9, timeout=PATIENCE)
        async with administrator(database.admin_dsn) as opened:
            flaws = [flaw.what async for each in histories(opened) for flaw in verify(*each)]

    assert list(stood) == []
    assert "a text stands where one was erased" in flaws


async def test_several_who_seal_while_others_write_make_one_chain(template: Installation) -> None:
    sealed: list[Sealed] = []
    async with template.copy() as database, database.store() as store:

        async def write(writer: int) -> None:
            for number in range(8):
                await store.delivery.apply(
                    [add(f"{writer} says {number}", DESK), add(f"{writer} sells {number}", SALES_DESK)]
                )

        async def seal(made: Sequence[Sealed] = ()) -> None:
            async with database.store() as own:
                for _ in range(12):
                    made = await PostgresSeals(own.pool).seal(5)
                    sealed.extend(made)

        async with anyio.create_task_group() as tasks:
            for writer in range(3):
                tasks.start_soon(write, writer)
            for _ in range(3):
                tasks.start_soon(seal)
        while made := await PostgresSeals(store.pool).seal(1_000):
            sealed.extend(made)
        heads = [each.head for each in sealed]
        async with administrator(database.admin_dsn) as opened:
            told = [
                (theme, links, verify(theme, links, seals, heads)) async for theme, links, seals in histories(opened)
            ]

    assert {theme: (len(links), flaws) for theme, links, flaws in told} == {"marketing": (24, []), "sales": (24, [])}
    assert sum(each.changes for each in sealed) == 48
    assert len({(head.theme, head.seal) for head in heads}) == len(heads)


STRAYED: Final = {
    "update hermes_memory.memory_entries set content = 'forged' where content = 'second'": (
        "a memory is not what its last change says"
    ),
    """update hermes_memory.memory_entries set content = 'first', content_hash = sha256('first')
        where content = 'second'""": ("a memory is not what its last change says"),
    "update hermes_memory.memory_entries set subject = sha256('somebody') where content = 'second'": (
        "a memory is not what its last change says"
    ),
    "delete from hermes_memory.memory_entries where content = 'second'": "a memory is gone that no change took away",
    **dict.fromkeys(
        (
            "update hermes_memory.memory_entries set origin = 'operator'",
            "update hermes_memory.memory_entries set session_id = 'another'",
            "update hermes_memory.memory_entries set tool = 'undo'",
            "update hermes_memory.memory_entries set said_at = now()",
            "update hermes_memory.memory_entries set updated_at = now()",
            "update hermes_memory.memory_entries set operation = id",
            "update hermes_memory.memory_entries set metadata = '{\"vouched\": true}'",
        ),
        "a memory was not written as its last change says",
    ),
    "delete from hermes_memory.history; delete from hermes_memory.inbox": "a memory stands that no change made",
    "delete from hermes_memory.history where change = 'replaced'; delete from hermes_memory.inbox": (
        "a memory is not what its last change says"
    ),
    "delete from hermes_memory.history where change = 'added'; delete from hermes_memory.inbox": (
        "the change before this one is missing"
    ),
    "delete from hermes_memory.history; delete from hermes_memory.memory_entries": (
        "a write had its effect and no change tells of it"
    ),
    """insert into hermes_memory.history select (jsonb_populate_record(h, jsonb_build_object(
         'id', gen_random_uuid(), 'change', 'removed', 'new_content', null, 'recorded_at', clock_timestamp()))).*
         from hermes_memory.history h where h.new_content = 'second'""": (
        "a memory stands that its last change took away"
    ),
}


async def _strayed(database: Installation) -> list[Flaw | None]:
    async with administrator(database.admin_dsn) as opened:
        return [each async for each in straying(opened)]


@pytest.mark.parametrize("forging", STRAYED)
async def test_a_memory_that_is_not_what_its_last_change_says_is_named(template: Installation, forging: str) -> None:
    async with template.copy() as database, database.store() as store:
        (first,) = await store.delivery.apply([add("first")])
        await store.delivery.apply([replace(by_content("first"), "second")])
        before = await _strayed(database)
        await database.administer_all(forging)

        assert before == []
        assert {(flaw and (flaw.theme, flaw.what, flaw.entry)) for flaw in await _strayed(database)} == {
            (DESK.theme, STRAYED[forging], first.row)
        }


async def test_a_memory_that_an_erasure_took_before_it_was_broken_off_is_half_done_until_that_is_carried_through(
    template: Installation,
) -> None:
    async with template.copy() as database, database.store() as store, administrator(database.admin_dsn) as opened:
        first, second = await store.delivery.apply([add("first"), add("second")])
        assert first.row is not None
        erasure = OneEntry(row=first.row)
        await opened.repeatedly(partial(erasure_log.begin, log=uuid4(), erasure=erasure))
        await database.administer("delete from hermes_memory.memory_entries where content = 'first'")
        halfway = await _strayed(database)
        await PostgresEraser(opened).erase(erasure)
        whole = await _strayed(database)
        await database.administer("delete from hermes_memory.memory_entries where content = 'second'")

        assert [flaw and (flaw.what, flaw.entry) for flaw in halfway] == [(HALF_DONE, first.row)]
        assert whole == []
        assert [flaw and (flaw.what, flaw.entry) for flaw in await _strayed(database)] == [(GONE, second.row)]


PLANTED: Final = """
insert into hermes_memory.memory_entries
select (jsonb_populate_record(e, jsonb_build_object(
         'id', $1::uuid, 'content', 'planted', 'content_hash', sha256('planted')))).*
  from hermes_memory.memory_entries e where e.content = 'kept'"""


async def test_a_memory_that_no_change_made_is_named_also_where_one_of_its_id_was_erased(
    template: Installation,
) -> None:
    async with template.copy() as database, database.store() as store:
        _, erased = await store.delivery.apply([add("kept"), add("erased")])
        assert erased.row is not None
        async with administrator(database.admin_dsn) as opened:
            await PostgresEraser(opened).erase(OneEntry(row=erased.row))
        before, new = await _strayed(database), uuid4()
        for row in (new, erased.row):
            await database.administer("delete from hermes_memory.memory_entries where content = 'planted'")
            await database.administer(PLANTED, row)
            found = await _strayed(database)

            assert [flaw and (flaw.what, flaw.entry) for flaw in found] == [
                ("a memory stands that no change made", row)
            ]
        assert before == []


# As an import does where the memory was forgotten meanwhile.
ADDED_ANEW: Final = """
insert into hermes_memory.history
select (jsonb_populate_record(h, jsonb_build_object('id', gen_random_uuid(), 'change', 'added', 'old_content', null,
                                                    'seal', null, 'recorded_at', clock_timestamp()))).*
  from hermes_memory.history h where h.new_content = 'third'"""


async def test_a_change_that_is_gone_among_others_of_its_memory_is_missed_though_they_were_sealed_without_it(
    template: Installation,
) -> None:
    async with template.copy() as database, database.store() as store:
        await store.delivery.apply([add("first")])
        await PostgresSeals(store.pool).seal(PLENTY)
        await store.delivery.apply([replace(by_content("first"), "second")])
        await store.delivery.apply([replace(by_content("second"), "third")])
        await database.administer_all(
            "delete from hermes_memory.history where new_content = 'second'; delete from hermes_memory.inbox"
        )
        await PostgresSeals(store.pool).seal(PLENTY)
        (change,) = await database.rows("select id from hermes_memory.history where new_content = 'third'")
        found = await _strayed(database)
        await database.administer_all(ADDED_ANEW)

        assert [flaw and (flaw.what, flaw.change, flaw.seal) for flaw in found] == [
            ("the change before this one is missing", change[0], 2)
        ]
        assert await _strayed(database) == found


HASHED_ANEW: Final = """
row_hash = hermes_memory.turn_hash(agent_identity, subject, id, session_id, role, speaker, sha256('planted'),
                                   occurrence, origin, embed, metadata, ts, created_at, operation)"""
ALTERED: Final = {
    "content = 'planted'": ALTERED_TURN,
    **dict.fromkeys(
        (
            "content = 'planted', content_hash = sha256('planted')",
            "speaker = 'Somebody'",
            "ts = ts - interval '1 minute'",
            "ts = 'infinity', created_at = '-infinity'",
            "created_at = created_at - interval '1 minute'",
            "role = 'system'",
            "origin = 'operator'",
            "session_id = 'another'",
            "agent_identity = 'sales'",
            "subject = sha256('somebody')",
            "metadata = '{\"vouched\": true}'",
            "operation = gen_random_uuid()",
            "occurrence = 7",
            "embed = not embed",
            "row_hash = sha256('planted')",
        ),
        RESTAMPED_TURN,
    ),
    "lex = 'planted:1'": STRANGE_WORDS,
    f"content = 'planted', content_hash = sha256('planted'), {HASHED_ANEW}": STRANGE_WORDS,
}
MISCOUNTED: Final = {
    "agent_identity = 'sales'": [DESK.session, DESK.session],
    "session_id = 'another'": sorted(["another", str(DESK.session)]),
    "subject = sha256('somebody')": [DESK.session, DESK.session],
    "row_hash = sha256('planted')": [DESK.session],
    f"content = 'planted', content_hash = sha256('planted'), {HASHED_ANEW}": [DESK.session],
}
KEEP_THE_TURN: Final = "create table kept as select * from hermes_memory.conversations where id = $1"
PUT_BACK: Final = """
delete from hermes_memory.conversations where id = (select id from kept);
insert into hermes_memory.conversations select * from kept"""


async def test_a_turn_that_is_not_what_was_said_and_as_it_was_stored_is_named(template: Installation) -> None:
    async with template.copy() as database, database.store() as store, administrator(database.admin_dsn) as opened:
        talk = [said(f"Grüße, it's turn {number}") for number in range(ROWS_AHEAD)]
        await store.delivery.apply([record(*talk, said("the code is zebra", speaker="Ana", metadata={"n": 1.50}))])
        (row,) = await database.rows("select id from hermes_memory.conversations where content like '%zebra'")
        await database.administer(KEEP_THE_TURN, row[0])
        pages: list[int] = []
        before = [flaw async for flaw in altered_turns(opened, ANALYZE, progress=pages.append)]
        found: dict[str, list[Flaw | int]] = {}
        for altering in ALTERED:
            await database.administer(f"update hermes_memory.conversations set {altering} where id = $1", row[0])
            found[altering] = [flaw async for flaw in altered_turns(opened, ANALYZE)]
            await database.administer_all(PUT_BACK)

        flaws = {altering: [each for each in what if isinstance(each, Flaw)] for altering, what in found.items()}
        assert before == []
        assert pages == [ROWS_AHEAD, 1]
        assert {
            altering: [(e.theme, e.what, e.entry) for e in made if e.entry] for altering, made in flaws.items()
        } == {
            altering: [(SALES_DESK.theme if "'sales'" in altering else DESK.theme, what, row[0])]
            for altering, what in ALTERED.items()
        }
        assert {altering: [e.session for e in made if not e.entry] for altering, made in flaws.items()} == {
            altering: MISCOUNTED.get(altering, []) for altering in ALTERED
        }


async def test_a_session_tells_of_turns_that_went_or_came_past_the_library(template: Installation) -> None:
    async with template.copy() as database, database.store() as store, administrator(database.admin_dsn) as opened:
        await store.delivery.apply([record(said("one"), said("two")), record(said("three"), caller=IN_TALK)])
        (row,) = await database.rows("select id from hermes_memory.conversations where content = 'two'")
        await database.administer(KEEP_THE_TURN, row[0])
        await store.delivery.apply([remove(ById(id=RowId(row[0])))])
        forgotten = [flaw async for flaw in altered_turns(opened, ANALYZE)]
        await database.administer_all(PUT_BACK)
        slipped_in = [flaw async for flaw in altered_turns(opened, ANALYZE)]
        await database.administer_all(
            "delete from hermes_memory.conversations where content = 'two' or session_id = 'talk'"
        )
        removed = [flaw async for flaw in altered_turns(opened, ANALYZE)]

        assert forgotten == []
        assert slipped_in == [Flaw(theme=DESK.theme, seal=None, change=None, what=OTHER_TURNS, session=DESK.session)]
        assert removed == [Flaw(theme=DESK.theme, seal=None, change=None, what=OTHER_TURNS, session=TALK)]


async def test_turns_of_which_other_words_are_made_now_are_counted_where_they_are_many(template: Installation) -> None:
    async with template.copy() as database, database.store() as store, administrator(database.admin_dsn) as opened:
        await store.delivery.apply([record(*(said(f"turn {number}") for number in range(FEW_TURNS + 1)))])
        found = []
        for altering in (
            "lex = 'planted:1' where content <> 'turn 0'",
            "lex = 'planted:1'",
            "content = 'planted' where content = 'turn 3'",
        ):
            await database.administer(f"update hermes_memory.conversations set {altering}")
            flaws = [flaw async for flaw in altered_turns(opened, ANALYZE)]
            found.append(Counter(flaw if isinstance(flaw, int) else flaw.what for flaw in flaws))

        assert found == [
            {STRANGE_WORDS: FEW_TURNS},
            {FEW_TURNS + 1: 1},
            {STRANGE_WORDS: FEW_TURNS, ALTERED_TURN: 1},
        ]


async def test_what_was_forgotten_merged_or_erased_is_no_flaw_nor_what_stayed_without_its_history_or_came_back(
    template: Installation,
) -> None:
    here = [add("gone"), add("told", IN_TALK)]
    there = [replaced(made, stamp=replaced(made.stamp, caller=SALES_DESK)) for made in here]
    async with template.copy() as database, database.store() as store:
        await store.delivery.apply(there)
        await store.delivery.apply([*here, add("kept"), add("twin"), add("other"), add("erased")])
        await store.delivery.apply([remove(by_content("gone")), replace(by_content("other"), "twin")])
        await store.delivery.apply([replace(by_content("kept"), "kept better", IN_TALK)])
        await store.delivery.apply([replace(by_content("kept better"), "kept best")])
        (row,) = await database.rows("select id from hermes_memory.memory_entries where content = 'erased'")
        async with administrator(database.admin_dsn) as opened:
            await PostgresEraser(opened).erase(OneEntry(row=RowId(row[0])))
            await PostgresEraser(opened).erase(WholeSession(session=TALK))
        bare = await _strayed(database)
        await store.delivery.apply([replace(by_content("kept best"), "kept again")])
        again = await _strayed(database)
        await store.delivery.apply([replace(by_content("kept again"), "kept since")])
        await store.delivery.apply([replace(by_content("kept since"), "kept at last")])
        since = await _strayed(database)
        async with administrator(database.admin_dsn) as opened:
            await carry_out(PostgresUpkeep(opened, Remapping(Remap(source=SALES_DESK.theme, target=DESK.theme))))
        moved = await _strayed(database)
        stand = await database.rows("select content from hermes_memory.memory_entries")
        await database.administer_all(
            "delete from hermes_memory.history where new_content = 'kept since'; delete from hermes_memory.inbox"
        )

        assert (bare, again, since, moved) == ([None], [], [], [])
        assert {content for (content,) in stand} == {"kept at last", "twin", "gone", "told"}
        assert [flaw and flaw.what for flaw in await _strayed(database)] == ["the change before this one is missing"]
