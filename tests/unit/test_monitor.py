"""What a memory tells of its own state: a line for each change, numbers, and a sentence in the prompt."""

from __future__ import annotations

import logging
from collections.abc import Iterator

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
    EmbedderUnavailable,
    HermesMemoryError,
    SchemaNotApplied,
    SpoolFull,
    StoreUnavailable,
)
from hermes_memory.domain.model import Origin, Target
from hermes_memory.hermes.prompt import DEGRADED, PROMPT_BLOCK, prompt_block
from hermes_memory.ports.metrics import Metric
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
        view = side.memory.view("marketing")
        await view.remember("one")
        dead = add("refused")
        side.spool.put(dead)
        await until(side.spool.dead)
        await side.memory.settled(timeout=30)
        after = await side.monitor.readings()

    assert set(before) == set(after) == set(Metric)
    assert [metric for metric, value in before.items() if value] == [Metric.BATCH]
    assert (after[Metric.SPOOL_ACCEPTED], after[Metric.SPOOL_DELIVERED], after[Metric.SPOOL_BURIED]) == (2, 1, 1)
    assert (after[Metric.DELIVERED], after[Metric.EMBEDDED], after[Metric.LEADER]) == (1, 1, 1)
    assert (after[Metric.SPOOL_DEAD], after[Metric.SPOOL_FILL], after[Metric.SPOOL_DEPTH]) == (1, 0.1, 0)


async def test_the_secrets_that_were_kept_out_are_counted() -> None:
    side = InProcess()
    side.acceptor.add(DESK, "password=x1 token=abcdef012345", target=Target.MEMORY, origin=Origin.USER)
    readings, status = await side.monitor.readings(), await side._services().status.report()

    assert (readings[Metric.SECRETS_REDACTED], readings[Metric.SECRETS_REFUSED]) == (2, 0)
    assert status.secrets.redacted == {"password": 1, "secret": 1}


async def test_the_numbers_are_published_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(monitor, "WATCH_SECONDS", 0.001)
    side, metrics = InProcess(), InMemoryMetrics()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(side.monitor.run, metrics)
        await until(lambda: metrics.readings)
        side.spool.put(add("one"))
        await until(lambda: metrics.readings[Metric.SPOOL_DEPTH] == 1)
        tasks.cancel_scope.cancel()


async def test_a_spool_that_cannot_be_read_costs_a_reading_and_not_the_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(monitor, "WATCH_SECONDS", 0.001)
    side, metrics, asked = InProcess(), InMemoryMetrics(), []
    status = side.spool.status

    def broken_at_first() -> object:
        asked.append(1)
        if len(asked) == 1:
            raise StoreUnavailable("the spool cannot be used for now")
        return status()

    monkeypatch.setattr(side.spool, "status", broken_at_first)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(side.monitor.run, metrics)
        await until(lambda: metrics.readings)
        tasks.cancel_scope.cancel()

    assert len(asked) > 1


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
