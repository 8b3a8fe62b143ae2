"""The library in the hands of programs that do too much at once, or leave in disorder."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_memory import DeadlineExceeded, Settings, StoreUnavailable, open_memory


async def test_an_error_in_a_task_group_of_the_block_comes_out_as_it_is(served: Path) -> None:
    async def fail(number: int) -> None:
        raise ValueError(number)

    async def use() -> None:
        async with open_memory(Settings()), asyncio.TaskGroup() as group:
            for number in range(3):
                group.create_task(fail(number))

    with pytest.raises(ExceptionGroup) as caught:
        await asyncio.create_task(use())

    assert [error.args for error in caught.value.exceptions] == [(0,), (1,), (2,)]


async def test_a_burst_of_questions_is_not_taken_for_an_outage(served: Path, configure: Callable[..., None]) -> None:
    configure(pool_size=1)
    async with open_memory(Settings()) as memory:
        view = memory.view("marketing", session="s1")
        for number in range(200):
            await view.capture_turn(f"Kestrel {number} sits on post {number % 7} and looks at field {number % 11}")
        assert await memory.settled(timeout=60)

        async def ask() -> str:
            try:
                await view.recall("which kestrel sits on the post", timeout=0.2)
            except (DeadlineExceeded, StoreUnavailable) as error:
                return type(error).__name__
            return "answered"

        answers = await asyncio.gather(*(ask() for _ in range(150)))
        found = await view.recall("which kestrel sits on the post", timeout=60)

        assert set(answers) <= {"answered", "DeadlineExceeded"}
        assert found.hits
