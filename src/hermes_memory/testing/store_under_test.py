"""What a store adapter hands to the contract suites."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

from hermes_memory.domain.model import ReadPolicy, RowId, Subject, Theme
from hermes_memory.ports.delivery import DeliveryStore
from hermes_memory.ports.embedding import EmbeddingQueue, Generation
from hermes_memory.ports.installation import StoreInspector
from hermes_memory.ports.people import People
from hermes_memory.ports.reading import Reader, Search

CONTRACT_GENERATION: Final = Generation(number=1, model="contract", dimension=4)
"""The active embedding generation that every store under test is made with."""


class SetPolicy(Protocol):
    """Sets the installation's read policy."""

    async def __call__(self, policy: ReadPolicy) -> None:
        """Let `policy` hold for the next call on any port."""


class Grant(Protocol):
    """Lets one ordinary theme, or somebody, read another theme; see `hermes_memory.domain.visibility.Access`."""

    async def __call__(self, reader: Theme | Subject, source: Theme, *, expires_at: datetime | None = None) -> None:
        """Grant `reader` the subject-less rows of `source`, for ever or until a time."""


class Merge(Protocol):
    """Lets subjects be one person."""

    async def __call__(self, *subjects: Subject) -> None:
        """Let each of these read what is any other's, from the next call on any port."""


class EraseTurn(Protocol):
    """Removes one turn for good, as an operator does."""

    async def __call__(self, row: RowId) -> None:
        """Remove a stored turn and whatever of the embedding queue's holds words of it."""


class PassTime(Protocol):
    """Makes time go by for the store: moves its clock, or sleeps."""

    async def __call__(self, seconds: float) -> None:
        """Return once at least `seconds` have gone by for the store. The suites ask for less than a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreUnderTest:
    """A fresh, empty store, all its ports over the same rows, and the levers a suite needs.

    Its active generation is `CONTRACT_GENERATION` and its read policy `ReadPolicy.OPEN`.

    Attributes:
        analyze: The analyser the store was built with: text to lexemes, repetitions kept. The store indexes a row
            under the lexemes of `hermes_memory.domain.lexemes.indexed_row`.
    """

    delivery: DeliveryStore
    search: Search
    reader: Reader
    queue: EmbeddingQueue
    people: People
    inspector: StoreInspector
    analyze: Callable[[str], Sequence[str]]
    set_policy: SetPolicy
    grant: Grant
    merge: Merge
    erase_turn: EraseTurn
    pass_time: PassTime
