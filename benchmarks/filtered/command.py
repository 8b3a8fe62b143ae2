"""`filtered`: what the vector leg finds in themes of every size, and what it costs."""

from __future__ import annotations

import argparse
import asyncio
from typing import Any

from benchmarks.filtered.plan import QUICK, Plan
from benchmarks.filtered.run import page, run
from benchmarks.kit.command import admin_dsn, command, say


def register(names: Any) -> None:
    """Add the benchmark."""
    parser = command(names, "filtered", _measure, "what the vector leg finds in themes of every size")
    parser.add_argument("--rows", type=int, default=None, help="in all; default: 100000")
    parser.add_argument("--quick", action="store_true", help="20,000 rows and fewer questions")
    parser.add_argument("--no-peer", action="store_true", help="measure ours only, and install nothing")


def _measure(given: argparse.Namespace) -> tuple[dict[str, Any], str]:
    whole = Plan(rows=given.rows) if given.rows else Plan()
    plan = QUICK if given.quick else whole
    results = asyncio.run(run(plan, admin_dsn=admin_dsn(), with_peer=not given.no_peer, say=say))
    if plan.rows != Plan().rows:
        given.name = f"filtered-{plan.rows}"
    return results, page(results)
