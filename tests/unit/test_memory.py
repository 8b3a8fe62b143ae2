"""The library's face over rows in this process: what a view stores, finds, changes and refuses."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, cast
from uuid import UUID, uuid4

import anyio
import pytest
from tests.support.faulty import FaultyEmbedder
from tests.support.inprocess import GUARD, InProcess, until
from tests.support.tables import for_each

from hermes_memory.adapters.inmemory.spool import InMemorySpool
from hermes_memory.application.arguments import parse_kinds, parse_role, parse_target
from hermes_memory.application.memory import Memory, View
from hermes_memory.domain.errors import (
    Ambiguous,
    DeadlineExceeded,
    DeliveryRejected,
    InvalidInput,
    NotVisible,
    SchemaNotApplied,
    SpoolFull,
    StoreUnavailable,
)
from hermes_memory.domain.model import (
    AllScope,
    Caller,
    Entry,
    Kind,
    Origin,
    Role,
    RowId,
    SessionId,
    Target,
    Theme,
    ThemeScope,
    TraceId,
    Turn,
)
from hermes_memory.domain.operations import BySubstring, Effect, Outcome
from hermes_memory.testing.making import ANA, BEN, DESK, HOME

AWAY = StoreUnavailable("the database is away")

pytestmark = pytest.mark.usefixtures("hurried")


@pytest.fixture
async def parts() -> InProcess:
    return InProcess()


@pytest.fixture
async def memory(parts: InProcess) -> AsyncIterator[Memory]:
    # In a task of its own, because a fixture may end in another task than it began in.
    begun, ended = anyio.Event(), anyio.Event()

    async def live() -> None:
        async with parts.running():
            begun.set()
            await ended.wait()

    life = asyncio.create_task(live())
    await begun.wait()
    yield parts.memory
    ended.set()
    await life


@pytest.fixture
def desk(memory: Memory) -> View:
    return memory.view("marketing", session="s1")


def test_a_view_is_of_the_canonical_theme_session_and_subject() -> None:
    view = InProcess().memory.view(" Marketing ", session=" s\0one ", subject=ANA)

    assert view.caller == Caller(theme=Theme("marketing"), subject=ANA, session=SessionId("sone"))
    assert view.theme == "marketing"
    assert InProcess().memory.view("marketing", session="  ").caller.session is None


@for_each("name", ["", "  ", "all", "CURRENT", "whatsapp-dm", "x" * 129])
def test_a_view_of_an_unusable_or_reserved_theme_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        InProcess().memory.view(name)

    assert caught.value.field == "theme"


def test_a_subject_is_the_same_for_the_same_contact_and_for_no_other() -> None:
    memory = InProcess().memory

    ana = memory.subject_for("telegram", "1555")
    assert ana == memory.subject_for("telegram", "1555")
    assert ana not in {memory.subject_for("signal", "1555"), memory.subject_for("telegram", "1556")}
    assert len(ana) == 32


async def test_what_is_remembered_is_returned_as_stored(desk: View) -> None:
    at = datetime(2026, 1, 2, tzinfo=UTC)
    entry = await desk.remember(
        " Launch on 3 May ", target="User", at=at, metadata={"page": 3}, origin=Origin.AGENT, tool="importer"
    )

    assert (entry.content, entry.target, entry.at, dict(entry.metadata)) == (
        "Launch on 3 May",
        Target.USER,
        at,
        {"page": 3},
    )
    assert (entry.theme, entry.subject, entry.session, entry.origin) == ("marketing", None, "s1", Origin.AGENT)
    assert await desk.get(entry.id) == entry


async def test_remembering_again_changes_nothing_and_returns_what_is_stored(desk: View) -> None:
    first = await desk.remember("Launch on 3 May", metadata={"page": 3})
    again = await desk.remember(" Launch on 3 May\n")

    assert again == first
    assert len(await desk.profile()) == 1


async def test_a_changed_memory_keeps_its_id(desk: View) -> None:
    before = await desk.remember("Launch on 3 May")
    after = await desk.replace(before.id, "Launch on 9 May")

    assert (after.id, after.content) == (before.id, "Launch on 9 May")
    assert [entry.content for entry in await desk.profile()] == ["Launch on 9 May"]


async def test_a_memory_changed_to_what_is_known_already_becomes_that_one(desk: View) -> None:
    known, other = await desk.remember("Launch on 9 May"), await desk.remember("Launch on 3 May")
    after = await desk.replace(other.id, "Launch on 9 May")

    assert after.id == known.id
    assert len(await desk.profile()) == 1


async def test_after_forgetting_nothing_finds_it(desk: View) -> None:
    entry = await desk.remember("Launch on 3 May")
    await desk.forget(entry.id)

    assert (await desk.recall("launch")).hits == ()
    assert await desk.profile() == []
    with pytest.raises(NotVisible):
        await desk.get(entry.id)


async def test_forgetting_a_content_forgets_it_whichever_target_it_is_of(desk: View) -> None:
    entries = [await desk.remember("Launch on 3 May", target=target) for target in ("memory", "user")]
    kept = await desk.remember("Launch on 3 May, at noon")
    forgotten = await desk.forget_content("  Launch on 3 May ")

    assert set(forgotten) == {entry.id for entry in entries}
    assert await desk.profile() == [kept]
    with pytest.raises(NotVisible):
        await desk.forget_content("Launch on 3 May")


@pytest.mark.parametrize("subject", [None, BEN])
async def test_nobody_changes_or_forgets_what_is_not_theirs(memory: Memory, subject: Any) -> None:
    owner = memory.view("marketing", subject=ANA)
    entry = await owner.remember("Ana is ill")
    others = [memory.view("marketing", subject=subject), memory.view("sales", subject=ANA)]

    for other in others:
        with pytest.raises(NotVisible):
            await other.replace(entry.id, "Ana is well")
        with pytest.raises(NotVisible):
            await other.forget(entry.id)
        with pytest.raises(NotVisible):
            await other.forget_content("Ana is ill")
    assert await owner.profile() == [entry]


async def test_what_does_not_exist_and_what_is_not_ones_own_look_alike(memory: Memory) -> None:
    hidden = await memory.view("marketing", subject=ANA).remember("Ana is ill")
    other = memory.view("marketing", subject=BEN)
    told = []
    for row in (hidden.id, RowId(uuid4())):
        with pytest.raises(NotVisible) as caught:
            await other.get(row)
        told.append(str(caught.value))

    assert told[0] == told[1]


async def test_a_change_that_several_memories_fit_touches_none(memory: Memory, desk: View, parts: InProcess) -> None:
    await desk.remember("launch one")
    await desk.remember("launch two")
    removal = parts.acceptor.remove(desk.caller, BySubstring(target=Target.MEMORY, text="launch"), origin=Origin.USER)
    with pytest.raises(Ambiguous):
        await desk._commits.effect(removal, None)

    assert len(await desk.profile()) == 2


async def test_a_memory_that_is_gone_before_it_can_be_returned_is_told_so(desk: View, parts: InProcess) -> None:
    outcome = Outcome(operation=parts.acceptor._stamp(desk.caller, Origin.USER, None).operation, effect=Effect.STORED)
    with pytest.raises(NotVisible, match="meanwhile"):
        await desk._commits.stored(outcome, None)


async def test_what_the_database_refuses_for_good_is_an_error_with_its_reason(desk: View, parts: InProcess) -> None:
    parts.delivery.refused = {"poison"}
    with pytest.raises(DeliveryRejected) as caught:
        await desk.remember("poison")

    assert caught.value.reason == "22021 refused"


async def test_a_write_without_an_answer_in_time_is_accepted_and_arrives_later(desk: View, parts: InProcess) -> None:
    parts.delivery.applying.standing = AWAY
    with pytest.raises(DeadlineExceeded):
        await desk.remember("Launch on 3 May", timeout=0.05)
    parts.delivery.applying.standing = None
    await until(lambda: parts.delivery.applied)

    assert [entry.content for entry in await desk.profile()] == ["Launch on 3 May"]


async def test_an_impatient_view_gives_up_at_once_on_a_database_that_is_away(
    memory: Memory, desk: View, parts: InProcess
) -> None:
    parts.store_breaker._jitter = lambda _: 3_600.0
    parts.delivery.applying.standing = AWAY
    started = time.monotonic()
    with pytest.raises(DeadlineExceeded):
        await memory.view_of(desk.caller, patient=False).remember("Launch on 3 May", timeout=GUARD * 2)

    assert time.monotonic() - started < GUARD
    assert parts.spool.pending_before() == 1


async def test_a_full_spool_refuses_writes_and_answers_questions() -> None:
    parts = InProcess(spool=InMemorySpool(max_rows=1))
    parts.delivery.applying.hangs = True
    async with parts.running() as memory:
        desk = memory.view("marketing", session="s1")
        await desk.capture_turn("first")
        with pytest.raises(SpoolFull):
            await desk.remember("second")
        with pytest.raises(SpoolFull):
            await desk.capture_turn("third")

        assert (await desk.recall("second")).hits == ()


async def test_an_exchange_is_accepted_at_once_and_found_later(memory: Memory, desk: View, parts: InProcess) -> None:
    parts.delivery.applying.standing = AWAY
    accepted = await desk.capture(user="When do we launch?", assistant="On 3 May.", metadata={"n": 1})
    waiting = parts.spool.pending_before()
    parts.delivery.applying.standing = None
    await memory.settled(timeout=GUARD)
    found = (await desk.recall("launch May", kinds=frozenset({Kind.TURN}))).hits
    turns = sorted((hit.row for hit in found if isinstance(hit.row, Turn)), key=lambda turn: turn.position)

    assert accepted is not None
    assert waiting == 1
    assert [(turn.role, turn.content, dict(turn.metadata)) for turn in turns] == [
        (Role.USER, "When do we launch?", {"n": 1}),
        (Role.ASSISTANT, "On 3 May.", {"n": 1}),
    ]


async def test_an_exchange_that_says_nothing_is_not_accepted(desk: View) -> None:
    assert await desk.capture(user="ok", assistant="  ") is None


async def test_a_turn_handed_in_singly_is_kept_with_all_it_says_and_once_only(memory: Memory, desk: View) -> None:
    at = datetime(2026, 1, 2, tzinfo=UTC)
    for occurrence in (0, 0, 1):
        await desk.capture_turn(
            "ok", role="Assistant", speaker="Ana", at=at, occurrence=occurrence, metadata={"turn": "D1:3"}
        )
    await memory.settled(timeout=GUARD)
    counts = (await memory.status()).rows
    hits = (await desk.recall("ok")).hits

    assert counts["turns"] == 2
    (hit,) = hits
    assert isinstance(hit.row, Turn)
    assert (hit.copies, hit.row.role, hit.row.speaker, hit.row.at) == (2, Role.ASSISTANT, "Ana", at)
    assert dict(hit.row.metadata) == {"turn": "D1:3"}


async def test_turns_need_a_session(memory: Memory) -> None:
    for call in (
        memory.view("marketing").capture_turn("hello there"),
        memory.view("marketing").capture(user="When do we launch?", assistant="On 3 May."),
    ):
        with pytest.raises(InvalidInput) as caught:
            await call
        assert caught.value.field == "session"


async def test_recall_looks_where_it_is_told_to(memory: Memory, desk: View) -> None:
    await desk.remember("launch on 3 May", target="memory")
    await desk.remember("launch is Ana's", target="user")
    await desk.capture_turn("launch said")
    await memory.view("marketing", session="s2").capture_turn("launch said elsewhere")
    await memory.view("sales").remember("launch of sales")
    await memory.settled(timeout=GUARD)
    own = {"launch on 3 May", "launch is Ana's", "launch said", "launch said elsewhere"}
    entries = frozenset({Kind.ENTRY})

    async def found(**where: Any) -> set[str]:
        return {hit.row.content for hit in (await desk.recall("launch", **where)).hits}

    assert await found() == own
    assert await found(scope="session") == own - {"launch said elsewhere"}
    assert await found(scope="all") == await found(scope=AllScope()) == {*own, "launch of sales"}
    assert await found(scope="Sales") == await found(scope=ThemeScope(theme=Theme("sales"))) == {"launch of sales"}
    assert await found(kinds=entries) == {"launch on 3 May", "launch is Ana's"}
    assert await found(kinds=entries, target="user") == {"launch is Ana's"}
    assert len(await found(limit=1)) == 1
    assert await found(floor=1.0) == set()
    assert await found(exclude=frozenset({"launch said"})) == own - {"launch said"}
    for since in (datetime(2000, 1, 1, tzinfo=UTC), datetime(2000, 1, 1)):
        assert await found(window=(SessionId("s1"), since)) == own - {"launch said"}
    assert await found(window=(SessionId("s1"), datetime.max.replace(tzinfo=UTC))) == own


async def test_the_profile_lists_entries_most_recently_changed_first(memory: Memory, desk: View) -> None:
    first = await desk.remember("one")
    await desk.remember("two", target="user")
    await memory.view("sales").remember("three")
    await desk.replace(first.id, "one more")

    assert [entry.content for entry in await desk.profile()] == ["one more", "two"]
    assert [entry.content for entry in await desk.profile(target="user")] == ["two"]
    assert [entry.content for entry in await desk.profile(limit=1)] == ["one more"]
    assert [entry.content for entry in await desk.profile(scope="all")] == ["one more", "three", "two"]


WRONG_CALLS: dict[str, tuple[str, Callable[[View], Awaitable[object]]]] = {
    "no limit": ("limit", lambda desk: desk.recall("x", limit=0)),
    "a high limit": ("limit", lambda desk: desk.recall("x", limit=201)),
    "a floor that is no number": ("floor", lambda desk: desk.recall("x", floor=float("nan"))),
    "a negative floor": ("floor", lambda desk: desk.recall("x", floor=-0.1)),
    "an empty scope": ("scope", lambda desk: desk.recall("x", scope="  ")),
    "no scope at all": ("scope", lambda desk: desk.recall("x", scope=cast("str", None))),
    "a subject's scope without one": ("scope", lambda desk: desk.recall("x", scope="subject")),
    "an unknown target": ("target", lambda desk: desk.recall("x", target="everything")),
    "kinds that are none": ("kinds", lambda desk: desk.recall("x", kinds=cast("frozenset[Kind]", {"entries"}))),
    "a kind in the place of kinds": ("kinds", lambda desk: desk.recall("x", kinds=cast("frozenset[Kind]", "entry"))),
    "no kinds": ("kinds", lambda desk: desk.recall("x", kinds=frozenset())),
    "kinds that are no set": ("kinds", lambda desk: desk.recall("x", kinds=cast("frozenset[Kind]", None))),
    "a content in the place of contents": (
        "exclude",
        lambda desk: desk.recall("x", exclude=cast("frozenset[str]", "x")),
    ),
    "contents that are none": ("exclude", lambda desk: desk.recall("x", exclude=cast("frozenset[str]", {1}))),
    "contents that are no set": ("exclude", lambda desk: desk.recall("x", exclude=cast("frozenset[str]", None))),
    "a session in the place of a window": (
        "window",
        lambda desk: desk.recall("x", window=cast("tuple[SessionId, datetime]", "s1")),
    ),
    "a window since no time": (
        "window",
        lambda desk: desk.recall("x", window=cast("tuple[SessionId, datetime]", ("s1", "today"))),
    ),
    "a window of no session": ("window", lambda desk: desk.recall("x", window=(SessionId(""), datetime.now(UTC)))),
    "a query that is no text": ("query", lambda desk: desk.recall(cast("str", 7))),
    "no time": ("timeout", lambda desk: desk.recall("x", timeout=0)),
    "a profile without a limit": ("limit", lambda desk: desk.profile(limit=0)),
    "a profile with a high limit": ("limit", lambda desk: desk.profile(limit=1_001)),
    "a profile of an unknown target": ("target", lambda desk: desk.profile(target="")),
    "an unknown target to remember": ("target", lambda desk: desk.remember("x", target="notes")),
    "nothing to remember": ("content", lambda desk: desk.remember(" ")),
    "no time to remember": ("timeout", lambda desk: desk.remember("x", timeout=-1)),
    "nothing to change it to": ("content", lambda desk: desk.replace(RowId(uuid4()), "")),
    "an id that is none": ("id", lambda desk: desk.replace(cast("UUID", "1"), "x")),
    "no id to forget": ("id", lambda desk: desk.forget(cast("UUID", None))),
    "nothing to forget": ("content", lambda desk: desk.forget_content(" ")),
    "an id to get that is none": ("id", lambda desk: desk.get(cast("UUID", "1"))),
    "an unknown role": ("role", lambda desk: desk.capture_turn("x", role="narrator")),
}


@pytest.mark.parametrize("call", WRONG_CALLS)
async def test_wrong_use_is_refused_with_the_name_of_the_argument_and_leaves_no_write_behind(
    desk: View, parts: InProcess, call: str
) -> None:
    field, make = WRONG_CALLS[call]
    with pytest.raises(InvalidInput) as caught:
        await make(desk)

    assert caught.value.field == field
    assert parts.spool.last_sequence() == 0


def test_names_of_targets_and_roles_are_read_leniently() -> None:
    assert parse_target(" USER ") is Target.USER
    assert parse_role("Tool\n") is Role.TOOL
    assert parse_kinds(["turn", Kind.ENTRY]) == frozenset(Kind)
    with pytest.raises(InvalidInput):
        parse_target(cast("str", None))
    with pytest.raises(InvalidInput):
        parse_role(cast("str", 7))


async def test_an_answer_is_explained_to_the_theme_and_subject_that_asked_and_to_nobody_else(
    memory: Memory, desk: View
) -> None:
    entry = await desk.remember("The launch is on 3 May")
    result = await desk.recall("launch")
    others = [memory.view("sales", session="s1"), memory.view("marketing", session="s1", subject=ANA)]

    for own in (desk, memory.view("marketing", session="s2")):
        assert (await own.explain(result.trace_id)).id == result.trace_id
    for view, trace in [*((other, result.trace_id) for other in others), (desk, TraceId(uuid4()))]:
        with pytest.raises(NotVisible, match="no such answer"):
            await view.explain(trace)
        with pytest.raises(NotVisible, match="no such answer"):
            await view.why(trace, entry.id)


async def test_settled_waits_for_vectors_too_where_an_embedder_works() -> None:
    parts = InProcess(FaultyEmbedder())
    async with parts.running() as memory:
        await memory.view("marketing", session="s1").capture_turn("When do we launch?")
        settled = await memory.settled(timeout=GUARD)
        rows = (await memory.status()).rows

    assert settled
    assert (rows["turns"], rows["vectors"], rows["waiting"]) == (1, 1, 0)


async def test_what_waits_wants_a_number_of_seconds(memory: Memory) -> None:
    for timeout in (math.nan, math.inf, 0, -1, cast("float", "x"), cast("float", None)):
        for waiting in (
            memory.settled(timeout=timeout),
            memory.ready(timeout=timeout),
            memory.reconcile(DESK, timeout=timeout),
        ):
            with pytest.raises(InvalidInput, match="a timeout is a positive number of seconds"):
                await waiting


async def test_settled_tells_when_time_ran_out(parts: InProcess) -> None:
    with_embedder = InProcess(FaultyEmbedder())
    assert with_embedder.embedder is not None
    with_embedder.embedder.storing.hangs = True
    parts.delivery.applying.hangs = True
    settled = []
    for slow in (parts, with_embedder):
        async with slow.running() as memory:
            await memory.view("marketing", session="s1").capture_turn("When do we launch?")
            settled.append(await memory.settled(timeout=0.05))

    assert settled == [False, False]


async def test_settled_outlasts_a_store_that_is_away_for_a_while() -> None:
    parts = InProcess(FaultyEmbedder())
    async with parts.running() as memory:
        await memory.view("marketing", session="s1").capture_turn("When do we launch?")
        parts.queue.asking.come(*[AWAY] * 3)

        assert await memory.settled(timeout=GUARD)


async def test_settled_does_not_wait_for_what_is_refused() -> None:
    parts = InProcess(FaultyEmbedder())
    assert parts.embedder is not None
    parts.embedder.refused = {"poison"}
    parts.delivery.refused = {"worse"}
    async with parts.running() as memory:
        desk = memory.view("marketing", session="s1")
        await desk.capture_turn("poison for the embedder")
        await desk.capture_turn("worse for the store")
        settled = await memory.settled(timeout=GUARD)
        status = await memory.status()

    assert settled
    assert (status.parked, status.buried, status.spool.dead) == (1, 1, 1)


async def test_ready_says_what_stands_in_the_way() -> None:
    parts = InProcess()
    parts.preparing.standing = SchemaNotApplied("run hermes-memory migrate")
    async with parts.running() as memory:
        with pytest.raises(SchemaNotApplied, match="migrate"):
            await memory.ready(timeout=GUARD)
        parts.preparing.standing = None
        with anyio.fail_after(GUARD):
            await parts.link.usable()
        await memory.ready(timeout=0.5)


async def test_the_status_tells_what_this_process_did_and_what_the_store_holds() -> None:
    parts = InProcess(FaultyEmbedder())
    async with parts.running() as memory:
        await memory.view("marketing", session="s1").remember("Launch on 3 May")
        await memory.settled(timeout=GUARD)
        status = await memory.status()

    assert (status.delivered, status.buried, status.embedded, status.parked) == (1, 0, 1, 0)
    assert (status.leads, status.spool.depth, status.spool.accepted) == (True, 0, 1)
    assert (status.rows["entries"], status.rows["vectors"]) == (1, 1)
    assert status.generation is not None
    assert status.installation is not None
    assert (status.store_problem, status.embedder_problem) == (None, None)
    assert (status.store_breaker, status.embed_breaker) == ("closed", "closed")
    assert abs((datetime.now(UTC) - status.at).total_seconds()) < 60


async def test_a_store_that_does_not_answer_is_part_of_the_status() -> None:
    parts = InProcess(FaultyEmbedder())
    parts.queue.asking.standing = AWAY
    parts.acceptor.add(Caller(theme=Theme("marketing")), "x", target=Target.MEMORY, origin=Origin.USER)
    status = await parts.memory.status()

    assert status.store_problem == "the database is away"
    assert (status.rows, status.generation) == ({}, None)
    assert (status.spool.depth, status.leads) == (1, False)


async def test_a_store_known_not_to_answer_is_not_asked_for_the_status() -> None:
    parts = InProcess(FaultyEmbedder())
    status = await parts.memory.status(unanswered="it is still starting")

    assert status.store_problem == "it is still starting"
    assert status.installation is None
    assert parts.queue.asking.calls == 0


async def test_an_embedder_that_is_not_the_stored_one_is_part_of_the_status() -> None:
    other = FaultyEmbedder(model="another")
    parts = InProcess(FaultyEmbedder(), store=InProcess(other).store)
    async with parts.running() as memory:
        await until(lambda: parts.stage is not None and parts.stage.mismatch)
        status = await memory.status()

    assert status.embedder_problem is not None
    assert "another" in status.embedder_problem


async def test_a_memory_without_an_embedder_has_no_embedder_problem(memory: Memory) -> None:
    status = await memory.status()

    assert (status.embedded, status.parked, status.embedder_problem) == (0, 0, None)


async def test_reconciling_through_the_memory_follows_the_notebooks(
    memory: Memory, desk: View, parts: InProcess
) -> None:
    parts.notebooks.write(Target.MEMORY, "One\n§\nTwo")
    count = await memory.reconcile(desk.caller, timeout=GUARD)
    await memory.settled(timeout=GUARD)
    entries = await desk.profile()

    assert count == 2
    assert {(entry.content, entry.source) for entry in entries} == {("One", HOME), ("Two", HOME)}
    assert all(isinstance(entry, Entry) for entry in entries)


async def test_reads_fail_at_once_while_the_database_is_known_to_be_away(desk: View, parts: InProcess) -> None:
    parts.store_breaker._jitter = lambda _: 3_600.0
    parts.reader.reading.standing = AWAY
    for call in (desk.profile, desk.profile, lambda: desk.get(RowId(uuid4())), lambda: desk.recall("x")):
        with pytest.raises(StoreUnavailable):
            await call()

    assert parts.reader.reading.calls == 1
    assert parts.search.text.calls == 0
