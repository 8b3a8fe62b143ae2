"""`remap`: move everything of one theme into another."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from hermes_memory.cli.maintenance import maintained, maintaining_options
from hermes_memory.domain.maintenance import Remap, theme_to_move


def register(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser(
        "remap", help="move everything of a theme into another; shows what it would do unless told to --execute"
    )
    parser.add_argument("source", metavar="FROM", help="the theme as it is called now")
    parser.add_argument("target", metavar="TO", help="the theme it becomes part of, which may be there already")
    parser.add_argument(
        "--with-grants",
        action="store_true",
        help="let grants of FROM be grants of TO, whose own memories they open too",
    )
    maintaining_options(parser)
    parser.set_defaults(carry_out=carry_out)


def carry_out(given: argparse.Namespace) -> int:
    """Move. 3: it was not told to execute and there is something to move, or something is left or came in."""
    remap = Remap(
        source=theme_to_move(given.source, "from"), target=theme_to_move(given.target, "to"), grants=given.with_grants
    )
    code = maintained(given, remap, "moved", back="What is one with a memory of TO afterwards cannot be told apart.")
    if (given.source, given.target) != (remap.source, remap.target):
        print(f"the themes are spelt {remap.source!r} and {remap.target!r}", file=sys.stderr)
    return code
