"""`export`: write the memory to a file that anybody can read, and that `import` brings back as it was."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import anyio

from hermes_memory.cli.common import counts_told, home_option, json_option, print_json, settings_for
from hermes_memory.cli.exits import DONE
from hermes_memory.cli.places import force_option, require_place
from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.maintenance import theme_named
from hermes_memory.domain.model import Theme
from hermes_memory.hermes.files import writing_atomically

if TYPE_CHECKING:
    from hermes_memory.application.exporting.jsonl import Exported
    from hermes_memory.settings import Settings


def register(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser("export", help="write the memory to a file")
    formats = parser.add_subparsers(
        dest="hermes_memory_format", metavar="FORMAT", required=True, parser_class=type(parser)
    )
    jsonl = formats.add_parser("jsonl", help="one JSON object a line: entries, turns, history, delegations, themes")
    home_option(jsonl)
    json_option(jsonl)
    jsonl.add_argument("--theme", metavar="NAME", help="this theme alone")
    jsonl.add_argument("--vectors", action="store_true", help="with the vectors, which restoring need not make again")
    jsonl.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=Path,
        help="the file, for its owner's eyes alone; replaces an earlier export, and no other file; default: standard "
        "output",
    )
    force_option(jsonl)
    jsonl.add_argument("--admin-dsn", metavar="URL", help="login with the owner's rights; the embedded needs none")
    jsonl.set_defaults(carry_out=carry_out)


def carry_out(given: argparse.Namespace) -> int:
    """Write the file, whole or not at all, for the eyes of its owner alone."""
    settings = settings_for(given)
    theme = theme_named(given.theme)
    if given.output is None:
        if given.as_json:
            raise InvalidInput("--json tells of the export, which would be on standard output too: name --output FILE")
        _export(settings, given, theme, sys.stdout.buffer.write)
        return DONE
    exported = _to_file(given.output, given.force, lambda file: _export(settings, given, theme, file.write))
    if given.as_json:
        print_json(exported)
    else:
        print(f"wrote {counts_told(exported.counts)}\nsha256 {exported.sha256}")
    return DONE


def _export(
    settings: Settings, given: argparse.Namespace, theme: Theme | None, write: Callable[[bytes], object]
) -> Exported:
    # The drivers take a while to load, and the host imports this module at every start.
    from hermes_memory.bootstrap.moving import export_memory  # noqa: PLC0415
    from hermes_memory.cli.progress import Display, shown  # noqa: PLC0415

    among_the_lines = given.output is None and sys.stdout.isatty()

    async def exported() -> Exported:
        with Display() if among_the_lines else shown(given, "exported") as progress:
            return await export_memory(
                settings, given.admin_dsn, write, theme=theme, vectors=given.vectors, progress=progress.advance
            )

    return anyio.run(exported)


def _to_file(path: Path, force: bool, work: Callable[[BinaryIO], Exported]) -> Exported:
    """Let `work` write a file beside its place, and put it there once it is on the disk."""
    from hermes_memory.application.exporting.jsonl import HEAD  # noqa: PLC0415 - loads with what exports

    require_place(path, force=force, head=HEAD)
    with writing_atomically(path, mode=0o600) as file:
        return work(file)
