"""The memory that the library gives to the tests of others: whole, without a server, and gone at the end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NoReturn

import pytest
import pytest_asyncio

from hermes_memory import Caller, ConfigurationError, Memory, NotVisible, Theme
from hermes_memory.adapters.embedding.local import LocalEmbedder
from hermes_memory.application import lasting
from hermes_memory.application.monitor import Monitor
from hermes_memory.domain.model import Scope, SessionId, SessionScope
from hermes_memory.testing import in_memory_store, open_in_process

GUARD = 60.0


class Wheel:
    """An embedder for which each text has one of two meanings."""

    model = "wheel"
    dimension = 2
    closed = False

    async def embed_query(self, text: str, *, timeout: float) -> Sequence[float]:
        return (1.0, 0.0) if any(word in text for word in ("bicycle", "bike")) else (0.0, 1.0)

    async def embed_documents(self, texts: Sequence[str], *, timeout: float) -> Sequence[Sequence[float]]:
        return [await self.embed_query(text, timeout=timeout) for text in texts]

    async def aclose(self) -> None:
        self.closed = True


@pytest_asyncio.fixture
async def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Memory]:
    """A memory as a fixture, in an environment that points elsewhere."""
    monkeypatch.setenv("HERMES_MEMORY_DSN", "postgresql://nobody@127.0.0.1:9/nothing")
    monkeypatch.setenv("HERMES_MEMORY_NO_SUCH_KEY", "1")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    async with open_in_process() as opened:
        yield opened
    assert list(tmp_path.iterdir()) == []


async def test_every_call_of_a_view_works_without_a_server(memory: Memory) -> None:
    desk = memory.view("marketing", session="s1", subject=memory.subject_for("telegram", "1001"))
    entry = await desk.remember("Launch moved to 3 May")
    await desk.capture(user="Who tells the press about it?", assistant="Ana tells the press.")
    await desk.capture_turn("Ship it.", speaker="Ana")
    assert await memory.settled(timeout=GUARD)
    found = await desk.recall("launches", limit=1)
    moved = await desk.replace(entry.id, "Launch moved to 9 May")
    before = await desk.undo(entry.id)
    changes = await desk.history(entry.id)
    verdict = await desk.why(found.trace_id, entry.id)

    assert [hit.row.content for hit in found.hits] == ["Launch moved to 3 May"]
    assert (moved.content, before and before.content) == ("Launch moved to 9 May", "Launch moved to 3 May")
    assert [change.kind for change in changes] == ["replaced", "replaced", "added"]
    assert verdict.fate == "returned"
    assert len((await desk.recall("press ship", limit=5)).hits) == 3
    assert [known.id for known in await desk.profile()] == [entry.id]
    assert (await memory.status()).spool.depth == 0
    assert memory.troubles == ()
    await desk.forget(entry.id)
    with pytest.raises(NotVisible):
        await desk.get(entry.id)
    assert await memory.view("sales").profile() == []


async def test_a_session_that_is_named_by_a_contact_is_the_same_one_under_its_name_and_holds_no_key(
    memory: Memory,
) -> None:
    key = "telegram:dm:+4915112345678"
    desk, again, other = (memory.view("marketing", session=name) for name in (key, key, f"{key}9"))
    raw = memory.view_of(Caller(theme=Theme("marketing"), session=SessionId(key)))
    await desk.remember("Launch moved to 3 May")
    await raw.capture_turn("The launch is late.")
    await other.remember("Launch cake ordered")
    assert await memory.settled(timeout=GUARD)
    now = datetime.now(UTC)
    scopes: list[str | Scope] = ["session", SessionScope(session=SessionId(key))]
    found = [
        {hit.row.content for hit in (await view.recall("launch", scope=scope)).hits}
        for view in (desk, again, raw)
        for scope in scopes
    ]
    listed = await again.profile(scope=SessionScope(session=SessionId(key)))
    seen = await again.recall("launch", window=(SessionId(key), now - timedelta(hours=1)))
    rows = [hit.row for hit in seen.hits]

    assert {view.caller.session for view in (desk, again, raw)} == {desk.caller.session}
    assert other.caller.session != desk.caller.session
    assert found == [{"Launch moved to 3 May", "The launch is late."}] * 6
    assert [entry.content for entry in listed] == ["Launch moved to 3 May"]
    assert {row.content for row in rows} == {"Launch moved to 3 May", "Launch cake ordered"}
    assert "4915112345678" not in repr([rows, await desk.history()])


async def test_a_session_that_its_host_hid_for_the_contact_in_its_name_is_found_by_who_gives_the_name(
    memory: Memory,
) -> None:
    name = "support-room-4711-0042"
    hidden = memory.services.acceptor.preparing.hidden_session(SessionId(name))
    assert hidden  # as the host keeps it, who knows that the contact is called 4711-0042
    host = memory.view_of(Caller(theme=Theme("marketing"), session=hidden))
    who = memory.view("marketing", session=name)
    await host.remember("Launch moved to 3 May")
    await host.capture_turn("The launch is late.")
    await who.remember("Launch cake ordered")
    await memory.view("marketing", session="elsewhere").remember("Launch party planned")
    assert await memory.settled(timeout=GUARD)
    scopes: list[str | Scope] = ["session", SessionScope(session=SessionId(name))]
    found = [{hit.row.content for hit in (await who.recall("launch", scope=scope)).hits} for scope in scopes]
    listed = [{entry.content for entry in await who.profile(scope=scope)} for scope in scopes]
    told = [{change.after for change in await who.history(scope=scope)} for scope in scopes]
    seen = await who.recall("launch", window=(SessionId(name), datetime.now(UTC) - timedelta(hours=1)))
    by_hash = await who.profile(scope=SessionScope(session=hidden))

    of_both = {"Launch moved to 3 May", "Launch cake ordered"}
    assert found == [{*of_both, "The launch is late."}] * 2
    assert listed == told == [of_both] * 2
    assert {hit.row.content for hit in seen.hits} == {*of_both, "Launch party planned"}
    assert {entry.content for entry in by_hash} == {"Launch moved to 3 May"}
    assert name not in hidden


async def test_meanings_are_found_where_an_embedder_is_given() -> None:
    embedder = Wheel()
    async with open_in_process(embedder=embedder) as memory:
        desk = memory.view("garage")
        await desk.remember("The red bicycle needs oil")
        assert await memory.settled(timeout=GUARD)
        found = await desk.recall("whose bike")

    assert [hit.row.content for hit in found.hits] == ["The red bicycle needs oil"]
    assert embedder.closed


async def test_two_memories_over_one_store_see_the_same_rows() -> None:
    store = in_memory_store()
    async with open_in_process(store) as one, open_in_process(store) as other:
        entry = await one.view("marketing").remember("Launch moved to 3 May")

        assert (await other.view("marketing").get(entry.id)).content == entry.content


async def test_a_setting_that_is_wrong_is_an_error_and_an_error_in_the_block_is_ones_own() -> None:
    with pytest.raises(ConfigurationError, match="pool_size"):
        async with open_in_process(settings={"pool_size": 0}):
            pass
    with pytest.raises(KeyError):
        async with open_in_process():
            raise KeyError("mine")


async def test_a_block_that_is_cancelled_ends() -> None:
    opened = asyncio.Event()

    async def hold() -> None:
        async with open_in_process():
            opened.set()
            await asyncio.Event().wait()

    holding = asyncio.create_task(hold())
    await opened.wait()
    holding.cancel()

    with pytest.raises(asyncio.CancelledError):
        await holding


async def test_an_error_that_nobody_foresaw_in_a_part_of_a_memory_is_told_and_ends_nothing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    begun = asyncio.Event()
    run, errors = Monitor.run, [ZeroDivisionError("s3cret")]

    async def failing_at_first(monitor: Monitor) -> None:
        if errors:
            raise errors.pop()
        begun.set()
        await run(monitor)

    monkeypatch.setattr(lasting, "AGAIN_SECONDS", 0.01)
    monkeypatch.setattr(Monitor, "run", failing_at_first)
    async with open_in_process() as memory, asyncio.timeout(GUARD):
        await begun.wait()
        desk = memory.view("marketing")
        await desk.remember("Launch moved to 3 May")

        assert (await desk.recall("launch")).hits
    assert [vars(entry).get("action") for entry in caplog.records] == ["memory.fault"]
    assert "s3cret" not in caplog.text


class Unloadable(LocalEmbedder):
    """An embedder on this machine whose library fails in a way of its own."""

    NAME = "unloadable"  # by its name it would share the model that another test has loaded

    @staticmethod
    def load() -> NoReturn:
        raise ZeroDivisionError


async def test_a_model_that_fails_to_load_in_an_unforeseen_way_keeps_no_memory_from_opening(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with open_in_process(embedder=Unloadable()) as memory, asyncio.timeout(GUARD):
        entry = await memory.view("marketing").remember("Launch moved to 3 May")
        while "embed.fault" not in {vars(told).get("action") for told in caplog.records}:
            await asyncio.sleep(0.01)

    assert entry.content == "Launch moved to 3 May"
