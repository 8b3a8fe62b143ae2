"""A store that is too large to be counted in time: it is up, and what does not need the count is told."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from tests.support.faulty import FaultyEmbedder
from tests.support.inprocess import InProcess

from hermes_memory.adapters.inmemory.inspector import InMemoryInspector
from hermes_memory.application.store_readings import StoreReadings
from hermes_memory.cli import checks
from hermes_memory.domain.errors import DeadlineExceeded, HermesMemoryError, StoreUnavailable
from hermes_memory.ports.metrics import Metric
from hermes_memory.settings import Settings


class Counting:
    """Lets counts fail, and tells how often they were asked for."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, error: HermesMemoryError | None) -> None:
        self.error = error
        self.asked = 0
        counts, generations = InMemoryInspector.counts, InMemoryInspector.generations

        async def counted(inspector: InMemoryInspector) -> Mapping[str, int]:
            self.asked += 1
            self._fail()
            return await counts(inspector)

        async def stood(inspector: InMemoryInspector) -> object:
            self._fail()
            return await generations(inspector)

        monkeypatch.setattr(InMemoryInspector, "counts", counted)
        monkeypatch.setattr(InMemoryInspector, "generations", stood)

    def _fail(self) -> None:
        if self.error is not None:
            raise self.error


async def test_a_store_whose_rows_take_too_long_to_count_is_up_and_is_not_asked_again_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    side, counting = InProcess(), Counting(monkeypatch, DeadlineExceeded("late"))
    readings = StoreReadings(side.queue, side.store.seals, side.store.inspector)
    first, second = await readings.read(), await readings.read()

    assert counting.asked == 1
    assert first == second
    assert (first[Metric.STORE_UP], first[Metric.UNEMBEDDED], first[Metric.UNSEALED]) == (1, 0, 0)
    assert Metric.ENTRIES not in first


async def test_a_store_that_goes_away_while_it_counts_is_down_and_counted_when_it_is_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    side = InProcess()
    counting = Counting(monkeypatch, StoreUnavailable("away"))
    readings = StoreReadings(side.queue, side.store.seals, side.store.inspector)
    away = await readings.read()
    counting.error = None
    back = await readings.read()

    assert away == {Metric.STORE_UP: 0.0}
    assert (back[Metric.STORE_UP], back[Metric.ENTRIES]) == (1.0, 0)


async def test_a_snapshot_and_the_doctor_leave_out_what_takes_too_long_to_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    side, counting = InProcess(FaultyEmbedder()), Counting(monkeypatch, DeadlineExceeded("late"))
    status = await side.memory.status()
    vectors = checks._vectors(status, Settings())
    counting.error = StoreUnavailable("away")
    away = await side.memory.status()

    assert (status.store_problem, status.rows, status.generations) == (None, {}, ())
    assert status.installation is not None
    assert "too many rows to count" in vectors.message
    assert away.store_problem == "away"
