"""Who may see and change what: one rule, which every adapter implements and is tested against.

A row is visible when its subject is the caller's person, or when it has no subject and its theme is the caller's own
or one the caller may read. Sinks need no clause of their own, because every row in a sink carries a subject. A person
is one subject, or several that an operator has said to be one.

Agents may read each other; people and groups may not read agents. Whoever can write to an agent's phone number would
otherwise read, by asking for it, what all agents of the installation know.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from hermes_memory.domain.model import (
    SINKS,
    AllScope,
    Caller,
    CurrentScope,
    ReadPolicy,
    Scope,
    SessionId,
    SessionScope,
    Subject,
    SubjectScope,
    Theme,
    ThemeScope,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """What an installation allows a caller's theme to read beyond itself.

    Attributes:
        policy: Whether ordinary themes read each other.
        grants: Themes granted to the caller's theme, or to any subject of the caller's person, and not expired. They
            count under `ReadPolicy.GRANTS`, and under `ReadPolicy.OPEN` for who speaks with somebody.
    """

    policy: ReadPolicy = ReadPolicy.OPEN
    grants: frozenset[Theme] = frozenset()


def with_somebody(caller: Caller) -> bool:
    """Tell whether a person, a group or a benchmark is on the other side, and not the agent alone."""
    return caller.subject is not None or caller.theme in SINKS


def same_person(subject: Subject, caller: Caller) -> bool:
    """Tell whether a subject is the caller's, or another one of the same person."""
    return subject == caller.subject or subject in caller.also


def readable(theme: Theme, caller: Caller, access: Access) -> bool:
    """Tell whether the caller may read the rows of a theme that carry no subject."""
    if theme == caller.theme:
        return True
    if theme in SINKS:
        return False
    match access.policy:
        case ReadPolicy.OPEN:
            return not with_somebody(caller) or theme in access.grants
        case ReadPolicy.GRANTS:
            return theme in access.grants
        case ReadPolicy.OWN:
            return False
        case _:
            assert_never(access.policy)


def visible(theme: Theme, subject: Subject | None, caller: Caller, access: Access) -> bool:
    """Tell whether the caller may see a row of this theme and subject."""
    if subject is not None:
        return same_person(subject, caller)
    return readable(theme, caller, access)


def past_visible(theme: Theme, subject: Subject | None, caller: Caller) -> bool:
    """Tell whether the caller may see what a row was: its own theme's and its own person's past only.

    What a theme has forgotten, or put in better words, is not for those who may read what it knows now.
    """
    if subject is not None:
        return same_person(subject, caller)
    return theme == caller.theme


def changeable(theme: Theme, subject: Subject | None, caller: Caller) -> bool:
    """Tell whether the caller may change or remove a row: its own theme only, and nobody else's subject."""
    return theme == caller.theme and (subject is None or subject == caller.subject)


def in_scope(theme: Theme, subject: Subject | None, session: SessionId | None, caller: Caller, scope: Scope) -> bool:
    """Tell whether a visible row belongs to what was asked for."""
    match scope:
        case CurrentScope():
            return theme == caller.theme
        case SessionScope():
            return theme == caller.theme and session in scope.names
        case SubjectScope():
            return subject is not None and same_person(subject, caller)
        case AllScope():
            return theme == caller.theme or theme not in SINKS
        case ThemeScope():
            return theme == scope.theme
        case _:
            assert_never(scope)
