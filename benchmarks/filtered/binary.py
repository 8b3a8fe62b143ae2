"""Rows in the binary form of COPY, made many at a time."""

from __future__ import annotations

import io
import struct
from typing import Any, Final

import numpy as np
import numpy.typing as npt

SIGNATURE: Final = b"PGCOPY\n\xff\r\n\0" + struct.pack(">ii", 0, 0)
TRAILER: Final = struct.pack(">h", -1)


def copied(columns: list[npt.NDArray[np.uint8]]) -> io.BytesIO:
    """Return rows as COPY reads them; each column is `(n, width)` bytes, all of one width."""
    count = len(columns[0])
    parts: list[npt.NDArray[np.uint8]] = [_repeated(struct.pack(">h", len(columns)), count)]
    for column in columns:
        parts += [_repeated(struct.pack(">i", column.shape[1]), count), column]
    return io.BytesIO(SIGNATURE + np.hstack(parts).tobytes() + TRAILER)


def same(value: bytes, count: int) -> npt.NDArray[np.uint8]:
    """Return a column that holds one value throughout."""
    return _repeated(value, count)


def integers(values: npt.NDArray[np.int64]) -> npt.NDArray[np.uint8]:
    """Return a column of bigint."""
    return _bytes(values.astype(">i8").reshape(-1, 1))


def texts(values: list[str]) -> npt.NDArray[np.uint8]:
    """Return a column of ASCII texts of one length."""
    return np.frombuffer("".join(values).encode("ascii"), dtype=np.uint8).reshape(len(values), -1)


def vectors(values: npt.NDArray[np.float32], kind: str) -> npt.NDArray[np.uint8]:
    """Return a column of vectors: `f4` for pgvector's `vector`, `f2` for its `halfvec`."""
    head = _repeated(struct.pack(">hh", values.shape[1], 0), len(values))
    return np.hstack([head, _bytes(values.astype(f">{kind}"))])


def _repeated(value: bytes, count: int) -> npt.NDArray[np.uint8]:
    return np.broadcast_to(np.frombuffer(value, dtype=np.uint8), (count, len(value)))


def _bytes(values: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    return np.ascontiguousarray(values).view(np.uint8).reshape(len(values), -1)
