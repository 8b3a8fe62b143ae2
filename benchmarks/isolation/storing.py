"""What the wall and history cost the database: the same store before the wall and without it, in turn."""

from __future__ import annotations

import random
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Final
from unittest.mock import patch
from uuid import uuid4

from benchmarks.isolation.texts import WORDS, moment, note
from hermes_memory.adapters.postgres import history
from hermes_memory.adapters.postgres.store import PostgresStore
from hermes_memory.domain.model import Caller, CurrentScope, OperationId, Origin, RowId, SubjectScope, Target
from hermes_memory.domain.operations import AddEntry, Stamp, row_id
from hermes_memory.ports.reading import SearchSpace

BATCH: Final = 100
SECONDS: Final = 60.0
QUESTIONS: Final = 20
DIMENSION: Final = 64
CLAIMED: Final = 500


def additions(caller: Caller, first: int, count: int) -> list[AddEntry]:
    """Make writes that differ from each other and from those of other numbers."""
    made = []
    for number in range(first, first + count):
        stamp = Stamp(operation=OperationId(uuid4()), caller=caller, origin=Origin.USER, accepted_at=moment(number))
        made.append(AddEntry(stamp=stamp, target=Target.MEMORY, content=note(number), at=moment(number)))
    return made


async def store(target: PostgresStore, operations: Sequence[AddEntry]) -> list[RowId]:
    """Store in batches; return the rows."""
    for start in range(0, len(operations), BATCH):
        await target.delivery.apply(operations[start : start + BATCH])
    return [row_id(operation.stamp.operation) for operation in operations]


async def embed(target: PostgresStore) -> None:
    """Give every row that waits for one a vector, the same in each run."""
    numbers = random.Random(0)
    while jobs := await target.queue.claim(CLAIMED, lease=SECONDS):
        await target.queue.complete({job: [_vector(numbers)] for job in jobs})


def _vector(numbers: random.Random) -> list[float]:
    return [numbers.uniform(-1.0, 1.0) for _ in range(DIMENSION)]


async def delivering(target: PostgresStore, caller: Caller, first: int) -> float:
    """Return milliseconds for a batch of writes."""
    return await _milliseconds(lambda: target.delivery.apply(additions(caller, first, BATCH)), 1)


@contextmanager
def without_history() -> Iterator[None]:
    """Let changes be stored without a line of history while the block lasts."""

    async def nothing(*_: Any, **__: Any) -> None:
        return None

    with patch.object(history, "note", nothing):
        yield


async def reading(target: PostgresStore, caller: Caller, rows: Sequence[RowId]) -> dict[str, float]:
    """Return milliseconds a question, by kind."""
    lexemes = [WORDS[number % len(WORDS)] for number in range(3)]
    spaces = {"text": SearchSpace(scope=CurrentScope()), "text, by person": SearchSpace(scope=SubjectScope())}
    asked: dict[str, Callable[[], Awaitable[object]]] = {
        name: partial(target.search.by_text, caller, space, lexemes, limit=50, timeout=SECONDS)
        for name, space in spaces.items()
    }
    near = partial(target.search.by_vector, caller, vector=_vector(random.Random(1)), limit=50, timeout=SECONDS)
    asked |= {name.replace("text", "vector"): partial(near, space) for name, space in spaces.items()}
    asked["by id"] = lambda: target.reader.get(caller, rows[0], timeout=SECONDS)
    asked["list"] = lambda: target.reader.entries(caller, CurrentScope(), limit=50, timeout=SECONDS)
    return {name: await _milliseconds(ask, QUESTIONS) for name, ask in asked.items()}


async def _milliseconds(ask: Callable[[], Awaitable[object]], times: int) -> float:
    started = time.perf_counter()
    for _ in range(times):
        await ask()
    return (time.perf_counter() - started) / times * 1e3
