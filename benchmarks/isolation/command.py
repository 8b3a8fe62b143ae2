"""`isolation`: what the wall, stamping, redaction and history cost."""

from __future__ import annotations

import argparse
import asyncio
from typing import Any

from benchmarks.isolation.run import Plan, page, run
from benchmarks.kit.command import admin_dsn, command, say


def register(names: Any) -> None:
    """Add the benchmark."""
    parser = command(names, "isolation", _measure, "what the wall, stamping, redaction and history cost")
    parser.add_argument("--rows", type=int, default=Plan.rows, help="entries of each theme; default: %(default)s")
    parser.add_argument("--erased", type=int, default=Plan.erased, help="turns of who is erased; default: %(default)s")
    parser.add_argument("--rounds", type=int, default=Plan.rounds, help="of each side, in turn; default: %(default)s")


def _measure(given: argparse.Namespace) -> tuple[dict[str, Any], str]:
    plan = Plan(rows=given.rows, rounds=given.rounds, erased=given.erased)
    results = asyncio.run(run(plan, admin_dsn=admin_dsn(), say=say))
    return results, page(results)
