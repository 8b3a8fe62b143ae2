"""`backfill`: let rows without a vector wait for one again."""

from __future__ import annotations

import argparse
from typing import Any

from hermes_memory.cli.maintenance import maintained, maintaining_options
from hermes_memory.domain.maintenance import Backfill


def register(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser(
        "backfill",
        help="let rows without a vector wait for one again; shows what it would do unless told to --execute",
    )
    parser.add_argument(
        "--retry-parked",
        action="store_true",
        help="also rows that the embedder refused, once it was mended",
    )
    maintaining_options(parser)
    parser.set_defaults(carry_out=carry_out)


def carry_out(given: argparse.Namespace) -> int:
    """Queue. 3: it was not told to execute and there are such rows, or some are left."""
    chore = Backfill(retry_parked=given.retry_parked)
    return maintained(given, chore, "queued", back="Agents and workers that run embed them.")
