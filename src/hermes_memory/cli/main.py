"""The `hermes-memory` command, also served as `hermes hermes-memory`."""

from __future__ import annotations

import argparse
import errno
import io
import logging
import os
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final, NoReturn

from hermes_memory.cli import (
    add,
    backfill,
    cleanup,
    completion,
    config,
    demo,
    doctor,
    erase,
    explain,
    export,
    forget,
    grants,
    history,
    import_,
    install,
    migrate,
    profile,
    prune,
    reembed,
    remap,
    search,
    serve_metrics,
    setup,
    spool,
    stats,
    subjects,
    themes,
    undo,
)
from hermes_memory.cli.common import not_blank, path_named
from hermes_memory.cli.exits import ERROR, INTERRUPTED, USAGE, exit_for
from hermes_memory.domain.errors import HermesMemoryError

DISTRIBUTION: Final = "hermes-memory-postgres"
VERBS: Final = (
    install,
    setup,
    migrate,
    config,
    doctor,
    stats,
    spool,
    add,
    search,
    profile,
    forget,
    explain,
    history,
    undo,
    erase,
    export,
    import_,
    reembed,
    grants,
    themes,
    subjects,
    prune,
    cleanup,
    remap,
    backfill,
    serve_metrics,
    demo,
    completion,
)

Run = Callable[[argparse.Namespace], int]


class Parser(argparse.ArgumentParser):
    """Ends with the exit code for wrong use, and tells how to use it right. No value may be blank."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        # By argparse's own registry, so that groups of arguments and every verb to come do the same.
        self.register("type", None, not_blank)
        self.register("type", Path, path_named)

    def add_subparsers(self, **options: Any) -> Any:
        """Add verbs below this one; their own parsers look at what is handed on to them."""
        verbs = super().add_subparsers(**options)
        verbs.type = str
        return verbs

    def error(self, message: str) -> NoReturn:
        """Print usage and message, and leave."""
        self.print_usage(sys.stderr)
        self.exit(USAGE, f"{self.prog}: {message}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0 done, 1 error, 2 dependency down, 3 work remains, 64 wrong use."""
    given = command_parser().parse_args(arguments)
    logging.basicConfig(level=logging.INFO if given.verbose else logging.ERROR, format="%(levelname)s %(message)s")
    return run(given)


def command_parser() -> Parser:
    """Return the parser of the whole command."""
    parser = Parser(prog="hermes-memory", description="Shared, durable, searchable memory for Hermes agents.")
    parser.add_argument("--version", action="version", version=f"hermes-memory {library_version()}")
    parser.add_argument("--verbose", action="store_true", help="show what the library logs")
    add_verbs(parser)
    return parser


def add_verbs(parser: argparse.ArgumentParser) -> None:
    """Add every verb below a parser, which may be the host's."""
    verbs = parser.add_subparsers(dest="hermes_memory_verb", metavar="VERB", required=True, parser_class=Parser)
    for module in VERBS:
        module.register(verbs)
    # For the verb that tells of all of them, also where they stand below the host's own command.
    parser.set_defaults(whole_command=command_parser)


def run(given: argparse.Namespace) -> int:
    """Carry out the verb that was parsed and return its exit code."""
    carry_out: Run = given.carry_out
    _print_whatever_was_said()
    try:
        code = carry_out(given)
        if sys.stdout:
            sys.stdout.flush()
    except HermesMemoryError as error:
        print(f"hermes-memory: {error}", file=sys.stderr)
        return exit_for(error)
    except KeyboardInterrupt:
        # A connection that was broken off complains when it is collected, of what somebody wanted.
        logging.getLogger("asyncio").setLevel(logging.CRITICAL)
        print("hermes-memory: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        _leave_nothing_to_flush()
        return ERROR
    except OSError as error:
        # A full disk, or a directory that cannot be used: the system's own words say enough.
        if error.errno == errno.ENOSPC:
            _leave_nothing_to_flush()
        print(f"hermes-memory: {error}", file=sys.stderr)
        return ERROR
    return code


def _print_whatever_was_said() -> None:
    """Escape characters that the terminal does not have, instead of failing at the first memory that holds one."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _leave_nothing_to_flush() -> None:
    """Give what was not read any more a place, or Python complains about it at its exit."""
    if not sys.stdout:
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def library_version() -> str:
    """Return the version of the installed library."""
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return "unknown"


if __name__ == "__main__":
    sys.exit(main())
