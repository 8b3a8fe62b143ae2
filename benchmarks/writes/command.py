"""`writes`: the write path beside the peer's."""

from __future__ import annotations

import argparse
import asyncio
from typing import Any

from benchmarks.kit.command import admin_dsn, command, say
from benchmarks.writes.plan import QUICK, WHOLE
from benchmarks.writes.run import PARTS, page, run


def register(names: Any) -> None:
    """Add the benchmark."""
    parser = command(names, "writes", _measure, "the write path beside the peer's")
    parser.add_argument("--quick", action="store_true", help="in 90 seconds instead of ten minutes, and coarser")
    parser.add_argument("--no-peer", action="store_true", help="measure ours only, and install nothing")
    parser.add_argument("--only", action="append", choices=list(PARTS), help="measure this part; may be repeated")


def _measure(given: argparse.Namespace) -> tuple[dict[str, Any], str]:
    results = asyncio.run(
        run(
            QUICK if given.quick else WHOLE,
            admin_dsn=admin_dsn(),
            with_peer=not given.no_peer,
            parts=tuple(given.only or PARTS),
            say=say,
        )
    )
    return results, page(results)
