"""What `Granting` promises, to be run against every adapter: grants, persons, and how much there is of whom."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from hermes_memory.domain.grants import Grant
from hermes_memory.domain.model import DIRECT_MESSAGES, Caller, ReadPolicy, SessionId, Subject, Theme
from hermes_memory.ports.granting import Granting
from hermes_memory.testing.making import (
    ANA,
    ANA_DIRECTLY,
    BEN,
    DESK,
    DESK_WITH_ANA,
    MARKETING,
    PATIENCE,
    SALES,
    SALES_DESK,
    add,
    deliver,
    read,
    record,
    said,
    stored,
)
from hermes_memory.testing.store_under_test import StoreUnderTest

CLARA = Subject(b"c" * 32)
SUPPORT = Theme("support")
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
FAR_AHEAD = datetime(2100, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantingUnderTest:
    """A fresh, empty store, and what an operator changes in it."""

    store: StoreUnderTest
    granting: Granting

    async def others(self, subject: Subject) -> set[Subject]:
        """Return who else is the same person."""
        return set(await self.store.people.others(subject, timeout=PATIENCE))


@pytest.mark.asyncio
class GrantingContract:
    """The promises. A subclass supplies the async fixture `desk`: fresh and empty each time."""

    async def test_a_grant_lets_its_reader_read_until_it_is_taken_back(self, desk: GrantingUnderTest) -> None:
        await desk.store.set_policy(ReadPolicy.GRANTS)
        row = await stored(desk.store, add("the price list", SALES_DESK))
        grant = Grant(reader=MARKETING, source=SALES)
        walled = await read(desk.store, row)
        added = await desk.granting.add(grant)
        granted = await read(desk.store, row)
        revoked, again = await desk.granting.revoke(grant), await desk.granting.revoke(grant)

        assert (walled, granted is not None) == (None, True)
        assert (added, revoked, again) == (True, True, False)
        assert await read(desk.store, row) is None
        assert await desk.granting.policy() is ReadPolicy.GRANTS

    async def test_a_grant_stands_once_with_the_end_it_was_last_given(self, desk: GrantingUnderTest) -> None:
        added = [
            await desk.granting.add(Grant(reader=MARKETING, source=SALES, expires_at=LONG_AGO)),
            await desk.granting.add(Grant(reader=MARKETING, source=SALES, expires_at=FAR_AHEAD)),
        ]
        (standing,) = await desk.granting.grants()

        assert added == [True, False]
        assert standing.grant == Grant(reader=MARKETING, source=SALES, expires_at=FAR_AHEAD)
        assert standing.granted_by
        assert standing.granted_at.utcoffset() == timedelta(0)

    async def test_all_grants_are_listed_by_source_and_reader_expired_ones_too(self, desk: GrantingUnderTest) -> None:
        grants = [
            Grant(reader=ANA, source=MARKETING, expires_at=LONG_AGO),
            Grant(reader=BEN, source=MARKETING),
            Grant(reader=SALES, source=MARKETING),
            Grant(reader=SUPPORT, source=MARKETING, expires_at=FAR_AHEAD),
            Grant(reader=MARKETING, source=SALES),
        ]
        for grant in reversed(grants):
            await desk.granting.add(grant)

        assert [standing.grant for standing in await desk.granting.grants()] == grants

    async def test_subjects_become_one_person_and_part_again(self, desk: GrantingUnderTest) -> None:
        two, three = await desk.granting.merge([ANA, BEN]), await desk.granting.merge([BEN, CLARA])
        together = await desk.others(ANA)
        parted = await desk.granting.split(BEN)
        left = [await desk.others(subject) for subject in (ANA, BEN, CLARA)]
        last, nobody = await desk.granting.split(CLARA), await desk.granting.split(ANA)

        assert (two, three, together) == (2, 3, {BEN, CLARA})
        assert left == [{CLARA}, set(), {ANA}]
        assert (parted, last, nobody) == (True, True, False)
        assert [await desk.others(subject) for subject in (ANA, BEN, CLARA)] == [set()] * 3

    async def test_what_was_granted_to_one_subject_of_a_person_is_granted_to_all_of_them_until_they_part(
        self, desk: GrantingUnderTest
    ) -> None:
        row = await stored(desk.store, add("the price list", SALES_DESK))
        await desk.granting.add(Grant(reader=ANA, source=SALES))
        places = [Caller(theme=theme, subject=BEN) for theme in (DIRECT_MESSAGES, MARKETING)]

        async def seen(policy: ReadPolicy) -> set[bool]:
            await desk.store.set_policy(policy)
            return {await read(desk.store, row, caller) is not None for caller in places}

        apart = [await seen(policy) for policy in ReadPolicy]
        await desk.granting.merge([ANA, BEN])
        together = {policy: await seen(policy) for policy in ReadPolicy}
        listed = list(await desk.store.reader.themes(places[0], timeout=PATIENCE))
        await desk.store.set_policy(ReadPolicy.GRANTS)
        granted = list(await desk.store.reader.themes(places[0], timeout=PATIENCE))
        await desk.granting.split(BEN)
        parted = [await seen(policy) for policy in ReadPolicy]

        assert apart == parted == [{False}] * 3
        assert together == {ReadPolicy.OPEN: {True}, ReadPolicy.GRANTS: {True}, ReadPolicy.OWN: {False}}
        assert (listed, granted) == ([], [SALES])
        await desk.store.set_policy(ReadPolicy.GRANTS)
        assert await read(desk.store, row, ANA_DIRECTLY) is not None

    async def test_it_is_counted_what_subjects_have(self, desk: GrantingUnderTest) -> None:
        await deliver(
            desk.store,
            add("of nobody"),
            add("a note", DESK_WITH_ANA),
            add("another", ANA_DIRECTLY),
            record(said("one"), said("two"), caller=ANA_DIRECTLY),
        )
        await desk.granting.merge([ANA, CLARA])
        everybody = await desk.granting.subjects()
        (ben,) = await desk.granting.subjects([BEN])

        assert [(c.subject, c.entries, c.turns, c.themes, c.also) for c in everybody] == [
            (ANA, 2, 2, 2, frozenset({CLARA})),
            (CLARA, 0, 0, 0, frozenset({ANA})),
        ]
        assert (ben.subject, ben.entries, ben.turns, ben.themes, ben.also) == (BEN, 0, 0, 0, frozenset())

    async def test_it_is_counted_what_each_theme_holds(self, desk: GrantingUnderTest) -> None:
        evening = Caller(theme=MARKETING, session=SessionId("evening"))
        await deliver(
            desk.store,
            add("a note", DESK),
            add("hers", DESK_WITH_ANA),
            record(said("one"), said("two")),
            record(said("three"), caller=evening),
            record(said("four"), caller=ANA_DIRECTLY),
        )
        counts = {count.theme: count for count in await desk.granting.themes()}
        ours, direct = counts[MARKETING], counts[DIRECT_MESSAGES]

        assert list(counts) == sorted(counts)
        assert (ours.governed, ours.entries, ours.turns, ours.sessions, ours.subjects) == (False, 2, 3, 2, 1)
        assert (direct.governed, direct.entries, direct.turns, direct.sessions, direct.subjects) == (True, 0, 1, 1, 1)
        assert ours.first_seen_at <= ours.last_seen_at
