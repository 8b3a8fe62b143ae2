"""What is to be erased, named exactly, and what an erasure can show for itself."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeAlias, assert_never
from uuid import UUID

from hermes_memory.domain.contacts import recognise
from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.model import RESERVED_SCOPES, RowId, SessionId, Subject, Target, Theme
from hermes_memory.domain.operations import (
    AddEntry,
    ByContent,
    ById,
    BySubstring,
    Operation,
    RecordDelegation,
    RecordTurns,
    RemoveEntry,
    ReplaceEntry,
    Selector,
    row_id,
)
from hermes_memory.domain.sessions import SessionNames, session_name
from hermes_memory.domain.themes import spelt_theme

_PATTERNS: Final = frozenset("*%?[]{}")
_DIGEST_CHARS: Final = 16
_A_CONTACT: Final = "[a contact]"


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeSubject:
    """Everything of one person or group, in every theme.

    Attributes:
        also: The other subjects of the same person.
    """

    subject: Subject
    also: frozenset[Subject] = frozenset()

    @property
    def subjects(self) -> frozenset[Subject]:
        """All subjects of the person."""
        return self.also | {self.subject}


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeTheme:
    """Everything of one theme, whoever the talk was with."""

    theme: Theme


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeSession:
    """Everything said and noted in one conversation; in whatever theme when none is named.

    Attributes:
        hidden: The other name of it: under this one it is kept if its own one tells whom it was with.
    """

    session: SessionId
    theme: Theme | None = None
    hidden: SessionId | None = None

    @property
    def names(self) -> frozenset[SessionId]:
        """All names under which it may be kept."""
        return frozenset({self.session, self.hidden or self.session})


@dataclass(frozen=True, slots=True, kw_only=True)
class OneEntry:
    """One durable memory with its history."""

    row: RowId


Erasure: TypeAlias = WholeSubject | WholeTheme | WholeSession | OneEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A text that the one entry says, or said before, and whose it was then."""

    theme: Theme
    subject: Subject | None
    target: Target
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """A question that was asked after an erasure, and its answer.

    Attributes:
        store: What was looked through.
        query: What was asked, in the words of the store. Its values are those that the erasure named.
        remaining: What it still found; 0 when nothing is left.
    """

    store: str
    query: str
    remaining: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """What an erasure did, or would do, and what shows it.

    Attributes:
        kind: `subject`, `theme`, `session` or `entry`.
        name: What was named; of a person or group, and of a session, a digest that tells nobody who that is.
        executed: Whether anything was done.
        counts: What was erased, by store; of a dry run, what would be.
        proofs: What was asked afterwards; none of a dry run.
        complete: Whether nothing is left where the proofs have looked.
        notes: What the operator has to know or do besides, a sentence each.
    """

    kind: str
    name: str
    executed: bool
    started_at: datetime
    seconds: float
    counts: Mapping[str, int]
    proofs: tuple[Proof, ...] = ()
    complete: bool = False
    notes: tuple[str, ...] = ()
    erasure: UUID | None = None


def theme_named(name: str) -> WholeTheme:
    """Return the erasure of a theme by its exact name; a sink is named like any other one.

    The key of a person or group is no theme's name, yet goes if one is stored under it.

    Raises:
        InvalidInput: The name is empty, a pattern, or that of a scope.
    """
    _require_exact(name, "theme")
    theme = spelt_theme(name)
    if theme in RESERVED_SCOPES:
        raise InvalidInput(f"{theme!r} is a scope and no theme: name one theme", field="theme")
    return WholeTheme(theme=theme)


def session_named(name: str, theme: str | None, *, names: SessionNames) -> WholeSession:
    """Return the erasure of a session by the id that its host gave it.

    Args:
        names: How the installation names sessions that tell of a contact.

    Raises:
        InvalidInput: The id is empty, or a pattern.
    """
    _require_exact(name, "session")
    session = session_name(name)
    if session is None:
        raise InvalidInput("the session is empty: name one", field="session")
    of = None if theme is None else theme_named(theme).theme
    return WholeSession(session=session, theme=of, hidden=names.hidden(name))


def entry_named(name: str) -> OneEntry:
    """Return the erasure of an entry by its id.

    Raises:
        InvalidInput: It is no id.
    """
    try:
        return OneEntry(row=RowId(UUID(name)))
    except ValueError as error:
        raise InvalidInput("an entry is named by its id, a UUID", field="entry") from error


def title(erasure: Erasure) -> tuple[str, str]:
    """Return the kind of an erasure, and its name as it may be shown and kept."""
    match erasure:
        case WholeSubject():
            return "subject", hashlib.sha256(erasure.subject).hexdigest()[:_DIGEST_CHARS]
        case WholeTheme():
            return "theme", _shown(erasure.theme)
        case WholeSession():
            kept_as = erasure.hidden or erasure.session  # a digest of a telephone number could be tried out
            digest = hashlib.sha256(kept_as.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_CHARS]
            return "session", digest if erasure.theme is None else f"{digest} of {_shown(erasure.theme)}"
        case OneEntry():
            return "entry", str(erasure.row)
        case _:
            assert_never(erasure)


def _shown(theme: Theme) -> str:
    return theme if recognise(theme) is None else _A_CONTACT


def concerns(erasure: Erasure, operation: Operation, texts: Set[Told] = frozenset()) -> bool:
    """Tell whether an accepted write that was not delivered belongs to what is erased.

    Args:
        texts: What the one entry says, and said before: a write with one of them is about it when it is of the same
            theme, subject and target. What others wrote in the same words is theirs.
    """
    caller = operation.stamp.caller
    match erasure:
        case WholeSubject():
            return caller.subject in erasure.subjects
        case WholeTheme():
            child = isinstance(operation, RecordDelegation) and operation.child_theme == erasure.theme
            return caller.theme == erasure.theme or child
        case WholeSession():
            if isinstance(operation, RecordDelegation) and operation.child_session in erasure.names:
                return erasure.theme in {None, caller.theme, operation.child_theme}
            return erasure.theme in {None, caller.theme} and caller.session in erasure.names
        case OneEntry():
            return _is_about(operation, erasure.row, texts)
        case _:
            assert_never(erasure)


def links(erasure: Erasure, operation: Operation) -> bool:
    """Tell whether a write of another conversation names the erased one as where it came from.

    It is not what was said there, so it is delivered, and writes the erased conversation's id back.
    """
    return (
        isinstance(erasure, WholeSession)
        and isinstance(operation, RecordTurns)
        and operation.parent_session in erasure.names
        and erasure.theme in {None, operation.stamp.caller.theme}
        and not concerns(erasure, operation)
    )


def told_by(erasure: Erasure, operation: Operation, texts: Set[Told] = frozenset()) -> frozenset[Told]:
    """Return what the one entry would have said after a write about it: what follows on that is about it too.

    Args:
        texts: What it said before: a write that selects it by its id says it in the same target, if that is known.
    """
    if not isinstance(erasure, OneEntry) or not isinstance(operation, AddEntry | ReplaceEntry):
        return frozenset()
    caller, target = operation.stamp.caller, _target(operation)
    targets = {target} if target else {told.target for told in texts} or set(Target)
    return frozenset(
        Told(theme=caller.theme, subject=caller.subject, target=each, text=operation.content) for each in targets
    )


def unforgets(erasure: Erasure, operation: Operation) -> bool:
    """Tell whether a write that goes with an erasure would forget what may stay: of another talk, or everybody's.

    Of one entry, what names it by a text may mean another memory, which says now what this one said before.
    """
    if not isinstance(operation, RemoveEntry):
        return False
    match erasure:
        case WholeSubject() | WholeSession():
            return True
        case WholeTheme():
            return False
        case OneEntry():
            return not (isinstance(operation.selector, ById) and operation.selector.id == erasure.row)
        case _:
            assert_never(erasure)


def reaches(erasure: Erasure, operation: Operation, texts: Set[Told]) -> bool:
    """Tell whether somebody's write may mean the one entry, which is everybody's, by one of its texts.

    It may as well mean a memory of their own, so it is delivered, and finds the entry no more.
    """
    if not isinstance(erasure, OneEntry) or not isinstance(operation, ReplaceEntry | RemoveEntry):
        return False
    caller = operation.stamp.caller
    shared = [told for told in texts if told.theme == caller.theme and told.subject is None]
    return _selects(operation.selector, shared) and not concerns(erasure, operation, texts)


def _is_about(operation: Operation, row: RowId, texts: Set[Told]) -> bool:
    if not isinstance(operation, AddEntry | ReplaceEntry | RemoveEntry):
        return False
    if row_id(operation.stamp.operation) == row:
        return True
    selector = None if isinstance(operation, AddEntry) else operation.selector
    if isinstance(selector, ById) and selector.id == row:
        return True
    caller = operation.stamp.caller
    own = [told for told in texts if (told.theme, told.subject) == (caller.theme, caller.subject)]
    return _repeats(operation, own) or (selector is not None and _selects(selector, own))


def _repeats(operation: AddEntry | ReplaceEntry | RemoveEntry, texts: Iterable[Told]) -> bool:
    """Tell whether a write would have one of these texts said in its target."""
    if isinstance(operation, RemoveEntry):
        return False
    target = _target(operation)
    return any(told.text == operation.content and target in {None, told.target} for told in texts)


def _selects(selector: Selector, texts: Iterable[Told]) -> bool:
    """Tell whether a selector names one of these texts, or a part of one that it would find."""
    match selector:
        case ById():
            return False
        case ByContent():
            return any(told.text == selector.content and told.target is selector.target for told in texts)
        case BySubstring():
            return any(told.target is selector.target and selector.text in told.text for told in texts)
        case _:
            assert_never(selector)


def _target(operation: AddEntry | ReplaceEntry) -> Target | None:
    """Return the target that a write is for; None when it selects by id, which tells of none."""
    of = operation if isinstance(operation, AddEntry) else operation.selector
    return None if isinstance(of, ById) else of.target


def _require_exact(name: str, what: str) -> None:
    if not name.strip():
        raise InvalidInput(f"the {what} is empty: name exactly one", field=what)
    if _PATTERNS & set(name):
        raise InvalidInput(f"the {what} looks like a pattern: name exactly one", field=what)
