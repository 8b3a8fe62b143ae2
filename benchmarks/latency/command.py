"""`latency`: how long an answer takes, from the question in words to the memories."""

from __future__ import annotations

import argparse
import asyncio
from typing import Any

from benchmarks.kit.command import admin_dsn, command, say
from benchmarks.latency.plan import QUICK, Plan
from benchmarks.latency.run import page, run


def register(names: Any) -> None:
    """Add the benchmark."""
    parser = command(names, "latency", _measure, "how long an answer takes, from the question in words")
    parser.add_argument("--rows", type=int, action="append", help="may be repeated; default: 6000 and 100000")
    parser.add_argument("--quick", action="store_true", help="6,000 rows and fewer questions")
    parser.add_argument("--no-peer", action="store_true", help="measure ours only, and install nothing")


def _measure(given: argparse.Namespace) -> tuple[dict[str, Any], str]:
    whole = Plan(sizes=tuple(given.rows)) if given.rows else Plan()
    results = asyncio.run(
        run(QUICK if given.quick else whole, admin_dsn=admin_dsn(), with_peer=not given.no_peer, say=say)
    )
    return results, page(results)
