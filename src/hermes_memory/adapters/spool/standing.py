"""What the processes of a home tell each other of the spool: where the intake ends, and how much is kept.

It lies in the lock file, is written and trusted under the lock only, and need not survive anything: a process that does
not find it sound asks the database. It is void after a start of the machine and for a copy of the files.
"""

from __future__ import annotations

import os
import struct
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

_SHAPE: Final = struct.Struct(">4s16s6Q")
_SOUND: Final = b"HMs1"
_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
SIZE: Final = _SHAPE.size


class Standing(NamedTuple):
    """How the spool stands.

    Attributes:
        intake: What tells the intake's file from others.
        tail: Where the next record goes.
        kept: Operations kept, dead letters and those in the intake included.
        kept_bytes: Size of their bodies.
        appended: Records ever appended, for whoever wants to know whether there are new ones.
    """

    intake: tuple[int, int]
    tail: int
    kept: int
    kept_bytes: int
    appended: int


def packed(standing: Standing) -> bytes:
    """Return a standing as bytes."""
    intake, tail, kept, kept_bytes, appended = standing
    return _SHAPE.pack(_SOUND, _start_of_machine(), *intake, tail, kept, kept_bytes, appended)


def unpacked(stored: bytes, intake: tuple[int, int]) -> Standing | None:
    """Return the standing that was stored, None when it is not sound or not of this intake."""
    if len(stored) != SIZE:
        return None
    mark, start, device, node, tail, kept, kept_bytes, appended = _SHAPE.unpack(stored)
    if mark != _SOUND or (device, node) != intake or start != _start_of_machine():
        return None
    return Standing(intake, tail, kept, kept_bytes, appended)


def appended_in(stored: bytes) -> int:
    """Return how many records were ever appended, sound or not."""
    return int(_SHAPE.unpack(stored)[-1]) if len(stored) == SIZE else 0


def spoilt(stored: bytes) -> bytes:
    """Return a standing that is not sound any more and still tells what was appended."""
    return bytes(len(_SOUND)) + stored[len(_SOUND) :]


@cache
def _start_of_machine() -> bytes:
    """Return what tells this run of the machine from others; where nothing does, this process from others."""
    with suppress(OSError, ValueError):
        return bytes.fromhex(_BOOT.read_text(encoding="ascii").strip().replace("-", ""))[:16].ljust(16, b"\0")
    return os.urandom(16)
