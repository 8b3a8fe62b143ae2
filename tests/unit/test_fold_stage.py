"""The fold stage: goes on as long as there is work, in its share of the time, whatever the store does."""

from __future__ import annotations

import logging
from collections import deque

import anyio
import pytest

from hermes_memory.adapters.inmemory.text_index import InMemoryTextIndex
from hermes_memory.application import fold
from hermes_memory.application.fold import BEHIND_SECONDS, BUSY_SECONDS, IDLE_SECONDS, TROUBLE_SECONDS, FoldStage
from hermes_memory.domain.errors import StoreUnavailable
from hermes_memory.ports.text_index import Folded, Folding


class PlannedIndex:
    """An index whose steps are laid down beforehand; afterwards there is nothing to fold."""

    def __init__(self, *steps: Folded | Exception, seconds: float = 0.0) -> None:
        self.steps = deque(steps)
        self.seconds = seconds
        self.calls = 0

    async def fold(self) -> Folded:
        self.calls += 1
        await anyio.sleep(self.seconds)
        step = self.steps.popleft() if self.steps else Folded(state=Folding.IDLE)
        if isinstance(step, Exception):
            raise step
        return step


MORE = Folded(state=Folding.MORE, gone=40, made=2)


async def test_an_index_in_memory_is_never_in_pieces() -> None:
    stage = FoldStage(InMemoryTextIndex(), behind=lambda: False)

    assert await stage.step() == IDLE_SECONDS
    assert stage.folded == 0


async def test_pauses_are_in_proportion_to_the_work() -> None:
    stage = FoldStage(PlannedIndex(MORE, seconds=0.05), behind=lambda: False)

    assert await stage.step() >= 0.05 * 4
    assert stage.folded == 40


async def test_it_steps_back_while_writes_wait() -> None:
    assert await FoldStage(PlannedIndex(MORE), behind=lambda: True).step() == BEHIND_SECONDS


async def test_another_process_is_left_to_its_work() -> None:
    index = PlannedIndex(Folded(state=Folding.BUSY))

    assert await FoldStage(index, behind=lambda: False).step() == BUSY_SECONDS


@pytest.mark.parametrize("error", [StoreUnavailable("away"), ValueError("never expected")])
async def test_trouble_ends_a_step_and_not_the_stage(
    error: Exception, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("FIRST_SECONDS", "IDLE_SECONDS", "TROUBLE_SECONDS", "SHORTEST_SECONDS"):
        monkeypatch.setattr(fold, name, 0.001)
    index = PlannedIndex(error, MORE, MORE)
    stage = FoldStage(index, behind=lambda: False)
    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stage.run)
            while stage.folded < 80:
                await anyio.sleep(0.001)
            tasks.cancel_scope.cancel()

    assert index.calls >= 3
    assert [r.levelno for r in caplog.records if r.name == fold.__name__ and r.levelno >= logging.ERROR] == (
        [] if isinstance(error, StoreUnavailable) else [logging.ERROR]
    )


def test_trouble_is_left_alone_for_longer_than_work_takes() -> None:
    assert TROUBLE_SECONDS >= IDLE_SECONDS > BUSY_SECONDS > BEHIND_SECONDS
