"""Turns what the driver and the system raise into the errors a caller can act upon. The only place that does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import asyncpg

from hermes_memory.domain.errors import (
    ConfigurationError,
    DeadlineExceeded,
    DeliveryRejected,
    HermesMemoryError,
    SchemaNotApplied,
    StoreUnavailable,
)

MIGRATE_COMMAND: Final = "hermes-memory migrate --admin-dsn URL"

SCHEMA_MESSAGE: Final = f"the database lacks the schema this version needs: run `{MIGRATE_COMMAND}`"
GRANTS_MESSAGE: Final = f"the database role lacks rights on the memory's schema: run `{MIGRATE_COMMAND}`"
ADDRESS_MESSAGE: Final = "the database address is not usable: check its spelling and its parameters"
REJECTED_MESSAGE: Final = "the database refuses the operation for good"

# Connection (08), login (28), catalogue (3D), rollback (40), resources (53), wrong state (25, 55), operator (57),
# system (58): none of them says anything about the data handed in.
_PASSING_CLASSES: Final = frozenset({"08", "25", "28", "3D", "40", "53", "55", "57", "58"})
_SCHEMA_STATES: Final = frozenset({"3F000", "42P01", "42703", "42704", "42883"})
_CANCELLED: Final = "57014"
_NO_PRIVILEGE: Final = "42501"
# What Postgres calls its own check of grants. The wall's refusal of a row comes from elsewhere in the server.
_GRANT_CHECK: Final = "aclcheck_error"
_STALE_PLAN: Final = "0A000"

DRIVER_ERRORS: Final = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,
    TimeoutError,
)


@contextmanager
def translated(late: type[StoreUnavailable] | type[DeadlineExceeded]) -> Iterator[None]:
    """Raise the domain's errors for those of the driver and the system.

    What the database refuses is raised without its cause, because its details quote the content.

    Args:
        late: What a time limit means here: an answer nobody waits for any more, or a write of unknown fate.
    """
    try:
        yield
    except HermesMemoryError:
        raise
    except DRIVER_ERRORS as error:
        translation = domain_error(error, late)
        if isinstance(translation, DeliveryRejected):
            raise translation from None
        raise translation from error


@contextmanager
def readable_address() -> Iterator[None]:
    """Tell of an address that the driver cannot read, without quoting it."""
    try:
        yield
    except ValueError:
        raise ConfigurationError(ADDRESS_MESSAGE) from None


def domain_error(
    error: BaseException, late: type[StoreUnavailable] | type[DeadlineExceeded] = StoreUnavailable
) -> HermesMemoryError:
    """Return the domain's error for one of `DRIVER_ERRORS`. Its message never holds content."""
    if isinstance(error, TimeoutError):
        return late("the database did not answer in time")
    if isinstance(error, asyncpg.PostgresError):
        return _server_error(error, late)
    if isinstance(error, asyncpg.InterfaceError) and isinstance(error, ValueError):
        return _rejected(f"client {type(error).__name__}")  # a value that the driver cannot encode
    return StoreUnavailable(f"the database cannot be reached ({type(error).__name__})")


def _server_error(
    error: asyncpg.PostgresError, late: type[StoreUnavailable] | type[DeadlineExceeded]
) -> HermesMemoryError:
    state = error.sqlstate or ""
    name = f"{state} {type(error).__name__}"
    if state == _CANCELLED:
        return late("the database did not answer in time")
    if state in _SCHEMA_STATES:
        return SchemaNotApplied(f"{SCHEMA_MESSAGE} ({name})")
    if state == _NO_PRIVILEGE and getattr(error, "server_source_function", None) == _GRANT_CHECK:
        return SchemaNotApplied(f"{GRANTS_MESSAGE} ({name})")
    if state[:2] in _PASSING_CLASSES or _is_stale_plan(error):
        return StoreUnavailable(f"the database refuses work for now ({name})")
    return _rejected(name)


def _is_stale_plan(error: asyncpg.PostgresError) -> bool:
    """Tell whether a prepared statement only met a table that changed under it; the next connection plans anew."""
    return error.sqlstate == _STALE_PLAN and isinstance(error, asyncpg.exceptions.InvalidCachedStatementError)


def _rejected(reason: str) -> DeliveryRejected:
    return DeliveryRejected(f"{REJECTED_MESSAGE} ({reason})", reason=reason)
