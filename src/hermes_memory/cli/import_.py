"""`import`: bring in what another memory holds, or what `export` wrote. Run again, it goes on where it stopped."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from hermes_memory.cli import import_sources
from hermes_memory.cli.common import counts_told, first_of, home_option, json_option, print_json, settings_for
from hermes_memory.cli.exits import DONE, ERROR, WORK_REMAINS
from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.neutralising import neutralise

if TYPE_CHECKING:
    from hermes_memory.application.importing.jsonl import Imported
    from hermes_memory.settings import Settings


def register(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser("import", help="bring in what another memory holds, or an export")
    sources = parser.add_subparsers(
        dest="hermes_memory_source", metavar="SOURCE", required=True, parser_class=type(parser)
    )
    jsonl = sources.add_parser("jsonl", help="a file that `export jsonl` wrote")
    jsonl.add_argument("file", metavar="FILE", help="the file; - reads standard input")
    home_option(jsonl)
    json_option(jsonl)
    jsonl.add_argument(
        "--restore",
        action="store_true",
        help="the file is an export of a memory of your own: believe it who wrote what, and take over its vectors; "
        "without, its rows count as imported",
    )
    jsonl.add_argument("--dry-run", action="store_true", help="read and check the file; store nothing")
    jsonl.add_argument("--admin-dsn", metavar="URL", help="login with the owner's rights; the embedded needs none")
    jsonl.set_defaults(carry_out=carry_out, makes_home=True)
    import_sources.register(sources)


def carry_out(given: argparse.Namespace) -> int:
    """Import a file. 1: lines were refused. 3: the file is not whole, or something is not to be found afterwards."""
    settings = settings_for(given)
    if given.file != "-" and not Path(given.file).is_file():
        raise InvalidInput(f"there is no file {given.file}")
    from hermes_memory.application.importing.jsonl import bounded_lines  # noqa: PLC0415 - the host imports this module

    with nullcontext(sys.stdin.buffer) if given.file == "-" else Path(given.file).open("rb") as file:
        done = _import(settings, given, bounded_lines(file))
    if given.as_json:
        print_json(done)
    else:
        for line in _lines(done, dry_run=given.dry_run):
            print(line)
    if done.refused:
        return ERROR
    return WORK_REMAINS if done.missing or not done.whole else DONE


def _import(settings: Settings, given: argparse.Namespace, lines: Iterable[bytes]) -> Imported:
    # The drivers take a while to load, and the host imports this module at every start.
    from hermes_memory.bootstrap.moving import import_memory  # noqa: PLC0415
    from hermes_memory.cli.progress import shown  # noqa: PLC0415

    size = None if given.file == "-" else Path(given.file).stat().st_size

    async def imported() -> Imported:
        with shown(given, "bytes read", size) as progress:
            return await import_memory(
                settings,
                given.admin_dsn,
                _counted(lines, progress.advance),
                restoring=given.restore,
                dry_run=given.dry_run,
                progress=lambda _: None,
            )

    return anyio.run(imported)


def _counted(lines: Iterable[bytes], advance: Callable[[int], object]) -> Iterator[bytes]:
    """Yield the lines. How many a file has is only known at its end, how many bytes before."""
    for line in lines:
        advance(len(line))
        yield line


def _lines(done: Imported, *, dry_run: bool) -> list[str]:
    lines = [
        f"read {done.read:,} lines",
        f"{'would store at most' if dry_run else 'stored'}: {counts_told(done.new)}",
        f"there already: {done.known:,}; there, and changed since: {done.altered:,}",
    ]
    if done.mended:
        lines.append(f"cleaned, or without a secret that they held: {done.mended:,}")
    if done.unvouched and any(done.new.values()):
        lines.append(
            "kept as imported, whatever the file says of who wrote it, of vectors and of what was "
            f"forgotten: {done.unvouched:,}; --restore believes an export of your own"
        )
    lines += first_of([f"line {each.line}: {neutralise(each.reason)}" for each in done.refused])
    if done.missing:
        lines.append(f"not found after they were stored: {len(done.missing):,} lines; run it again")
    return [*lines, *(f"note: {note}" for note in done.notes)]
