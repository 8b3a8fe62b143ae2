"""`explain`: ask, and tell how the answer came about."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from hermes_memory.application.answers import RecallResult
from hermes_memory.application.explanation import Explanation, Verdict
from hermes_memory.application.memory import Memory
from hermes_memory.application.view import View
from hermes_memory.cli.common import MOST, number, print_json, settings_for, whole_number, with_memory
from hermes_memory.cli.exits import DONE
from hermes_memory.cli.explain_lines import lines, payload
from hermes_memory.cli.search import KINDS, asker_of, question_options
from hermes_memory.domain.budget import fit_payloads
from hermes_memory.domain.model import Caller, RowId
from hermes_memory.domain.rendering import hit_payload

SHOWN: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    """What was found out: of the answer, and of the memory that was asked about."""

    explanation: Explanation
    verdict: Verdict | None


def register(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser("explain", help="tell why memories are found, or are not")
    question_options(parser)
    parser.add_argument("--row", type=_row, metavar="ID", help="say why this memory is or is not in the answer")
    parser.add_argument(
        "--floor",
        type=number(0, 1),
        default=0.0,
        metavar="SCORE",
        help="score below which nothing counts, 0 to 1; default: %(default)s",
    )
    parser.add_argument(
        "--tokens", type=whole_number(1, MOST), metavar="N", help="tokens that the hits may take; default: any number"
    )
    parser.add_argument(
        "--show",
        type=whole_number(1, 200),
        default=SHOWN,
        metavar="N",
        help="how many candidates to tell of, 1 to 200; default: %(default)s",
    )
    parser.set_defaults(carry_out=carry_out)


def _row(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise argparse.ArgumentTypeError("must be the id of a memory, as an answer names it") from None


def carry_out(given: argparse.Namespace) -> int:
    """Search and show how the answer came about."""
    settings = settings_for(given)
    caller = asker_of(given, settings)

    async def work(memory: Memory) -> _Told:
        view = memory.view_of(caller)
        result = await view.recall(
            given.query,
            limit=given.top_k,
            scope=given.scope,
            kinds=KINDS[given.kinds],
            target=given.target,
            floor=given.floor,
        )
        if given.tokens is not None:
            view.note_shown(result.trace_id, _within(result, given.tokens, caller))
        return await _told(view, result, given)

    told = with_memory(settings, work)
    if given.as_json:
        print_json(payload(told.explanation, told.verdict, caller=caller))
    else:
        for line in lines(told.explanation, told.verdict):
            print(line)
    return DONE


async def _told(view: View, result: RecallResult, given: argparse.Namespace) -> _Told:
    return _Told(
        explanation=await view.explain(result.trace_id, rows=given.show),
        verdict=None if given.row is None else await view.why(result.trace_id, RowId(given.row)),
    )


def _within(result: RecallResult, tokens: int, caller: Caller) -> int:
    """Count the hits that a tool would show within a number of tokens."""
    return len(fit_payloads([hit_payload(hit, caller=caller) for hit in result.hits], tokens))
