"""How far a memory is trusted, by who wrote it: what may be shown to an agent that has not asked for it.

Whoever writes into a memory that is shown unasked speaks into every later conversation. So only the people and agents
that a theme belongs to may do that; what came from elsewhere waits until it is asked for, or is shown with a label.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, assert_never

from hermes_memory.domain.instructions import looks_like_instruction
from hermes_memory.domain.model import Caller, Entry, Origin, Role, Row


class Trust(StrEnum):
    """How far a memory is trusted."""

    VOUCHED = "vouched"
    """Written by the user, the agent itself or an operator, or kept in the host's own notebooks."""
    IMPORTED = "imported"
    """Brought in from elsewhere on purpose, by whoever runs the installation."""
    FOREIGN = "foreign"
    """What a tool put out or another agent wrote: nobody of this theme has said it."""


class AmbientTrust(StrEnum):
    """Which memories may be shown to an agent that has not asked for them. Who asks is shown all of them."""

    VOUCHED = "vouched"
    """Only vouched ones."""
    LABELLED = "labelled"
    """Imported ones as well, labelled, unless they read like instructions."""
    ALL = "all"
    """Foreign ones as well, labelled."""


def trust_in(row: Row, caller: Caller) -> Trust:
    """Tell how far a caller may trust a memory.

    A row of another theme is another agent's, whoever said it there.
    """
    if row.theme != caller.theme:
        return Trust.FOREIGN
    if isinstance(row, Entry) and row.source is not None:
        return Trust.VOUCHED
    return _trust_of(row.origin)


def spoken_by(role: Role, *, by_agent: bool = False) -> Origin:
    """Return who wrote what was said in a role.

    Args:
        by_agent: Another agent speaks: in the user's place it is no user.

    >>> spoken_by(Role.USER), spoken_by(Role.USER, by_agent=True)
    (<Origin.USER: 'user'>, <Origin.AGENT: 'agent'>)
    """
    return Origin.AGENT if by_agent and role is Role.USER else _SPOKEN_BY[role]


def imported_as(told: Origin, role: Role | None = None) -> Origin:
    """Return as whose something is kept that was brought in, and that nobody vouches for.

    Args:
        told: Who wrote it, as it says itself: it is believed only where it asks for less trust than an import has.
        role: In which role it was said, if it was; also believed only where that asks for less.

    >>> imported_as(Origin.OPERATOR), imported_as(Origin.USER, Role.TOOL)
    (<Origin.IMPORT: 'import'>, <Origin.TOOL: 'tool'>)
    """
    claims = (told,) if role is None else (told, spoken_by(role))
    return next((claim for claim in claims if _trust_of(claim) is Trust.FOREIGN), Origin.IMPORT)


def shown_unasked(row: Row, caller: Caller, policy: AmbientTrust) -> bool:
    """Tell whether a memory may be shown to a caller that has not asked for it."""
    if policy is AmbientTrust.ALL:
        return True
    trust = trust_in(row, caller)
    if trust is Trust.IMPORTED and policy is AmbientTrust.LABELLED:
        return not looks_like_instruction(row.content)
    return trust is Trust.VOUCHED


_SPOKEN_BY: Final[Mapping[Role, Origin]] = {
    Role.USER: Origin.USER,
    Role.ASSISTANT: Origin.ASSISTANT,
    Role.SYSTEM: Origin.AGENT,
    Role.TOOL: Origin.TOOL,
}


def _trust_of(origin: Origin) -> Trust:
    match origin:
        case Origin.USER | Origin.ASSISTANT | Origin.OPERATOR:
            return Trust.VOUCHED
        case Origin.IMPORT:
            return Trust.IMPORTED
        case Origin.TOOL | Origin.AGENT:
            return Trust.FOREIGN
        case _:
            assert_never(origin)
