"""`cleanup`: remove what nothing refers to any more."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from typing import Any

from hermes_memory.cli.common import days, number
from hermes_memory.cli.maintenance import maintained, maintaining_options
from hermes_memory.domain.maintenance import INBOX_DAYS, LONGEST_DAYS, SHORTEST_INBOX_DAYS, Cleanup, days_before


def register(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser(
        "cleanup", help="remove what nothing refers to any more; shows what it would do unless told to --execute"
    )
    parser.add_argument(
        "--inbox-days",
        metavar="DAYS",
        type=number(SHORTEST_INBOX_DAYS, LONGEST_DAYS, of=" of days"),
        default=f"{INBOX_DAYS:g}",
        help="how long to know which writes were delivered: a home that was away for less stores none of its own "
        "twice; default: %(default)s",
    )
    parser.add_argument(
        "--log-days",
        metavar="DAYS",
        type=days(LONGEST_DAYS),
        help="remove what the log of maintenance noted longer ago; default: all stays",
    )
    maintaining_options(parser)
    parser.set_defaults(carry_out=carry_out)


def carry_out(given: argparse.Namespace) -> int:
    """Clean up. 3: it was not told to execute and there is something to remove, or something is left."""
    now = datetime.now(UTC)
    inbox, log = given.inbox_days, given.log_days
    cleanup = Cleanup(
        operations_before=days_before(now, inbox, least=SHORTEST_INBOX_DAYS, field="inbox_days"),
        log_before=None if log is None else days_before(now, log, field="log_days"),
    )
    return maintained(given, cleanup, "cleaned up", back="Nothing of it is a memory.")
