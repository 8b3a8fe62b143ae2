"""Connecting, such that a process which forks meanwhile waits for what the child could not wait for."""

from __future__ import annotations

import types
from collections.abc import Coroutine, Generator
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

import asyncpg

from hermes_memory.adapters.loading import Loading

if TYPE_CHECKING:
    Connection: TypeAlias = asyncpg.Connection[asyncpg.Record]

T = TypeVar("T")

BEGINNING: Final = Loading()
"""Held while a connection begins. It is not that of imports: an event loop would wait for whatever is imported."""


async def connect(dsn: str | None = None, **options: Any) -> Connection:
    """Connect; takes and raises what `asyncpg.connect` does.

    Before it waits for the first time, the driver reads the address and sets TLS up, for which OpenSSL takes locks of
    the process. A child that is forked meanwhile has them locked for ever, and would hang at its own first connection.
    """
    return await begun_whole(asyncpg.connect(dsn, **options))


@types.coroutine
def begun_whole(work: Coroutine[Any, Any, T]) -> Generator[Any, None, T]:
    """Await what no fork interrupts before it waits for the first time."""
    with BEGINNING:
        try:
            waited = work.send(None)
        except StopIteration as done:
            return done.value  # type: ignore[no-any-return]
    while True:
        try:
            yield waited
        except GeneratorExit:
            work.close()
            raise
        except BaseException as error:  # noqa: BLE001 - it is the work's to deal with
            go_on = partial(work.throw, error)
        else:
            go_on = partial(work.send, None)
        try:
            waited = go_on()
        except StopIteration as done:
            return done.value  # type: ignore[no-any-return]
