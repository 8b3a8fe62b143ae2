"""What another memory holds, as its reader hands it over: not cleaned, and not yet anybody's here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias

from hermes_memory.domain.model import Role, Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Whose:
    """Whose something is in the other memory.

    Attributes:
        agent: The agent's name there, None when it has none.
        contact: The key of the person or group the talk was with, when the row is theirs. It is personal data and
            stays out of `repr`.
    """

    agent: str | None = None
    contact: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignEntry:
    """A durable memory.

    Attributes:
        place: Where it stands, for an operator to find it: "memory_entries 12", "line 3".
        key: What tells it from every other one of its memory, and stays the same when it is read again.
        vector: Its vector there, when it is of the model in use here.
    """

    place: str
    key: str
    whose: Whose
    target: Target
    content: object
    at: datetime | None = None
    session: str | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)
    vector: Sequence[float] | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignTurn:
    """One message that was said. Turns of a session come one after the other, in the order in which they were said."""

    place: str
    key: str
    whose: Whose
    session: str
    role: Role
    content: object
    at: datetime | None = None
    parent: str | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)
    vector: Sequence[float] | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignDelegation:
    """A task that an agent handed to another one."""

    place: str
    key: str
    whose: Whose
    session: str | None
    child: str | None
    child_session: str | None
    task: object
    result: object
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignAgent:
    """An agent that the other memory knew."""

    name: str
    first_seen_at: datetime
    last_seen_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """Something that the reader could make nothing of, and why; its content is never quoted."""

    place: str
    reason: str


Foreign: TypeAlias = ForeignEntry | ForeignTurn | ForeignDelegation | ForeignAgent | Unreadable
