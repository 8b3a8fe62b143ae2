"""`embedding`: how fast rows get their vectors, and how long the parts of a text are best."""

from __future__ import annotations

import argparse
import asyncio
from typing import Any

from benchmarks.embedding.run import PARTS, Plan, page, run
from benchmarks.kit.command import admin_dsn, command, say


def register(names: Any) -> None:
    """Add the benchmark."""
    parser = command(names, "embedding", _measure, "the embed stage, and the length of the parts of a text")
    parser.add_argument("--only", action="append", choices=PARTS, help="measure this part; may be repeated")
    parser.add_argument("--rows", type=int, default=Plan.rows, help="rows at each latency; default: %(default)s")
    parser.add_argument(
        "--latency", type=int, nargs="+", default=Plan.latencies, metavar="MS", help="of the endpoint, in milliseconds"
    )
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=Plan.sizes, metavar="TOKENS", help="lengths of a part, in tokens"
    )


def _measure(given: argparse.Namespace) -> tuple[dict[str, Any], str]:
    plan = Plan(
        rows=given.rows, latencies=tuple(given.latency), sizes=tuple(given.sizes), parts=tuple(given.only or PARTS)
    )
    results = asyncio.run(run(plan, admin_dsn=admin_dsn(), say=say))
    return results, page(results)
