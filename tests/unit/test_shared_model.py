"""A model on this machine that is shared, and let go while it loads."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import anyio
import pytest
from tests.support.inprocess import until

from hermes_memory.adapters.embedding import worker
from hermes_memory.adapters.embedding.model import SharedModel
from hermes_memory.adapters.embedding.worker import WorkerClosed

GUARD = 30.0


class Model:
    """An encoder that notes whether it was closed."""

    def __init__(self) -> None:
        self.closed = False

    def encode(self, texts: Sequence[str], *, question: bool) -> list[list[float]]:
        return [[1.0] for _ in texts]

    def close(self) -> None:
        self.closed = True


async def test_a_model_that_is_still_loading_when_its_last_user_leaves_is_closed_once_it_is_loaded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(worker, "_CLOSING_PATIENCE", 0.01)
    loading, go_on, model = threading.Event(), threading.Event(), Model()

    def load() -> Model:
        loading.set()
        assert go_on.wait(GUARD)
        return model

    shared, told, before = SharedModel("slow", load), [], True

    async def ask() -> None:
        try:
            await shared.worker.run(lambda: shared.encode(["hello"], question=True))
        except WorkerClosed as error:
            told.append(error)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        await until(loading.is_set)
        await shared.aclose()
        before = model.closed
        go_on.set()
        await until(lambda: told)

    assert (before, model.closed) == (False, True)
    await until(lambda: not shared.worker.alive)


async def test_a_model_is_closed_also_when_the_wait_for_its_thread_is_cancelled() -> None:
    shared = SharedModel("quick", Model)
    await shared.worker.run(lambda: shared.encode(["hello"], question=True))
    model = shared._encoder
    with anyio.CancelScope() as scope:
        scope.cancel()
        await shared.aclose()

    assert isinstance(model, Model)
    assert model.closed
