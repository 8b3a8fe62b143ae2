"""What `Seals` promises, to be run against every adapter."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from hermes_memory.ports.delivery import DeliveryStore
from hermes_memory.ports.history import HistoryReader
from hermes_memory.ports.seals import Seals
from hermes_memory.testing.making import DESK, PATIENCE, PLENTY, SALES_DESK, add, by_content, remove
from hermes_memory.testing.making import replace as change


@dataclass(frozen=True, slots=True, kw_only=True)
class SealsUnderTest:
    """A fresh, empty store with its history and its seals.

    Attributes:
        keep_forgotten: Sets for how many days what was forgotten keeps its texts.
    """

    delivery: DeliveryStore
    history: HistoryReader
    seals: Seals
    keep_forgotten: Callable[[float], Awaitable[None]]


class SealsContract:
    """The promises. A subclass supplies the async fixture `chain`: fresh and empty each time."""

    async def test_each_change_is_sealed_once_under_a_seal_of_its_theme(self, chain: SealsUnderTest) -> None:
        await chain.delivery.apply([add("one"), add("two"), add("three", SALES_DESK)])
        before = await chain.seals.lag()
        first = await chain.seals.seal(PLENTY)
        await chain.delivery.apply([change(by_content("one"), "one again")])
        second = await chain.seals.seal(PLENTY)

        assert (before.waiting, before.oldest is None) == (3, False)
        assert {(made.head.theme, made.head.seal, made.changes) for made in first} == {
            ("marketing", 1, 2),
            ("sales", 1, 1),
        }
        assert [(made.head.theme, made.head.seal, made.changes) for made in second] == [("marketing", 2, 1)]
        assert list(await chain.seals.seal(PLENTY)) == []
        after = await chain.seals.lag()
        assert (after.waiting, after.oldest) == (0, None)

    async def test_no_more_is_sealed_at_once_than_was_asked_for(self, chain: SealsUnderTest) -> None:
        await chain.delivery.apply([add(f"memory {number}") for number in range(5)])
        made = [sum(each.changes for each in await chain.seals.seal(2)) for _ in range(4)]

        assert made == [2, 2, 1, 0]

    async def test_a_published_head_stands_until_the_chain_is_another(self, chain: SealsUnderTest) -> None:
        await chain.delivery.apply([add("one")])
        heads = [made.head for made in await chain.seals.seal(PLENTY)]
        forged = [replace(heads[0], chained=bytes(32)), replace(heads[0], seal=7), replace(heads[0], theme="nobody")]

        assert list(await chain.seals.standing(heads)) == []
        assert list(await chain.seals.standing([])) == []
        assert list(await chain.seals.standing([*heads, *forged])) == forged

    async def test_only_what_was_forgotten_long_enough_ago_loses_its_texts(self, chain: SealsUnderTest) -> None:
        outcomes = await chain.delivery.apply([add("kept"), add("gone"), add("merged"), add("other")])
        kept, gone, merged, _ = (outcome.row for outcome in outcomes)
        assert kept
        assert gone
        assert merged
        await chain.delivery.apply([remove(by_content("gone")), change(by_content("merged"), "other")])
        early = await chain.seals.expire(PLENTY)
        await chain.keep_forgotten(0)
        late = await chain.seals.expire(PLENTY)
        again = await chain.seals.expire(PLENTY)

        assert (early, late, again) == (0, 4, 0)
        told = {row: await chain.history.of_row(DESK, row, limit=9, timeout=PATIENCE) for row in (kept, gone, merged)}
        assert [change.after for change in told[kept]] == ["kept"]
        for row in (gone, merged):
            assert [(c.erased, c.before, c.after, c.metadata) for c in told[row]] == [(True, None, None, None)] * 2
