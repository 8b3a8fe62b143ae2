"""The library's face: `open_memory`, its views, their errors, and two processes on one home."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import anyio
import pytest

import hermes_memory
from hermes_memory import (
    Ambiguous,
    ConfigurationError,
    DeadlineExceeded,
    Entry,
    Fate,
    InvalidInput,
    Memory,
    NotVisible,
    SchemaNotApplied,
    Settings,
    SpoolFull,
    StoreUnavailable,
    Target,
    Turn,
    open_memory,
)
from hermes_memory.domain.model import ReadPolicy, TraceId
from hermes_memory.domain.operations import BySubstring
from tests.support.gate import Gate
from tests.support.inspection import rows, value
from tests.support.postgres import TestServer
from tests.support.postgres_store import Installation

pytestmark = pytest.mark.usefixtures("served")

TURNS = "select session_id, role, speaker, content from hermes_memory.conversations order by ts, position"


@asynccontextmanager
async def opened(**changes: Any) -> AsyncIterator[Memory]:
    async with open_memory(Settings(**changes), wait=30) as memory:
        yield memory


async def settled(memory: Memory) -> None:
    assert await memory.settled(timeout=60)


async def test_what_is_remembered_is_found_changed_and_forgotten() -> None:
    async with opened() as memory:
        desk = memory.view("Marketing")
        when = datetime(2026, 5, 1, 9, 30, tzinfo=UTC)
        entry = await desk.remember(
            "Launch moved to 3 May", target="memory", at=when, metadata={"source": "mail", "n": [1, None]}
        )
        found = await desk.recall("launch date", limit=5)
        again = await desk.remember("Launch moved to 3 May")
        changed = await desk.replace(entry.id, "Launch moved to 9 May")
        listed = await desk.profile()
        await desk.forget(entry.id)
        afterwards = await desk.recall("launch date")

    assert isinstance(entry, Entry)
    assert (entry.theme, entry.at, dict(entry.metadata)) == ("marketing", when, {"source": "mail", "n": [1, None]})
    assert [hit.row.content for hit in found.hits] == ["Launch moved to 3 May"]
    assert again.id == entry.id == changed.id
    assert changed.content == "Launch moved to 9 May"
    assert [row.content for row in listed] == ["Launch moved to 9 May"]
    assert afterwards.hits == ()


async def test_what_does_not_exist_and_what_is_anothers_look_alike(database: Installation) -> None:
    await database.set_policy(ReadPolicy.OWN)
    async with opened() as memory:
        sales, marketing = memory.view("sales"), memory.view("marketing")
        hidden = await sales.remember("The CFO's salary is secret")
        messages = []
        for row in (hidden.id, uuid4()):
            for work in (
                lambda row=row: marketing.get(row),
                lambda row=row: marketing.replace(row, "Nothing"),
                lambda row=row: marketing.forget(row),
            ):
                with pytest.raises(NotVisible) as caught:
                    await work()
                messages.append(str(caught.value))
        kept = await sales.get(hidden.id)

    assert messages[:3] == messages[3:]
    assert kept == hidden


async def test_forgetting_by_content_takes_every_target_and_nothing_else() -> None:
    async with opened() as memory:
        desk, other = memory.view("marketing"), memory.view("sales")
        for view in (desk, other):
            await view.remember("The code is 4711", target="memory")
            await view.remember("The code is 4711", target="user")
        await desk.remember("The code is 4712")
        forgotten = await desk.forget_content("The code is 4711")
        with pytest.raises(NotVisible):
            await desk.forget_content("The code is 4711")
        left = [entry.content for entry in await desk.profile()]
        others = await other.profile()

    assert len(forgotten) == 2
    assert left == ["The code is 4712"]
    assert len(others) == 2


async def test_a_selector_that_fits_several_touches_none() -> None:
    async with opened() as memory:
        desk = memory.view("marketing")
        await desk.remember("The host is db-fra-03")
        await desk.remember("The host is db-fra-04")
        with pytest.raises(Ambiguous):
            await desk.forget_selected(BySubstring(target=Target.MEMORY, text="host is"))
        outcome = await desk.forget_selected(BySubstring(target=Target.MEMORY, text="fra-03"))
        left = await desk.profile()

    assert outcome.row is not None
    assert [entry.content for entry in left] == ["The host is db-fra-04"]


@pytest.mark.parametrize(
    "work",
    [
        lambda desk: desk.remember(""),
        lambda desk: desk.remember("  \n\0 "),
        lambda desk: desk.remember("x" * 70_000),
        lambda desk: desk.remember("x", target="notes"),
        lambda desk: desk.recall("x", limit=0),
        lambda desk: desk.recall("x", limit=1_000_000),
        lambda desk: desk.recall("x", scope=""),
        lambda desk: desk.recall("x", scope="\0"),
        lambda desk: desk.recall("x", scope="session"),
        lambda desk: desk.recall("x", scope="subject"),
        lambda desk: desk.recall("x", target="notes"),
        lambda desk: desk.profile(limit=0),
        lambda desk: desk.capture(user="Hello there, Ana", assistant="Hello"),
        lambda desk: desk.capture_turn("Hello there, Ana"),
        lambda desk: desk.forget_content(""),
    ],
)
async def test_an_unusable_argument_is_named_and_costs_nothing(
    database: Installation, work: Callable[[Any], Any]
) -> None:
    async with opened() as memory:
        with pytest.raises(InvalidInput) as caught:
            await work(memory.view("marketing"))
        await settled(memory)

    assert len(str(caught.value)) > 20
    assert await value(database.admin_dsn, "select count(*) from hermes_memory.memory_rows") == 0


@pytest.mark.parametrize(
    "name", ["", "\0\u200b", "all", "Current", "whatsapp-dm", "EXTERNAL-group", "_bench", "x" * 200]
)
async def test_a_name_that_is_nobodys_to_claim_is_refused(name: str) -> None:
    async with opened() as memory:
        with pytest.raises(InvalidInput):
            memory.view(name)


async def test_spellings_of_a_name_are_one_theme_on_every_way() -> None:
    async with opened() as memory:
        await memory.view("New\u200b Ｔheme").remember("The launch is on 3 May")
        own = await memory.view("new theme").recall("launch")
        by_name = await memory.view("other").recall("launch", scope=" NEW  theme")

    assert [len(own.hits), len(by_name.hits)] == [1, 1]


async def test_a_query_with_odd_characters_is_a_query() -> None:
    async with opened() as memory:
        desk = memory.view("marketing")
        await desk.remember("The launch is on 3 May")
        answers = [
            await desk.recall(query)
            for query in ("launch\0", "\ud83d launch", "launch & | ! <-> :* '", "", "  ", "launch" + " x" * 400_000)
        ]

    assert [len(answer.hits) for answer in answers] == [1, 1, 1, 0, 0, 1]


async def test_an_exchange_and_single_turns_are_captured_once(database: Installation) -> None:
    async with opened() as memory:
        desk = memory.view("marketing", session="s1")
        when = datetime(2026, 5, 3, 12, tzinfo=UTC)
        for _ in range(3):
            await desk.capture_turn("Deploy failed with E40213", speaker="Ana", at=when, metadata={"turn": "D1:3"})
        await desk.capture_turn("Deploy failed with E40213", speaker="Ana", at=when, occurrence=1)
        await desk.capture_turn("Ok", role="assistant", at=when)
        accepted = await desk.capture(user="When do we launch?", assistant="On 3 May.")
        noise = await desk.capture(user="ok", assistant="👍")
        empty = await desk.capture_turn("   ")
        await settled(memory)
        found = await desk.recall("E40213", kinds=frozenset({hermes_memory.Kind.TURN}))

    assert accepted is not None
    assert (noise, empty) == (None, None)
    assert await rows(database.admin_dsn, TURNS) == [
        ("s1", "user", "Ana", "Deploy failed with E40213"),
        ("s1", "user", "Ana", "Deploy failed with E40213"),
        ("s1", "assistant", None, "Ok"),
        ("s1", "user", None, "When do we launch?"),
        ("s1", "assistant", None, "On 3 May."),
    ]
    (hit,) = found.hits
    assert isinstance(hit.row, Turn)
    assert hit.copies == 2


async def test_metadata_that_json_cannot_hold_is_kept_as_text(database: Installation) -> None:
    async with opened() as memory:
        entry = await memory.view("marketing").remember(
            "The cook is called Basil",
            metadata={"at": datetime(2026, 5, 3, tzinfo=UTC), "nul": "a\0b", "half": "\ud83d", "nan": float("nan")},
        )

    assert dict(entry.metadata) == {"at": "2026-05-03T00:00:00+00:00", "nul": "ab", "half": "\ufffd", "nan": None}


async def test_an_answer_can_be_explained_to_who_asked_and_to_nobody_else() -> None:
    async with opened() as memory:
        desk = memory.view("marketing")
        await desk.remember("The launch is on 3 May")
        await desk.remember("The launch party is on 4 May")
        result = await desk.recall("launch", limit=1)
        told = await desk.explain(result.trace_id)
        with pytest.raises(NotVisible):
            await memory.view("sales").explain(result.trace_id)
        with pytest.raises(NotVisible):
            await desk.explain(TraceId(uuid4()))

    assert [verdict.row for verdict in told.verdicts if verdict.fate is Fate.RETURNED] == [result.hits[0].row]
    assert told.fates == {Fate.RETURNED: 1, Fate.LIMIT: 1}
    assert told.candidates["text"] == 2
    assert [word.documents for word in told.words] == [2]


async def test_a_governed_theme_is_not_visible_by_name() -> None:
    async with opened() as memory:
        with pytest.raises(NotVisible):
            await memory.view("marketing").recall("x", scope="whatsapp-dm")


async def test_a_subject_keeps_its_rows_to_itself_and_finds_them_everywhere() -> None:
    async with opened() as memory:
        ana, bob = memory.subject_for("telegram", "777000111"), memory.subject_for("telegram", "777000222")
        await memory.view("marketing", subject=ana).remember("Ana's alarm code is 4471")
        with_bob = await memory.view("marketing", subject=bob).recall("alarm code")
        with_nobody = await memory.view("marketing").recall("alarm code", scope="all")
        elsewhere = await memory.view("sales", subject=ana).recall("alarm code", scope="subject")

    assert with_bob.hits == with_nobody.hits == ()
    assert len(elsewhere.hits) == 1


@pytest.mark.parametrize(
    "error",
    [ValueError("v"), KeyboardInterrupt(), SystemExit(3), ExceptionGroup("g", [OSError()]), NotVisible("x")],
    ids=lambda error: type(error).__name__,
)
async def test_an_error_of_the_block_comes_out_as_it_is(error: BaseException) -> None:
    async def block() -> None:
        async with opened() as memory:
            await memory.view("marketing").remember("The launch is on 3 May")
            raise error

    with pytest.raises(type(error)) as caught:
        await block()

    assert caught.value is error


async def test_a_cancelled_block_ends_in_time() -> None:
    scope = anyio.CancelScope(deadline=anyio.current_time() + 1.0)
    with anyio.move_on_after(60) as guard, scope:
        async with opened():
            await anyio.sleep_forever()

    assert scope.cancelled_caught
    assert not guard.cancelled_caught


async def test_what_was_captured_last_is_stored_when_the_block_ends(database: Installation) -> None:
    async with opened() as memory:
        desk = memory.view("marketing", session="s1")
        for number in range(50):
            await desk.capture_turn(f"Line {number} of the log")

    assert await value(database.admin_dsn, "select count(*) from hermes_memory.conversations") == 50


async def test_all_that_was_accepted_is_embedded_once_it_is_settled(
    database: Installation, configure: Callable[..., None]
) -> None:
    configure(embedder="local")
    async with opened() as memory:
        desk = memory.view("marketing", session="s1")
        await desk.remember("The launch was moved to the third of May")
        for number in range(30):
            await desk.capture_turn(f"Line {number} of the log")
        await settled(memory)
        vectors = await value(
            database.admin_dsn,
            "select (select count(*) from hermes_memory.turn_vectors_g1) + "
            "(select count(*) from hermes_memory.entry_vectors_g1)",
        )
        meant = await desk.recall("Wann ist der Start?", limit=3, kinds=frozenset({hermes_memory.Kind.ENTRY}))
        status = await memory.status()

    assert vectors == 31
    assert [hit.row.content for hit in meant.hits] == ["The launch was moved to the third of May"]
    assert (meant.degraded, status.embedder_problem, status.spool.depth) == ((), None, 0)


@pytest.fixture
def closed_gate(configure: Callable[..., None]) -> Any:
    with Gate() as gate:
        configure(dsn=f"postgresql://app@127.0.0.1:{gate.port}/nowhere")
        yield gate


async def test_without_a_database_opening_says_so(closed_gate: Gate) -> None:
    with pytest.raises(StoreUnavailable):
        async with open_memory(Settings(), wait=0.5):
            pytest.fail("the block must not begin")


async def test_a_deadline_keeps_the_write(
    closed_gate: Gate, configure: Callable[..., None], database: Installation
) -> None:
    async with open_memory(Settings(), wait=0) as memory:
        with pytest.raises(DeadlineExceeded, match="not lost"):
            await memory.view("marketing").remember("The launch is on 3 May", timeout=0.3)
        with pytest.raises(StoreUnavailable):
            await memory.view("marketing").recall("launch", timeout=30)
        kept = await memory.services.spool.status()
        finished = await memory.settled(timeout=0.3)

    assert kept.depth == 1
    assert finished is False


async def test_a_full_spool_refuses_and_drops_nothing(closed_gate: Gate) -> None:
    async with open_memory(Settings(spool_max_rows=100), wait=0) as memory:
        desk = memory.view("marketing", session="s1")
        for number in range(100):
            await desk.capture_turn(f"Line {number} of the log")
        with pytest.raises(SpoolFull):
            await desk.capture_turn("One line too many")
        kept = await memory.services.spool.status()

    assert (kept.depth, kept.refused) == (100, 1)


async def test_a_missing_schema_is_named_with_its_remedy(
    server: TestServer, template: Installation, configure: Callable[..., None]
) -> None:
    name = server.unique_name("bare")
    await server.create_database(name)
    try:
        configure(dsn=server.dsn(name, user=template.role))
        with pytest.raises(SchemaNotApplied, match="hermes-memory migrate"):
            async with open_memory(Settings()):
                pytest.fail("the block must not begin")
    finally:
        await server.drop_database(name)


@pytest.mark.parametrize(
    "wrong", [{"embedder": "openai"}, {"pool_size": 0}, {"colour": "red"}, {"subject_secret": "short"}]
)
async def test_a_wrong_setting_is_named(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError) as caught:
        async with open_memory(Settings(**wrong)):
            pytest.fail("the block must not begin")

    (key,) = wrong
    assert key.split("_", maxsplit=1)[0].lower() in str(caught.value).lower()


CLIENT = """
import json, sys
import anyio, anyio.to_thread
from hermes_memory import Settings, open_memory

async def main():
    async with open_memory(Settings(), wait=60) as memory:
        desk = memory.view("marketing", session=sys.argv[1])
        print("open", flush=True)
        await anyio.to_thread.run_sync(sys.stdin.readline)
        for number in range(15):
            await desk.remember(f"{sys.argv[1]} fact {number}")
            await desk.capture_turn(f"{sys.argv[1]} line {number}")
        print(json.dumps((await memory.status()).leads), flush=True)
        await anyio.to_thread.run_sync(sys.stdin.readline)

anyio.run(main)
"""


async def test_two_processes_of_a_home_write_and_one_of_them_delivers(served: Path, database: Installation) -> None:
    def client(name: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", CLIENT, name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ},
        )

    def line(process: subprocess.Popen[str]) -> str:
        assert process.stdout
        return process.stdout.readline().strip()

    with client("one") as one, client("two") as two:
        try:
            begun = [line(one), line(two)]
            for process in (one, two):
                assert process.stdin
                process.stdin.write("go\n")
                process.stdin.flush()
            leads = sorted(json.loads(line(process)) for process in (one, two))
            for process in (one, two):
                assert process.stdin
                process.stdin.close()
                process.wait(60)
        finally:
            one.kill()
            two.kill()

    assert begun == ["open", "open"]
    assert leads == [False, True]
    assert await value(database.admin_dsn, "select count(*) from hermes_memory.memory_entries") == 30
    assert await value(database.admin_dsn, "select count(*) from hermes_memory.conversations") == 30


async def test_a_write_is_committed_when_it_returns_and_waits_for_no_look_at_the_spool(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("hermes_memory.application.deliver.POLL_SECONDS", 3_600.0)
    async with opened() as memory:
        desk = memory.view("marketing")
        for number in range(10):
            entry = await desk.remember(f"Fact {number} of the day")
            assert (await desk.get(entry.id)) == entry
