"""The errors of the library, named for what the caller can do about them.

Messages never hold a connection string, a key or the content of a memory.
"""

from __future__ import annotations


class HermesMemoryError(Exception):
    """Base of every error this library raises on purpose."""


class StoreUnavailable(HermesMemoryError):
    """The database cannot be reached or refuses work for now. Retry later; accepted writes are kept."""


class StoreBusy(StoreUnavailable):
    """The database is there and cannot do this one thing now: it waits for a lock, or took too long. Retry it later."""


class StoreFault(StoreUnavailable):
    """The database is there and failed at this one thing in a way that is no known fault of what was handed in."""


class EmbedderUnavailable(HermesMemoryError):
    """The embedder cannot answer for now. Retry later; text search goes on without it.

    Attributes:
        retry_after: Seconds the endpoint asked to wait, or None when it did not say.
    """

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class EmbedderBusy(EmbedderUnavailable):
    """The embedder is there and asks for fewer calls. Retry later, after `retry_after` seconds when it says so."""


class EmbedderForbidden(EmbedderUnavailable):
    """The embedder refuses the key. Call the operator; the message names the key's variable."""


class EmbeddingRejected(HermesMemoryError):
    """The embedder refuses this input, or answers wrongly in a way that repeating will not mend."""


class DeadlineExceeded(HermesMemoryError):
    """The time allowed for the call is over. What was accepted before stays accepted."""


class InvalidInput(HermesMemoryError):
    """An argument is not usable. The message names it and the remedy.

    Attributes:
        field: Name of the argument at fault, or "" when no single one is.
    """

    def __init__(self, message: str, *, field: str = "") -> None:
        super().__init__(message)
        self.field = field


class SpoolFull(HermesMemoryError):
    """The local spool has reached its bound. Nothing was accepted and nothing older was dropped."""


class NotVisible(HermesMemoryError):
    """No such memory for this caller: it does not exist, or it is not the caller's. The two look alike on purpose."""


class Ambiguous(HermesMemoryError):
    """The selector fits several memories and none was touched. Select by id or by the whole content."""


class Outdated(HermesMemoryError):
    """The memory was changed since, and nothing was touched. Look at it again; the message says what is in the way."""


class DeliveryRejected(HermesMemoryError):
    """The database refuses an operation for good; repeating it will not help.

    Attributes:
        reason: Short, content-free cause, such as an SQLSTATE and its name.
    """

    def __init__(self, message: str, *, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


class SchemaNotApplied(HermesMemoryError):
    """The database lacks the schema this version needs. The message names the command to run."""


class ConfigurationError(HermesMemoryError):
    """A setting is wrong, or two do not fit together. The message names it and the remedy."""
