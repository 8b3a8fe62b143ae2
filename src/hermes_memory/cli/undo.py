"""`undo`: take the last change of a memory back."""

from __future__ import annotations

import argparse
import time
from typing import Any

import anyio

from hermes_memory.application.memory import Memory
from hermes_memory.application.undo import Decided, last_change
from hermes_memory.cli.common import home_option, json_option, print_json, settings_for, with_memory
from hermes_memory.cli.exits import DONE, WORK_REMAINS
from hermes_memory.cli.history import caller_of, id_named, line, payload, whose_options
from hermes_memory.domain.history import Change
from hermes_memory.domain.model import Entry, Origin

LOOK_SECONDS = 30.0


def register(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser("undo", help="take a memory's last change back; shows it unless told to --execute")
    home_option(parser)
    json_option(parser)
    whose_options(parser)
    parser.add_argument("name", metavar="ENTRY|OPERATION", help="the memory, or the write that changed it last")
    parser.add_argument("--reason", help="why, for the history")
    parser.add_argument("--execute", action="store_true", help="do it")
    parser.set_defaults(carry_out=carry_out)


def carry_out(given: argparse.Namespace) -> int:
    """Show the change, and with --execute take it back. 3: it was not told to.

    What was the last change when the command began is meant: who does the same at once may be quicker.
    """
    began = time.monotonic()
    settings = settings_for(given)
    caller, name = caller_of(given, settings), id_named(given.name)

    async def work(memory: Memory) -> tuple[Change, Entry | None]:
        view = memory.view_of(caller)
        decided = await _decided(memory, time.monotonic() - began) if given.execute else None
        change, _ = await last_change(memory.services.past, caller, name, timeout=LOOK_SECONDS, decided=decided)
        if not given.execute:
            return change, None
        return change, await view.undo(name, left_by=change.operation, reason=given.reason, origin=Origin.OPERATOR)

    change, entry = with_memory(settings, work)
    if given.as_json:
        print_json({"executed": given.execute, "change": payload(change), "entry": entry})
    elif not given.execute:
        print(f"would take back: {line(change)}")
        print("To do it: the same with --execute. Another `undo` of it takes that back.")
    else:
        print(f"took back: {line(change)}")
        print(f"it stands as {entry.id}" if entry else "it is forgotten")
    return DONE if given.execute else WORK_REMAINS


async def _decided(memory: Memory, ago: float) -> Decided:
    """Return that it was decided these seconds ago, when the command began."""
    began = anyio.current_time() - ago
    own = await memory.services.spool.retractions()
    return Decided(at=await memory.services.past.moment(began, timeout=LOOK_SECONDS), own=own)
