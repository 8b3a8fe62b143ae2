"""`profile`: list what is remembered of a theme for good, most recently changed first."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from hermes_memory.application.memory import Memory
from hermes_memory.cli.common import home_option, json_option, print_json, settings_for, whole_number, with_memory
from hermes_memory.cli.exits import DONE
from hermes_memory.cli.history import whose_options
from hermes_memory.cli.search import asker_of, row_line, target_named
from hermes_memory.domain.model import Entry
from hermes_memory.domain.rendering import entry_payload


def register(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser("profile", help="list the durable memories of a theme, last changed first")
    home_option(parser)
    json_option(parser)
    whose_options(parser)
    parser.add_argument("--target", type=target_named, help="only entries of this target: memory or user")
    parser.add_argument(
        "--scope", default="current", help="current, subject, all, or the name of a theme; default: %(default)s"
    )
    parser.add_argument(
        "--limit",
        type=whole_number(1, 1000),
        default=50,
        metavar="N",
        help="most entries, 1 to 1,000; default: %(default)s",
    )
    parser.set_defaults(carry_out=carry_out)


def carry_out(given: argparse.Namespace) -> int:
    """Print the entries, each with the id by which `forget`, `history` and `undo` take it."""
    settings = settings_for(given)
    caller = asker_of(given, settings)

    async def work(memory: Memory) -> Sequence[Entry]:
        return await memory.view_of(caller).profile(target=given.target, scope=given.scope, limit=given.limit)

    entries = with_memory(settings, work)
    if given.as_json:
        print_json({"entries": [entry_payload(entry, caller=caller) for entry in entries]})
        return DONE
    for entry in entries:
        print(f"{entry.id}  {row_line(entry)}")
    if not entries:
        print("nothing")
    return DONE
