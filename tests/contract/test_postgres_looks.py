"""A look on Postgres: what its questions raise where they are asked, and how the time is shared among them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Final, TypeAlias

import anyio
import pytest
import pytest_asyncio

from hermes_memory.adapters.postgres.looking import Looking
from hermes_memory.adapters.postgres.pool import Pool
from hermes_memory.adapters.postgres.search import PostgresSearch
from hermes_memory.domain.errors import (
    DeadlineExceeded,
    HermesMemoryError,
    InvalidInput,
    SchemaNotApplied,
    StoreUnavailable,
)
from hermes_memory.domain.model import RowId
from hermes_memory.ports.reading import Look
from hermes_memory.testing.making import CURRENT, DESK, PATIENCE, add, embed_all, stored
from tests.support.postgres_store import Installation

VECTOR: Final = [1.0, 2.0, 3.0, 1.0]
Question: TypeAlias = Callable[[Look, RowId], Awaitable[object]]
QUESTIONS: Final[dict[str, Question]] = {
    "by_text": lambda look, row: look.by_text(CURRENT, ["row"], limit=5),
    "by_vector": lambda look, row: look.by_vector(CURRENT, VECTOR, limit=5, generation=1),
    "cosines": lambda look, row: look.cosines([row], VECTOR, generation=1),
}
LOCK_ALL: Final = """
do $$ declare t regclass; begin
  for t in select c.oid from pg_class c join pg_namespace n on n.oid = c.relnamespace
            where n.nspname = 'hermes_memory' and c.relkind in ('r', 'p') loop
    execute format('lock table %s in access exclusive mode', t);
  end loop;
end $$"""
OTHERS: Final = "from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
LIMIT: Final = "select setting::int from pg_settings where name = 'statement_timeout'"


@pytest_asyncio.fixture
async def pool(database: Installation) -> AsyncIterator[Pool]:
    made = Pool(database.runtime_dsn, max_size=1, connect_timeout=PATIENCE)
    yield made
    await made.close()


@pytest_asyncio.fixture
async def row(database: Installation) -> RowId:
    """An entry with its vector."""
    async with database.under_test() as store:
        held = await stored(store, add("a row"))
        await embed_all(store, {"a row": VECTOR})
    return held


async def refusal(pool: Pool, *questions: Callable[[Look], Awaitable[object]], timeout: float = PATIENCE) -> object:
    """Return what a question raises where it is asked, within the block of its look; None when all are answered."""
    met = None
    with suppress(HermesMemoryError):
        async with PostgresSearch(pool).look(DESK, timeout=timeout) as look:
            try:
                for question in questions:
                    await question(look)
            except Exception as error:
                met = type(error)
                raise
    return met


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
async def test_a_question_raises_the_errors_of_the_domain_within_its_look(
    database: Installation, pool: Pool, row: RowId, question: Question
) -> None:
    def ask(look: Look) -> Awaitable[object]:
        return question(look, row)

    def part(_: Look) -> Awaitable[object]:
        return database.administer(f"select count(pg_terminate_backend(pid)) {OTHERS}")

    answered = await refusal(pool, ask)
    async with database.administrator() as administrator, administrator.transaction():
        await administrator.execute(LOCK_ALL)
        late = await refusal(pool, ask, timeout=0.3)
    parted = await refusal(pool, ask, part, ask)
    await database.administer("drop schema hermes_memory cascade")
    gone = await refusal(pool, ask)

    assert answered is None
    assert (late, parted) == (DeadlineExceeded, StoreUnavailable)
    assert gone in {SchemaNotApplied, InvalidInput}  # no schema, or none of the vectors that were named


async def test_the_server_is_told_what_is_left_of_the_time_with_whatever_it_is_told_anyway(pool: Pool) -> None:
    limits = []
    async with Looking(pool, DESK, timeout=PATIENCE) as looking:
        transaction = await looking.transaction()
        limits.append(await transaction.fetch_value(LIMIT))
        await transaction.execute("select pg_sleep(0.05)")
        await looking.planned_otherwise("enable_sort = off")
        limits.append(await transaction.fetch_value(LIMIT))
        await transaction.execute("select pg_sleep(0.05)")
        await looking.transaction()
        limits.append(await transaction.fetch_value(LIMIT))

    assert 0 < limits[2] < limits[1] < limits[0] <= PATIENCE * 1000


async def test_a_statement_behind_others_is_cancelled_on_the_server_when_the_time_of_its_look_is_over(
    database: Installation, pool: Pool
) -> None:
    async def late() -> None:
        async with Looking(pool, DESK, timeout=0.6) as looking:
            transaction = await looking.transaction()
            await transaction.execute("select pg_sleep(0.3)")
            await transaction.execute("select pg_sleep(600)")

    with anyio.fail_after(PATIENCE), pytest.raises(DeadlineExceeded):
        await late()
    with anyio.fail_after(PATIENCE):
        while await database.administer(f"select count(*) {OTHERS} and state = 'active'"):
            await anyio.sleep(0.01)
    async with pool.transaction(DESK, timeout=PATIENCE, read_only=True) as transaction:
        again = await transaction.fetch_value("select 1")

    assert again == 1
