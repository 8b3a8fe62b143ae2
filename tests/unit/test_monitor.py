"""What a memory tells of its own state: a line for each change, numbers, and a sentence in the prompt."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

import anyio
import pytest
from tests.support.faulty import FaultyEmbedder
from tests.support.inprocess import InProcess, until

from hermes_memory.adapters.inmemory.metrics import InMemoryMetrics
from hermes_memory.adapters.inmemory.spool import InMemorySpool
from hermes_memory.application import monitor
from hermes_memory.application.breaker import Breaker
from hermes_memory.application.health import Trouble
from hermes_memory.domain.errors import (
    DeadlineExceeded,
    EmbedderUnavailable,
    HermesMemoryError,
    SchemaNotApplied,
    SpoolFull,
    StoreUnavailable,
)
from hermes_memory.domain.model import Origin, Target
from hermes_memory.hermes.prompt import DEGRADED, PROMPT_BLOCK, prompt_block
from hermes_memory.ports.metrics import Happening, Metric, Place, Timing
from hermes_memory.testing.making import DESK, add

pytestmark = pytest.mark.usefixtures("hurried")


@pytest.fixture(autouse=True)
def listening(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    with caplog.at_level(logging.INFO, logger=monitor.__name__):
        yield


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return the changes that were told since this was last asked."""
    actions = [record.action for record in caplog.records if record.name == monitor.__name__]  # type: ignore[attr-defined]
    caplog.clear()
    return actions


def fail(breaker: Breaker, error: HermesMemoryError, *, times: int = 1) -> None:
    """Let calls fail until the breaker is open."""
    for _ in range(times):
        with pytest.raises(type(error)), breaker.guard():
            raise error


def failing_at_first(work: Callable[[], object], *errors: Exception) -> Callable[[], object]:
    """Return work that raises these errors, one a call, before it is done."""
    coming = iter(errors)

    def troubled() -> object:
        for error in coming:
            raise error
        return work()

    return troubled


def look(side: InProcess, caplog: pytest.LogCaptureFixture) -> list[str]:
    """Look at the state three times: what is told."""
    for _ in range(3):
        side.monitor.look()
    return told(caplog)


async def open_link(side: InProcess) -> None:
    """Let the store become usable, without anything delivering to it."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(side.link.run)
        await side.link.usable()
        tasks.cancel_scope.cancel()


async def test_a_store_is_told_of_once_when_it_is_usable_away_and_back(caplog: pytest.LogCaptureFixture) -> None:
    side = InProcess()
    starting = look(side, caplog)
    await open_link(side)
    usable = look(side, caplog)
    fail(side.store_breaker, StoreUnavailable("away"))
    away, troubles = look(side, caplog), side.memory.troubles
    side.store_breaker.restore()
    back = look(side, caplog)

    assert (starting, usable, away, back) == ([], ["store.usable"], ["store.away"], ["store.back"])
    assert troubles == (Trouble.STORE,)
    assert side.memory.troubles == ()


async def test_an_embedder_is_told_of_once_when_it_is_away_and_back(caplog: pytest.LogCaptureFixture) -> None:
    side = InProcess(FaultyEmbedder())
    fail(side.embed_breaker, EmbedderUnavailable("away"), times=3)
    away, troubles = look(side, caplog), side.memory.troubles
    side.embed_breaker.restore()

    assert (away, look(side, caplog)) == (["embedder.away"], ["embedder.back"])
    assert troubles == (Trouble.EMBEDDER,)


async def test_a_leader_is_told_of_once_when_it_begins_and_ends(caplog: pytest.LogCaptureFixture) -> None:
    side = InProcess()
    async with side.running():
        await until(lambda: side.deliverer.leads)
        gained = look(side, caplog)
    side.deliverer.leads = False

    assert "leader.gained" in gained
    assert look(side, caplog) == ["leader.lost"]


async def test_a_store_that_needs_its_operator_is_a_trouble_and_no_outage(caplog: pytest.LogCaptureFixture) -> None:
    side = InProcess()
    side.preparing.standing = SchemaNotApplied("migrate")
    async with side.running():
        await until(lambda: side.link.problem)
        troubles = side.memory.troubles
        side.preparing.standing = None
        await until(lambda: side.link.opened)
        await until(lambda: not side.memory.troubles)

    assert troubles == (Trouble.SETUP,)
    assert "store.away" not in told(caplog)


def test_a_store_that_is_still_starting_is_no_trouble() -> None:
    assert InProcess().memory.troubles == ()


async def test_a_full_spool_is_a_trouble_until_there_is_room() -> None:
    side = InProcess(spool=InMemorySpool(max_rows=1))
    first = add("one")
    side.spool.put(first)
    with pytest.raises(SpoolFull):
        side.spool.put(add("two"))
    full = side.memory.troubles
    side.spool.done([first.stamp.operation])
    side.spool.put(add("three"))

    assert full == (Trouble.SPOOL_FULL,)
    assert side.memory.troubles == ()


async def test_the_numbers_are_those_of_the_spool_and_of_the_process() -> None:
    side = InProcess(FaultyEmbedder(), spool=InMemorySpool(max_rows=10))
    side.delivery.refused.add("refused")
    before = await side.monitor.readings()
    async with side.running():
        await until(lambda: side.link.opened)
        view = side.memory.view("marketing")
        await view.remember("one")
        dead = add("refused")
        side.spool.put(dead)
        await until(side.spool.dead)
        await side.memory.settled(timeout=30)
        after = await side.monitor.readings()

    counted = {Metric.THEMES, Metric.ENTRIES, Metric.TURNS, Metric.VECTORS}
    elsewhere = {Metric.LED, Metric.STRANDED, Metric.POOL_SIZE, Metric.POOL_CONNECTIONS, Metric.POOL_WAITING}
    assert set(after) == set(Metric) - counted - elsewhere
    assert set(after) - set(before) == {metric for metric in after if metric.place is Place.STORE} - {Metric.STORE_UP}
    assert [metric for metric, value in before.items() if value] == [
        Metric.SPOOL_READABLE,
        Metric.BATCH,
        Metric.READ_AT,
    ]
    assert after[Metric.STORE_UP] == 1
    assert (after[Metric.SPOOL_ACCEPTED], after[Metric.SPOOL_DELIVERED], after[Metric.SPOOL_BURIED]) == (2, 1, 1)
    assert (after[Metric.DELIVERED], after[Metric.EMBEDDED], after[Metric.LEADER]) == (1, 1, 1)
    assert (after[Metric.SPOOL_DEAD], after[Metric.SPOOL_FILL], after[Metric.SPOOL_DEPTH]) == (1, 0.1, 0)


async def test_the_secrets_that_were_kept_out_are_counted() -> None:
    side = InProcess()
    side.acceptor.add(DESK, "password=x1 token=abcdef012345", target=Target.MEMORY, origin=Origin.USER)
    readings, status = await side.monitor.readings(), await side._services().status.report()

    assert (readings[Metric.SECRETS_REDACTED], readings[Metric.SECRETS_REFUSED]) == (2, 0)
    assert status.secrets.redacted == {"password": 1, "secret": 1}


async def test_each_trouble_has_its_number_and_all_have_one() -> None:
    side = InProcess(FaultyEmbedder())
    sound = await side.monitor.readings()
    fail(side.embed_breaker, EmbedderUnavailable("away"), times=3)
    troubled = await side.monitor.readings()

    assert monitor.TROUBLE_METRICS.keys() == set(Trouble)
    assert not any(sound[metric] for metric in (Metric.DEGRADED, *monitor.TROUBLE_METRICS.values()))
    assert [metric for metric in (Metric.DEGRADED, *monitor.TROUBLE_METRICS.values()) if troubled[metric]] == [
        Metric.DEGRADED,
        Metric.DEGRADED_EMBEDDER,
    ]


async def test_the_store_is_asked_seldom_by_the_leader_alone_and_not_while_it_is_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    side, asked = InProcess(), []
    backlog = side.queue.backlog

    async def counted() -> object:
        asked.append(1)
        return await backlog()

    monkeypatch.setattr(side.queue, "backlog", counted)
    await open_link(side)
    follower = await side.monitor.readings()
    side.deliverer.leads = True
    leader, again = await side.monitor.readings(), await side.monitor.readings()
    fail(side.store_breaker, StoreUnavailable("away"))
    away = await side.monitor.readings()

    assert len(asked) == 1
    assert (follower[Metric.STORE_UP], Metric.UNEMBEDDED in follower) == (1, False)
    assert (leader[Metric.UNEMBEDDED], again[Metric.UNSEALED], leader[Metric.SEAL_LAG]) == (0, 0, 0)
    assert (away[Metric.STORE_UP], Metric.UNEMBEDDED in away) == (0, False)


async def test_what_takes_time_is_told_when_it_ends() -> None:
    side = InProcess(FaultyEmbedder())
    async with side.running():
        view = side.memory.view("marketing")
        await view.remember("The launch is on 3 May")
        await side.memory.settled(timeout=30)
        await view.recall("When is the launch?")
        await side.sealing.seal()

    told_of = {timing for timing, _ in side.metrics.times}
    assert told_of == set(Timing) - {Timing.POOL_WAIT, Timing.RECALL_COSINES}
    assert all(seconds >= 0 for _, seconds in side.metrics.times)
    assert [timing for timing, _ in side.metrics.times].count(Timing.DELIVERY_LAG) == 1
    assert side.metrics.happened == {Happening.RECALL_FULL: 1}


async def test_answers_that_lack_something_and_answers_that_failed_are_counted_by_their_reason() -> None:
    side = InProcess(FaultyEmbedder())
    async with side.running():
        view = side.memory.view("marketing")
        await view.remember("The launch is on 3 May")
        await side.memory.settled(timeout=30)
        side.search.vector.standing = DeadlineExceeded("late")
        await view.recall("When is the launch?")
        side.search.text.standing = DeadlineExceeded("late")
        with pytest.raises(DeadlineExceeded):
            await view.recall("When is the launch?")

    assert side.metrics.happened == {
        Happening.RECALL_DEGRADED: 1,
        Happening.DEGRADED_BY_VECTOR: 1,
        Happening.RECALL_FAILED: 1,
    }


async def test_refused_writes_are_counted_by_their_reason() -> None:
    side = InProcess(spool=InMemorySpool(max_rows=1))
    side.acceptor.add(DESK, "one", target=Target.MEMORY, origin=Origin.USER)
    for _ in range(2):
        with pytest.raises(SpoolFull):
            side.acceptor.add(DESK, "two", target=Target.MEMORY, origin=Origin.USER)

    assert side.metrics.happened == {Happening.REFUSED_FULL: 2}
    assert [timing for timing, _ in side.metrics.times] == [Timing.ACCEPT] * 3


async def test_the_numbers_are_published_again_and_again_while_somebody_takes_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(monitor, "WATCH_SECONDS", 0.001)
    side, later = InProcess(), InMemoryMetrics()
    side.telemetry.detach(side.metrics)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(side.monitor.run)
        side.telemetry.attach(later)
        await until(lambda: later.readings)
        side.spool.put(add("one"))
        await until(lambda: later.readings[Metric.SPOOL_DEPTH] == 1)
        tasks.cancel_scope.cancel()

    assert side.metrics.readings == {}


async def test_a_store_that_takes_long_over_its_numbers_keeps_no_change_of_state_from_being_told(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(monitor, "WATCH_SECONDS", 0.001)
    side, asked = InProcess(), anyio.Event()

    async def hang() -> None:
        asked.set()
        await anyio.sleep_forever()

    monkeypatch.setattr(side.queue, "backlog", hang)
    await open_link(side)
    side.deliverer.leads = True
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(side.monitor.run)
        with anyio.fail_after(30):
            await asked.wait()
        fail(side.store_breaker, StoreUnavailable("away"))
        await until(lambda: any(getattr(record, "action", "") == "store.away" for record in caplog.records))
        tasks.cancel_scope.cancel()

    assert side.metrics.readings == {}


async def test_a_spool_that_cannot_be_read_costs_a_reading_and_not_the_watch(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(monitor, "WATCH_SECONDS", 0.001)
    side = InProcess()
    unusable = StoreUnavailable("the spool cannot be used for now")
    monkeypatch.setattr(side.spool, "status", failing_at_first(side.spool.status, unusable))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(side.monitor.run)
        await until(lambda: side.metrics.readings)
        tasks.cancel_scope.cancel()

    assert not [record for record in caplog.records if record.levelno == logging.ERROR]


async def test_an_unexpected_error_in_reading_the_numbers_is_told_and_costs_a_reading(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(monitor, "WATCH_SECONDS", 0.001)
    side = InProcess()
    monkeypatch.setattr(
        side.spool, "status", failing_at_first(side.spool.status, ZeroDivisionError(), ZeroDivisionError())
    )
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(side.monitor.run)
        await until(lambda: side.metrics.readings)
        tasks.cancel_scope.cancel()

    assert [record.action for record in caplog.records] == ["metrics.fault"]  # type: ignore[attr-defined]


async def test_an_unexpected_error_in_a_look_is_told_and_costs_a_look(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    side = InProcess()
    side.telemetry.detach(side.metrics)
    monkeypatch.setattr(
        side.health, "troubles", failing_at_first(side.health.troubles, ZeroDivisionError(), ZeroDivisionError())
    )
    await open_link(side)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(side.monitor.run)
        await until(lambda: "store.usable" in [vars(record).get("action") for record in caplog.records])
        tasks.cancel_scope.cancel()

    assert told(caplog) == ["monitor.fault", "store.usable"]


def test_the_prompt_says_in_one_line_what_is_wrong_and_always_the_same() -> None:
    blocks = {trouble: prompt_block([trouble]) for trouble in Trouble}

    assert prompt_block([]) == PROMPT_BLOCK
    assert set(DEGRADED) == set(Trouble)
    for trouble, block in blocks.items():
        line = block.removeprefix(f"{PROMPT_BLOCK}\n")
        assert line.startswith("The memory is degraded: ")
        assert "\n" not in line
        assert not any(character.isdigit() for character in line)
        assert prompt_block([trouble]) == block
    assert len(set(blocks.values())) == len(Trouble)
    assert prompt_block([Trouble.SPOOL_FULL, Trouble.STORE]) == blocks[Trouble.SPOOL_FULL]
