"""Both archives keep what `Archive` and `Snapshot` promise, and both stores what `Witness` promises."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace as changed
from uuid import uuid4

import pytest
import pytest_asyncio

from hermes_memory.adapters.inmemory import InMemoryStore
from hermes_memory.adapters.inmemory.archive import InMemoryArchive
from hermes_memory.adapters.postgres.administrator import administrator
from hermes_memory.adapters.postgres.archive_reading import snapshot
from hermes_memory.adapters.postgres.archive_storing import PostgresArchive
from hermes_memory.adapters.postgres.history_audit import altered_turns, histories, straying
from hermes_memory.adapters.postgres.witness import PostgresWitness
from hermes_memory.domain.archive import Archived, ArchivedChange, EmbeddingModel
from hermes_memory.domain.chain import verify
from hermes_memory.domain.errors import DeliveryRejected
from hermes_memory.domain.model import Theme
from hermes_memory.domain.operations import ById, row_id
from hermes_memory.testing.archive_contract import CHANGE, LAUNCH, ArchiveContract, ArchiveUnderTest, entry
from hermes_memory.testing.making import DESK, SALES_DESK, add, by_content, remove, replace
from hermes_memory.testing.witness_contract import WitnessContract, WitnessUnderTest
from tests.support.postgres_store import ANALYZE, Installation


class TestInMemoryArchive(ArchiveContract):
    """Every promise, kept in memory."""

    @pytest.fixture
    async def kept(self) -> ArchiveUnderTest:
        archive = InMemoryArchive(in_use=EmbeddingModel(name="contract", dimension=4))

        async def told(theme: Theme, vectors: bool) -> Sequence[Archived]:
            return [record async for record in archive.records(theme, vectors=vectors)]

        return ArchiveUnderTest(archive=archive, told=told, themes=archive.themes)


class TestPostgresArchive(ArchiveContract):
    """Every promise, kept by Postgres."""

    @pytest_asyncio.fixture
    async def kept(self, template: Installation) -> AsyncIterator[ArchiveUnderTest]:
        async with template.copy() as place, administrator(place.admin_dsn) as opened:

            async def told(theme: Theme, vectors: bool) -> Sequence[Archived]:
                async with snapshot(opened) as read:
                    return [record async for record in read.records(theme, vectors=vectors)]

            async def themes() -> Sequence[Theme]:
                async with snapshot(opened) as read:
                    return await read.themes()

            yield ArchiveUnderTest(archive=PostgresArchive(opened, analyze=ANALYZE), told=told, themes=themes)
            assert [flaw async for flaw in altered_turns(opened, ANALYZE)] == []


class TestInMemoryWitness(WitnessContract):
    """Every promise, kept in memory."""

    @pytest.fixture
    async def told(self) -> WitnessUnderTest:
        store = InMemoryStore(analyze=ANALYZE)
        return WitnessUnderTest(delivery=store.delivery, reader=store.reader, witness=store.witness)


class TestPostgresWitness(WitnessContract):
    """Every promise, kept by Postgres."""

    @pytest_asyncio.fixture
    async def told(self, template: Installation) -> AsyncIterator[WitnessUnderTest]:
        async with template.copy() as place, place.store() as store:
            yield WitnessUnderTest(delivery=store.delivery, reader=store.reader, witness=PostgresWitness(store.pool))


async def test_an_entry_that_was_forgotten_is_known_as_long_as_its_history_is(template: Installation) -> None:
    forgotten, never = add("the code is zebra"), add("never stored")
    row = row_id(forgotten.stamp.operation)
    async with template.copy() as place, place.store() as store:
        await store.delivery.apply([forgotten])
        await store.delivery.apply([remove(ById(id=row))])
        await place.administer("delete from hermes_memory.inbox")
        witness = PostgresWitness(store.pool)
        known = await witness.delivered(DESK, [forgotten.stamp.operation, never.stamp.operation])
        elsewhere = await witness.delivered(SALES_DESK, [forgotten.stamp.operation])

    assert {operation: outcome.row for operation, outcome in known.items()} == {forgotten.stamp.operation: row}
    assert elsewhere == {}


@pytest.mark.parametrize(
    "hidden",
    [
        changed(CHANGE, erasure=uuid4()),
        changed(CHANGE, digest=bytes(32)),
        changed(CHANGE, target="note"),
        changed(CHANGE, target="turn"),
        changed(CHANGE, target=""),
        changed(CHANGE, origin="nobody"),
        changed(CHANGE, change="erased", target=""),
    ],
)
async def test_a_change_that_no_erasure_would_find_is_not_stored(
    template: Installation, hidden: ArchivedChange
) -> None:
    async with template.copy() as place, administrator(place.admin_dsn) as opened:
        with pytest.raises(DeliveryRejected):
            await PostgresArchive(opened, analyze=ANALYZE).store([hidden], vectors=False)


async def test_the_history_of_a_twin_that_gave_way_is_no_flaw_once_the_other_one_is_replaced(
    template: Installation,
) -> None:
    async with template.copy() as place, place.store() as store, administrator(place.admin_dsn) as opened:
        await store.delivery.apply([add("launch on 3 May")])
        await PostgresArchive(opened, analyze=ANALYZE).store([LAUNCH, entry("launch on 3 May", 1)], vectors=False)
        await store.delivery.apply([replace(by_content("launch on 3 May"), "launch on 9 May")])

        assert [flaw async for flaw in straying(opened)] == []
        assert [flaw async for each in histories(opened) for flaw in verify(*each, [])] == []
