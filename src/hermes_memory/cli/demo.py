"""`demo`: see agents and contacts remember, through a crash."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from hermes_memory.cli.common import json_option, print_json
from hermes_memory.cli.exits import DONE, ERROR


def register(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser("demo", help="see three agents and two contacts remember, through a crash")
    json_option(parser)
    parser.add_argument("--keep", type=Path, metavar="DIR", help="use this new directory as the home, and keep it")
    parser.add_argument("--interactive", action="store_true", help="afterwards, ask questions of your own")
    parser.set_defaults(carry_out=carry_out)


def carry_out(given: argparse.Namespace) -> int:
    """Tell the story. 1: a promise was not kept; 64: the directory is in use."""
    # What the story needs takes a while to load, and the host imports this module at every start.
    from hermes_memory.demo.play import play  # noqa: PLC0415
    from hermes_memory.demo.terminal import Terminal  # noqa: PLC0415

    # A document on the standard output leaves no room for a story: who asks for both gets it beside the document.
    terminal = Terminal(sys.stderr if given.as_json and given.interactive else None if given.as_json else sys.stdout)
    report = play(terminal, keep=given.keep, interactive=given.interactive)
    if given.as_json:
        print_json(report.as_document())
    return DONE if report.kept else ERROR
