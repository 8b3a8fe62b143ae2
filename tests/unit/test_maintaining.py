"""Maintenance as a use case: what is told of it, how long it goes on, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest
from tests.support.tables import for_each

from hermes_memory.adapters.inmemory import InMemoryStore
from hermes_memory.application.maintaining import ROUNDS, Maintaining
from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.maintenance import Prune, Remap, days_before, theme_named, theme_to_move
from hermes_memory.domain.model import DIRECT_MESSAGES, Theme
from hermes_memory.ports.maintenance import Step, Upkeep
from hermes_memory.testing.making import DESK, add, record, said

NOW = datetime(2026, 5, 31, tzinfo=UTC)
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


class Endless:
    """An `Upkeep` that somebody makes as much to do for as it does."""

    def __init__(self) -> None:
        self.rounds = 0
        self.ended: Mapping[str, int] | None = None

    async def count(self) -> Mapping[str, int]:
        return {"turns": 1, "sessions": 0}

    async def begin(self) -> UUID:
        return uuid4()

    async def step(self) -> Step:
        self.rounds += 1
        return Step(counts={"turns": 1}, more=False)

    async def end(self, remaining: Mapping[str, int]) -> None:
        self.ended = remaining


def maintaining(upkeep: Upkeep, seen: list[int]) -> Maintaining:
    return Maintaining(upkeep, verb="prune", detail={"theme": None}, progress=seen.append)


async def test_whoever_watches_learns_how_much_there_is_before_any_of_it_is_done() -> None:
    store = InMemoryStore(analyze=str.split)
    await store.delivery.apply([record(*(said(f"turn {n}", at=LONG_AGO) for n in range(3)))])
    told: list[tuple[str, int]] = []
    work = Maintaining(
        store.prune(Prune(before=NOW)),
        verb="prune",
        detail={},
        progress=lambda rows: told.append(("done", rows)),
        expect=lambda rows: told.append(("due", rows)),
    )
    foretold = await work.preview()
    await work.execute()

    assert told[0] == ("due", sum(foretold.counts.values()))
    assert {kind for kind, _ in told[1:]} == {"done"}
    assert sum(rows for _, rows in told[1:]) == told[0][1]


async def test_a_preview_changes_nothing_and_what_it_foretells_is_done() -> None:
    store = InMemoryStore(analyze=str.split)
    await store.delivery.apply([add("kept", DESK), record(*(said(f"turn {n}", at=LONG_AGO) for n in range(3)))])
    seen: list[int] = []
    work = maintaining(store.prune(Prune(before=NOW)), seen)
    foretold = await work.preview(["a note"])
    done = await work.execute(["a note"])
    nothing = await work.preview()

    assert (foretold.executed, foretold.complete, foretold.id, foretold.notes) == (False, False, None, ("a note",))
    assert (done.executed, done.complete, done.notes) == (True, True, ("a note",))
    assert foretold.counts == done.counts
    assert done.counts["turns"] == 3
    assert nothing.complete
    assert sum(seen) == sum(done.counts.values())


async def test_what_comes_in_all_the_time_is_gone_after_for_so_long_and_told() -> None:
    upkeep = Endless()
    report = await maintaining(upkeep, []).execute()

    assert upkeep.rounds == ROUNDS
    assert (report.counts, report.remaining, report.complete) == ({"turns": ROUNDS, "sessions": 0}, {"turns": 1}, False)
    assert upkeep.ended == {"turns": 1, "sessions": 0}


@for_each("days", [0, -1, float("nan"), float("inf"), 40_000])
def test_only_a_positive_number_of_days_is_an_age(days: float) -> None:
    with pytest.raises(InvalidInput) as refused:
        days_before(NOW, days, field="older_than")

    assert refused.value.field == "older_than"


def test_an_age_is_counted_back_and_has_its_least() -> None:
    assert days_before(NOW, 0.5, field="x") == NOW - timedelta(hours=12)
    assert days_before(NOW, 7, least=7, field="x") == NOW - timedelta(days=7)
    with pytest.raises(InvalidInput, match="from 7"):
        days_before(NOW, 6.9, least=7, field="x")


def test_a_theme_is_named_by_any_spelling_and_neither_scopes_nor_sinks_move() -> None:
    assert theme_named(None) is None
    assert theme_named(" WhatsApp-DM ") == DIRECT_MESSAGES
    assert theme_to_move("Ｎew\u200b  Desk", "to") == "new desk"
    for name in ("all", "current", ""):
        with pytest.raises(InvalidInput):
            theme_named(name)
    for name in ("all", "whatsapp-dm", "_bench", " "):
        with pytest.raises(InvalidInput):
            theme_to_move(name, "to")


def test_a_theme_is_not_moved_into_itself() -> None:
    with pytest.raises(InvalidInput):
        Remap(source=Theme("desk"), target=theme_to_move(" DESK", "to"))
