"""What `Source` promises, to be run against every adapter."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from hermes_memory.domain.foreign import Foreign, ForeignAgent, ForeignTurn, Unreadable
from hermes_memory.ports.sources import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceUnderTest:
    """Another memory, with at least two readable items.

    Attributes:
        opened: Opens it for reading; each time anew.
        fingerprint: Returns what changes when the memory does.
    """

    opened: Callable[[], AbstractAsyncContextManager[Source]]
    fingerprint: Callable[[], Awaitable[object]]


async def _read(source: SourceUnderTest) -> list[Foreign]:
    async with source.opened() as opened:
        return [item async for item in opened.items()]


class SourceContract:
    """The promises. A subclass supplies the fixture `source`."""

    async def test_everything_comes_in_the_same_order_each_time(self, source: SourceUnderTest) -> None:
        first, second = await _read(source), await _read(source)

        assert len(first) >= 2
        assert first == second

    async def test_reading_changes_nothing(self, source: SourceUnderTest) -> None:
        before = await source.fingerprint()
        await _read(source)

        assert await source.fingerprint() == before

    async def test_every_item_has_a_key_and_a_place_of_its_own(self, source: SourceUnderTest) -> None:
        items = [item for item in await _read(source) if not isinstance(item, ForeignAgent)]
        keys = [item.key for item in items if not isinstance(item, Unreadable)]
        places = [item.place for item in items]

        assert len(set(keys)) == len(keys)
        assert len(set(places)) == len(places)

    async def test_the_counts_are_those_of_what_comes(self, source: SourceUnderTest) -> None:
        async with source.opened() as opened:
            counts, name = await opened.counts(), opened.name
            items = [item async for item in opened.items() if not isinstance(item, ForeignAgent)]

        assert name
        assert counts is None or sum(counts.values()) == len(items)

    async def test_the_turns_of_a_session_come_one_after_the_other(self, source: SourceUnderTest) -> None:
        sessions = [item.session for item in await _read(source) if isinstance(item, ForeignTurn)]
        begun = [session for place, session in enumerate(sessions) if place == 0 or sessions[place - 1] != session]

        assert len(set(begun)) == len(begun)
