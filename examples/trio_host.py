"""A host on trio: the memory runs on an asyncio loop of its own, and trio's worker threads call it.

    python examples/trio_host.py

The memory is opened before trio's loop begins and closed after it has ended, so that neither holds that loop up.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ParamSpec, TypeVar

import trio

from hermes_memory import Settings, SyncMemory, open_memory_sync

P = ParamSpec("P")
Answer = TypeVar("Answer")

CUSTOMERS = {"ana": "I eat no nuts.", "ben": "I only eat fish on Fridays.", "cleo": "I never eat dessert."}


async def aside(call: Callable[P, Answer], *args: P.args, **kwargs: P.kwargs) -> Answer:
    """Make a call that waits in one of trio's threads, so that trio goes on meanwhile.

    A call whose scope is cancelled is left alone: it ends by its own timeout. A write that was begun is not lost.
    """
    return await trio.to_thread.run_sync(partial(call, *args, **kwargs), abandon_on_cancel=True)


async def serve(memory: SyncMemory, customer: str, said: str) -> None:
    """Talk with one customer: what is said under a subject is found again under that subject alone."""
    subject = memory.subject_for("telegram", customer)
    desk = memory.view("example-kitchen", session=f"table-{customer}", subject=subject)
    await aside(desk.remember, said, target="user")
    with trio.move_on_after(60) as patience:
        result = await aside(desk.recall, "What does the guest eat?", limit=1, scope="subject")
        print(f"{customer}:", *(hit.content for hit in result.hits))
    if patience.cancelled_caught:
        print(f"{customer}: served without a memory")


async def host(memory: SyncMemory) -> None:
    """Serve all customers at the same time."""
    async with trio.open_nursery() as nursery:
        for customer, said in CUSTOMERS.items():
            nursery.start_soon(serve, memory, customer, said)


if __name__ == "__main__":
    with open_memory_sync(Settings()) as opened:
        trio.run(host, opened)
