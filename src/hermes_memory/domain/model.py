"""The nouns of the memory: themes, subjects, entries, turns and who is asking."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Final, NewType, TypeAlias
from uuid import UUID

from hermes_memory.domain.errors import InvalidInput

Theme = NewType("Theme", str)
"""Whose memory: a canonical agent identity, as `hermes_memory.domain.themes.canonical_theme` returns it."""

Subject = NewType("Subject", bytes)
"""Which person or group the talk is with: 32 bytes, HMAC-SHA256 of the contact key. Never the raw key."""

SessionId = NewType("SessionId", str)
RowId = NewType("RowId", UUID)
OperationId = NewType("OperationId", UUID)
TraceId = NewType("TraceId", UUID)
HomeId = NewType("HomeId", str)
"""Names one Hermes home without telling its path: hex of a keyed hash."""

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"
Metadata: TypeAlias = Mapping[str, Json]

SUBJECT_BYTES: Final = 32
DIRECT_MESSAGES: Final = Theme("whatsapp-dm")
GROUPS: Final = Theme("external-group")
BENCHMARKS: Final = Theme("_bench")
SINKS: Final = frozenset({DIRECT_MESSAGES, GROUPS, BENCHMARKS})
"""Governed themes: every row in them carries a subject, none can be granted, none belongs to scope `all`."""
DEFAULT_THEME: Final = Theme("default")

NO_METADATA: Final[Metadata] = MappingProxyType({})


class Target(StrEnum):
    """Which of the host's two notebooks an entry belongs to."""

    MEMORY = "memory"
    USER = "user"


class Kind(StrEnum):
    """What a stored row is: a durable entry, or one message that was said."""

    ENTRY = "entry"
    TURN = "turn"


class Role(StrEnum):
    """Who said a turn, in the host's words."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


class Origin(StrEnum):
    """Who wrote a row. Set by the library when it accepts the write, never by the caller's metadata."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    AGENT = "agent"
    IMPORT = "import"
    OPERATOR = "operator"


class ReadPolicy(StrEnum):
    """Which ordinary themes may read each other: all of them, those with a grant, or none.

    Who speaks with a person or a group needs a grant where others are open to each other.
    """

    OPEN = "open"
    GRANTS = "grants"
    OWN = "own"


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """On whose behalf something is written or read.

    Attributes:
        also: Other subjects that are the same person, as an operator has said: what is theirs is seen, and not changed.

    Raises:
        InvalidInput: The theme is empty, a subject is not 32 bytes, a sink is named without a subject, or somebody is
            the same person as nobody.
    """

    theme: Theme
    subject: Subject | None = None
    session: SessionId | None = None
    also: frozenset[Subject] = frozenset()

    def __post_init__(self) -> None:
        if not self.theme:
            raise InvalidInput("the theme is empty: name the agent whose memory this is", field="theme")
        if self.subject is not None and not _is_subject(self.subject):
            raise InvalidInput("a subject is 32 bytes: derive it with subject_for(...)", field="subject")
        if self.also and (self.subject is None or not all(map(_is_subject, self.also))):
            raise InvalidInput("only somebody can be the same person as others", field="also")
        if self.theme in SINKS and self.subject is None:
            raise InvalidInput("a governed theme needs a subject: whose conversation is it?", field="subject")


def _is_subject(value: object) -> bool:
    return isinstance(value, bytes) and len(value) == SUBJECT_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One durable memory, as stored."""

    id: RowId
    theme: Theme
    subject: Subject | None
    target: Target
    content: str
    at: datetime
    """When it was said or became true (aware, UTC)."""
    updated_at: datetime
    origin: Origin
    session: SessionId | None = None
    source: HomeId | None = None
    """The home whose MEMORY.md or USER.md it mirrors, or None."""
    metadata: Metadata = field(default_factory=lambda: NO_METADATA)
    operation: OperationId | None = None
    """The write that made it what it is; None when it is not told."""
    tool: str | None = None
    """The tool by which it was written, if by any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One message that was said, as stored."""

    id: RowId
    theme: Theme
    subject: Subject | None
    session: SessionId
    role: Role
    content: str
    at: datetime
    origin: Origin
    position: int
    """Order within the session, growing by one a stored turn from 0."""
    speaker: str | None = None
    metadata: Metadata = field(default_factory=lambda: NO_METADATA)
    operation: OperationId | None = None
    """The write that stored it; None when it is not told."""


Row: TypeAlias = Entry | Turn


def kind_of(row: Row) -> Kind:
    """Tell whether a row is an entry or a turn."""
    return Kind.ENTRY if isinstance(row, Entry) else Kind.TURN


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrentScope:
    """The caller's own theme."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionScope:
    """The caller's own theme, narrowed to one session.

    Attributes:
        hidden: The other name of it: under this one it is kept if its own one tells whom it was with.
    """

    session: SessionId
    hidden: SessionId | None = None

    @property
    def names(self) -> frozenset[SessionId]:
        """All names under which its rows may be kept."""
        return frozenset({self.session, self.hidden or self.session})


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectScope:
    """Every row of the caller's subject, across themes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AllScope:
    """Every theme the caller may read, without the sinks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThemeScope:
    """One theme by name."""

    theme: Theme


Scope: TypeAlias = CurrentScope | SessionScope | SubjectScope | AllScope | ThemeScope

RESERVED_SCOPES: Final = frozenset({"current", "session", "subject", "all"})
