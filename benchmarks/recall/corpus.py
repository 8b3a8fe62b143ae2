"""Reads the corpus: what six agents remember, and what they are asked. It was written for this benchmark (CC0).

A file is a theme, a line one thing:

    entry ID DATE | text
    session ID DATE
    NUMBER ROLE [SPEAKER] | text            a turn of the session, named SESSION.NUMBER
    ask CATEGORY ID[,ID] | question         the ids are those of the rows that answer
    correction NEWER OLDER | question       the newer one answers, and stands above the older
    nothing | question                      nothing stored answers, or is about that matter at all
    near | question                         nothing stored answers, though it is about what the theme is about
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

CORPUS = Path(__file__).parent / "corpus"


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """An entry, or a turn when it has a session."""

    id: str
    text: str
    at: datetime
    session: str | None = None
    role: str = "user"
    speaker: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question, the ids of the rows that answer it, and the outdated one that must stand below."""

    category: str
    text: str
    answers: frozenset[str]
    outdated: str | None = None


@dataclass(slots=True, kw_only=True)
class Theme:
    """What one agent remembers and is asked, in the order of the file."""

    name: str
    memories: list[Memory] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)


def themes(directory: Path = CORPUS) -> Iterator[Theme]:
    """Read all themes, by name.

    Raises:
        ValueError: A line cannot be read, or a question names a row that is not there.
    """
    for path in sorted(directory.glob("*.txt")):
        yield _theme(path)


def _theme(path: Path) -> Theme:
    theme = Theme(name=path.stem)
    session, started = "", datetime.now(UTC)
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        head, _, text = line.partition(" | ")
        match head.split():
            case [] | ["theme", _]:
                pass
            case ["entry", name, day]:
                theme.memories.append(Memory(id=name, text=text, at=_day(day)))
            case ["session", name, day]:
                session, started = name, _day(day)
            case [place, role, *speaker] if place.isdigit():
                theme.memories.append(_turn(session, started, int(place), role, speaker, text))
            case ["ask", category, names]:
                answers = frozenset(names.split(","))
                theme.questions.append(Question(category=category, text=text, answers=answers))
            case ["correction", newer, older]:
                answers = frozenset({newer})
                theme.questions.append(Question(category="correction", text=text, answers=answers, outdated=older))
            case ["nothing" | "near" as category]:
                theme.questions.append(Question(category=category, text=text, answers=frozenset()))
            case _:
                raise ValueError(f"{path.name}:{number}: cannot be read")
    _check(theme)
    return theme


def _day(day: str) -> datetime:
    return datetime.fromisoformat(day).replace(hour=9, tzinfo=UTC)


def _turn(session: str, started: datetime, place: int, role: str, speaker: list[str], text: str) -> Memory:
    # A tool's name is no speaker.
    named = speaker[0] if speaker and role == "user" else None
    at = started + timedelta(minutes=place)
    content = text.replace("\\n", "\n")
    return Memory(id=f"{session}.{place}", text=content, at=at, session=session, role=role, speaker=named)


def _check(theme: Theme) -> None:
    there = {memory.id for memory in theme.memories}
    named = {name for question in theme.questions for name in (*question.answers, question.outdated) if name}
    if len(there) != len(theme.memories) or not named <= there:
        raise ValueError(f"{theme.name}: ids are not unique, or missing: {sorted(named - there)}")
