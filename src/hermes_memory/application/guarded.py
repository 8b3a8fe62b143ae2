"""What a breaker guards: services that may be out of reach, and how each of them says so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from hermes_memory.domain.errors import (
    DeliveryRejected,
    EmbedderUnavailable,
    EmbeddingRejected,
    HermesMemoryError,
    SchemaNotApplied,
    StoreUnavailable,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A service that may be out of reach.

    Attributes:
        failure: The error that says so.
        answers: Errors that show that it is there.
        turn_away: Makes the error for a call that is not let through, from the seconds until one may pass.
    """

    failure: type[HermesMemoryError]
    answers: tuple[type[HermesMemoryError], ...]
    turn_away: Callable[[float | None], HermesMemoryError]


EMBEDDER: Final = Service(
    failure=EmbedderUnavailable,
    answers=(EmbeddingRejected,),
    turn_away=lambda wait: EmbedderUnavailable(
        "the embedder did not answer of late and is left alone", retry_after=wait
    ),
)
STORE: Final = Service(
    failure=StoreUnavailable,
    answers=(DeliveryRejected, SchemaNotApplied),
    turn_away=lambda _wait: StoreUnavailable(
        "the database is out of reach; what was accepted is kept and recall returns with it"
    ),
)
