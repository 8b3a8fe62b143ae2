"""What an agent was not shown for want of room is told of in the explanation of the answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest
from tests.support.inprocess import GUARD
from tests.support.inprocess_runtime import InProcessRuntime, binding, eventually

from hermes_memory.application.answers import Fate
from hermes_memory.application.explanation import Explanation
from hermes_memory.domain.model import Origin, Target, TraceId
from hermes_memory.hermes.ambient import Ambient
from hermes_memory.hermes.tool_calls import ToolCalls
from hermes_memory.testing.making import DESK


@pytest.fixture
def runtime(home: Path) -> Iterator[InProcessRuntime]:
    runtime = InProcessRuntime(home, prefetch_tokens=200, tool_tokens=200)
    eventually(lambda: runtime.loop.memory)
    for number in range(5):
        content = f"Periwinkle clause {number}: " + " ".join(f"detail{number}x{word}" for word in range(60))
        runtime.local.acceptor.add(DESK, content, target=Target.MEMORY, origin=Origin.USER)
    runtime.settle()
    yield runtime
    runtime.close(timeout=GUARD)


def explain(runtime: InProcessRuntime, answer: TraceId) -> Explanation:
    told: Explanation = runtime.call(lambda memory: memory.view_of(DESK).explain(answer, timeout=GUARD), timeout=GUARD)
    return told


def test_what_has_no_room_in_a_block_was_cut_by_the_budget(runtime: InProcessRuntime) -> None:
    ambient = Ambient(runtime)
    ambient.block(binding(), "Periwinkle clauses")
    (answer,) = runtime.parts.recall._traces._traces
    told = explain(runtime, answer)

    assert 0 < told.fates[Fate.RETURNED] == ambient.shown < 5
    assert told.fates[Fate.BUDGET] == 5 - ambient.shown


def test_what_has_no_room_in_the_answer_of_a_tool_was_cut_by_the_budget(runtime: InProcessRuntime) -> None:
    answer = json.loads(ToolCalls(runtime).answer(binding(), "recall_memory", {"query": "Periwinkle clauses"}))
    told = explain(runtime, TraceId(UUID(answer["trace_id"])))

    assert 0 < told.fates[Fate.RETURNED] == answer["count"] < 5
    assert told.fates[Fate.BUDGET] == answer["left_out"] == 5 - answer["count"]
