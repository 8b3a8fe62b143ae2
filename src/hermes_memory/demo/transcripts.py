"""The sessions of the example home: a header that says whose they are, then one message a line, as JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.model import Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One message of a transcript.

    Attributes:
        number: Its line in the file, from 1; the header is line 1.
        occurrence: How many equal messages of the role came before.
    """

    number: int
    role: Role
    content: str
    at: datetime
    speaker: str | None
    occurrence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """One session.

    Attributes:
        name: Name of the file it was read from.
        agent: Name of the figure it was held with.
    """

    name: str
    session: str
    agent: str
    lines: tuple[Line, ...]


def parse_transcript(text: str, *, name: str) -> Transcript:
    """Read a transcript. Blank lines count and mean nothing.

    Raises:
        InvalidInput: A line is no JSON object, or lacks something. The message names file and line.
    """
    rows = [(number, row) for number, row in enumerate(text.splitlines(), start=1) if row.strip()]
    if not rows:
        raise InvalidInput(f"{name} is empty: a transcript begins with its session and agent")
    (first, header), *messages = rows
    facts = _object(header, _place(name, first))
    return Transcript(
        name=name,
        session=_text(facts, "session", _place(name, first)),
        agent=_text(facts, "agent", _place(name, first)),
        lines=tuple(_lines(messages, name)),
    )


def _lines(messages: Iterable[tuple[int, str]], name: str) -> Iterable[Line]:
    said: Counter[tuple[Role, str]] = Counter()
    for number, row in messages:
        place = _place(name, number)
        message = _object(row, place)
        role, content = _role(message, place), _text(message, "content", place)
        yield Line(
            number=number,
            role=role,
            content=content,
            at=_moment(message, place),
            speaker=_text(message, "speaker", place) if "speaker" in message else None,
            occurrence=said[role, content],
        )
        said[role, content] += 1


def _place(name: str, number: int) -> str:
    return f"{name}, line {number}"


def _object(row: str, place: str) -> Mapping[str, object]:
    try:
        value = json.loads(row)
    except json.JSONDecodeError:
        raise InvalidInput(f"{place}: this is not JSON") from None
    if not isinstance(value, dict):
        raise InvalidInput(f"{place}: a JSON object is expected")
    return value


def _text(message: Mapping[str, object], key: str, place: str) -> str:
    value = message.get(key)
    if not isinstance(value, str) or not value.strip():
        raise InvalidInput(f"{place}: {key} must be a text and not empty")
    return value


def _role(message: Mapping[str, object], place: str) -> Role:
    try:
        return Role(_text(message, "role", place))
    except ValueError:
        raise InvalidInput(f"{place}: role must be one of {', '.join(Role)}") from None


def _moment(message: Mapping[str, object], place: str) -> datetime:
    try:
        moment = datetime.fromisoformat(_text(message, "at", place))
    except ValueError:
        raise InvalidInput(f"{place}: at must be a time in ISO 8601") from None
    if moment.tzinfo is None:
        raise InvalidInput(f"{place}: at needs its offset from UTC")
    return moment
