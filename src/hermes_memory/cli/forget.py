"""`forget`: let memories not be found any more. They can be brought back, until their time is over; turns cannot."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from hermes_memory.application.memory import Memory
from hermes_memory.cli.common import FROM_INPUT, home_option, json_option, print_json, settings_for, with_memory
from hermes_memory.cli.exits import DONE, WORK_REMAINS
from hermes_memory.cli.history import caller_of, whose_options
from hermes_memory.cli.search import row_line
from hermes_memory.domain.errors import InvalidInput, NotVisible
from hermes_memory.domain.model import Caller, Entry, Origin, Row, RowId, Turn
from hermes_memory.domain.rendering import row_payload
from hermes_memory.domain.visibility import changeable

LOOK_SECONDS: Final = 60.0
NOTHING: Final = "there is no such memory, or it is not this theme's to forget"
SAID: Final = "What was said in a conversation is forgotten for good: `hermes-memory undo` does not bring it back."
MIRRORS: Final = "it mirrors a home's notebook: take it out of that file too, or it comes back if it is everybody's"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    """What was meant, and the ids of what is forgotten now."""

    meant: Sequence[Row]
    forgotten: Sequence[RowId]


def register(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser("forget", help="forget memories by id or text; shows them unless told to --execute")
    home_option(parser)
    json_option(parser)
    whose_options(parser)
    parser.add_argument(
        "name",
        metavar="ID|TEXT",
        help="the id of an entry or a turn, or an entry's whole text; - reads the text from standard input",
    )
    parser.add_argument("--text", action="store_true", help="it is a text, also where it looks like an id")
    parser.add_argument("--execute", action="store_true", help="do it")
    parser.set_defaults(carry_out=carry_out)


def carry_out(given: argparse.Namespace) -> int:
    """Show what is meant, and with --execute forget it. 1: there is no such memory; 3: it was not told to."""
    settings = settings_for(given)
    caller, entry, text = caller_of(given, settings), *_named(given)

    async def work(memory: Memory) -> _Told:
        meant = await (_of_id(memory, caller, entry) if entry else _of_text(memory, caller, text))
        return _Told(meant=meant, forgotten=await forget_each(memory, caller, meant) if given.execute else ())

    told = with_memory(settings, work)
    if given.as_json:
        entries = [row_payload(each, caller=caller) for each in told.meant]
        print_json({"executed": given.execute, "entries": entries, "forgotten": told.forgotten})
    else:
        _print(told, executed=given.execute)
    return DONE if given.execute else WORK_REMAINS


def _print(told: _Told, *, executed: bool) -> None:
    for row in told.meant:
        did = "would forget" if not executed else "forgot" if row.id in told.forgotten else "was forgotten already:"
        print(f"{did} {row.id}  {row_line(row)}")
        if isinstance(row, Entry) and row.source is not None:
            print(f"note: {MIRRORS}")
    if any(isinstance(row, Turn) for row in told.meant):
        print(SAID if executed else f"To do it: the same with --execute. {SAID}")
    elif executed:
        print("`hermes-memory undo ENTRY --execute` brings it back.")
    else:
        print("To do it: the same with --execute. `hermes-memory undo` takes it back.")


def _named(given: argparse.Namespace) -> tuple[RowId | None, str]:
    """Return the id, or None and the text.

    Raises:
        InvalidInput: Standard input has no text.
    """
    if given.name == FROM_INPUT:
        if not (text := sys.stdin.read().rstrip("\r\n")).strip():
            raise InvalidInput("standard input has no text: name a memory by its id or its whole text", field="name")
        return None, text
    try:
        return (None if given.text else RowId(UUID(given.name))), given.name
    except ValueError:
        return None, given.name


async def _of_id(memory: Memory, caller: Caller, named: RowId) -> Sequence[Row]:
    row = await memory.view_of(caller).get(named, timeout=LOOK_SECONDS)
    if not changeable(row.theme, row.subject, caller):
        raise NotVisible(NOTHING)
    return [row]


async def _of_text(memory: Memory, caller: Caller, text: str) -> Sequence[Entry]:
    """Return the entries of exactly this text, in the form in which texts are stored."""
    services = memory.services
    sought = services.acceptor.preparing.sought(text)
    meant = await services.reader.with_content(caller, sought, timeout=LOOK_SECONDS)
    if not meant:
        raise NotVisible(NOTHING)
    return meant


async def forget_each(memory: Memory, caller: Caller, meant: Sequence[Row]) -> Sequence[RowId]:
    """Forget them one by one; return the ids, without what somebody else forgot meanwhile.

    Raises:
        StoreUnavailable, DeadlineExceeded, SpoolFull, DeliveryRejected: As for `View.forget`.
    """
    view, forgotten = memory.view_of(caller), []
    for row in meant:
        try:
            await view.forget(row.id, origin=Origin.OPERATOR)
        except NotVisible:
            continue
        forgotten.append(row.id)
    return forgotten
