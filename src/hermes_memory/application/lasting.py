"""Work that lasts as long as a memory: an error that nobody foresaw in it is told, and ends neither it nor the rest."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

import anyio

from hermes_memory.application.faults import RepeatedFaults

AGAIN_SECONDS: Final = 1.0


async def lasting(work: Callable[[], Awaitable[None]], faults: RepeatedFaults, action: str) -> None:
    """Do work until it ends by itself or is cancelled; begin it again a second after an error.

    What foresees an error deals with it: one that comes here would take the memory of the process with it.

    Args:
        action: As for `tell_fault`.
    """
    while True:
        try:
            await work()
        except Exception as error:  # noqa: BLE001 - a part of the memory begins again, and its other parts go on
            faults.tell("a part of the memory met an unexpected error and begins again", error, action=action)
        else:
            return
        await anyio.sleep(AGAIN_SECONDS)
