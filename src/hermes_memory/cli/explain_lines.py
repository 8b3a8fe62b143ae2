"""How an explanation is shown: as lines to read, and as a document for machines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from hermes_memory.application.explanation import Explanation, Verdict
from hermes_memory.cli.common import counted, plain
from hermes_memory.cli.search import row_line
from hermes_memory.domain.model import Caller, SessionScope, ThemeScope
from hermes_memory.domain.rendering import row_payload
from hermes_memory.ports.reading import SearchSpace

_SCOPE: Final = "Scope"


def payload(explanation: Explanation, verdict: Verdict | None, *, caller: Caller) -> dict[str, Any]:
    """Return an explanation as JSON knows it; rows are shown as a tool shows them."""
    document: dict[str, Any] = plain(replace(explanation, verdicts=()))
    document["space"] = {
        "scope": _scope(explanation.space),
        "kinds": sorted(explanation.space.kinds),
        "target": explanation.space.target,
    }
    document["verdicts"] = [_verdict_payload(one, caller) for one in explanation.verdicts]
    if verdict is not None:
        document["verdict"] = _verdict_payload(verdict, caller)
    return document


def lines(explanation: Explanation, verdict: Verdict | None) -> Iterator[str]:
    """Yield an explanation line by line: the answer as a whole, the memory asked about, the best candidates."""
    yield from _summary(explanation)
    if verdict is not None:
        yield ""
        yield from _verdict(verdict, explanation)
        return
    for one in explanation.verdicts:
        yield ""
        yield from _verdict(one, explanation)
    if explanation.left_out:
        yield ""
        yield f"and {counted(explanation.left_out, 'more candidate')}"


def _summary(told: Explanation) -> Iterator[str]:
    kinds = " and ".join(sorted(told.space.kinds))
    texts = f"{counted(told.documents, 'text')} of {told.mean_length:.0f} words"
    yield f"searched   {_scope(told.space)}: kinds {kinds}; {texts}"
    for word in sorted(told.words, key=lambda word: -word.idf):
        yield f"word       {word.lexeme}: in {counted(word.documents, 'text')}, idf {word.idf:.2f}"
    if not told.words:
        yield "word       none that counts: only meaning is compared"
    yield f"found      {', '.join(f'{count} by {leg}' for leg, count in told.candidates.items())}"
    yield f"candidates {', '.join(f'{count} {fate}' for fate, count in told.fates.items()) or 'none'}"
    yield f"bounds     limit {told.limit}, floor {told.floor:g}"
    yield f"took       {', '.join(f'{stage} {seconds * 1_000:.1f} ms' for stage, seconds in told.timings.items())}"
    for problem in told.problems:
        yield f"problem    {problem}"


def _verdict(verdict: Verdict, told: Explanation) -> Iterator[str]:
    yield f"{verdict.id}  {verdict.fate}"
    if verdict.row is not None:
        yield f"  {row_line(verdict.row)}"
    yield f"  because: {verdict.because}"
    if verdict.score is not None:
        yield f"  score {verdict.score:.3f} = {_sum(verdict, told)}"
    if legs := [*_legs(verdict)]:
        yield f"  {'; '.join(legs)}"
    if verdict.stands_for:
        yield f"  stands for {', '.join(map(str, verdict.stands_for))}"


def _sum(verdict: Verdict, told: Explanation) -> str:
    signed = "".join(f" {'-' if value < 0 else '+'} {name} {abs(value):.3f}" for name, value in verdict.parts.items())
    parts = signed.removeprefix(" + ")
    decay = f" x decay {verdict.decay:.3f}" if verdict.decay != 1 else ""
    lift = f" + lift {verdict.lift:.3f}" if verdict.lift else ""
    fit = f"({parts}) / {told.ceiling:.2f}"
    if told.support is not None:
        fit = f"({fit} x support {told.support:.3f}^3)^0.25"
    return f"{fit}{decay}{lift}"


def _legs(verdict: Verdict) -> Iterator[str]:
    if verdict.bm25 is not None:
        yield f"text: {_rank(verdict.text_rank)}, BM25 {verdict.bm25:.2f}"
    if verdict.cosine is not None:
        yield f"vector: {_rank(verdict.vector_rank)}, cosine {verdict.cosine:.3f}"


def _rank(rank: int | None) -> str:
    return "not brought" if rank is None else f"number {rank}"


def _verdict_payload(verdict: Verdict, caller: Caller) -> dict[str, Any]:
    document: dict[str, Any] = plain(replace(verdict, row=None))
    document["row"] = None if verdict.row is None else row_payload(verdict.row, caller=caller)
    return document


def _scope(space: SearchSpace) -> str:
    """Return the scope as one would have named it."""
    match space.scope:
        case ThemeScope():
            return space.scope.theme
        case SessionScope():
            return f"session {space.scope.session}"
        case _:
            return type(space.scope).__name__.removesuffix(_SCOPE).lower()
