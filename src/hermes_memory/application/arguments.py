"""What callers hand in beside texts, understood or refused before anything is done about it."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from uuid import UUID

from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.model import Kind, Role, RowId, Target


def seconds(timeout: object, default: float) -> float:
    """Return the seconds that a call may take: those it names, or the usual ones.

    Raises:
        InvalidInput: It is no positive number of seconds.
    """
    return default if timeout is None else named_seconds(timeout)


def named_seconds(timeout: object) -> float:
    """Return the seconds that a call names.

    Raises:
        InvalidInput: It is no positive number of seconds.
    """
    if not isinstance(timeout, int | float) or not 0 < timeout < math.inf:
        raise InvalidInput("a timeout is a positive number of seconds", field="timeout")
    return timeout


def row_named(row: object) -> RowId:
    """Return the id that names a row.

    Raises:
        InvalidInput: It is no UUID.
    """
    if not isinstance(row, UUID):
        raise InvalidInput("a memory is named by its id, a UUID", field="id")
    return RowId(row)


def require_limit(limit: object, *, most: int) -> None:
    """Make sure that a limit is a number from 1 to `most`.

    Raises:
        InvalidInput: It is not.
    """
    if not isinstance(limit, int) or not 1 <= limit <= most:
        raise InvalidInput(f"limit must be from 1 to {most}", field="limit")


def require_floor(floor: object) -> None:
    """Make sure that a floor is a number from 0 to 1, as scores are. NaN would let everything through.

    Raises:
        InvalidInput: It is not.
    """
    if not isinstance(floor, int | float) or not 0 <= floor <= 1:
        raise InvalidInput("a floor is a score, from 0 to 1", field="floor")


def parse_target(value: str) -> Target:
    """Return the target of this name.

    Raises:
        InvalidInput: It is neither `memory` nor `user`.
    """
    try:
        return Target(value.strip().casefold())
    except (ValueError, AttributeError):
        raise InvalidInput("target must be 'memory' or 'user'", field="target") from None


def parse_kinds(values: Iterable[str]) -> frozenset[Kind]:
    """Return the kinds of these names. A text is no set of names, and no name at all would find nothing.

    Raises:
        InvalidInput: There is none, or one that is neither `entry` nor `turn`.
    """
    try:
        kinds = frozenset(map(Kind, values))
    except (ValueError, TypeError):
        kinds = frozenset()
    if not kinds:
        raise InvalidInput("kinds is a set of Kind.ENTRY, Kind.TURN or both", field="kinds")
    return kinds


def parse_contents(values: object) -> frozenset[str]:
    """Return the set of these contents. A text is no set of them: each of its parts would count as one.

    Raises:
        InvalidInput: It is no set of texts, nor a list of them.
    """
    if isinstance(values, str) or not isinstance(values, Collection) or not all(isinstance(one, str) for one in values):
        raise InvalidInput("exclude is a set of contents, such as {content}", field="exclude")
    return frozenset(values)


def parse_role(value: str) -> Role:
    """Return the role of this name.

    Raises:
        InvalidInput: It is none of `user`, `assistant`, `system` and `tool`.
    """
    try:
        return Role(value.strip().casefold())
    except (ValueError, AttributeError):
        raise InvalidInput("role must be 'user', 'assistant', 'system' or 'tool'", field="role") from None
