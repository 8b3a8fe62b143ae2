"""How much work the database does tells nothing of rows that one may not see.

A clock would be noise here, so the work is counted: which statements are sent, how often, and how many partitions and
rows each takes up. For a row that is there and hidden it is what it is for one that was never there.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final
from uuid import uuid4

import pytest

from hermes_memory import InvalidInput, NotVisible, Settings, open_memory
from hermes_memory.application.memory import Memory
from hermes_memory.application.view import View
from hermes_memory.domain.model import RowId, TraceId
from tests.support import statements
from tests.support.scans import Looked, watched

SECONDS: Final = 60.0
KEYS: Final = ("whatsapp", "+4915550104711"), ("whatsapp", "+4915550104712")
ONE_ROW: Final = 1
"""A lookup by id takes the row up before the wall can turn it away: a hundred-thousandth of the time of an answer."""

Work = dict[str, tuple[int, dict[str, int], dict[str, int]]]


BESIDE: Final = ("seals.", "folding.", "embedding_queue.", "inspector.")
"""What a memory does for itself meanwhile, whoever asks."""


def _work(seen: dict[str, Looked]) -> Work:
    beside = {text for name, text in statements.constants().items() if name.startswith(BESIDE)}
    return {
        text: (looked.runs, dict(looked.partitions), dict(looked.fetched))
        for text, looked in seen.items()
        if text not in beside
    }


async def _of(question: Callable[[], Awaitable[object]]) -> tuple[str, Work]:
    """Ask, and return the answer without what changes each time, and the work that it took."""
    with watched() as seen:
        try:
            answer = str(await question())
        except (NotVisible, InvalidInput) as refusal:
            answer = f"{type(refusal).__name__}: {refusal}"
    return answer, _work(seen)


def _alike(one: Work, other: Work) -> bool:
    if one.keys() != other.keys():
        return False
    for text, (runs, partitions, fetched) in one.items():
        others_runs, others_partitions, others_fetched = other[text]
        tables = fetched.keys() | others_fetched.keys()
        if runs != others_runs or partitions != others_partitions:
            return False
        if any(abs(fetched.get(table, 0) - others_fetched.get(table, 0)) > ONE_ROW for table in tables):
            return False
    return True


async def _filled(memory: Memory) -> tuple[View, list[RowId]]:
    """Write what Ana alone may see, many times as much as there is for Ben, who asks."""
    ana, ben = (memory.subject_for(*key) for key in KEYS)
    hers = memory.view("support", session="s1", subject=ana)
    kept = [await hers.remember(f"the alarm code of zebra house {number} is {number * 7}") for number in range(40)]
    said = await hers.capture_turn("zebra house has a new door", role="user")
    his = memory.view("support", session="s2", subject=ben)
    await his.remember("likes tea")
    assert await memory.settled(timeout=SECONDS)
    assert said is not None
    return his, [kept[0].id, kept[17].id]


def _by_id(view: View, trace: TraceId) -> dict[str, Callable[[RowId], Awaitable[object]]]:
    return {
        "get": view.get,
        "history": view.history,
        "forget": view.forget,
        "replace": partial(view.replace, content="something else"),
        "why": partial(view.why, trace),
    }


@pytest.mark.usefixtures("served")
async def test_asking_for_a_hidden_row_takes_the_work_of_asking_for_one_that_never_was() -> None:
    async with open_memory(Settings()) as memory:
        ben, hidden = await _filled(memory)
        trace = (await ben.recall("tea", timeout=SECONDS)).trace_id
        for name, ask in _by_id(ben, trace).items():
            await _of(partial(ask, RowId(uuid4())))  # what is done once is done
            nowhere, nothing = await _of(partial(ask, RowId(uuid4())))
            for row in hidden:
                answer, work = await _of(partial(ask, row))

                assert answer.replace(str(row), "") == nowhere.replace(answer_id(nowhere), ""), name
                assert _alike(work, nothing), (name, work, nothing)


def answer_id(answer: str) -> str:
    """Return the id that an answer names, or something that it does not hold."""
    words = answer.replace("'", " ").replace(")", " ").split()
    return next((word for word in words if len(word) == len(str(uuid4())) and word.count("-") == 4), "\0")


@pytest.mark.usefixtures("served")
async def test_words_of_hidden_rows_take_the_work_of_words_that_nobody_said() -> None:
    async with open_memory(Settings()) as memory:
        ben, _ = await _filled(memory)
        for scope in ("current", "all", "subject"):
            await ben.recall("giraffe palace", scope=scope, timeout=SECONDS)
            with watched() as seen:
                absent = await ben.recall("giraffe palace", scope=scope, timeout=SECONDS)
            nothing = _work(seen)
            with watched() as seen:
                hidden = await ben.recall("zebra house", scope=scope, timeout=SECONDS)

            assert [hit.row.content for hit in hidden.hits] == [hit.row.content for hit in absent.hits]
            assert _work(seen) == nothing, scope


@pytest.mark.usefixtures("served")
async def test_listing_pages_and_counts_are_those_of_a_database_without_the_hidden_rows() -> None:
    async with open_memory(Settings()) as memory:
        ben, _ = await _filled(memory)
        listed = [await ben.profile(limit=limit, timeout=SECONDS) for limit in (1, 5, 50)]
        explained = await ben.explain((await ben.recall("zebra tea", timeout=SECONDS)).trace_id, timeout=SECONDS)

        assert [[entry.content for entry in each] for each in listed] == [["likes tea"]] * 3
        assert explained.documents == 1
        assert "zebra house" not in json.dumps(str(explained))
