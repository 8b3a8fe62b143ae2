"""The benchmark of isolation runs as a whole, small. What it measures here says nothing."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from benchmarks.isolation import erasing
from benchmarks.isolation.run import SMOKE, page, run

from tests.support.postgres import TestServer


async def test_the_cost_of_isolation_is_measured_with_and_without_it(
    server: TestServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(erasing, "QUIET_SECONDS", 0.5)

    results = await run(SMOKE, admin_dsn=server.superuser_dsn, say=lambda _: None)

    assert all(spent > 0 for spent in results["figures"].values())
    assert "| vector, by person, ms |" in page(results)
    assert "| 100 turns of a person erased, s |" in page(results)
    assert "| 100 writes delivered, ms |" in page(results)
    assert list(tmp_path.iterdir()) == []
