"""What `Upkeep` promises, to be run against every adapter: pruning, cleaning up, and letting rows wait for vectors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from hermes_memory.domain.maintenance import Backfill, Cleanup, Prune, Remap
from hermes_memory.domain.model import Caller, Origin, Role, SessionId
from hermes_memory.domain.operations import ById
from hermes_memory.ports.history import HistoryReader
from hermes_memory.ports.maintenance import Upkeep
from hermes_memory.testing.making import (
    ANA,
    BEN,
    DESK,
    MARKETING,
    MORNING,
    PATIENCE,
    PLENTY,
    SALES,
    SALES_DESK,
    TURNS,
    add,
    by_content,
    contents,
    deliver,
    embed_all,
    read,
    record,
    remove,
    said,
    stored,
)
from hermes_memory.testing.store_under_test import StoreUnderTest

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
BETWEEN = datetime(2022, 1, 1, tzinfo=UTC)
LATELY = datetime(2024, 1, 1, tzinfo=UTC)
OLD_TALK = Caller(theme=MARKETING, session=SessionId("old"))
OLD_SALES = Caller(theme=SALES_DESK.theme, session=SessionId("old"))
MOMENT = 0.01
VECTORS: dict[str, Sequence[float]] = {"": (1.0, 0.0, 0.0, 0.0)}


@dataclass(frozen=True, slots=True, kw_only=True)
class UpkeepUnderTest:
    """A fresh, empty store, and what maintains it.

    Attributes:
        prune: Makes what prunes it.
        backfill: Makes what lets rows wait for their vectors.
        cleanup: Makes what removes what nothing refers to.
        remap: Makes what moves a theme into another.
        history: What became of its entries.
        moment: Returns what time it is, by the clock of the store.
        lose_jobs: Lets all that waits for a vector be forgotten.
        keep_forgotten: Sets for how many days what was forgotten keeps its texts.
    """

    store: StoreUnderTest
    prune: Callable[[Prune], Upkeep]
    backfill: Callable[[Backfill], Upkeep]
    cleanup: Callable[[Cleanup], Upkeep]
    remap: Callable[[Remap], Upkeep]
    history: HistoryReader
    moment: Callable[[], Awaitable[datetime]]
    lose_jobs: Callable[[], Awaitable[None]]
    keep_forgotten: Callable[[float], Awaitable[None]]

    async def later(self) -> datetime:
        """Let a moment pass on either side of the time that is returned."""
        await self.store.pass_time(MOMENT)
        moment = await self.moment()
        await self.store.pass_time(MOMENT)
        return moment


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

    async def test_what_was_forgotten_does_not_come_back_after_its_session_was_pruned(
        self, kept_up: UpkeepUnderTest
    ) -> None:
        store, talk = kept_up.store, [said("the code is zebra", at=LONG_AGO), said("noted", at=LONG_AGO)]
        gone = await stored(store, record(talk[0], caller=OLD_TALK))
        await deliver(store, record(*talk, caller=OLD_TALK), remove(ById(id=gone), OLD_TALK))
        foretold = await counted(kept_up.prune(Prune(before=BETWEEN)))
        done = await carry_out(kept_up.prune(Prune(before=BETWEEN)))
        await deliver(store, record(*talk, caller=OLD_TALK))
        found = await store.search.by_text(DESK, TURNS, store.analyze("zebra noted"), limit=PLENTY, timeout=PATIENCE)

        assert foretold == done
        assert done["turns"] == 1
        assert [hit.row.content for hit in found.hits] == ["noted"]

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

    async def test_a_cleanup_forgets_which_operations_were_delivered_before_a_moment(
        self, kept_up: UpkeepUnderTest
    ) -> None:
        store, early, late = kept_up.store, add("early"), add("late")
        await deliver(store, early, record(said("early, too")))
        cleanup = Cleanup(operations_before=await kept_up.later())
        await deliver(store, late)
        foretold = await counted(kept_up.cleanup(cleanup))
        done = await carry_out(kept_up.cleanup(cleanup))

        assert foretold == done == {"operations": 2}
        assert await counted(kept_up.cleanup(cleanup)) == {}
        assert await store.delivery.outcome(DESK, early.stamp.operation) is None
        assert await store.delivery.outcome(DESK, late.stamp.operation) is not None
        assert await contents(store) == {"early", "late"}

    async def test_a_cleanup_removes_grants_that_are_over(self, kept_up: UpkeepUnderTest) -> None:
        now = await kept_up.later()
        await kept_up.store.grant(SALES, MARKETING, expires_at=now)
        await kept_up.store.grant(ANA, MARKETING, expires_at=now + timedelta(days=1))
        await kept_up.store.grant(BEN, MARKETING)
        done = await carry_out(kept_up.cleanup(Cleanup(operations_before=LONG_AGO)))

        assert done == {"grants": 1}
        assert await counted(kept_up.cleanup(Cleanup(operations_before=LONG_AGO))) == {}

    async def test_a_cleanup_erases_the_texts_of_what_was_forgotten_long_enough_ago(
        self, kept_up: UpkeepUnderTest
    ) -> None:
        store, cleanup = kept_up.store, Cleanup(operations_before=LONG_AGO)
        kept, gone = await stored(store, add("kept")), await stored(store, add("gone"))
        await deliver(store, remove(by_content("gone")))
        early = await carry_out(kept_up.cleanup(cleanup))
        await kept_up.keep_forgotten(0)
        await kept_up.later()
        foretold = await counted(kept_up.cleanup(cleanup))
        done = await carry_out(kept_up.cleanup(cleanup))
        told = {row: await kept_up.history.of_row(DESK, row, limit=9, timeout=PATIENCE) for row in (kept, gone)}

        assert early == {}
        assert foretold == done == {"forgotten": 2}
        assert [change.after for change in told[kept]] == ["kept"]
        assert [(change.erased, change.before, change.after) for change in told[gone]] == [(True, None, None)] * 2

    async def test_a_cleanup_shortens_the_log_only_when_told_to(self, kept_up: UpkeepUnderTest) -> None:
        await carry_out(kept_up.prune(Prune(before=BETWEEN)))
        moment = await kept_up.later()
        untold = await carry_out(kept_up.cleanup(Cleanup(operations_before=LONG_AGO)))
        done = await carry_out(kept_up.cleanup(Cleanup(operations_before=LONG_AGO, log_before=moment)))

        assert untold == {}
        assert done == {"log": 1}
