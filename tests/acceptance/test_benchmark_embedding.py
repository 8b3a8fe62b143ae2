"""The embedding benchmark runs as a whole, small. What it measures here says nothing."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from benchmarks.embedding.run import Plan, page, run

from tests.support.postgres import TestServer


@pytest.mark.timeout(300)
async def test_a_tiny_run_measures_both_parts_and_leaves_nothing_behind(
    server: TestServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    plan = Plan(rows=20, latencies=(0,), sizes=(256,))

    results = await run(plan, admin_dsn=server.superuser_dsn, say=lambda _: None)

    (rates,), (ranks,) = results["throughput"], results["sizes"]
    assert rates["whole_per_second"] > 0
    assert rates["stage_per_second"] > 0
    assert ranks["median"] <= ranks["worst"]
    assert "| 256 |" in page(results)
    assert list(tmp_path.iterdir()) == []
