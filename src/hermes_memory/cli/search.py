"""`search`: find memories from the command line."""

from __future__ import annotations

import argparse
from typing import Any

from hermes_memory.application.answers import RecallResult
from hermes_memory.application.memory import Memory
from hermes_memory.cli.common import home_option, json_option, print_json, settings_for, theme_option, with_memory
from hermes_memory.cli.exits import DONE
from hermes_memory.domain.fusion import Ranked
from hermes_memory.domain.model import Caller, Kind, Row, Turn
from hermes_memory.domain.rendering import hit_payload, neutralise
from hermes_memory.domain.themes import claim_theme

KINDS = {"both": frozenset(Kind), "entries": frozenset({Kind.ENTRY}), "turns": frozenset({Kind.TURN})}


def register(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser("search", help="find memories")
    question_options(parser)
    parser.set_defaults(carry_out=carry_out)


def question_options(parser: argparse.ArgumentParser) -> None:
    """Add the question and the options that say where, and for whom, it is asked."""
    home_option(parser)
    json_option(parser)
    theme_option(parser)
    parser.add_argument("query", help="a question or key words")
    parser.add_argument("--top-k", type=int, default=5, metavar="N", help="most hits; default: %(default)s")
    parser.add_argument("--scope", default="current", help="current, all, or the name of a theme; default: %(default)s")
    parser.add_argument("--kinds", choices=sorted(KINDS), default="both", help="default: %(default)s")
    parser.add_argument("--target", help="only entries of this target: memory or user")


def carry_out(given: argparse.Namespace) -> int:
    """Search and show the hits."""
    caller = Caller(theme=claim_theme(given.theme))

    async def work(memory: Memory) -> RecallResult:
        return await memory.view_of(caller).recall(
            given.query, limit=given.top_k, scope=given.scope, kinds=KINDS[given.kinds], target=given.target
        )

    result = with_memory(settings_for(given), work)
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
