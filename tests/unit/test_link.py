"""The way to the store: tried for ever, told once, and repaired when a server of our own dies."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
import pytest
from tests.support.faulty import Faults
from tests.support.inprocess import GUARD, until

from hermes_memory.application.breaker import STORE, Breaker
from hermes_memory.application.link import StoreLink
from hermes_memory.domain.errors import ConfigurationError, HermesMemoryError, SchemaNotApplied, StoreUnavailable

AWAY = StoreUnavailable("the database is away")

pytestmark = pytest.mark.usefixtures("hurried")


@dataclass
class Bench:
    """A link, and what is done over it."""

    repairs: bool = False
    preparing: Faults = field(default_factory=Faults)
    repairing: Faults = field(default_factory=Faults)
    breaker: Breaker = field(default_factory=lambda: Breaker(STORE, failures=1, delay=3_600.0))
    opened: int = 0

    def __post_init__(self) -> None:
        repair = self.repairing.meet if self.repairs else None
        self.link = StoreLink(self.preparing.meet, repair=repair, breaker=self.breaker, opened=self._opened)

    def _opened(self) -> None:
        self.opened += 1

    def fail(self) -> None:
        with pytest.raises(StoreUnavailable), self.breaker.guard():
            raise AWAY

    @asynccontextmanager
    async def running(self) -> AsyncIterator[StoreLink]:
        with anyio.fail_after(GUARD):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self.link.run)
                yield self.link
                tasks.cancel_scope.cancel()


@pytest.fixture
def bench() -> Bench:
    return Bench()


async def test_a_store_that_is_there_is_usable_at_once_and_that_is_told(bench: Bench) -> None:
    async with bench.running() as link:
        await link.ready(timeout=GUARD)
        await link.usable()

    assert (bench.opened, bench.preparing.calls) == (1, 1)
    assert bench.link.problem is None


@pytest.mark.parametrize("errors", [[AWAY] * 4, [ZeroDivisionError(), SchemaNotApplied("run migrate"), AWAY]])
async def test_a_store_that_is_not_there_is_tried_until_it_is(bench: Bench, errors: list[Exception]) -> None:
    bench.preparing.come(*errors)
    async with bench.running() as link:
        await link.usable()

    assert (bench.opened, bench.preparing.calls) == (1, len(errors) + 1)
    assert bench.link.problem is None


async def test_waiting_for_a_store_that_is_away_ends_in_time_with_the_reason(bench: Bench) -> None:
    bench.preparing.standing = AWAY
    async with bench.running() as link:
        await until(lambda: bench.preparing.calls >= 2)
        with pytest.raises(StoreUnavailable, match="the database is away"):
            await link.ready(timeout=0.02)

    assert bench.opened == 0


async def test_waiting_for_a_store_that_is_still_starting_ends_in_time(bench: Bench) -> None:
    bench.preparing.hangs = True
    async with bench.running() as link:
        with pytest.raises(StoreUnavailable, match="still starting"):
            await link.ready(timeout=0.02)


@pytest.mark.parametrize("error", [SchemaNotApplied("run migrate"), ConfigurationError("mend the address")])
async def test_what_only_an_operator_can_mend_is_raised_without_waiting_and_mending_it_is_noticed(
    bench: Bench, error: HermesMemoryError
) -> None:
    bench.preparing.standing = error
    async with bench.running() as link:
        started = time.monotonic()
        with pytest.raises(type(error), match=str(error)):
            await link.ready(timeout=3_600.0)
        waited = time.monotonic() - started
        bench.preparing.standing = None
        await link.usable()

    assert waited < GUARD
    assert bench.opened == 1


async def test_whoever_waits_goes_on_when_the_store_comes(bench: Bench) -> None:
    bench.preparing.standing = AWAY
    ready: list[str] = []

    async def wait(name: str) -> None:
        await bench.link.ready(timeout=GUARD)
        ready.append(name)

    async with bench.running(), anyio.create_task_group() as waiters:
        waiters.start_soon(wait, "one")
        waiters.start_soon(wait, "other")
        await until(lambda: bench.preparing.calls >= 2)
        ready.append("nobody yet")
        bench.preparing.standing = None

    assert ready[0] == "nobody yet"
    assert sorted(ready[1:]) == ["one", "other"]


async def test_a_trouble_is_told_once_and_another_one_again(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    bench.preparing.come(AWAY, AWAY, AWAY, SchemaNotApplied("run migrate"), SchemaNotApplied("run migrate"))
    async with bench.running() as link:
        await link.usable()

    told = [vars(entry).get("cause") for entry in caplog.records if entry.levelno == logging.WARNING]
    assert told == ["StoreUnavailable", "SchemaNotApplied"]


async def test_an_unexpected_error_is_told_by_its_kind_and_not_by_its_words(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.preparing.standing = ZeroDivisionError("postgresql://someone:s3cret@host")
    async with bench.running() as link:
        await until(lambda: bench.preparing.calls >= 2)
        with pytest.raises(StoreUnavailable) as caught:
            await link.ready(timeout=0.02)

    assert "ZeroDivisionError" in str(caught.value)
    assert "s3cret" not in str(caught.value)
    assert any(entry.exc_info for entry in caplog.records)


async def test_a_server_of_our_own_is_repaired_while_it_does_not_answer_and_left_alone_otherwise() -> None:
    bench = Bench(repairs=True)
    bench.repairing.come(AWAY)
    async with bench.running() as link:
        await link.usable()
        await anyio.sleep(0.05)
        untouched = bench.repairing.calls
        bench.fail()
        await until(lambda: bench.repairing.calls >= 3)

    assert untouched == 0


async def test_an_unexpected_error_in_a_repair_is_told_once_and_the_next_repair_is_tried(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bench = Bench(repairs=True)
    bench.repairing.come(ZeroDivisionError(), ZeroDivisionError())
    async with bench.running() as link:
        await link.usable()
        bench.fail()
        await until(lambda: bench.repairing.calls >= 3 and link.problem is None)

    told = [vars(entry).get("action") for entry in caplog.records if entry.levelno == logging.ERROR]
    assert told == ["link.fault"]


async def test_a_trouble_that_was_repaired_and_comes_again_is_told_again(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench(repairs=True)
    bench.repairing.come(AWAY, AWAY, None, AWAY)
    async with bench.running() as link:
        await link.usable()
        bench.fail()
        await until(lambda: bench.repairing.calls >= 5)

    assert [vars(entry).get("cause") for entry in caplog.records] == ["StoreUnavailable"] * 2


async def test_a_server_of_somebody_else_is_never_repaired(bench: Bench) -> None:
    bench.fail()
    with anyio.fail_after(GUARD):
        await bench.link.run()

    assert bench.repairing.calls == 0
