"""What a vector has to be, wherever it comes from, so that the index of nearest rows takes it."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Final

HALF_MAX: Final = 65_504.0
"""The largest number of half precision (IEEE 754 binary16), which is how vectors are stored."""
HALF_TINY: Final = 2.0**-24
"""The smallest positive number of half precision."""
_HALF_BYTES: Final = 2


def indexable(vector: Sequence[float], dimension: int) -> bool:
    """Tell whether a vector has this many finite numbers that half precision holds, not all of them zero there.

    A row with any other vector would be in no index, and no search by meaning would ever find it.

    >>> indexable([0.6, 0.8], 2), indexable([0.0, 0.0], 2), indexable([math.nan, 1.0], 2), indexable([1e-9, 0.0], 2)
    (True, False, False, False)
    """
    if len(vector) != dimension or not all(map(math.isfinite, vector)):
        return False
    return HALF_TINY <= max(map(abs, vector), default=0.0) <= HALF_MAX


def numbers_of(packed: bytes) -> tuple[float, ...]:
    """Return the numbers of a vector as archives have it: big-endian, in half precision.

    >>> numbers_of(bytes.fromhex("3c004000"))
    (1.0, 2.0)
    """
    return struct.unpack(f">{len(packed) // _HALF_BYTES}e", packed)


def all_indexable(parts: Sequence[bytes], dimension: int) -> bool:
    """Tell whether there are vectors, as archives have them, and each of them is `indexable`."""
    return bool(parts) and all(indexable(numbers_of(part), dimension) for part in parts)
