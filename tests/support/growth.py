"""How the cost of work grows with its size, told on a machine that is busy with other things."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Final

FACTOR: Final = 16
"""How many times as large the larger of the two sizes is."""
SLACK: Final = 4
"""How many times dearer than in proportion it may be. A cost that grows with the square is `FACTOR` times dearer."""
NEGLIGIBLE: Final = 0.05
"""Seconds of which no growth is told."""
_ROUNDS: Final = 12


def grows_linearly(work: Callable[[int], Callable[[], object]], *, largest: int) -> bool:
    """Tell whether work on something large costs about in proportion to what it costs on something small.

    The time that counts is this thread's share of the processor, at its best. Other load only ever adds to it, so what
    looks too dear is measured again; what grows faster than in proportion stays too dear.

    Args:
        work: Makes the work for a size; making it is not measured.
        largest: The larger size; the smaller one is a part of `FACTOR` of it.
    """
    small, large = work(largest // FACTOR), work(largest)
    least_small = least_large = math.inf
    for _ in range(_ROUNDS):
        least_small = min(least_small, _seconds(small))
        least_large = min(least_large, _seconds(large))
        if least_large <= max(least_small * FACTOR * SLACK, NEGLIGIBLE):
            return True
    return False


def on_repeated(read: Callable[[str], object], unit: str, *, ending: str = "") -> Callable[[int], Callable[[], object]]:
    """Return the work of reading one unit of text again and again, by the length of the whole in characters."""

    def work(size: int) -> Callable[[], object]:
        text = (unit * (size // len(unit) + 1))[:size] + ending
        return lambda: read(text)

    return work


def _seconds(work: Callable[[], object]) -> float:
    started = time.thread_time()
    work()
    return time.thread_time() - started
