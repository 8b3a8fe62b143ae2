"""What the commands of all benchmarks share."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from benchmarks.kit.report import RESULTS, save

ADMIN_DSN: Final = "HERMES_MEMORY_BENCH_DSN"

Measure = Callable[[argparse.Namespace], tuple[dict[str, Any], str]]


def command(names: Any, name: str, measure: Measure, summary: str) -> argparse.ArgumentParser:
    """Add a benchmark; `measure` returns all results, and as a page what readers see."""
    parser: argparse.ArgumentParser = names.add_parser(name, help=summary)
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="DIRECTORY", help="where the results go")
    parser.epilog = f"{ADMIN_DSN} names the server to use, by a superuser's connection URL; else one is started."
    parser.set_defaults(measure=measure)
    return parser


def admin_dsn() -> str | None:
    """Return the connection URL of the server to use, None when one is to be started."""
    return os.environ.get(ADMIN_DSN) or None


def say(text: str) -> None:
    """Tell whoever waits how far it is."""
    print(text, file=sys.stderr, flush=True)


def carry_out(given: argparse.Namespace) -> None:
    """Measure, save and show."""
    results, page = given.measure(given)
    raw, _ = save(given.name, results, page, given.results)
    print(page)
    say(f"\nAll figures: {raw.name}")
