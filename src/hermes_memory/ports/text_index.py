"""Keeping the text index in shape: what writers leave in pieces is put together afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class Folding(StrEnum):
    """What a step of folding leaves to do: more of it, nothing, or nothing while another process is at it."""

    MORE = "more"
    IDLE = "idle"
    BUSY = "busy"


@dataclass(frozen=True, slots=True, kw_only=True)
class Folded:
    """What a step of folding did: `gone` pieces of the index became `made`."""

    state: Folding
    gone: int = 0
    made: int = 0


class TextIndex(Protocol):
    """The index that the text leg searches, over all themes."""

    async def fold(self) -> Folded:
        """Put some pieces of the index together, by a bounded amount of work. It changes no answer.

        Any process may call it at any time; what one leaves half done another goes on with.

        Raises:
            StoreUnavailable: The store cannot be reached, or it is busy.
            SchemaNotApplied: It has no schema, or an older one.
        """
        ...
