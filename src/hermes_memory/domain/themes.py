"""Names of themes: how they are spelt, which ones outsiders may claim, and what a scope's name means."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

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

MAX_THEME_CHARS: Final = 128
RESERVED_NAMES: Final[frozenset[str]] = RESERVED_SCOPES | SINKS
"""Names with a meaning of their own. Nobody outside the library can become a theme of such a name."""

_SPACES: Final = frozenset("\t\n\v\f\r\x85")
_SPACE_CATEGORIES: Final = frozenset({"Zs", "Zl", "Zp"})
_UNSEEN_CATEGORIES: Final = frozenset({"Cc", "Cf", "Cs"})
_UNSEEN_RANGES: Final = (
    (0x034F, 0x034F),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFFA0, 0xFFA0),
    (0xE0000, 0xE0FFF),
)
"""Letters and marks that show nothing (fillers, joiners, variation selectors): Unicode's Default_Ignorable_Code_Point
outside the categories above."""
_SETTLING_ROUNDS: Final = 4


def fold_name(text: str) -> str:
    r"""Bring a name to its one spelling: compatibility forms and case folded, nothing invisible, single spaces.

    Folding again changes nothing, whatever the script.

    >>> fold_name("  Ｍarke\u200bting \x00 Desk")
    'marketing desk'
    """
    folded = _fold_once(text)
    for _ in range(_SETTLING_ROUNDS):
        again = _fold_once(folded)
        if again == folded:
            break
        folded = again
    return folded


def canonical_theme(name: str) -> Theme:
    """Return the theme that a name stands for.

    Reserved names are let through: use `claim_theme` for a name that comes from outside.

    Raises:
        InvalidInput: Nothing visible is left of the name, or more than 128 characters.

    >>> canonical_theme("Morning-Report")
    'morning-report'
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


def parse_names(names: str | Iterable[str]) -> frozenset[Theme]:
    """Read a list of themes, written as one comma-separated string or as several strings.

    Blank items are ignored, so an empty string is an empty list.

    Raises:
        InvalidInput: An item is unusable or reserved.

    >>> sorted(parse_names("Marketing, sales,"))
    ['marketing', 'sales']
    """
    items = names.split(",") if isinstance(names, str) else names
    return frozenset(claim_theme(item) for item in items if fold_name(item))


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


def _fold_once(text: str) -> str:
    seen = "".join(map(_shown, text))
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", seen).casefold())
    return " ".join(part for part in "".join(map(_shown, folded)).split(" ") if part)


@lru_cache(maxsize=4096)
def _shown(char: str) -> str:
    """Return what shows of a character: itself, a space, or nothing."""
    category = unicodedata.category(char)
    if char in _SPACES or category in _SPACE_CATEGORIES:
        return " "
    if category in _UNSEEN_CATEGORIES or any(first <= ord(char) <= last for first, last in _UNSEEN_RANGES):
        return ""
    return char


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
