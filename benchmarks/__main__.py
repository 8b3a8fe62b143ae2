"""The one runner: `python -m benchmarks NAME`. Results go to benchmarks/results, as JSON and as a Markdown table."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from pathlib import Path
from types import FrameType

from benchmarks.kit.report import RESULTS, save
from benchmarks.writes.plan import QUICK, WHOLE
from benchmarks.writes.run import PARTS, page, run

ADMIN_DSN = "HERMES_MEMORY_BENCH_DSN"


def main() -> int:
    """Run the named benchmark and save its results."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    names = parser.add_subparsers(dest="name", required=True)
    writes = names.add_parser("writes", help="the write path beside the peer's")
    writes.add_argument("--quick", action="store_true", help="in 90 seconds instead of ten minutes, and coarser")
    writes.add_argument("--no-peer", action="store_true", help="measure ours only, and install nothing")
    writes.add_argument("--only", action="append", choices=list(PARTS), help="measure this part; may be repeated")
    writes.add_argument("--results", type=Path, default=RESULTS, metavar="DIRECTORY", help="where the results go")
    writes.epilog = f"{ADMIN_DSN} names the server to use, by a superuser's connection URL; else one is started."
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, _leave)  # so that everything is cleaned up
    results = asyncio.run(
        run(
            QUICK if given.quick else WHOLE,
            admin_dsn=os.environ.get(ADMIN_DSN) or None,
            with_peer=not given.no_peer,
            parts=tuple(given.only or PARTS),
            say=lambda text: print(text, file=sys.stderr, flush=True),
        )
    )
    markdown = page(results)
    raw, _ = save(given.name, results, markdown, given.results)
    print(markdown)
    print(f"\nAll figures: {raw.name}", file=sys.stderr)
    return 0


def _leave(_: int, __: FrameType | None) -> None:
    sys.exit(143)


if __name__ == "__main__":
    sys.exit(main())
