"""History, undo and recall of the past through the library, on a real Postgres."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import pytest

from hermes_memory import ChangeKind, Entry, NotVisible, Origin, Outdated, Settings, View, open_memory
from hermes_memory.domain.model import Kind
from tests.support.postgres_store import Installation

pytestmark = pytest.mark.usefixtures("served")


async def clock(database: Installation) -> datetime:
    now: datetime = await database.administer("select clock_timestamp()")
    return now


async def test_what_was_forgotten_is_told_of_and_comes_back() -> None:
    async with open_memory(Settings()) as memory:
        desk = memory.view("marketing", session="s1")
        entry = await desk.remember("The launch is on 3 May", metadata={"page": 3}, origin=Origin.TOOL)
        await desk.forget(entry.id)
        told = await desk.history(entry.id)
        restored = await desk.undo(entry.id, reason="it was right", origin=Origin.OPERATOR)

        assert [(c.kind, c.before, c.after) for c in told] == [
            (ChangeKind.REMOVED, "The launch is on 3 May", None),
            (ChangeKind.ADDED, None, "The launch is on 3 May"),
        ]
        assert restored is not None
        assert (restored.content, restored.metadata, restored.at) == (entry.content, {"page": 3}, entry.at)
        assert restored.origin is Origin.TOOL  # an undo lends no text the trust of who undoes
        (added,) = await desk.history(restored.id)
        assert added.reason == f"undoes {told[0].operation}: it was right"
        assert added.tool == "undo"
        assert await desk.undo(restored.id) is None
        with pytest.raises(NotVisible):
            await desk.get(restored.id)


async def test_an_undone_change_shows_what_stood_before_and_can_be_undone_again() -> None:
    async with open_memory(Settings()) as memory:
        desk = memory.view("marketing")
        entry = await desk.remember("The port is 5432", at=datetime(2023, 11, 5, 6, tzinfo=UTC))
        moved = await desk.replace(entry.id, "The port is 5433")
        (changed, _) = await desk.history(entry.id)
        back = await desk.undo(changed.operation)
        again = await desk.undo(entry.id)

        assert back is not None
        assert again is not None
        assert (back.id, back.content) == (entry.id, "The port is 5432")
        assert (again.id, again.content) == (entry.id, "The port is 5433")
        assert (back.at, again.at) == (entry.at, moved.at)
        assert [change.said_at for change in await desk.history(entry.id)] == [moved.at, entry.at, moved.at, entry.at]


async def test_a_write_is_not_undone_under_a_newer_one() -> None:
    async with open_memory(Settings()) as memory:
        desk = memory.view("marketing")
        entry = await desk.remember("The port is 5432")
        await desk.replace(entry.id, "The port is 5433")
        newer, older = await desk.history(entry.id)

        with pytest.raises(Outdated, match=str(newer.operation)):
            await desk.undo(older.operation)
        assert (await desk.get(entry.id)).content == "The port is 5433"


async def test_two_who_undo_the_same_change_take_it_back_once() -> None:
    async with open_memory(Settings()) as memory:
        desk = memory.view("marketing")
        entry = await desk.remember("The port is 5432")
        await desk.replace(entry.id, "The port is 5433")
        answers = [await outcome(desk, entry), await outcome(desk, entry)]

        await desk.replace(entry.id, "The port is 5434")
        raced: list[object] = []

        async def race() -> None:
            raced.append(await outcome(desk, entry))

        async with anyio.create_task_group() as both:
            both.start_soon(race)
            both.start_soon(race)

        now = await desk.get(entry.id)

        assert answers == ["The port is 5432", "The port is 5433"]
        assert sorted(raced, key=str) == [Outdated, "The port is 5433"]
        assert isinstance(now, Entry)
        assert now.content == "The port is 5433"


async def outcome(desk: View, entry: Entry) -> object:
    try:
        now = await desk.undo(entry.id)
    except Outdated as error:
        return type(error)
    return now.content if now else None


async def test_what_is_not_ones_own_has_no_history_and_is_not_undone() -> None:
    async with open_memory(Settings()) as memory:
        ana = memory.subject_for("telegram", "4711")
        private = memory.view("marketing", subject=ana)
        entry = await private.remember("Ana's code is 8841")
        plain = await memory.view("marketing").remember("The launch is on 3 May")

        for other in (memory.view("marketing"), memory.view("sales")):
            for attempt in (other.history, other.undo):
                with pytest.raises(NotVisible):
                    await attempt(entry.id)
        sales = memory.view("sales")
        assert (
            await sales.get(plain.id)
        ).content == plain.content  # ordinary themes read each other, but not each other's past
        for attempt in (sales.history, sales.undo):
            with pytest.raises(NotVisible):
                await attempt(plain.id)
        await memory.view("marketing").forget(plain.id)
        assert list(await sales.history(scope="marketing")) == []
        assert list(await sales.history(scope="all")) == []


async def test_a_note_for_everybody_is_for_everybody_again_when_a_person_undoes_what_became_of_it() -> None:
    async with open_memory(Settings()) as memory:
        desk = memory.view("marketing")
        ana = memory.view("marketing", subject=memory.subject_for("telegram", "4711"))
        forgotten = await desk.remember("The launch is on 3 May")
        await ana.forget(forgotten.id)
        merged = await desk.remember("The port is 5432")
        await desk.remember("The port is 5433")
        await ana.replace(merged.id, "The port is 5433")
        restored = [await ana.undo(forgotten.id), await ana.undo(merged.id)]

        assert [entry and entry.subject for entry in restored] == [None, None]
        assert {entry.content for entry in await desk.profile()} == {
            "The launch is on 3 May",
            "The port is 5432",
            "The port is 5433",
        }


async def test_a_question_is_answered_as_of_a_past_moment(database: Installation) -> None:
    async with open_memory(Settings()) as memory:
        desk = memory.view("marketing", session="s1")
        port = await desk.remember("The database port is 5432")
        host = await desk.remember("The database host is db1")
        await desk.capture_turn("Is the database up?", role="user")
        assert await memory.settled(timeout=60)
        then = await clock(database)
        await desk.replace(port.id, "The database port is 5433")
        await desk.forget(host.id)
        await desk.remember("The database user is app")
        await desk.capture_turn("The database is down", role="assistant")
        assert await memory.settled(timeout=60)

        now = await desk.recall("database", limit=10)
        past = await desk.recall("database", limit=10, as_of=then)
        only_entries = await desk.recall("port", as_of=then, kinds=frozenset({Kind.ENTRY}))
        assert {hit.row.content for hit in past.hits} == {
            "The database port is 5432",
            "The database host is db1",
            "Is the database up?",
        }
        assert {hit.row.content for hit in now.hits} == {
            "The database port is 5433",
            "The database user is app",
            "Is the database up?",
            "The database is down",
        }
        assert [hit.row.content for hit in only_entries.hits] == ["The database port is 5432"]
        assert past.degraded
        with pytest.raises(NotVisible):
            await desk.explain(past.trace_id)


async def test_history_is_sealed_and_published_without_being_asked(database: Installation, home: Path) -> None:
    async with open_memory(Settings()) as memory:
        desk = memory.view("marketing")
        await desk.remember("The launch is on 3 May")
        await memory.services.sealing.seal()
        (heads,) = (home / "hermes-memory").glob("history-heads-*.jsonl")
        told = [json.loads(line) for line in heads.read_text().splitlines()]

        assert await database.administer("select count(*) from hermes_memory.history where seal is null") == 0
        assert [(line["theme"], line["seal"], line["changes"]) for line in told] == [("marketing", 1, 1)]
        chained: Any = await database.administer("select encode(chained, 'hex') from hermes_memory.seals")
        assert told[0]["chained"] == chained
        assert heads.stat().st_mode & 0o777 == 0o600


async def test_no_runtime_may_choose_a_seal(database: Installation) -> None:
    await database.require_refused(
        "select * from hermes_memory.seals",
        "update hermes_memory.history set seal = 1",
        "select hermes_memory.erase_changes('marketing', array[]::uuid[])",
    )
