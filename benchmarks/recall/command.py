"""`recall`: what is found among notes and agents' sessions in six languages."""

from __future__ import annotations

import argparse
from typing import Any

from benchmarks.kit.command import command
from benchmarks.recall.run import page, run


def register(names: Any) -> None:
    """Add the benchmark."""
    parser = command(names, "recall", _measure, "what recall finds, on a corpus of notes and sessions")
    parser.epilog = None  # it measures a home as it is installed, so it starts a server of its own
    embedders = ["local", "quality", "none"]
    parser.add_argument("--embedder", choices=embedders, default="local", help="default: %(default)s")


def _measure(given: argparse.Namespace) -> tuple[dict[str, Any], str]:
    results = run(given.embedder)
    if given.embedder != "local":
        given.name = f"recall-{given.embedder}"
    return results, page(results)
