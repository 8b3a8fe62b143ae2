"""Counting the rows of a large store ends in time."""

from __future__ import annotations

import asyncpg
import pytest

from hermes_memory.adapters.postgres.inspector import PostgresInspector
from hermes_memory.adapters.postgres.pool import Pool
from hermes_memory.domain.errors import DeadlineExceeded
from tests.support.postgres_store import Installation


async def test_counts_that_take_too_long_are_given_up_long_before_any_other_call(database: Installation) -> None:
    pool = Pool(database.runtime_dsn, max_size=1)
    inspector = PostgresInspector(pool, timeout=60.0, counting=0.2)
    holder = await asyncpg.connect(database.admin_dsn, timeout=30.0)
    try:
        async with holder.transaction():
            await holder.execute("lock table hermes_memory.memory_entries in access exclusive mode")
            with pytest.raises(DeadlineExceeded):
                await inspector.counts()
            with pytest.raises(DeadlineExceeded):
                await inspector.generations()
        counts = await PostgresInspector(pool).counts()
    finally:
        await holder.close()
        await pool.close()

    assert counts["entries"] == 0
