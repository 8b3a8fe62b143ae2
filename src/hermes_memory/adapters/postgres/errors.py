"""Turns what the driver and the system raise into the errors a caller can act upon. The only place that does."""

from __future__ import annotations

import socket
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
    StoreBusy,
    StoreFault,
    StoreUnavailable,
)

MIGRATE_COMMAND: Final = "hermes-memory migrate --admin-dsn URL"

SCHEMA_MESSAGE: Final = f"the database lacks the schema this version needs: run `{MIGRATE_COMMAND}`"
GRANTS_MESSAGE: Final = f"the database role lacks rights on the memory's schema: run `{MIGRATE_COMMAND}`"
ADDRESS_MESSAGE: Final = "the database address is not usable: check its spelling and its parameters"
DSN: Final = "`dsn`"
"""What the address of the memory's own database is called."""
ADMIN_DSN: Final = "--admin-dsn"
"""What the address of an operator's login is called."""
LATE: Final = "did not answer in time"
LATE_MESSAGE: Final = f"the database {LATE}"
REJECTED_MESSAGE: Final = "the database refuses the operation for good"

# Connection (08), wrong state (25, 55), login (28), catalogue (3D), resources (53), operator (57), system (58): they
# say that the database is out of reach or refuses all work, and nothing about the data handed in.
_PASSING_CLASSES: Final = frozenset({"08", "25", "28", "3D", "53", "55", "57", "58"})
# Rollback (40) and a lock that is not to be had: another transaction is in the way of this one.
_ROLLBACK: Final = "40"
_NO_LOCK: Final = "55P03"
_LOGIN: Final = "28"
_NO_DATABASE: Final = "3D000"
# A parameter that the server does not know (42) or whose value it does not take (22) ends a session as it begins.
_PARAMETER_CLASSES: Final = frozenset({"22", "42"})
_FATAL: Final = "FATAL"
# Our statements do not fit the tables, functions and grants they find: names, types and syntax never come from data.
_SCHEMA_CLASSES: Final = frozenset({"3F", "42"})
# Values that no column takes (22), rules of the tables (23), limits such as the size of an index row (54).
_DATA_CLASSES: Final = frozenset({"22", "23", "54"})
_CANCELLED: Final = "57014"
_NO_PRIVILEGE: Final = "42501"
# What Postgres calls its own check of grants. The wall's refusal of a row comes from elsewhere in the server.
_GRANT_CHECK: Final = "aclcheck_error"
_STALE_PLAN: Final = "0A000"

COLLISIONS: Final = (asyncpg.UniqueViolationError, asyncpg.DeadlockDetectedError, asyncpg.SerializationError)
"""What a transaction meets that came upon another one. Tried again, it succeeds."""
DRIVER_ERRORS: Final = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,
    TimeoutError,
)


@contextmanager
def translated(late: type[StoreUnavailable] | type[DeadlineExceeded], address: str = DSN) -> Iterator[None]:
    """Raise the domain's errors for those of the driver and the system.

    What the database refuses is raised without its cause, because its details quote the content.

    Args:
        late: What a time limit means here: an answer nobody waits for any more, or a write of unknown fate.
        address: What an operator calls the address of the database.
    """
    try:
        yield
    except HermesMemoryError:
        raise
    except DRIVER_ERRORS as error:
        translation = domain_error(error, late, address)
        if isinstance(translation, DeliveryRejected):
            raise translation from None
        raise translation from error


@contextmanager
def readable_address() -> Iterator[None]:
    """Tell of an address that the driver cannot read, without quoting it."""
    try:
        yield
    except OSError:
        raise  # a certificate that is not trusted is a ValueError too, and says nothing of the address
    except (ValueError, IndexError):
        raise ConfigurationError(ADDRESS_MESSAGE) from None


def domain_error(
    error: BaseException,
    late: type[StoreUnavailable] | type[DeadlineExceeded] = StoreUnavailable,
    address: str = DSN,
) -> HermesMemoryError:
    """Return the domain's error for one of `DRIVER_ERRORS`; see `translated`. Its message never holds content."""
    which = "the database" if address == DSN else f"the database of {address}"
    if isinstance(error, TimeoutError):
        return late(f"{which} {LATE}")
    if isinstance(error, asyncpg.PostgresError):
        return _refused_address(error, address) or _server_error(error, late)
    if isinstance(error, asyncpg.InterfaceError) and isinstance(error, ValueError):
        return _rejected(f"client {type(error).__name__}")  # a value that the driver cannot encode
    if isinstance(error, socket.gaierror):
        return StoreUnavailable(f"there is no host of the name in {address}: check it ({type(error).__name__})")
    return StoreUnavailable(f"{which} cannot be reached ({type(error).__name__})")


def _refused_address(error: asyncpg.PostgresError, address: str) -> HermesMemoryError | None:
    """Return what a server refuses before it takes any statement, None when it is something else.

    A database, a role or its right may be made yet, so that writes wait for it. A parameter is wrong for good.
    """
    state = error.sqlstate or ""
    name = f"{state} {type(error).__name__}"
    if state == _NO_DATABASE:
        return StoreUnavailable(
            f"the server has no database of the name in {address}: create it, or correct the name ({name})"
        )
    if state[:2] == _LOGIN:
        return StoreUnavailable(
            f"the server refuses the login in {address}: create the role, or correct role and password, and let "
            f"pg_hba.conf admit it ({name})"
        )
    ends_session = getattr(error, "severity_en", None) == _FATAL
    if state == _NO_PRIVILEGE and ends_session:
        return StoreUnavailable(
            f"the role in {address} may not connect to that database, or not set a parameter that stands there: "
            f"`grant connect on database`, or take the parameter out ({name})"
        )
    if state[:2] in _PARAMETER_CLASSES and ends_session:
        return ConfigurationError(f"the server refuses a parameter in {address}: take it out or correct it ({name})")
    return None


def _server_error(
    error: asyncpg.PostgresError, late: type[StoreUnavailable] | type[DeadlineExceeded]
) -> HermesMemoryError:
    state = error.sqlstate or ""
    name = f"{state} {type(error).__name__}"
    if state == _CANCELLED:
        return StoreBusy(LATE_MESSAGE) if late is StoreUnavailable else late(LATE_MESSAGE)
    if state == _NO_PRIVILEGE:
        # The wall's refusal of a row is about the row.
        granted = getattr(error, "server_source_function", None) != _GRANT_CHECK
        return _rejected(name) if granted else SchemaNotApplied(f"{GRANTS_MESSAGE} ({name})")
    if state[:2] == _ROLLBACK or state == _NO_LOCK or _is_stale_plan(error):
        return StoreBusy(f"the database cannot do this now ({name})")
    if state[:2] in _SCHEMA_CLASSES:
        return SchemaNotApplied(f"{SCHEMA_MESSAGE} ({name})")
    if state[:2] in _PASSING_CLASSES:
        return StoreUnavailable(f"the database refuses work for now ({name})")
    return _rejected(name) if state[:2] in _DATA_CLASSES else StoreFault(f"the database failed ({name})")


def _is_stale_plan(error: asyncpg.PostgresError) -> bool:
    """Tell whether a prepared statement only met a table that changed under it; the next connection plans anew."""
    return error.sqlstate == _STALE_PLAN and isinstance(error, asyncpg.exceptions.InvalidCachedStatementError)


def _rejected(reason: str) -> DeliveryRejected:
    return DeliveryRejected(f"{REJECTED_MESSAGE} ({reason})", reason=reason)
