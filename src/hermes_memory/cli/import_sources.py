"""`import SOURCE`: the memories of others that can be brought in, and what the verb says about it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio

from hermes_memory.cli.common import (
    FROM_INPUT,
    counts_told,
    first_of,
    home_option,
    json_option,
    print_json,
    settings_for,
)
from hermes_memory.cli.exits import DONE, ERROR, WORK_REMAINS
from hermes_memory.cli.import_config import model_named_in, print_settings
from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.identity import HOST_WORKSPACE
from hermes_memory.domain.model import Theme
from hermes_memory.domain.neutralising import neutralise
from hermes_memory.domain.themes import claim_or_sink, claim_theme

if TYPE_CHECKING:
    from hermes_memory.application.importing.run import Moved
    from hermes_memory.domain.foreign import Foreign
    from hermes_memory.ports.sources import Source

FACTS: Final = "memory_store.db, or the home that holds it"

Opens = Callable[[argparse.Namespace], "AbstractAsyncContextManager[Source]"]


def register(sources: Any) -> None:
    """Add the sources."""
    pgvector = _add(sources, "pgvector", "a live database of hermes-memory-pgvector", _pgvector)
    pgvector.add_argument(
        "--dsn",
        metavar="ADDRESS",
        help="its database, as its own settings name it; a login that may read is enough; - reads a line of input",
    )
    pgvector.add_argument(
        "--config",
        metavar="FILE",
        type=Path,
        help="its settings, in the host's config.yaml: names the model of its vectors; without --dsn, prints what they "
        "are called here",
    )
    pgvector.add_argument(
        "--model", metavar="NAME", help="the model of its vectors, which are taken over if it is the one in use here"
    )
    pgvector.set_defaults(carry_out=_pgvector_carry_out)
    for name, help_text, opens in (
        ("mem0", "the JSON that mem0 gives when asked for all memories", _mem0),
        ("tablestore", "the JSON listing of a Tablestore memory store", _tablestore),
    ):
        listing = _file(_add(sources, name, help_text, opens), "FILE", "the file")
        listing.add_argument(
            "--user", metavar="ID", help="the memories of this user alone, by the id that it has there"
        )
    _file(_add(sources, "holographic", "the facts of the host's holographic memory", _holographic), "FILE", FACTS)
    _file(_add(sources, "markdown", "MEMORY.md and USER.md of any home", _markdown), "HOME", "the home, or a file")


def _file(parser: argparse.ArgumentParser, name: str, help_text: str) -> argparse.ArgumentParser:
    parser.add_argument("file", metavar=name, help=help_text)
    parser.add_argument(
        "--theme",
        default=HOST_WORKSPACE,
        metavar="NAME",
        help="whose what names no agent becomes; default: %(default)s, the unnamed agent",
    )
    parser.add_argument(
        "--subject",
        metavar="KEY",
        help="keep all of it to this person or group: PLATFORM:CONTACT, or a session key; - reads a line of input",
    )
    return parser


def _add(sources: Any, name: str, help_text: str, opens: Opens) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = sources.add_parser(name, help=help_text)
    home_option(parser)
    json_option(parser)
    parser.add_argument("--dry-run", action="store_true", help="read everything and count; store nothing")
    parser.set_defaults(
        carry_out=_carry_out, makes_home=True, opens=opens, model=None, subject=None, theme=HOST_WORKSPACE
    )
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


def _theme(given: argparse.Namespace) -> Theme:
    """Return the theme of what names no agent: a governed one holds only what is kept to somebody."""
    return claim_theme(given.theme) if given.subject is None else claim_or_sink(given.theme)


def _typed(value: str | None, option: str) -> str | None:
    """Return the value of an option, or a line of standard input: what no history and no list of processes may show."""
    if value != FROM_INPUT:
        return value
    if not (line := sys.stdin.readline().strip()):
        raise InvalidInput(f"standard input has no line to read for --{option}", field=option)
    return line


def _pgvector(given: argparse.Namespace) -> AbstractAsyncContextManager[Source]:
    from hermes_memory.adapters.sources.pgvector import pgvector_source  # noqa: PLC0415 - the host imports this

    return pgvector_source(_typed(given.dsn, "dsn") or "", vectors=given.model is not None)


def _pgvector_carry_out(given: argparse.Namespace) -> int:
    """Convert the settings, or import the database."""
    if given.dsn is None:
        if given.config is None:
            raise InvalidInput("name the database with --dsn, or the settings to convert with --config")
        return print_settings(given.config, as_json=given.as_json)
    if given.config is not None and given.model is None:
        given.model = model_named_in(given.config)
    return _carry_out(given)


def _mem0(given: argparse.Namespace) -> AbstractAsyncContextManager[Source]:
    from hermes_memory.adapters.sources.listing import MEM0, read_listing  # noqa: PLC0415

    return _read(MEM0.name, read_listing(existing(given.file), MEM0, user=given.user))


def _tablestore(given: argparse.Namespace) -> AbstractAsyncContextManager[Source]:
    from hermes_memory.adapters.sources.listing import TABLESTORE, read_listing  # noqa: PLC0415

    return _read(TABLESTORE.name, read_listing(existing(given.file), TABLESTORE, user=given.user))


def _holographic(given: argparse.Namespace) -> AbstractAsyncContextManager[Source]:
    from hermes_memory.adapters.sources.holographic import NAME, read_facts  # noqa: PLC0415

    return _read(NAME, read_facts(existing(given.file)))


def _markdown(given: argparse.Namespace) -> AbstractAsyncContextManager[Source]:
    from hermes_memory.adapters.sources.markdown import NAME, read_notebooks  # noqa: PLC0415

    return _read(NAME, read_notebooks(existing(given.file)))


def _read(name: str, read: Sequence[Foreign]) -> AbstractAsyncContextManager[Source]:
    from hermes_memory.adapters.sources.files import read_source  # noqa: PLC0415

    return read_source(name, read)


def _carry_out(given: argparse.Namespace) -> int:
    """Import. 1: rows could not be imported. 3: rows are missing afterwards; the same command goes on."""
    # The drivers take a while to load, and the host imports this module at every start.
    from hermes_memory.bootstrap.moving import import_source  # noqa: PLC0415
    from hermes_memory.cli.progress import shown  # noqa: PLC0415

    settings, theme, subject = settings_for(given), _theme(given), _typed(given.subject, "subject")
    source = given.opens(given)

    async def imported() -> Moved:
        with shown(given, "imported") as progress:
            return await import_source(
                settings,
                source,
                default_theme=theme,
                subject_key=subject,
                model=given.model,
                dry_run=given.dry_run,
                progress=progress.advance,
                expect=progress.expect,
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
    return {field.name: getattr(done, field.name) for field in fields(done)}


def _lines(done: Moved, *, dry_run: bool) -> list[str]:
    counts = done.would_store if dry_run else done.stored
    lines = [f"read {done.read:,}", f"{'would store at most' if dry_run else 'stored'}: {counts_told(counts)}"]
    lines.append(f"there already: {done.known:,}")
    if not dry_run:
        lines.append(f"read back and compared by hash: {done.verified:,}; changed here since: {done.changed:,}")
    if done.vectors:
        lines.append(f"vectors taken over: {done.vectors:,}")
    if done.mended:
        lines.append(f"cleaned, cut, or without a secret that they held: {done.mended:,}")
    lines += [f"agent '{neutralise(name)}' is kept as theme {theme!r}" for name, theme in done.renamed.items()]
    lines += first_of([neutralise(f"not imported: {each.place}: {each.reason}") for each in done.unreadable])
    lines += first_of([neutralise(f"not found afterwards: {place}") for place in done.missing])
    return [*lines, *(f"note: {note}" for note in done.notes)]
