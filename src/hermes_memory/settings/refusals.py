"""What is told of settings that cannot be used: which, what it is, what was expected, and where it comes from."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pydantic import SecretStr, ValidationError
from pydantic.fields import FieldInfo

from hermes_memory.domain.errors import ConfigurationError
from hermes_memory.domain.redaction import redact_value
from hermes_memory.settings.masking import ADDRESSES, MASK, masked, masked_address
from hermes_memory.settings.names import NEVER_QUOTED, nearest
from hermes_memory.settings.origins import Origin, Origins, Source
from hermes_memory.settings.ranges import described

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_HARMLESS: Final = re.compile(r"[\w .,:+*#<>=-]{0,40}")
_HARMLESS_NAMES: Final = re.compile(r"""[\w .,:+*#<>=\[\]{}"'-]{0,80}""")
_BEGINNING: Final = re.compile(r"\w+")
_MOST_DIGITS: Final = 10**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What is wrong with one setting.

    Attributes:
        key: The setting; "" when it concerns a file as a whole.
        message: The sentence, without key and origin.
        shown: The value, where it can be shown.
        expected: The values it takes.
    """

    key: str
    message: str
    shown: str | None = None
    expected: str | None = None
    origin: Origin | None = None

    def __str__(self) -> str:
        # Whoever hands in an argument knows that it is one.
        told = self.origin is not None and self.origin.source is not Source.ARGUMENT
        # A rule about several settings begins with the name of one.
        beginning = _BEGINNING.match(self.message)
        named = f"{self.key}: " if self.key and not (beginning and beginning[0] == self.key) else ""
        return f"{named}{self.message}{f' ({self.origin})' if told else ''}"


class UnusableSettings(ConfigurationError):
    """Settings that cannot be used.

    Attributes:
        problems: Each of them, all that are wrong.
    """

    def __init__(self, problems: Sequence[Problem]) -> None:
        """Tell of all problems in one message."""
        self.problems = tuple(problems)
        super().__init__("; ".join(map(str, self.problems)))


def problems_of(error: ValidationError, fields: Mapping[str, FieldInfo], found: Origins) -> list[Problem]:
    """Return what is wrong, as pydantic found it."""
    return [_problem(each, fields, found) for each in error.errors(include_url=False, include_context=False)]


def unusable(key: str, field: FieldInfo, value: object, origin: Origin | None = None) -> Problem:
    """Tell that a value is not one that a setting takes."""
    shown, expected = shown_of(key, value), described(field)
    cannot = f"{shown} cannot be used: " if shown else ""
    return Problem(key=key, message=f"{cannot}expected {expected}", shown=shown, expected=expected, origin=origin)


def unknown(key: str, fields: Mapping[str, FieldInfo]) -> str:
    """Return what is told of a name that is no setting."""
    return f"unknown setting '{key}'{nearest(key, fields)}"


def shown_of(key: str, value: object) -> str | None:
    """Return a refused value as a message may show it: what might be a secret is not shown.

    >>> shown_of("pool_size", 99), shown_of("embedder", "magic"), shown_of("dsn", "magic")
    ('99', "'magic'", None)
    >>> shown_of("dsn", "mysql://app:hunter2@db/memory")
    "'mysql://********@db/memory'"
    """
    if key in ADDRESSES:
        return _address(value)
    if key in NEVER_QUOTED:
        return None
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    if isinstance(value, int | float):
        return f"{value}" if abs(value) < _MOST_DIGITS else None
    if isinstance(value, str) and _HARMLESS.fullmatch(value) and not redact_value(key, value).count:
        return f"'{value}'"
    return _names(key, value) if isinstance(value, list | tuple | dict) else None


def _names(key: str, value: object) -> str | None:
    shown = json.dumps(masked(key, value), ensure_ascii=False, default=str)
    return shown if _HARMLESS_NAMES.fullmatch(shown) else None


def _address(value: object) -> str | None:
    text = value.get_secret_value() if isinstance(value, SecretStr) else value
    shown = masked_address(text) if isinstance(text, str) else MASK
    return None if shown == MASK else f"'{shown}'"


def _problem(told: ErrorDetails, fields: Mapping[str, FieldInfo], found: Origins) -> Problem:
    key = str(told["loc"][0]) if told["loc"] else ""
    if told["type"] == "extra_forbidden":
        return Problem(key="", message=unknown(key, fields))
    if told["type"] == "value_error" or key not in fields:
        return _broken_rule(told, key, fields, found)
    return unusable(key, fields[key], told["input"], _first(found, key))


def _broken_rule(told: ErrorDetails, key: str, fields: Mapping[str, FieldInfo], found: Origins) -> Problem:
    message, value = told["msg"].removeprefix("Value error, "), told["input"]
    if key not in fields:
        key = _named_first(message, fields)
        value = value.get(key) if isinstance(value, Mapping) else None
    if not key:
        return Problem(key="", message=message)
    shown = shown_of(key, value) if value is not None else None
    return Problem(
        key=key,
        message=_with_value(message, key, value, shown, of_one=bool(told["loc"])),
        shown=shown,
        expected=described(fields[key]),
        origin=_first(found, key),
    )


def _with_value(message: str, key: str, value: object, shown: str | None, *, of_one: bool) -> str:
    """Return what is said of one setting, or of several, with the value of the one that it begins with."""
    # What is said of one name among several says itself which one it means.
    if not shown or not isinstance(value, str | int | float):
        return message
    if of_one:
        return f"{shown} cannot be used: {message}"
    return message if shown in message else message.replace(key, f"{key} {shown}", 1)


def _named_first(message: str, fields: Mapping[str, FieldInfo]) -> str:
    """Return the setting that a rule about several of them begins with."""
    word = _BEGINNING.match(message)
    return word[0] if word and word[0] in fields else ""


def _first(found: Origins, key: str) -> Origin | None:
    places = found.get(key)
    return places[0] if places else None
