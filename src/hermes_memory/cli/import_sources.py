"""`import SOURCE`: the memories of others that can be brought in, and what the verb says about it."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio

from hermes_memory.cli.common import home_option, json_option, print_json, settings_for, theme_option
from hermes_memory.cli.exits import DONE, ERROR, WORK_REMAINS
from hermes_memory.cli.progress import Progress
from hermes_memory.domain.errors import InvalidInput

if TYPE_CHECKING:
    from hermes_memory.application.importing.run import Moved
    from hermes_memory.ports.sources import Source

SHOWN: Final = 20
"""Refused rows that are printed; `--json` tells all."""

Opens = Callable[[argparse.Namespace], "AbstractAsyncContextManager[Source]"]


def register(sources: Any) -> None:
    """Add the sources."""
    pgvector = _add(sources, "pgvector", "a live database of hermes-memory-pgvector", _pgvector)
    pgvector.add_argument("--dsn", metavar="URL", required=True, help="its database; a login that may read is enough")
    pgvector.add_argument(
        "--model", metavar="NAME", help="the model of its vectors; those of the model in use here are taken over"
    )


def _add(sources: Any, name: str, help_text: str, opens: Opens) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = sources.add_parser(name, help=help_text)
    home_option(parser)
    json_option(parser)
    theme_option(parser)
    parser.add_argument("--dry-run", action="store_true", help="read everything and count; store nothing")
    parser.set_defaults(carry_out=_carry_out, opens=opens, model=None)
    return parser


def existing(path: str) -> Path:
    """Return the path of something that is there.

    Raises:
        InvalidInput: Nothing is.
    """
    found = Path(path).expanduser()
    if not found.exists():
        raise InvalidInput(f"there is no {path}")
    return found


def _pgvector(given: argparse.Namespace) -> AbstractAsyncContextManager[Source]:
    from hermes_memory.adapters.sources.pgvector import pgvector_source  # noqa: PLC0415 - the host imports this

    return pgvector_source(given.dsn, vectors=given.model is not None)


def _carry_out(given: argparse.Namespace) -> int:
    """Import. 1: rows could not be imported. 3: rows are missing afterwards; the same command goes on."""
    from hermes_memory.bootstrap.moving import import_source  # noqa: PLC0415 - the host imports this at every start

    settings, source = settings_for(given), given.opens(given)

    async def imported() -> Moved:
        with Progress("imported") as progress:
            return await import_source(
                settings,
                source,
                default_theme=given.theme,
                model=given.model,
                dry_run=given.dry_run,
                progress=progress.advance,
            )

    done = anyio.run(imported)
    if given.as_json:
        print_json({**_plain(done), "complete": done.complete})
    else:
        for line in _lines(done, dry_run=given.dry_run):
            print(line)
    if done.unreadable:
        return ERROR
    return DONE if done.complete else WORK_REMAINS


def _plain(done: Moved) -> dict[str, Any]:
    from dataclasses import fields  # noqa: PLC0415

    return {field.name: getattr(done, field.name) for field in fields(done)}


def _lines(done: Moved, *, dry_run: bool) -> list[str]:
    counts = done.would_store if dry_run else done.stored
    told = ", ".join(f"{count:,} of kind {kind}" for kind, count in counts.items() if count) or "nothing"
    lines = [f"read {done.read:,}", f"{'would store at most' if dry_run else 'stored'}: {told}"]
    lines.append(f"there already: {done.known:,}")
    if not dry_run:
        lines.append(f"read back and compared by hash: {done.verified:,}; changed here since: {done.changed:,}")
    if done.vectors:
        lines.append(f"vectors taken over: {done.vectors:,}")
    if done.mended:
        lines.append(f"cleaned, cut, or without a secret that they held: {done.mended:,}")
    lines += [f"agent {name!r} is kept as theme {theme!r}" for name, theme in done.renamed.items()]
    lines += [f"not imported: {each.place}: {each.reason}" for each in done.unreadable[:SHOWN]]
    if len(done.unreadable) > SHOWN:
        lines.append(f"and {len(done.unreadable) - SHOWN:,} more; --json tells all")
    lines += [f"not found afterwards: {place}" for place in done.missing[:SHOWN]]
    return lines
