"""The benchmarks of searching run as a whole, small and without the peer. What they measure here says nothing."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import benchmarks.filtered.plan
import benchmarks.latency.plan
import pytest
from benchmarks.filtered.run import page as filtered_page
from benchmarks.filtered.run import run as run_filtered
from benchmarks.kit.report import save
from benchmarks.latency.run import page as latency_page
from benchmarks.latency.run import run as run_latency

from tests.support.postgres import TestServer


@pytest.mark.timeout(300)
async def test_a_tiny_memory_is_found_whole_before_and_after_it_changes(
    server: TestServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    results = await run_filtered(
        benchmarks.filtered.plan.SMOKE, admin_dsn=server.superuser_dsn, with_peer=False, say=lambda _: None
    )
    raw, table = save("filtered", results, filtered_page(results), tmp_path / "results")

    for state in ("before", "after"):
        assert [one["fewer"] for one in results[state]] == [0] * 12
        assert [one["recall_near"] for one in results[state]] == [1.0] * 12
    assert json.loads(raw.read_text())["plan"]["rows"] == benchmarks.filtered.plan.SMOKE.rows
    assert "| theme of 0.01 % | 1 | 1.000 |" in table.read_text()
    assert str(tmp_path) not in table.read_text() + raw.read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["results"]


@pytest.mark.timeout(300)
async def test_a_few_questions_are_answered_in_each_of_three_ways(
    server: TestServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    plan = benchmarks.latency.plan.SMOKE

    results = await run_latency(plan, admin_dsn=server.superuser_dsn, with_peer=False, say=lambda _: None)

    (size,) = results["sizes"]
    assert set(size["found"]) == {"ours, recall", "ours, tool", "ours, prefetch"}
    assert {one["questions"] for one in size["found"].values()} == {plan.questions * plan.rounds}
    assert size["found"]["ours, recall"]["answered"] == plan.questions
    assert "`recall` of the library: p50, ms" in latency_page(results)
    assert list(tmp_path.iterdir()) == []
