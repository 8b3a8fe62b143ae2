"""`prune`: remove what was said long ago."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from typing import Any

from hermes_memory.cli.common import days
from hermes_memory.cli.maintenance import maintained, maintaining_options
from hermes_memory.domain.maintenance import LONGEST_DAYS, Prune, days_before, theme_named
from hermes_memory.domain.model import Origin


def register(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser(
        "prune",
        help="remove turns said long ago, never durable memories; shows what it would do unless told to --execute",
    )
    parser.add_argument(
        "--older-than",
        metavar="DAYS",
        type=days(LONGEST_DAYS),
        required=True,
        help="turns said longer ago than so many days",
    )
    parser.add_argument("--theme", metavar="NAME", help="of this theme alone")
    parser.add_argument("--origin", choices=[origin.value for origin in Origin], help="written by this alone")
    maintaining_options(parser)
    parser.set_defaults(carry_out=carry_out)


def carry_out(given: argparse.Namespace) -> int:
    """Prune. 3: it was not told to execute and there is something to prune, or something is left."""
    prune = Prune(
        before=days_before(datetime.now(UTC), given.older_than, field="older_than"),
        theme=theme_named(given.theme),
        origin=None if given.origin is None else Origin(given.origin),
    )
    return maintained(given, prune, "pruned", back="There is no way back.")
