"""What `Witness` promises, to be run against every adapter."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import uuid4

from hermes_memory.domain.model import Caller, OperationId, RowId, Theme
from hermes_memory.domain.operations import row_id
from hermes_memory.ports.delivery import DeliveryStore
from hermes_memory.ports.reading import Reader
from hermes_memory.ports.sources import Witness
from hermes_memory.testing.making import DESK, DESK_WITH_ANA, DESK_WITH_BEN, PATIENCE, SALES_DESK, add


@dataclass(frozen=True, slots=True, kw_only=True)
class WitnessUnderTest:
    """A fresh, empty store and its witness."""

    delivery: DeliveryStore
    reader: Reader
    witness: Witness


class WitnessContract:
    """The promises. A subclass supplies the async fixture `told`: fresh and empty each time."""

    async def test_what_had_its_effect_is_told_to_whom_it_belongs(self, told: WitnessUnderTest) -> None:
        mine, hers = add("launch on 3 May"), add("her code is zebra", DESK_WITH_ANA)
        (outcome, private) = await told.delivery.apply([mine, hers])
        asked = [mine.stamp.operation, hers.stamp.operation, OperationId(uuid4())]

        assert await told.witness.delivered(DESK, asked) == {outcome.operation: outcome}
        assert (await told.witness.delivered(DESK_WITH_ANA, asked))[private.operation] == private
        assert private.operation not in await told.witness.delivered(DESK_WITH_BEN, asked)
        assert await told.witness.delivered(SALES_DESK, asked) == {}
        assert await told.witness.delivered(DESK, []) == {}

    async def test_a_row_is_present_with_exactly_its_text(self, told: WitnessUnderTest) -> None:
        mine, other, hers = add("launch on 3 May"), add("budget is 9"), add("her code is zebra", DESK_WITH_ANA)
        await told.delivery.apply([mine, other, hers])
        here, changed, private = (row_id(each.stamp.operation) for each in (mine, other, hers))
        asked = {here: "launch on 3 May", changed: "budget is 8", private: hers.content, RowId(uuid4()): "nothing"}

        assert await told.witness.present(DESK, asked) == {here}
        assert await told.witness.present(DESK_WITH_ANA, asked) == {here, private}
        assert await told.witness.present(SALES_DESK, asked) == frozenset()
        assert await told.witness.present(DESK, {}) == frozenset()

    async def test_a_theme_that_was_noted_is_among_the_themes(self, told: WitnessUnderTest) -> None:
        then = datetime(2024, 5, 3, tzinfo=UTC)
        for first in (then, then - timedelta(days=9)):
            await told.witness.note_theme(Theme("archive"), first, then)

        assert Theme("archive") in await told.reader.themes(Caller(theme=Theme("archive")), timeout=PATIENCE)
