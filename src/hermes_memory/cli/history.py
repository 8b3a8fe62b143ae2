"""`history`: tell what became of memories, and verify that nobody has changed what is told."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import anyio

from hermes_memory.application.memory import Memory
from hermes_memory.cli.common import (
    counted,
    home_option,
    json_option,
    print_json,
    settings_for,
    subject_named,
    theme_option,
    whole_number,
    with_memory,
)
from hermes_memory.cli.exits import DONE, ERROR, WORK_REMAINS
from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.history import Change
from hermes_memory.domain.identity import HOST_WORKSPACE
from hermes_memory.domain.model import Caller
from hermes_memory.domain.rendering import neutralise
from hermes_memory.domain.themes import claim_or_sink, claim_theme
from hermes_memory.settings import Settings
from hermes_memory.settings.homes import require_home

VERIFY: Final = "verify"
DEFAULT_LIMIT: Final = 50


def register(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser(
        "history", help="tell what became of memories; `history verify` checks the chain of seals"
    )
    home_option(parser)
    json_option(parser)
    whose_options(parser)
    parser.add_argument("entry", nargs="?", metavar="ENTRY", help="an entry's id, or verify; default: all of the theme")
    parser.add_argument(
        "--limit",
        type=whole_number(1, 1000),
        metavar="N",
        help=f"most changes, 1 to 1,000; default: {DEFAULT_LIMIT}",
    )
    parser.add_argument(
        "--against",
        action="append",
        type=Path,
        metavar="FILE",
        help="verify: heads that were published; may be repeated; default: those of the home",
    )
    parser.add_argument("--admin-dsn", metavar="URL", help="verify: login with the owner's rights")
    # So that it is known whether it was given: to verify takes none.
    parser.set_defaults(carry_out=carry_out, theme=None)


def whose_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say whose memory is meant."""
    theme_option(parser)
    parser.add_argument(
        "--subject",
        metavar="KEY",
        help="of the talk with this person or group: PLATFORM:CONTACT or the host's session key; - reads it from "
        "standard input",
    )


def caller_of(given: argparse.Namespace, settings: Settings) -> Caller:
    """Return on whose behalf an operator looks.

    Raises:
        InvalidInput: The theme or the key is unusable.
    """
    if given.subject is None:
        return Caller(theme=claim_theme(given.theme))
    return Caller(theme=claim_or_sink(given.theme), subject=subject_named(given.subject, settings))


def carry_out(given: argparse.Namespace) -> int:
    """Tell of changes, newest first; or verify. 1: something does not hold. 3: something is half done."""
    settings, verifies = settings_for(given), given.entry == VERIFY
    if not (verifies and given.against):
        require_home(settings.home)  # which keeps the published heads, and the memory's state
    _require_use(given)
    if verifies:
        return _verify(given, settings)
    given.theme = given.theme or HOST_WORKSPACE
    caller, entry = caller_of(given, settings), None if given.entry is None else id_named(given.entry)

    async def work(memory: Memory) -> Sequence[Change]:
        return await memory.view_of(caller).history(entry, limit=given.limit or DEFAULT_LIMIT)

    changes = with_memory(settings, work)
    if given.as_json:
        print_json({"changes": [payload(change) for change in changes]})
        return DONE
    for change in changes:
        print(line(change))
    if not changes:
        print("nothing")
    return DONE


def _require_use(given: argparse.Namespace) -> None:
    """Require that no option was given which the use of the verb does not heed.

    Raises:
        InvalidInput: One was.
    """
    verifies = given.entry == VERIFY
    for name in ("theme", "subject", "limit") if verifies else ("against", "admin_dsn"):
        if getattr(given, name) is not None:
            why = "`history verify` looks at everything and takes no" if verifies else "only `history verify` takes"
            raise InvalidInput(f"{why} --{name.replace('_', '-')}", field=name)


def id_named(text: str) -> UUID:
    """Read an id as an operator types it.

    Raises:
        InvalidInput: It is no id.
    """
    try:
        return UUID(text)
    except ValueError as error:
        raise InvalidInput(f"{text!r} is no id", field="id") from error


def payload(change: Change) -> dict[str, Any]:
    """Return a change as JSON shows it, without the subject."""
    names = ("id", "row", "kind", "target", "before", "after", "origin", "tool", "session", "operation", "reason")
    facts = {name: getattr(change, name) for name in names}
    times = {name: getattr(change, name) for name in ("at", "recorded_at", "said_at", "merged_into", "erased")}
    return {"theme": change.theme, "private": change.subject is not None, **facts, **times}


def line(change: Change) -> str:
    """Return a change on one line: when, which, by whom, and what became what."""
    who = change.tool or change.origin
    why = f"  ({neutralise(change.reason)})" if change.reason else ""
    return f"{change.recorded_at:%Y-%m-%d %H:%M:%S}  {change.row}  {change.kind} by {who}: {_texts(change)}{why}"


def _texts(change: Change) -> str:
    if change.erased:
        return "[erased]"
    return " -> ".join(neutralise(text) for text in (change.before, change.after) if text is not None)


def _verify(given: argparse.Namespace, settings: Settings) -> int:
    from hermes_memory.bootstrap.verification import verify_history  # noqa: PLC0415
    from hermes_memory.cli.progress import shown  # noqa: PLC0415 - draws, and the host imports this module at start

    with shown(given, "verifying") as progress:
        report = anyio.run(verify_history, settings, given.admin_dsn, given.against, progress.advance)
    if given.as_json:
        print_json(report)
    else:
        for flaw in report.flaws:
            place = "" if flaw.seal is None else f" under seal {flaw.seal}"
            which = flaw.change or flaw.entry or neutralise(flaw.session or "")
            print(f"{flaw.theme}{place}: {flaw.what}{f' ({which})' if which else ''}")
        print(
            f"{counted(report.changes, 'change')} of {counted(report.themes, 'theme')} under "
            f"{counted(report.seals, 'seal')}, {report.unsealed:,} not sealed yet, "
            f"{counted(report.published, 'published head')} compared"
            + (f", {report.untold:,} memories whose history was erased: " if report.untold else ": ")
            + (counted(len(report.flaws), "flaw") if report.flaws else "all holds")
        )
        if report.other_words:
            print(f"of {report.other_words:,} turns other words are made now than when they were stored")
        if report.half_done:
            print(
                f"an import or an erasure began and did not end, which leaves {report.half_done:,} memories half done: "
                "run it again"
            )
    if report.flaws:
        return ERROR
    return WORK_REMAINS if report.half_done else DONE
