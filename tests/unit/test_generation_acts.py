"""Switching back and dropping, by two operators at once: the second finds it done, and undoes nothing."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import anyio
import anyio.to_thread
import pytest
from tests.support.verbs import DROPPED_KEYS

from hermes_memory.adapters.embedding.local import LOCAL_DIMENSION, LOCAL_MODEL
from hermes_memory.adapters.inmemory import InMemoryStore
from hermes_memory.adapters.inmemory.generations import InMemoryGenerations
from hermes_memory.bootstrap import reembedding
from hermes_memory.cli import generation_acts, reembed
from hermes_memory.cli.exits import DONE, WORK_REMAINS
from hermes_memory.domain.errors import InvalidInput, Outdated
from hermes_memory.ports.embedding import Generation
from hermes_memory.settings import Settings

OLD, NEW, OTHER = 1, 2, 3
PLACES: Final = ["moment", "alone"]
"""What an operator does before looking how things stand, and after that."""


class Bench:
    """Three generations: the old one was in use, the new one is, and the other one was never."""

    def __init__(self, home: Path, patch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        first = Generation(number=OLD, model=LOCAL_MODEL, dimension=LOCAL_DIMENSION, part_tokens=64)
        self.store = InMemoryStore(analyze=str.split, generation=first)
        self.settings = Settings(home=home)
        self._patch = patch
        self._capsys = capsys

    @property
    def generations(self) -> InMemoryGenerations:
        return self.store.generations

    async def fill(self) -> None:
        for model in ("new", "other"):
            made = await self.generations.register(model, 8, 64)
            await self.store.queue_of(made).calibrate(made, unrelated=0.1, related=0.9)
            await self.generations.index(made, lambda *_: None)
        await self.generations.switch(NEW)

    def meanwhile(self, place: str, act: Callable[[], Awaitable[object]]) -> None:
        """Let somebody else act just before the next operator comes to a place."""
        original, coming = getattr(self.generations, place), [act]

        @asynccontextmanager
        async def alone(*arguments: Any) -> AsyncIterator[None]:
            while coming:
                await coming.pop()()
            async with original(*arguments):
                yield

        async def moment() -> Any:
            while coming:
                await coming.pop()()
            return await original()

        self._patch.setattr(self.generations, place, alone if place == "alone" else moment)

    async def told(self, *options: str) -> tuple[int, str]:
        """Operate; return the exit code and what is printed."""
        parser = argparse.ArgumentParser()
        reembed.register(parser.add_subparsers())
        given = parser.parse_args(["reembed", *options])
        code = await generation_acts.operate(self.settings, given, time.monotonic())
        return code, self._capsys.readouterr().out

    async def in_use(self) -> int | None:
        active = await self.store.queue.active()
        return active.number if active else None


@pytest.fixture
async def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Bench:
    made = Bench(tmp_path, monkeypatch, capsys)
    await made.fill()

    @asynccontextmanager
    async def opened(*_: object) -> AsyncIterator[InMemoryGenerations]:
        yield made.generations

    monkeypatch.setattr(reembedding, "opened_generations", opened)
    return made


async def test_switching_back_uses_what_was_used_before_and_once_more_goes_forth_again(bench: Bench) -> None:
    back = await bench.told("--switch-back")
    after = await bench.in_use()
    forth = await bench.told("--switch-back")

    assert (back[0], after) == (DONE, OLD)
    assert "is in use again\n" in back[1]
    assert "next: configure every other home alike" in back[1]
    assert (forth[0], await bench.in_use()) == (DONE, NEW)
    assert "--embedder auto --embed-url URL --embed-model new --embed-dim 8" in forth[1]


@pytest.mark.parametrize("place", PLACES)
async def test_of_two_who_switch_back_at_once_the_second_leaves_it_at_that(bench: Bench, place: str) -> None:
    bench.meanwhile(place, lambda: bench.generations.switch(OLD))
    code, said = await bench.told("--switch-back")

    assert (code, await bench.in_use()) == (DONE, OLD)
    assert f"generation {OLD}" in said
    assert "somebody else has done it" in said


async def test_who_was_quicker_to_start_is_not_undone_either(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def switched_meanwhile(_: argparse.Namespace) -> Settings:
        anyio.run(bench.generations.switch, OLD)
        return bench.settings

    monkeypatch.setattr(reembed, "settings_for", switched_meanwhile)
    monkeypatch.setattr(reembed, "settings_named", lambda _: bench.settings)
    parser = argparse.ArgumentParser()
    reembed.register(parser.add_subparsers())
    code = await anyio.to_thread.run_sync(reembed.carry_out, parser.parse_args(["reembed", "--switch-back"]))

    assert (code, await bench.in_use()) == (DONE, OLD)


async def test_what_somebody_has_taken_into_use_instead_is_not_switched_away_from(bench: Bench) -> None:
    bench.meanwhile("alone", lambda: bench.generations.switch(OTHER))
    with pytest.raises(Outdated, match=f"took generation {OTHER} into use meanwhile"):
        await bench.told("--switch-back")

    assert await bench.in_use() == OTHER


async def test_where_nothing_else_was_ever_used_there_is_nothing_to_switch_back_to(bench: Bench) -> None:
    await bench.generations.drop(OLD)
    with pytest.raises(InvalidInput, match="nothing to switch back to"):
        await bench.told("--switch-back")


@pytest.mark.parametrize("place", PLACES)
async def test_of_two_who_drop_a_generation_at_once_the_second_is_told_that_it_is_done(
    bench: Bench, place: str
) -> None:
    bench.meanwhile(place, lambda: bench.generations.drop(OLD))
    code, said = await bench.told("--drop", str(OLD), "--execute")
    later = await bench.told("--drop", str(OLD), "--execute", "--json")

    assert code == later[0] == DONE
    assert ("somebody else has dropped" in said) is (place == "alone")
    assert f"generation {OLD}" in said
    assert json.loads(later[1]) == {**dict.fromkeys(DROPPED_KEYS.split()), "generation": OLD, "dropped": True}


async def test_what_is_dropped_is_told_by_the_same_keys_each_time(bench: Bench) -> None:
    told = [await bench.told("--drop", str(OLD), *more, "--json") for more in ([], ["--execute"], ["--execute"])]

    assert [code for code, _ in told] == [WORK_REMAINS, DONE, DONE]
    assert {" ".join(sorted(json.loads(said))) for _, said in told} == {DROPPED_KEYS}


async def test_a_number_that_was_never_given_is_refused_and_one_in_use_too(bench: Bench) -> None:
    with pytest.raises(InvalidInput, match="there is no embedding generation 7"):
        await bench.told("--drop", "7", "--execute")
    with pytest.raises(InvalidInput, match="is in use"):
        await bench.told("--drop", str(NEW), "--execute")

    assert (await bench.told("--drop", str(OLD)))[0] == WORK_REMAINS
    assert len(await bench.generations.standing()) == 3
