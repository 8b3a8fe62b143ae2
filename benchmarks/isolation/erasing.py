"""How long erasing somebody for good takes, and how long those wait who read and write in another theme meanwhile."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Any, Final
from uuid import uuid4

from benchmarks.isolation import storing
from benchmarks.isolation.texts import WORDS, moment, note
from hermes_memory.adapters.postgres.administrator import administrator
from hermes_memory.adapters.postgres.erasure import PostgresEraser
from hermes_memory.adapters.postgres.store import PostgresStore
from hermes_memory.domain.erasure import WholeSubject
from hermes_memory.domain.model import Caller, CurrentScope, OperationId, Origin, Role, SessionId, Subject, Theme
from hermes_memory.domain.operations import RecordTurns, Stamp, TurnDraft
from hermes_memory.ports.reading import SearchSpace

GONE: Final = Subject(b"g" * 32)
TALK: Final = Caller(theme=Theme("support"), subject=GONE, session=SessionId("gone"))
BESIDE: Final = Caller(theme=Theme("sales"))
QUIET_SECONDS: Final = 10.0
PAUSE_SECONDS: Final = 0.02
"""Between two calls of one who waits: people do not ask without a pause."""


async def erasing(admin_dsn: str, store: PostgresStore, turns: int, first: int) -> dict[str, Any]:
    """Erase so many turns of one person; return seconds, and the milliseconds of others before and meanwhile.

    Args:
        first: Number of the first note that is not stored yet.
    """
    for start in range(first, first + turns, storing.BATCH):
        await store.delivery.apply([_said(start, min(storing.BATCH, first + turns - start))])
    await storing.embed(store)
    numbers = count(first + turns)
    before, _ = await _meanwhile(store, numbers, asyncio.sleep(QUIET_SECONDS))
    async with administrator(admin_dsn) as opened:
        started = time.perf_counter()
        during, erased = await _meanwhile(store, numbers, PostgresEraser(opened).erase(WholeSubject(subject=GONE)))
        seconds = time.perf_counter() - started
    return {"seconds": seconds, "counts": dict(erased.counts), "before": before, "during": during}


def _said(first: int, number: int) -> RecordTurns:
    stamp = Stamp(operation=OperationId(uuid4()), caller=TALK, origin=Origin.USER, accepted_at=moment(first))
    turns = [
        TurnDraft(role=Role.USER, content=note(each), at=moment(each), origin=Origin.USER)
        for each in range(first, first + number)
    ]
    return RecordTurns(stamp=stamp, turns=tuple(turns))


async def _meanwhile(
    store: PostgresStore, numbers: count[int], work: Awaitable[Any]
) -> tuple[dict[str, list[float]], Any]:
    """Read and write in another theme until the work is done; return the milliseconds of each call, and its result."""
    space, waited = SearchSpace(scope=CurrentScope()), dict[str, list[float]](read=[], write=[])

    def read() -> Awaitable[object]:
        return store.search.by_text(BESIDE, space, WORDS[:3], limit=50, timeout=storing.SECONDS)

    def write() -> Awaitable[object]:
        return store.delivery.apply(storing.additions(BESIDE, next(numbers), 1))

    others = [asyncio.create_task(_again(ask, waited[name])) for name, ask in (("read", read), ("write", write))]
    try:
        done = await work
        for other in others:
            if other.done():
                other.result()  # what ended it
        return waited, done
    finally:
        for other in others:
            other.cancel()
        await asyncio.gather(*others, return_exceptions=True)


async def _again(ask: Callable[[], Awaitable[object]], waited: list[float]) -> None:
    while True:
        started = time.perf_counter()
        await ask()
        waited.append((time.perf_counter() - started) * 1e3)
        await asyncio.sleep(PAUSE_SECONDS)
