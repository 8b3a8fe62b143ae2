"""The write benchmark runs as a whole, small and without the peer. What it measures here says nothing."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import asyncpg
import pytest
from benchmarks.kit.report import save
from benchmarks.writes.plan import SMOKE
from benchmarks.writes.run import page, run

from tests.support.postgres import TestServer


@pytest.mark.timeout(300)
async def test_a_tiny_run_measures_every_part_loses_nothing_and_leaves_nothing_behind(
    server: TestServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = await _databases(server)

    results = await run(SMOKE, admin_dsn=server.superuser_dsn, with_peer=False, say=lambda _: None)
    raw, table = save("writes", results, page(results), tmp_path / "results")

    assert results["problems"] == []
    assert json.loads(raw.read_text())["accept"]["summary"].keys() >= {
        "ours FULL, in a row",
        "ours NORMAL, now and then",
    }
    assert [run["embedded_rows"] for run in results["throughput"]["runs"]] == [2 * SMOKE.waiting]
    assert [(run["lost_rows"], run["doubled_rows"]) for run in results["burst"]["runs"]] == [(0, 0), (0, 0)]
    assert results["backlog"]["runs"][0]["seconds"] is not None
    assert results["footprint"]["runs"][0]["opened"] == SMOKE.sessions[0]
    assert str(tmp_path) not in table.read_text() + raw.read_text()
    assert await _databases(server) == before
    assert [path.name for path in tmp_path.iterdir()] == ["results"]


async def _databases(server: TestServer) -> set[str]:
    connection = await asyncpg.connect(server.superuser_dsn, timeout=30)
    try:
        return {record["datname"] for record in await connection.fetch("select datname from pg_database")}
    finally:
        await connection.close()
