"""Answers while something is exchanged, or late: what they lack is told once, and the next answer lacks it no more."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest
from tests.support.faulty import FaultyEmbedder
from tests.support.inprocess import GUARD, InProcess

from hermes_memory.application import legs
from hermes_memory.application.view import View
from hermes_memory.domain.chunks import ChunkPolicy
from hermes_memory.domain.errors import DeadlineExceeded

NOTES = ("the vault is number 13", "the vault key is with Ana", "a vault door")
ENOUGH = 1.0
"""Seconds in which the leg that works answers on a busy machine, and which a test can wait for the other one."""


@pytest.fixture
def side(monkeypatch: pytest.MonkeyPatch) -> InProcess:
    """A memory whose text leg finds rows that the vector leg leaves out, so that their cosines are asked for."""
    monkeypatch.setattr(legs, "VECTOR_CANDIDATES", 1)
    return InProcess(FaultyEmbedder())


@asynccontextmanager
async def filled(side: InProcess) -> AsyncIterator[View]:
    """Run a memory that holds the notes, all of which are found by words and by meaning."""
    async with side.running() as memory:
        view = memory.view("marketing")
        for note in NOTES:
            await view.remember(note)
        assert await memory.settled(timeout=GUARD)
        assert (await view.recall("vault")).degraded == ()
        yield view


def let_text_be_last(side: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the text leg ask when the vector leg is over, so that it is the one that compares."""
    vector_leg_ends = anyio.Event()

    async def end() -> None:
        vector_leg_ends.set()

    monkeypatch.setattr(side.search.ending, "meet", end)
    monkeypatch.setattr(side.search.text, "meet", vector_leg_ends.wait)


async def exchange(side: InProcess) -> None:
    """Put another generation of the same model into use, and drop the former one."""
    assert side.embedder
    generations = side.store.generations
    number = await generations.register(side.embedder.model, side.embedder.dimension, ChunkPolicy().tokens * 2)
    await side.store.queue_of(number).calibrate(number, unrelated=0.05, related=0.8)
    await generations.index(number, lambda done, whole: None)
    former = await generations.switch(number)
    assert former is not None
    await generations.drop(former)


async def test_vectors_exchanged_while_the_text_leg_compares_cost_that_answer_its_cosines_and_the_next_one_nothing(
    side: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    exchanged: list[bool] = []

    async def exchange_once() -> None:
        if not exchanged:
            exchanged.append(True)
            await exchange(side)

    async with filled(side) as desk:
        with monkeypatch.context() as order:
            let_text_be_last(side, order)
            order.setattr(side.search.cosine, "meet", exchange_once)
            during = await desk.recall("vault")
        after = await desk.recall("vault")

    assert exchanged
    assert sorted(hit.row.content for hit in during.hits) == sorted(NOTES)
    assert len(during.degraded) == 1
    assert after.degraded == ()


async def test_a_leg_that_failed_is_not_told_of_again_when_the_other_one_is_cut_short_by_the_deadline(
    side: InProcess,
) -> None:
    async with filled(side) as desk:
        side.search.text.standing = DeadlineExceeded("slow")
        side.search.ending.hangs = True
        result = await desk.recall("vault", timeout=ENOUGH)

    assert result.degraded == ("text search failed",)


async def test_cosines_that_failed_are_not_told_of_again_when_the_deadline_cuts_the_other_leg_short(
    side: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with filled(side) as desk:
        let_text_be_last(side, monkeypatch)
        end = side.search.ending.meet

        async def end_and_hang() -> None:
            await end()
            await anyio.sleep_forever()

        monkeypatch.setattr(side.search.ending, "meet", end_and_hang)
        side.search.cosine.standing = DeadlineExceeded("slow")
        result = await desk.recall("vault", timeout=ENOUGH)

    assert result.degraded == ("vector search failed",)
