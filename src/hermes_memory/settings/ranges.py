"""Which values a setting takes, in words."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path
from typing import Any, Final, Literal, Union, get_args, get_origin

from pydantic import SecretStr
from pydantic.fields import FieldInfo

_NAMES: Final[Mapping[type, str]] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    Path: "a path",
    SecretStr: "a secret",
}
_BOUNDS: Final[Mapping[str, str]] = {"ge": "of at least {}", "gt": "above {}", "le": "at most {}", "lt": "below {}"}


def choices_of(field: FieldInfo) -> tuple[str, ...]:
    """Return the words that a setting takes, () when it takes others too."""
    annotation = _given(field.annotation)
    if get_origin(annotation) is Literal:
        return tuple(map(str, get_args(annotation)))
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return tuple(str(choice.value) for choice in annotation)
    return ()


def bounds_of(field: FieldInfo) -> dict[str, float]:
    """Return the bounds of a number: `ge`, `gt`, `le`, `lt`, as far as there are."""
    return {
        name: bound
        for constraint in field.metadata
        for name in _BOUNDS
        if (bound := getattr(constraint, name, None)) is not None
    }


def described(field: FieldInfo, *, choice: Callable[[str], str] = str) -> str:
    """Say which values a setting takes.

    Args:
        choice: How a word is written that it takes.

    >>> from pydantic import Field
    >>> described(Field(3, ge=1, le=9_000).from_annotated_attribute(int, Field(3, ge=1, le=9_000)))
    'a whole number from 1 to 9,000'
    """
    if words := choices_of(field):
        return f"one of {', '.join(map(choice, words))}"
    like = [choice(pattern) for one in field.metadata if (pattern := getattr(one, "pattern", None))]
    return f"{_kind(_given(field.annotation))}{_range(field)}{''.join(f' like {each}' for each in like)}"


def type_of(field: FieldInfo) -> type | None:
    """Return the plain type of a setting, None for lists, mappings and choices."""
    annotation = _given(field.annotation)
    return annotation if annotation in _NAMES else None


def _given(annotation: Any) -> Any:
    """Return what a setting is when it is set."""
    if get_origin(annotation) in {Union, types.UnionType}:
        return next(one for one in get_args(annotation) if one is not types.NoneType)
    return annotation


def _kind(annotation: Any) -> str:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is tuple:
        return "a list of names, or one text with commas"
    if origin is dict:
        return "a mapping of names to numbers" if arguments[1] is float else "a mapping of names"
    return _NAMES[annotation]


def _range(field: FieldInfo) -> str:
    shown = {key: f"{value:,}" for key, value in bounds_of(field).items()}
    if "ge" in shown and "le" in shown:
        return f" from {shown['ge']} to {shown['le']}"
    words = ", ".join(words.format(shown[key]) for key, words in _BOUNDS.items() if key in shown)
    return f" {words}" if words else ""
