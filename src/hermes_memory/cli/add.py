"""`add`: store one memory."""

from __future__ import annotations

import argparse
from typing import Any, Final

import anyio

from hermes_memory.application.memory import Memory
from hermes_memory.bootstrap.home import open_local_half
from hermes_memory.cli.common import home_option, json_option, print_json, settings_for, with_memory
from hermes_memory.cli.exits import DONE
from hermes_memory.cli.history import caller_of, whose_options
from hermes_memory.cli.search import target_named
from hermes_memory.domain.errors import InvalidInput, StoreUnavailable
from hermes_memory.domain.model import Caller, Entry, Origin, Target
from hermes_memory.settings import Settings

EMBED_SECONDS: Final = 15.0
"""For the vector, where one can come."""
LOOK_SECONDS: Final = 0.5
"""Between looks whether one still can."""


def register(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser("add", help="store one memory")
    home_option(parser)
    json_option(parser)
    whose_options(parser)
    parser.add_argument("content", help="what to remember")
    parser.add_argument(
        "--target", type=target_named, default=Target.MEMORY, help="memory or user; default: %(default)s"
    )
    parser.add_argument("--metadata", action="append", default=[], metavar="KEY=VALUE", help="may be repeated")
    parser.add_argument(
        "--sync", action="store_true", help="wait until the database has it, and up to 15 seconds for its vector"
    )
    parser.set_defaults(carry_out=carry_out, makes_home=True)


def carry_out(given: argparse.Namespace) -> int:
    """Accept the memory, and with --sync wait for its commit, and briefly for its vector."""
    metadata, settings = dict(map(_pair, given.metadata)), settings_for(given)
    caller = caller_of(given, settings)
    if given.sync:
        return _store(given, settings, caller, metadata)
    local = open_local_half(settings)
    try:
        operation = local.acceptor.add(
            caller,
            given.content,
            target=given.target,
            origin=Origin.OPERATOR,
            metadata=metadata,
        )
    finally:
        local.spool.close()
    key = str(operation.stamp.operation)
    if given.as_json:
        print_json({"accepted": True, "operation": key})
    else:
        print(f"accepted {key}: a running agent, or any verb that opens the database, delivers it")
    return DONE


def _store(given: argparse.Namespace, settings: Settings, caller: Caller, metadata: dict[str, str]) -> int:
    async def work(memory: Memory) -> tuple[Entry, str | None]:
        view = memory.view_of(caller)
        entry = await view.remember(given.content, target=given.target, metadata=metadata, origin=Origin.OPERATOR)
        return entry, await _no_vector(memory)

    entry, no_vector = with_memory(settings, work)
    if given.as_json:
        print_json({"stored": True, "entry": entry, "no_vector": no_vector})
        return DONE
    print(f"stored {entry.id} for {entry.theme}")
    if no_vector:
        print(f"it is found by its words alone for now: {no_vector}")
    return DONE


async def _no_vector(memory: Memory) -> str | None:
    """Wait for the vector of what was stored, since no agent may be running that makes it; or say why none comes."""
    until = anyio.current_time() + EMBED_SECONDS
    try:
        while (problem := await memory.services.status.embedder_problem()) is None:
            if await memory.settled(timeout=LOOK_SECONDS):
                return None
            if anyio.current_time() >= until:
                return f"its vector was not made within {EMBED_SECONDS:,.0f} seconds"
    except StoreUnavailable as error:
        return str(error)
    return problem


def _pair(text: str) -> tuple[str, str]:
    key, separator, value = text.partition("=")
    if not separator or not key.strip():
        raise InvalidInput(f"--metadata takes KEY=VALUE, not {text!r}", field="metadata")
    return key.strip(), value
