"""How the question whether kept rows still stand is planned on Postgres: it is asked before a turn, so it is cheap."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

import asyncpg
import pytest
import pytest_asyncio

from hermes_memory.adapters.postgres.context import opening
from hermes_memory.adapters.postgres.reader import MARKS, STANDING
from hermes_memory.adapters.postgres.rows import persons
from hermes_memory.domain.model import Caller
from hermes_memory.testing.making import DESK, DESK_WITH_ANA, MARKETING, PATIENCE, SALES_DESK, add, record, said
from tests.support.postgres import TestServer
from tests.support.postgres_store import Installation, migrated

ROWS = 2_000


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def installation(server: TestServer) -> AsyncIterator[Installation]:
    """A theme of thousands of entries and turns, with others beside it."""
    async with migrated(server) as place:
        async with place.store() as store:
            for caller in (DESK, SALES_DESK, DESK_WITH_ANA):
                await store.delivery.apply([add(f"note {number}", caller) for number in range(ROWS)])
                await store.delivery.apply([record(*(said(f"turn {n}") for n in range(ROWS)), caller=caller)])
        await place.administer("analyze")
        yield place


async def plan(place: Installation, caller: Caller, *arguments: object) -> str:
    connection = await asyncpg.connect(place.runtime_dsn)
    try:
        await connection.execute(opening(caller, read_only=True, timeout=PATIENCE))
        (row,) = await connection.fetch("explain (analyze, format json) " + STANDING, *arguments)
        return str(row[0])
    finally:
        await connection.close()


def nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", []):
        yield from nodes(child)


@pytest.mark.parametrize("caller", [DESK, DESK_WITH_ANA])
async def test_one_partition_is_planned_and_no_more_is_read_than_what_is_asked_for(
    installation: Installation, caller: Caller
) -> None:
    kept = [
        *(add_id for (add_id,) in await _ids(installation, "memory_entries")),
        *(turn_id for (turn_id,) in await _ids(installation, "conversations")),
    ]
    text = await plan(installation, caller, persons(caller), MARKETING, MARKS, [MARKETING], kept)
    scans = [node for node in nodes(json.loads(text)[0]["Plan"]) if "Relation Name" in node]
    of_rows = [node for node in scans if str(node["Relation Name"]).startswith(("memory_entries", "conversations"))]

    assert len(set(re.findall(r'"(?:memory_entries|conversations)_p(\d+)"', text))) == 1
    assert {node["Node Type"] for node in of_rows} <= {"Index Scan", "Index Only Scan", "Bitmap Heap Scan"}
    assert sum(node["Actual Rows"] * node["Actual Loops"] for node in of_rows) <= 2 * MARKS + len(kept)
    assert sum(node.get("Rows Removed by Filter", 0) for node in of_rows) == 0


async def _ids(place: Installation, table: str) -> list[tuple[object]]:
    connection = await asyncpg.connect(place.admin_dsn)
    try:
        found = await connection.fetch(
            f"select id from hermes_memory.{table} where agent_identity = $1 and subject = '' limit 5", MARKETING
        )
        return [(row["id"],) for row in found]
    finally:
        await connection.close()
