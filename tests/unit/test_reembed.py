"""Changing the embedding model: what is filled is used, unless something speaks against it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import anyio
import pytest
from tests.support.faulty import FaultyEmbedder
from tests.support.inprocess import GUARD, embed_breaker

from hermes_memory.adapters.inmemory import InMemoryStore
from hermes_memory.application import reembed_filling
from hermes_memory.application.embed import EmbedStage
from hermes_memory.application.reembed import TOLERATED, Reembedded, Reembedding, Wanted
from hermes_memory.domain.errors import EmbedderUnavailable, EmbeddingRejected, Outdated, SchemaNotApplied
from hermes_memory.ports.embedding import Embedder
from hermes_memory.ports.generations import GenerationStanding
from hermes_memory.testing.making import CURRENT, DESK, add

ROWS: Final = 30
PART_TOKENS: Final = 256
POISON: Final = "poison"
DOWN: Final = EmbedderUnavailable("the endpoint is down")
OLD, NEW = 1, 2


@pytest.fixture(autouse=True)
def looks_often(hurried: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reembed_filling, "LOOK_SECONDS", 0.01)


@dataclass
class Bench:
    """A store whose rows have vectors of an old model, and the new one."""

    old: FaultyEmbedder = field(default_factory=lambda: FaultyEmbedder(model="old"))
    new: FaultyEmbedder = field(default_factory=lambda: FaultyEmbedder(model="new"))

    def __post_init__(self) -> None:
        first = replace(self.old.generation, part_tokens=PART_TOKENS)
        self.store = InMemoryStore(analyze=str.split, generation=first)

    async def store_notes(self, *texts: str) -> None:
        await self.store.delivery.apply([add(text) for text in texts])

    async def run(self, embedder: Embedder | None = None, *, patience: float = GUARD, **wanted: bool) -> Reembedded:
        """Bring the generation of an embedder to use, by default of the new one."""
        embedder = embedder or self.new
        run = Reembedding(
            self.store.generations,
            embedder,
            queue_of=self.store.queue_of,
            stage_of=lambda queue: EmbedStage(queue, embedder, breaker=embed_breaker(), batch=8, parallel=2, timeout=5),
            patience=patience,
        )
        with anyio.fail_after(GUARD):
            return await run.run(Wanted(part_tokens=PART_TOKENS, **wanted))

    async def standing(self, generation: int) -> GenerationStanding:
        (one,) = [each for each in await self.store.generations.standing() if each.generation == generation]
        return one

    async def in_use(self) -> int | None:
        active = await self.store.queue.active()
        return active.number if active else None

    async def found(self, embedder: Embedder, text: str) -> str:
        """Return what is nearest to a text."""
        vector = await embedder.embed_query(text, timeout=GUARD)
        hits = await self.store.search.by_vector(DESK, CURRENT, vector, limit=1, timeout=GUARD)
        return hits[0].row.content

    def once_before(self, act: str, meanwhile: Callable[[], Awaitable[object]], patch: pytest.MonkeyPatch) -> None:
        """Let something happen before the operator's act, the first time."""
        original, coming = getattr(self.store.generations, act), [meanwhile]

        async def acts(*arguments: Any) -> Any:
            while coming:
                await coming.pop()()
            return await original(*arguments)

        patch.setattr(self.store.generations, act, acts)


class Flat(FaultyEmbedder):
    """An embedder to which all texts are the same."""

    async def embed_query(self, text: str, *, timeout: float) -> Sequence[float]:
        return [1.0] * self.dimension

    async def embed_documents(self, texts: Sequence[str], *, timeout: float) -> Sequence[Sequence[float]]:
        return [[1.0] * self.dimension for _ in texts]


def notes(count: int, what: str = "note") -> list[str]:
    return [f"{what} {number:03}" for number in range(count)]


def embedded(embedder: FaultyEmbedder) -> list[str]:
    return sorted(text for batch in embedder.batches for text in batch if text in {*notes(ROWS), "late"})


@pytest.fixture
async def bench() -> Bench:
    """Notes that all have a vector of the old model."""
    made = Bench()
    await made.store_notes(*notes(ROWS))
    await made.run(made.old)
    return made


async def test_every_row_gets_a_vector_of_the_new_model_which_is_then_used(bench: Bench) -> None:
    outcome = await bench.run()

    assert (outcome.former, outcome.switched, outcome.refused, outcome.embedded) == (OLD, True, None, ROWS)
    assert (outcome.standing.generation, outcome.standing.active, outcome.standing.coverage) == (NEW, True, 1.0)
    assert outcome.standing.measured
    assert embedded(bench.new) == notes(ROWS)
    assert await bench.in_use() == NEW
    assert await bench.found(bench.new, "note 007") == "note 007"


async def test_a_row_that_comes_while_the_index_is_made_is_not_left_behind(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.once_before("index", lambda: bench.store_notes("late"), monkeypatch)
    outcome = await bench.run()

    assert (outcome.switched, outcome.standing.embedded, outcome.standing.waiting) == (True, ROWS + 1, 0)
    assert await bench.found(bench.new, "late") == "late"


async def test_what_is_in_use_already_costs_nothing(bench: Bench) -> None:
    await bench.run()
    again = await bench.run()

    assert (again.former, again.switched, again.refused, again.embedded) == (NEW, False, None, 0)


async def test_it_is_filled_and_not_used_when_that_is_not_wanted(bench: Bench) -> None:
    outcome = await bench.run(switch=False)
    later = await bench.run()

    assert (outcome.former, outcome.switched, outcome.refused, outcome.embedded) == (OLD, False, None, ROWS)
    assert (later.switched, later.embedded) == (True, 0)


async def test_a_model_that_refuses_notably_more_rows_is_used_only_when_that_is_tolerated(bench: Bench) -> None:
    await bench.store_notes(*notes(TOLERATED + 1, POISON))
    bench.new.refused = {POISON}
    outcome = await bench.run()
    kept = await bench.in_use()
    tolerated = await bench.run(tolerate=True)

    assert (outcome.switched, outcome.former, outcome.standing.parked) == (False, OLD, TOLERATED + 1)
    assert f"refuses {TOLERATED + 1} rows" in str(outcome.refused)
    assert kept == OLD
    assert (tolerated.switched, tolerated.refused) == (True, None)


async def test_a_few_rows_that_are_refused_do_not_keep_a_model_from_being_used(bench: Bench) -> None:
    await bench.store_notes(*notes(TOLERATED, POISON))
    bench.new.refused = {POISON}
    outcome = await bench.run()

    assert (outcome.switched, outcome.standing.parked) == (True, TOLERATED)


async def test_rows_that_the_former_model_refused_as_well_are_not_held_against_the_new_one(bench: Bench) -> None:
    await bench.store_notes(*notes(TOLERATED + 1, POISON))
    bench.old.refused = bench.new.refused = {POISON}
    await bench.run(bench.old)
    outcome = await bench.run()

    assert (await bench.standing(OLD)).parked == outcome.standing.parked == TOLERATED + 1
    assert outcome.switched


async def test_the_former_model_is_used_again_after_embedding_what_came_meanwhile(bench: Bench) -> None:
    await bench.run()
    await bench.store_notes("late")
    bench.old.batches.clear()
    outcome = await bench.run(bench.old)

    assert (outcome.former, outcome.switched, outcome.standing.generation) == (NEW, True, OLD)
    assert (outcome.embedded, embedded(bench.old)) == (1, ["late"])
    assert await bench.found(bench.old, "late") == "late"


async def test_an_embedder_that_does_not_answer_makes_no_generation(bench: Bench) -> None:
    bench.new.storing.standing = DOWN
    with pytest.raises(EmbedderUnavailable):
        await bench.run()

    assert [each.generation for each in await bench.store.generations.standing()] == [OLD]


async def test_a_model_to_which_all_texts_are_the_same_makes_no_generation(bench: Bench) -> None:
    with pytest.raises(EmbeddingRejected, match="does not tell related texts from others"):
        await bench.run(Flat(model="flat"))

    assert await bench.in_use() == OLD
    assert [each.generation for each in await bench.store.generations.standing()] == [OLD]


async def test_an_embedder_that_stops_answering_is_given_up_and_the_next_run_goes_on(bench: Bench) -> None:
    # It answers the first look at it, the measuring, and one batch.
    bench.new.storing.come(None, None, None)
    bench.new.storing.standing = DOWN
    with pytest.raises(EmbedderUnavailable, match="the same command goes on"):
        await bench.run(patience=0.2)
    done = (await bench.standing(NEW)).embedded
    bench.new.storing.standing = None
    outcome = await bench.run()

    assert 0 < done < ROWS
    assert (outcome.switched, outcome.embedded) == (True, ROWS - done)


async def test_a_generation_that_is_dropped_while_it_is_filled_ends_the_run(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.once_before("kept", lambda: bench.store.generations.drop(NEW), monkeypatch)
    with pytest.raises(Outdated, match="dropped by another operator"):
        await bench.run()

    assert await bench.in_use() == OLD
    assert await bench.found(bench.old, "note 007") == "note 007"


async def test_a_statement_that_misses_the_tables_of_a_dropped_generation_is_told_as_what_it_is(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def dropped_under_the_statement(generation: int, *_: object) -> None:
        await bench.store.generations.drop(generation)
        raise SchemaNotApplied("the database lacks the schema this version needs")

    monkeypatch.setattr(bench.store.generations, "index", dropped_under_the_statement)
    with pytest.raises(Outdated, match="dropped by another operator"):
        await bench.run()


async def test_a_generation_that_is_dropped_after_it_was_switched_away_again_is_no_success(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    generations = bench.store.generations
    use_new = generations.switch

    async def others_use_the_old_and_drop(generation: int) -> int | None:
        former = await use_new(generation)
        await use_new(OLD)
        await generations.drop(generation)
        return former

    monkeypatch.setattr(generations, "switch", others_use_the_old_and_drop)
    with pytest.raises(Outdated, match="dropped by another operator"):
        await bench.run()

    assert await bench.in_use() == OLD


@pytest.mark.parametrize("theirs", [OLD, NEW + 1])
async def test_what_another_operator_has_taken_into_use_meanwhile_stays(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, theirs: int
) -> None:
    other = FaultyEmbedder(model="other")
    await bench.run(switch=False)
    await bench.run(other, switch=False)

    async def switched_and_switched_back() -> None:
        await bench.store.generations.switch(NEW)
        await bench.store.generations.switch(theirs)

    bench.once_before("index", switched_and_switched_back, monkeypatch)
    outcome = await bench.run()
    kept = await bench.in_use()
    again = await bench.run()

    assert (outcome.switched, outcome.former, kept) == (False, theirs, theirs)
    assert f"took generation {theirs} into use meanwhile" in str(outcome.refused)
    assert (again.switched, again.refused) == (True, None)


async def test_operators_at_once_share_the_rows_and_one_of_them_switches(bench: Bench) -> None:
    outcomes: list[Reembedded] = []

    async def operate() -> None:
        outcomes.append(await bench.run())

    async with anyio.create_task_group() as operators:
        operators.start_soon(operate)
        operators.start_soon(operate)

    assert sum(outcome.embedded for outcome in outcomes) == ROWS
    assert sorted(outcome.switched for outcome in outcomes) == [False, True]
    assert await bench.in_use() == NEW
