"""`completion`: print what lets a shell complete the command's verbs, options, choices and files."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from hermes_memory.cli.common import json_option, print_json
from hermes_memory.cli.exits import DONE

SHELLS: Final = ("bash", "zsh", "fish")
_FILES: Final = frozenset({"FILE", "HOME"})
"""What an argument is called that takes a file or a directory, `-` or something else of its own."""


def register(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser("completion", help="print the completion of this command for a shell")
    json_option(parser)
    parser.add_argument("shell", choices=SHELLS, help=f"the shell: {', '.join(SHELLS)}")
    parser.set_defaults(carry_out=carry_out)


def carry_out(given: argparse.Namespace) -> int:
    """Print the script."""
    script = completion_script(given.whole_command(), given.shell)
    if given.as_json:
        print_json({"shell": given.shell, "script": script})
    else:
        print(script)
    return DONE


def completion_script(parser: argparse.ArgumentParser, shell: str) -> str:
    """Return what a shell, one of `SHELLS`, is to read so that it completes the command of a parser."""
    import shtab  # noqa: PLC0415 - the host imports this module at every start

    for action in _actions(parser):
        if action.metavar == "DIR":
            action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
        elif action.type is Path or action.metavar in _FILES:
            action.complete = shtab.FILE  # type: ignore[attr-defined]
        action.choices = action.choices or getattr(action, "offers", None)
    script: str = shtab.complete(parser, shell=shell)
    return script


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield the arguments of a parser and of all below it."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from _actions(below)
