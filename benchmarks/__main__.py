"""The one runner: `python -m benchmarks NAME`. Results go to benchmarks/results, as JSON and as a Markdown table."""

from __future__ import annotations

import argparse
import signal
import sys
from types import FrameType
from typing import Final

import benchmarks.embedding.command
import benchmarks.filtered.command
import benchmarks.isolation.command
import benchmarks.latency.command
import benchmarks.recall.command
import benchmarks.text.command
import benchmarks.writes.command
from benchmarks.kit.command import carry_out

BENCHMARKS: Final = (
    benchmarks.writes.command,
    benchmarks.embedding.command,
    benchmarks.recall.command,
    benchmarks.text.command,
    benchmarks.filtered.command,
    benchmarks.latency.command,
    benchmarks.isolation.command,
)


def main() -> int:
    """Run the named benchmark and save its results."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    names = parser.add_subparsers(dest="name", required=True)
    for benchmark in BENCHMARKS:
        benchmark.register(names)
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, _leave)  # so that everything is cleaned up
    carry_out(given)
    return 0


def _leave(_: int, __: FrameType | None) -> None:
    sys.exit(143)


if __name__ == "__main__":
    sys.exit(main())
