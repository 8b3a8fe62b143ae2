"""Bringing the example in, and asking the questions."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping

from hermes_memory.application.memory import Memory
from hermes_memory.demo.cast import Figure
from hermes_memory.demo.report import Answer
from hermes_memory.demo.script import KEPT_BY_SALES, Question
from hermes_memory.demo.transcripts import Transcript

NOTEBOOK_KEEPER = "marketing"
"""The figure whose agent the home belongs to: its notebooks are that agent's."""
KEPT_TURNS = 2
"""Messages of the exchange in which the sales agent keeps a fact."""
HITS = 3
RECONCILE_SECONDS = 30.0


async def bring_in_notebooks(memory: Memory, cast: Mapping[str, Figure]) -> int:
    """Bring in MEMORY.md and USER.md; return how many writes that took."""
    return await memory.reconcile(cast[NOTEBOOK_KEEPER].caller(), timeout=RECONCILE_SECONDS)


async def bring_in_sessions(memory: Memory, cast: Mapping[str, Figure], transcripts: Iterable[Transcript]) -> None:
    """Bring in every message of the sessions, each under the identity of the one it was held with."""
    for transcript in transcripts:
        desk = memory.view_of(cast[transcript.agent].caller(transcript.session))
        for line in transcript.lines:
            await desk.capture_turn(
                line.content,
                role=line.role,
                speaker=line.speaker,
                at=line.at,
                occurrence=line.occurrence,
                metadata={"file": transcript.name, "line": line.number},
            )


async def keep_something(memory: Memory, cast: Mapping[str, Figure]) -> None:
    """Let the sales agent keep a fact and go on talking, so that others of its theme can find it."""
    desk = memory.view_of(cast["sales"].caller("hotel-call"))
    await desk.remember(KEPT_BY_SALES, target="memory")
    await desk.capture(
        user="The head of reception called: the joiners finish earlier than planned.",
        assistant="I have kept the new latest date for the hotel, and told the workshop.",
    )


async def ask(memory: Memory, figure: Figure, question: Question, *, floor: float = 0.0) -> Answer:
    """Ask a question in a new session, and take the time.

    Args:
        floor: Score below which nothing is worth showing.

    Raises:
        NotVisible, InvalidInput: The scope is not for this figure.
        StoreUnavailable, DeadlineExceeded: There is no answer.
    """
    desk = memory.view_of(figure.caller("afterwards"))
    started = time.perf_counter()
    result = await desk.recall(question.text, limit=HITS, scope=question.scope, floor=floor)
    return Answer(
        question=question,
        asker=figure.memory_of,
        hits=result.hits,
        degraded=result.degraded,
        seconds=time.perf_counter() - started,
    )
