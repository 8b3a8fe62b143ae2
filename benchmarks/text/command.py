"""`text`: what the text leg costs by the size of a theme, and how close it comes to exact BM25."""

from __future__ import annotations

import argparse
import asyncio
import json
from typing import Any

from benchmarks.kit.command import admin_dsn, command, say
from benchmarks.text.run import Plan, merged, page, run


def register(names: Any) -> None:
    """Add the benchmark. Sizes that a run does not measure stay in the results as they were."""
    parser = command(names, "text", _measure, "the text leg at size, before and after folding, and GIN beside it")
    parser.add_argument(
        "--rows", type=int, nargs="+", default=Plan.rows, help="sizes of the corpora; default: %(default)s"
    )
    parser.add_argument("--questions", type=int, default=Plan.questions, help="a theme; default: %(default)s")
    parser.add_argument("--no-gin", action="store_true", help="leave out the plain form")


def _measure(given: argparse.Namespace) -> tuple[dict[str, Any], str]:
    plan = Plan(rows=tuple(given.rows), questions=given.questions, gin=not given.no_gin)
    results = asyncio.run(run(plan, admin_dsn=admin_dsn(), say=say))
    earlier = given.results / f"{given.name}.json"
    if earlier.exists():
        results = merged(results, json.loads(earlier.read_text(encoding="utf-8")))
    return results, page(results)
