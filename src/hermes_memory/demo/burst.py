"""The worker that is killed: records a burst of messages and hands out a receipt for each, once it is accepted.

Run as a process of its own: `python -m hermes_memory.demo.burst HOME`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

import anyio

from hermes_memory.bootstrap.opening import open_memory
from hermes_memory.settings import Settings

AGENT: Final = "operations"
SESSION: Final = "order-feed"
MOST: Final = 5_000
"""Messages after which the worker ends by itself: far more than it lives to record."""
_LAMPS: Final = ("Halo brass", "Halo black", "Mira desk lamp", "Dune floor lamp", "Nook wall lamp")


def order_line(number: int) -> str:
    """Return the message of this number, from 0. No two are alike."""
    pieces, lamp = number % 4 + 1, _LAMPS[number % len(_LAMPS)]
    return f"order LH-{10_000 + number} paid: {pieces} x {lamp}, shelf {chr(65 + number % 9)}{number % 30 + 1}"


def main() -> None:
    """Record until the end comes."""
    anyio.run(_record, Path(sys.argv[1]))


async def _record(home: Path) -> None:
    async with open_memory(Settings(home=home)) as memory:
        desk = memory.view(AGENT, session=SESSION)
        for number in range(MOST):
            operation = await desk.capture_turn(order_line(number), role="tool", speaker="shop")
            # Past every buffer: a receipt that is out says that the write was accepted before, and nothing else does.
            os.write(sys.stdout.fileno(), f"{operation}\n".encode())


if __name__ == "__main__":
    main()
