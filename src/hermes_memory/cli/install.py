"""`install`: let the Hermes host find the memory."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from hermes_memory.cli.common import home_option, json_option, print_json
from hermes_memory.cli.exits import DONE, ERROR
from hermes_memory.hermes import install as shim
from hermes_memory.settings import default_home


def register(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser("install", help="let the Hermes host find this memory (or --remove it)")
    home_option(parser)
    json_option(parser)
    parser.add_argument("--remove", action="store_true", help="take shim and preload out again")
    parser.add_argument("--force", action="store_true", help="replace or remove a directory that is not ours")
    parser.set_defaults(carry_out=carry_out)


def carry_out(given: argparse.Namespace) -> int:
    """Write or remove the shim directory."""
    home = given.hermes_home or default_home()
    if given.remove:
        removal = shim.remove(home, force=given.force)
        print_json(removal) if given.as_json else print(_removal_line(removal))
        return DONE
    result = shim.install(home, force=given.force)
    if given.as_json:
        print_json(result)
    else:
        _print_result(result)
    return DONE if result.verified else ERROR


def _removal_line(removal: shim.RemovalResult) -> str:
    if not removal.removed:
        return f"nothing to remove at {removal.path}"
    return "\n".join((f"removed {removal.path}, and the preload", *map(_aside_line, removal.set_aside)))


def _aside_line(place: Path) -> str:
    return f"what was not ours is now {place}"


def _print_result(result: shim.InstallResult) -> None:
    print(f"wrote {result.path}" if result.changed else f"{result.path} is as it should be")
    for place in result.set_aside:
        print(_aside_line(place))
    for problem in result.problems:
        print(f"problem: {problem}")
    if result.verified:
        print("a fresh interpreter loads it. Now activate it:\n  hermes config set memory.provider hermes-memory")
