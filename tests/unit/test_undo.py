"""Undoing: what comes back belongs to whom it belonged before, whoever takes the change back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.support.inprocess import InProcess

from hermes_memory.application.memory import Memory
from hermes_memory.application.view import View
from hermes_memory.domain.erasure import WholeSession
from hermes_memory.domain.errors import NotVisible, Outdated
from hermes_memory.domain.model import Caller, Origin, RowId, SessionId, Theme
from hermes_memory.domain.operations import ById, ReplaceEntry
from hermes_memory.testing.making import ANA, BEN, stamp

LAUNCH = "The launch is on 3 May"
OLD_PORT, NEW_PORT = "The port is 5432", "The port is 5433"
LONG_AGO, SINCE = datetime(2023, 11, 5, 6, tzinfo=UTC), datetime(2024, 2, 1, 9, tzinfo=UTC)


async def seen(*views: View) -> list[set[str]]:
    return [{entry.content for entry in await view.profile()} for view in views]


def somebody_is_quicker(memory: Memory, view: View, row: RowId, patch: pytest.MonkeyPatch) -> None:
    """Let somebody else undo the last change of a memory just before the next one looks for it."""
    look, coming = memory.services.past.named, [row]

    async def looked(*arguments: Any, **named: Any) -> Any:
        while coming:
            await view.undo(coming.pop())
        return await look(*arguments, **named)

    patch.setattr(memory.services.past, "named", looked)


async def test_what_somebody_has_undone_meanwhile_is_told_and_not_brought_back(monkeypatch: pytest.MonkeyPatch) -> None:
    async with InProcess().running() as memory:
        desk, other = memory.view("marketing"), memory.view("marketing")
        added = await desk.remember(LAUNCH)
        changed = await desk.remember(OLD_PORT)
        await desk.replace(changed.id, NEW_PORT)
        somebody_is_quicker(memory, other, added.id, monkeypatch)
        with pytest.raises(Outdated, match="undone by somebody else meanwhile"):
            await desk.undo(added.id)
        somebody_is_quicker(memory, other, changed.id, monkeypatch)
        with pytest.raises(Outdated, match="undone by somebody else meanwhile") as told:
            await desk.undo(changed.id)
        (undone, *_) = await desk.history(changed.id)
        again = await desk.undo(undone.operation)

        assert str(undone.operation) in str(told.value)
        assert again is not None
        assert again.content == NEW_PORT
        with pytest.raises(NotVisible):
            await desk.get(added.id)


def others_replace(row: RowId, content: str, *, ahead: timedelta) -> ReplaceEntry:
    """Make what a host wrote whose clock is ahead, or that was long on its way."""
    writing = stamp(Caller(theme=Theme("marketing")), accepted_at=datetime.now(UTC) + ahead)
    return ReplaceEntry(stamp=writing, selector=ById(id=row), content=content)


async def test_what_a_host_with_a_clock_ahead_has_written_is_taken_back_at_once() -> None:
    home = InProcess()
    async with home.running() as memory:
        desk = memory.view("marketing")
        entry = await desk.remember(OLD_PORT)
        await home.store.delivery.apply([others_replace(entry.id, NEW_PORT, ahead=timedelta(minutes=2))])
        back = await desk.undo(entry.id)

        assert back is not None
        assert back.content == OLD_PORT


async def test_what_was_long_on_its_way_and_comes_during_the_call_is_not_taken_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    home = InProcess()
    async with home.running() as memory:
        desk = memory.view("marketing")
        entry = await desk.remember(OLD_PORT)
        late = others_replace(entry.id, NEW_PORT, ahead=timedelta(hours=-1))
        look = memory.services.past.named

        async def looked(*arguments: Any, **named: Any) -> Any:
            await home.store.delivery.apply([late])
            return await look(*arguments, **named)

        monkeypatch.setattr(memory.services.past, "named", looked)
        with pytest.raises(Outdated, match=f"changed by somebody else meanwhile.*{late.stamp.operation}"):
            await desk.undo(entry.id)

        assert (await desk.get(entry.id)).content == NEW_PORT


async def test_what_the_home_itself_has_accepted_before_the_call_is_taken_back_though_it_comes_during_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    home = InProcess()
    async with home.running() as memory:
        desk = memory.view("marketing")
        entry = await desk.remember(OLD_PORT)
        tell = memory.services.past.moment
        selector, caller = ById(id=entry.id), desk.caller

        async def told(*arguments: Any, **named: Any) -> Any:
            moment = await tell(*arguments, **named)
            return moment - timedelta(minutes=1)  # as if all that was on its way came after it

        monkeypatch.setattr(memory.services.past, "moment", told)
        memory.services.acceptor.replace(caller, selector, NEW_PORT, origin=Origin.USER, at=None, tool=None)
        back = await desk.undo(entry.id)

        assert back is not None
        assert back.content == OLD_PORT


async def test_a_change_is_taken_back_only_while_it_is_the_last_one() -> None:
    async with InProcess().running() as memory:
        desk = memory.view("marketing")
        entry = await desk.remember(OLD_PORT)
        await desk.replace(entry.id, NEW_PORT)
        (seen_last, *_) = await desk.history(entry.id)
        back = await desk.undo(entry.id, left_by=seen_last.operation)
        with pytest.raises(Outdated):
            await desk.undo(entry.id, left_by=seen_last.operation)

        assert back is not None
        assert await desk.get(entry.id) == back


async def test_what_belonged_to_everybody_is_everybodys_again_when_a_person_undoes_its_removal() -> None:
    async with InProcess().running() as memory:
        desk, ana, ben = (memory.view("marketing", subject=subject) for subject in (None, ANA, BEN))
        entry = await desk.remember(LAUNCH)
        await ana.forget(entry.id)
        restored = await ana.undo(entry.id)

        assert restored is not None
        assert restored.subject is None
        assert await seen(desk, ana, ben) == [{LAUNCH}] * 3


async def test_what_belonged_to_everybody_is_everybodys_again_when_a_person_undoes_that_it_became_another() -> None:
    async with InProcess().running() as memory:
        desk, ana, ben = (memory.view("marketing", subject=subject) for subject in (None, ANA, BEN))
        entry = await desk.remember(OLD_PORT)
        await desk.remember(NEW_PORT)
        await ana.replace(entry.id, NEW_PORT)
        merged, *_ = await ana.history(entry.id)
        restored = await ana.undo(entry.id)

        assert merged.merged_into is not None
        assert restored is not None
        assert restored.subject is None
        assert await seen(desk, ana, ben) == [{OLD_PORT, NEW_PORT}] * 3


async def test_what_was_one_persons_is_theirs_alone_when_they_undo_its_removal() -> None:
    async with InProcess().running() as memory:
        desk, ana, ben = (memory.view("marketing", subject=subject) for subject in (None, ANA, BEN))
        entry = await ana.remember(LAUNCH)
        await ana.forget(entry.id)
        restored = await ana.undo(entry.id)

        assert restored is not None
        assert restored.subject == ANA
        assert await seen(desk, ana, ben) == [set(), {LAUNCH}, set()]


async def test_what_comes_back_is_of_the_conversation_that_it_was_said_in_and_goes_when_that_is_erased() -> None:
    home = InProcess()
    async with home.running() as memory:
        talk, other, desk = (memory.view("marketing", session=session) for session in ("talk", "other", None))
        replaced, forgotten = await talk.remember(OLD_PORT), await talk.remember(LAUNCH)
        await other.replace(replaced.id, NEW_PORT)
        await other.forget(forgotten.id)
        restored = [await desk.undo(replaced.id), await desk.undo(forgotten.id)]
        sessions = [entry and entry.session for entry in restored]
        done = await home.store.eraser.erase(WholeSession(session=SessionId("talk")))

        assert sessions == ["talk", "talk"]
        assert done.counts["entries"] == 2
        assert await seen(desk) == [set()]


async def test_what_an_undo_brings_back_is_as_old_as_it_was_and_corrects_nothing_that_came_after_it() -> None:
    async with InProcess().running() as memory:
        desk = memory.view("marketing")
        replaced = await desk.remember(OLD_PORT, at=LONG_AGO)
        forgotten = await desk.remember(LAUNCH, at=LONG_AGO)
        await desk.remember(NEW_PORT, at=SINCE)
        changed = await desk.replace(replaced.id, "The port is 5434")
        await desk.forget(forgotten.id)
        back, restored = await desk.undo(replaced.id), await desk.undo(forgotten.id)
        found = [hit.row.content for hit in (await desk.recall("What is the port?")).hits]
        (told, *_) = await desk.history(replaced.id)
        stood = (await desk.recall("What is the port?", as_of=datetime.now(UTC))).hits
        again = await desk.undo(replaced.id)

        assert back is not None
        assert restored is not None
        assert again is not None
        assert (back.content, back.at, restored.content, restored.at) == (OLD_PORT, LONG_AGO, LAUNCH, LONG_AGO)
        assert back.updated_at > changed.updated_at
        assert found[:2] == [NEW_PORT, OLD_PORT]
        assert told.said_at == LONG_AGO
        assert {hit.row.content: hit.row.at for hit in stood if hit.row.id == back.id} == {OLD_PORT: LONG_AGO}
        assert (again.content, again.at) == (changed.content, changed.at)
