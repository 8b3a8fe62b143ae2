"""Names of themes: how they are spelt, which ones outsiders may claim, and what a scope's name means."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from hermes_memory.domain.contacts import recognise
from hermes_memory.domain.errors import InvalidInput, NotVisible
from hermes_memory.domain.model import (
    RESERVED_SCOPES,
    SINKS,
    AllScope,
    Caller,
    CurrentScope,
    Scope,
    SessionScope,
    SubjectScope,
    Theme,
    ThemeScope,
)
from hermes_memory.domain.names import fold_name

MAX_THEME_CHARS: Final = 128
RESERVED_NAMES: Final[frozenset[str]] = RESERVED_SCOPES | SINKS
"""Names with a meaning of their own. Nobody outside the library can become a theme of such a name."""
_A_CONTACT: Final = (
    "the theme's name is the key of a person or group: name the agent as the theme, and give the key as the subject "
    "(`subject_for(...)` in the library, --subject or --to-subject on the command line)"
)


def canonical_theme(name: str) -> Theme:
    """Return the theme that a name stands for.

    Reserved names are let through: use `claim_theme` for a name that comes from outside.

    Raises:
        InvalidInput: Nothing visible is left of the name, or more than 128 characters; or it is the key of a person or
            group, which the message does not quote: readers of the theme would all see it.

    >>> canonical_theme("Morning-Report")
    'morning-report'
    """
    theme = spelt_theme(name)
    refuse_contact(theme)
    return theme


@lru_cache(maxsize=4096)
def refuse_contact(theme: str) -> None:
    """Refuse a theme whose name is the key of a person or group. Only names that are not refused are kept in mind.

    Raises:
        InvalidInput: It is. The message does not quote it.
    """
    if recognise(theme) is not None:
        raise InvalidInput(_A_CONTACT, field="theme")


def spelt_theme(name: str) -> Theme:
    """Return the one spelling of a name, whatever it is: also of what can be no theme here, but may be stored as one.

    Raises:
        InvalidInput: Nothing visible is left of the name, or more than 128 characters.
    """
    if not isinstance(name, str):
        raise InvalidInput("the theme's name is not text", field="theme")
    folded = fold_name(name)
    if not folded:
        raise InvalidInput("the theme's name is empty: give it at least one visible character", field="theme")
    if len(folded) > MAX_THEME_CHARS:
        raise InvalidInput(f"the theme's name is too long: use at most {MAX_THEME_CHARS} characters", field="theme")
    return Theme(folded)


def is_reserved(theme: Theme) -> bool:
    """Tell whether a canonical name is a scope's or a sink's, and thus nobody's to claim."""
    return theme in RESERVED_NAMES


def claim_theme(name: str) -> Theme:
    """Return the theme that somebody outside the library may call their own.

    Raises:
        InvalidInput: The name is unusable as in `canonical_theme`, or reserved.
    """
    theme = canonical_theme(name)
    if is_reserved(theme):
        raise InvalidInput(f"the name '{theme}' is reserved: choose another name for the theme", field="theme")
    return theme


def claim_or_sink(name: str) -> Theme:
    """Return the theme that a name stands for, one to claim or a governed one, which an operator may speak of.

    Raises:
        InvalidInput: The name is unusable as in `canonical_theme`, or that of a scope.
    """
    theme = canonical_theme(name)
    return theme if theme in SINKS else claim_theme(theme)


def parse_names(names: str | Iterable[str]) -> frozenset[Theme]:
    """Read a list of themes, written as one comma-separated string or as several strings.

    Blank items are ignored, so an empty string is an empty list.

    Raises:
        InvalidInput: An item is unusable or reserved.

    >>> sorted(parse_names("Marketing, sales,"))
    ['marketing', 'sales']
    """
    items = names.split(",") if isinstance(names, str) else names
    return frozenset(_listed(item) for item in items if fold_name(item))


def _listed(name: str) -> Theme:
    # A list names no subject beside a theme, which is what the refusal of a single one advises.
    if recognise(spelt_theme(name)) is not None:
        raise InvalidInput("a listed theme is the key of a person or group: list themes alone", field="theme")
    return claim_theme(name)


def parse_scope(name: str, caller: Caller) -> Scope:
    """Understand the name of a scope as its caller means it.

    `session` and `subject` mean the caller's own; every other name but `current` and `all` is a theme's. A sink goes by
    its name only for a caller inside it, and even there shows only the rows of the caller's subject.

    Raises:
        InvalidInput: The name is empty or unusable, or the caller has no session or no subject to narrow to.
        NotVisible: The name is a sink's and the caller is not in it.
    """
    folded = canonical_scope(name)
    match folded:
        case "current":
            return CurrentScope()
        case "all":
            return AllScope()
        case "session":
            return _session_scope(caller)
        case "subject":
            return _subject_scope(caller)
        case _:
            return _theme_scope(Theme(folded), caller)


def canonical_scope(name: str) -> str:
    """Return the one spelling of a scope's name.

    Raises:
        InvalidInput: The name is empty or unusable as a theme's name. It never stands for everything.
    """
    try:
        return canonical_theme(name)
    except InvalidInput as error:
        raise InvalidInput(
            f"the scope is not usable: say current, session, subject, all or the name of a theme ({error})",
            field="scope",
        ) from error


def _session_scope(caller: Caller) -> Scope:
    if caller.session is None:
        raise InvalidInput("there is no session to search: say current, all or the name of a theme", field="scope")
    return SessionScope(session=caller.session)


def _subject_scope(caller: Caller) -> Scope:
    if caller.subject is None:
        raise InvalidInput(
            "nobody in particular is being talked with, so there is no subject to search: say current or all",
            field="scope",
        )
    return SubjectScope()


def _theme_scope(theme: Theme, caller: Caller) -> Scope:
    if theme in SINKS and theme != caller.theme:
        raise NotVisible("there is no such theme to search for this caller")
    return ThemeScope(theme=theme)
