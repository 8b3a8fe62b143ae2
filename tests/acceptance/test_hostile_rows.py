"""Rows that nobody should have stored: recall shows them or passes them over, and goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_memory import Settings, open_memory
from tests.support.inspection import rows
from tests.support.postgres_store import Installation

FAR = "update hermes_memory.{table} set {column} = '{moment}' where content like 'Far%'"


@pytest.mark.parametrize("moment", ["infinity", "-infinity"])
async def test_a_row_of_an_endless_time_spoils_no_answer(served: Path, database: Installation, moment: str) -> None:
    async with open_memory(Settings()) as memory:
        view = memory.view("marketing", session="s1")
        await view.remember("Far away lies the kestrel rock")
        await view.remember("Near by lies the kestrel barn")
        await view.capture_turn("Far away it is said that kestrels nest")
        assert await memory.settled(timeout=60)
        for table, column in (("memory_entries", "said_at"), ("conversations", "ts")):
            await rows(database.admin_dsn, FAR.format(table=table, column=column, moment=moment))
        found = await view.recall("kestrel", limit=10)
        listed = await view.profile()

        assert len(found.hits) == 3
        assert len(listed) == 2
        assert (await view.get(found.hits[0].row.id)).content == found.hits[0].row.content
