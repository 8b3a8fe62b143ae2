"""`search`: find memories from the command line."""

from __future__ import annotations

import argparse
from datetime import datetime
from typing import Any

from hermes_memory.application.answers import RecallResult
from hermes_memory.application.arguments import parse_target
from hermes_memory.application.memory import Memory
from hermes_memory.cli.common import home_option, json_option, print_json, settings_for, whole_number, with_memory
from hermes_memory.cli.exits import DONE
from hermes_memory.cli.history import caller_of, whose_options
from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.fusion import Ranked
from hermes_memory.domain.model import Caller, Kind, Row, Target, Turn
from hermes_memory.domain.rendering import hit_payload, neutralise
from hermes_memory.domain.themes import parse_scope
from hermes_memory.settings import Settings

KINDS = {"both": frozenset(Kind), "entries": frozenset({Kind.ENTRY}), "turns": frozenset({Kind.TURN})}


def register(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser("search", help="find memories")
    question_options(parser)
    parser.add_argument(
        "--as-of",
        type=moment_named,
        metavar="TIME",
        help="answer from the memory as it stood then, such as 2026-05-03 or 2026-05-03T14:30+02:00; UTC unless told",
    )
    parser.set_defaults(carry_out=carry_out)


def question_options(parser: argparse.ArgumentParser) -> None:
    """Add the question and the options that say where, and for whom, it is asked."""
    home_option(parser)
    json_option(parser)
    whose_options(parser)
    parser.add_argument("query", help="a question or key words")
    parser.add_argument(
        "--top-k", type=whole_number(1, 200), default=5, metavar="N", help="most hits, 1 to 200; default: %(default)s"
    )
    parser.add_argument(
        "--scope", default="current", help="current, subject, all, or the name of a theme; default: %(default)s"
    )
    parser.add_argument("--kinds", choices=sorted(KINDS), default="both", help="default: %(default)s")
    parser.add_argument("--target", type=target_named, help="only entries of this target: memory or user")


def target_named(text: str) -> Target:
    """Return the target that an option names.

    Raises:
        argparse.ArgumentTypeError: There is no such target.
    """
    try:
        return parse_target(text)
    except InvalidInput:
        raise argparse.ArgumentTypeError("must be memory or user") from None


def asker_of(given: argparse.Namespace, settings: Settings) -> Caller:
    """Return on whose behalf an operator asks, in a scope that is there for them.

    Raises:
        InvalidInput, NotVisible: As for `caller_of` and `parse_scope`.
    """
    caller = caller_of(given, settings)
    parse_scope(given.scope, caller)
    return caller


def moment_named(text: str) -> datetime:
    """Return the time that an option names; one without a zone counts as UTC.

    Raises:
        argparse.ArgumentTypeError: It is no time.
    """
    try:
        return datetime.fromisoformat(text.strip())
    except ValueError:
        raise argparse.ArgumentTypeError("must be a day or a time, such as 2026-05-03 or 2026-05-03T14:30") from None


def carry_out(given: argparse.Namespace) -> int:
    """Search and show the hits."""
    settings = settings_for(given)
    caller = asker_of(given, settings)

    async def work(memory: Memory) -> RecallResult:
        return await memory.view_of(caller).recall(
            given.query,
            limit=given.top_k,
            scope=given.scope,
            kinds=KINDS[given.kinds],
            target=given.target,
            as_of=given.as_of,
        )

    result = with_memory(settings, work)
    if given.as_json:
        print_json(
            {
                "hits": [hit_payload(hit, caller=caller) for hit in result.hits],
                "degraded": result.degraded,
                "trace_id": result.trace_id,
            }
        )
        return DONE
    for note in result.degraded:
        print(f"note: {note}")
    for hit in result.hits:
        print(_line(hit))
    if not result.hits:
        print("nothing found")
    return DONE


def _line(hit: Ranked) -> str:
    return f"{hit.score:.2f}  {row_line(hit.row)}"


def row_line(row: Row) -> str:
    """Return a memory on one line: when, whose, by whom, and what."""
    return f"{row.at:%Y-%m-%d}  {neutralise(row.theme)}  {_source(row)}: {neutralise(row.content)}"


def _source(row: Row) -> str:
    if isinstance(row, Turn):
        return f"{neutralise(row.speaker or row.role)} in {neutralise(row.session)}, from {row.origin}"
    return f"entry ({row.target}), from {row.origin}" + (f" by {neutralise(row.tool)}" if row.tool else "")
