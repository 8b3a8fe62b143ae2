"""Recall as of a moment: what may not be shown has no part in it, and it keeps to its time and lets others work."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import timedelta
from typing import Any

import anyio
import pytest
from tests.support.inprocess import InProcess, store_breaker, utc_now

from hermes_memory.application import past as module
from hermes_memory.application.answers import RecallRequest, RecallResult
from hermes_memory.application.past import MOST_RANKED, SCORED_AT_ONCE, Past
from hermes_memory.domain.bm25 import bm25
from hermes_memory.domain.lexemes import Analyzer
from hermes_memory.domain.model import Origin
from hermes_memory.domain.operations import Operation
from hermes_memory.domain.ranking import RankingPolicy, order
from hermes_memory.domain.trust import AmbientTrust
from hermes_memory.testing.making import CURRENT, DESK, ENTRIES, PATIENCE, add, record, said


async def asked(
    *operations: Operation, query: str, analyzer: Analyzer | None = None, timeout: float = PATIENCE, **options: Any
) -> RecallResult:
    """Store these, and ask a past that analyses by `analyzer` how all of it stands."""
    parts = InProcess()
    await parts.store.delivery.apply(operations)
    past = Past(
        parts.store.history,
        parts.store.search,
        analyzer=analyzer or parts.analyzer,
        ranking=RankingPolicy(),
        breaker=store_breaker(),
    )
    given: dict[str, Any] = {"space": CURRENT, "limit": 9, **options}
    request = RecallRequest(caller=DESK, query=query, timeout=timeout, **given)
    return await past.recall(request, utc_now() + timedelta(hours=1))


def contents(result: RecallResult) -> list[str]:
    return [hit.row.content for hit in result.hits]


async def test_what_may_not_be_shown_unasked_has_no_part_in_an_answer_as_of_a_moment() -> None:
    ours = add("The launch is on 3 May", origin=Origin.USER)
    foreign = add("The launch is on 9 May", origin=Origin.TOOL)
    copy = record(replace(said("The launch is on 3 May"), origin=Origin.TOOL))

    every = await asked(ours, foreign, copy, query="When is the launch?")
    unasked = await asked(ours, foreign, copy, query="When is the launch?", unasked=AmbientTrust.VOUCHED)
    assert set(contents(every)) == {"The launch is on 3 May", "The launch is on 9 May"}
    assert contents(unasked) == ["The launch is on 3 May"]
    (hit,) = unasked.hits
    assert (hit.copies, hit.superseded_by) == (1, None)


async def test_what_may_not_be_shown_takes_no_room_from_what_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_RANKED", 3)
    foreign = [add(f"launch launch {number}", origin=Origin.TOOL) for number in range(5)]
    ours = add("A long note of many words in which the launch stands once", origin=Origin.USER)

    result = await asked(ours, *foreign, query="launch", unasked=AmbientTrust.VOUCHED)
    assert contents(result) == [ours.content]


async def test_memories_that_cannot_be_looked_at_in_time_are_left_out_and_the_answer_says_so() -> None:
    analysed = []

    def slow(word: str) -> str:
        if word.startswith("own"):
            time.sleep(0.02)
            analysed.append(word)
        return word

    notes = [add(f"launch own{number}") for number in range(300)]
    result = await asked(*notes, query="launch", analyzer=Analyzer(stem=slow), timeout=2.0, space=ENTRIES)

    assert 0 < len(analysed) < len(notes)
    assert contents(result)
    assert f"only the {len(analysed)} memories changed last before that moment were searched" in result.degraded


async def test_an_answer_as_of_a_moment_lets_others_work_and_ranks_the_best_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    turns_of_the_loop, seen, ranked = 0, set(), []

    def scoring(*arguments: Any) -> float:
        seen.add(turns_of_the_loop)
        return bm25(*arguments)

    def ordering(candidates: Any, *arguments: Any, **options: Any) -> Any:
        ranked.append(len(candidates))
        return order(candidates, *arguments, **options)

    async def turn() -> None:
        nonlocal turns_of_the_loop
        while True:
            turns_of_the_loop += 1
            await anyio.sleep(0)

    monkeypatch.setattr(module, "bm25", scoring)
    monkeypatch.setattr(module, "order", ordering)
    often = add("launch launch launch")
    notes = [add(f"launch of number {number}") for number in range(5 * SCORED_AT_ONCE)]
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(turn)
        result = await asked(often, *notes, query="launch")
        tasks.cancel_scope.cancel()

        assert len(seen) > 5
        assert ranked == [MOST_RANKED]
        assert contents(result)[0] == often.content
        assert len(result.degraded) == 1
