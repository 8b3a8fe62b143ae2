"""What `Upkeep` promises, to be run against every adapter: on pruning, and on letting rows wait for their vectors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from hermes_memory.domain.maintenance import Backfill, Prune
from hermes_memory.domain.model import Caller, Origin, Role, SessionId
from hermes_memory.ports.maintenance import Upkeep
from hermes_memory.testing.making import (
    DESK,
    MARKETING,
    MORNING,
    PLENTY,
    SALES_DESK,
    add,
    contents,
    deliver,
    embed_all,
    read,
    record,
    said,
    stored,
)
from hermes_memory.testing.store_under_test import StoreUnderTest

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
BETWEEN = datetime(2022, 1, 1, tzinfo=UTC)
LATELY = datetime(2024, 1, 1, tzinfo=UTC)
OLD_TALK = Caller(theme=MARKETING, session=SessionId("old"))
OLD_SALES = Caller(theme=SALES_DESK.theme, session=SessionId("old"))
VECTORS: dict[str, Sequence[float]] = {"": (1.0, 0.0, 0.0, 0.0)}


@dataclass(frozen=True, slots=True, kw_only=True)
class UpkeepUnderTest:
    """A fresh, empty store, and what maintains it.

    Attributes:
        prune: Makes what prunes it.
        backfill: Makes what lets rows wait for their vectors.
        lose_jobs: Lets all that waits for a vector be forgotten.
    """

    store: StoreUnderTest
    prune: Callable[[Prune], Upkeep]
    backfill: Callable[[Backfill], Upkeep]
    lose_jobs: Callable[[], Awaitable[None]]


async def carry_out(upkeep: Upkeep) -> Mapping[str, int]:
    """Take all steps, and return what they changed."""
    done: Counter[str] = Counter()
    await upkeep.begin()
    while True:
        step = await upkeep.step()
        done.update(step.counts)
        if not step.more:
            return +done


async def counted(upkeep: Upkeep) -> Mapping[str, int]:
    """Return what there is to do, without what there is nothing of."""
    return +Counter(await upkeep.count())


class UpkeepContract:
    """The promises. A subclass supplies the async fixture `kept_up`: fresh and empty each time."""

    async def test_what_was_said_before_goes_and_durable_memories_stay(self, kept_up: UpkeepUnderTest) -> None:
        store = kept_up.store
        early = [said(f"early {n} common", at=LONG_AGO + timedelta(minutes=n)) for n in range(5)]
        late = [said(f"late {n} common", at=LATELY + timedelta(minutes=n)) for n in range(3)]
        entry = await stored(store, add("an old memory", at=LONG_AGO))
        await deliver(store, record(*early, *late), record(*early, caller=OLD_TALK))
        await embed_all(store, VECTORS)
        foretold = await counted(kept_up.prune(Prune(before=BETWEEN)))
        unchanged = await counted(kept_up.prune(Prune(before=BETWEEN)))
        done = await carry_out(kept_up.prune(Prune(before=BETWEEN)))

        assert foretold == unchanged == done
        assert (done["turns"], done["vectors"], done["sessions"], done["reembedded"]) == (10, 10, 1, 1)
        assert done["postings"] > 0
        assert await counted(kept_up.prune(Prune(before=BETWEEN))) == {}
        assert await read(store, entry) is not None
        assert await contents(store) == {"an old memory"}
        (job,) = await store.queue.claim(PLENTY, lease=60)
        assert (job.text, job.context) == ("late 0 common", "")

    async def test_a_prune_keeps_to_its_theme_and_origin(self, kept_up: UpkeepUnderTest) -> None:
        question, answer = said("a question", at=LONG_AGO), said("an answer", role=Role.ASSISTANT, at=LONG_AGO)
        await deliver(kept_up.store, record(question, answer), record(question, answer, caller=OLD_SALES))
        answers = Prune(before=BETWEEN, theme=MARKETING, origin=Origin.ASSISTANT)
        done = await carry_out(kept_up.prune(answers))
        theme = await carry_out(kept_up.prune(Prune(before=BETWEEN, theme=MARKETING)))

        assert (done["turns"], theme["turns"]) == (1, 1)
        assert (await counted(kept_up.prune(Prune(before=BETWEEN))))["turns"] == 2

    async def test_a_session_that_was_pruned_goes_on(self, kept_up: UpkeepUnderTest) -> None:
        store = kept_up.store
        await deliver(store, record(said("one", at=LONG_AGO), said("two", at=LATELY)))
        await carry_out(kept_up.prune(Prune(before=BETWEEN)))
        row = await stored(store, record(said("three", at=LATELY + timedelta(days=1))))
        turn = await read(store, row)

        assert turn is not None
        assert (turn.content, getattr(turn, "position", None), turn.session) == ("three", 2, MORNING)

    async def test_rows_without_a_vector_wait_for_one_again(self, kept_up: UpkeepUnderTest) -> None:
        store = kept_up.store
        await deliver(store, add("one"), record(said("two"), said("never", embed=False)))
        await embed_all(store, VECTORS)
        await deliver(store, add("three"), record(said("four"), caller=OLD_TALK))
        await kept_up.lose_jobs()
        foretold = await counted(kept_up.backfill(Backfill()))
        done = await carry_out(kept_up.backfill(Backfill()))
        again = await counted(kept_up.backfill(Backfill()))
        waiting = {job.text for job in await store.queue.claim(PLENTY, lease=60)}

        assert foretold == done == {"queued": 2}
        assert again == {}
        assert waiting == {"three", "four"}

    async def test_what_was_refused_is_tried_again_when_that_is_asked_for(self, kept_up: UpkeepUnderTest) -> None:
        store = kept_up.store
        await deliver(store, add("poison", DESK))
        (job,) = await store.queue.claim(PLENTY, lease=60)
        await store.queue.park(job, "refused")
        plain = await carry_out(kept_up.backfill(Backfill()))
        foretold = await counted(kept_up.backfill(Backfill(retry_parked=True)))
        done = await carry_out(kept_up.backfill(Backfill(retry_parked=True)))
        (tried,) = await store.queue.claim(PLENTY, lease=60)

        assert plain == {}
        assert foretold == done == {"retried": 1}
        assert (tried.text, tried.attempts) == ("poison", 0)
