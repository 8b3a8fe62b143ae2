"""The results of the demonstration: what was found, and whether each promise was kept."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hermes_memory.demo.crash import Aftermath
from hermes_memory.demo.script import Question
from hermes_memory.domain.fusion import Ranked
from hermes_memory.domain.model import Entry, Target, kind_of
from hermes_memory.domain.notebook import FILE_NAMES


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """Something that the demonstration says of the memory and has verified, or found broken."""

    text: str
    kept: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back for a question, after how many seconds.

    Attributes:
        asker: With whose memory it was asked, for humans.
    """

    question: Question
    asker: str
    hits: Sequence[Ranked]
    degraded: Sequence[str]
    seconds: float

    @property
    def kept(self) -> bool:
        """Whether it holds what it has to, from both legs."""
        best = self.hits[: self.question.within]
        return not self.degraded and any(self.question.expected in hit.row.content for hit in best)


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarded:
    """An attempt to see or change what is somebody else's.

    Attributes:
        who: Title of the figure that tries.
        attempt: What it tries.
        outcome: What came of it.
        held: Whether the wall held.
    """

    who: str
    attempt: str
    outcome: str
    held: bool


@dataclass(slots=True, kw_only=True)
class Report:
    """Everything that was found. Filled as the story goes on.

    Attributes:
        home: Where it happened.
        stored: Rows by kind at the end.
        seconds: How long it took, by stage.
    """

    home: Path
    promises: list[Promise] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    walls: list[Guarded] = field(default_factory=list)
    crash: Aftermath | None = None
    stored: Mapping[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def promise(self, text: str, kept: bool) -> Promise:
        """Note a promise and whether it was kept."""
        promise = Promise(text=text, kept=kept)
        self.promises.append(promise)
        return promise

    @property
    def broken(self) -> Sequence[Promise]:
        """The promises that were not kept."""
        return [promise for promise in self.promises if not promise.kept]

    @property
    def kept(self) -> bool:
        """Whether there were promises and all were kept."""
        return bool(self.promises) and not self.broken

    @property
    def median_recall(self) -> float:
        """Median time of a recall, in seconds."""
        return statistics.median(answer.seconds for answer in self.answers) if self.answers else 0.0

    def as_document(self) -> Mapping[str, Any]:
        """Return the results as plain values, for JSON."""
        return {
            "kept": self.kept,
            "promises": self.promises,
            "home": self.home,
            "stored": self.stored,
            "lost": self.crash.lost if self.crash else None,
            "duplicates": self.crash.duplicates if self.crash else None,
            "crash": self.crash,
            "questions": [_answer_document(answer) for answer in self.answers],
            "walls": self.walls,
            "median_recall_ms": round(self.median_recall * 1000, 1),
            "seconds": {stage: round(seconds, 3) for stage, seconds in self.seconds.items()},
        }


def source_of(hit: Ranked) -> str:
    """Say where a row comes from: the notebook, a tool's memory, or who said it in which session."""
    row = hit.row
    if isinstance(row, Entry):
        kept = "note" if row.target is Target.MEMORY else "note about the user"
        return FILE_NAMES[row.target] if row.source else kept
    return f"{row.speaker or row.role}, session {row.session}"


def _answer_document(answer: Answer) -> Mapping[str, Any]:
    question = answer.question
    return {
        "who": question.who,
        "asker": answer.asker,
        "question": question.text,
        "shows": question.about,
        "scope": question.scope,
        "kept": answer.kept,
        "ms": round(answer.seconds * 1000, 1),
        "degraded": answer.degraded,
        "hits": [
            {
                "score": round(hit.score, 3),
                "kind": kind_of(hit.row),
                "theme": hit.row.theme,
                "source": source_of(hit),
                "at": hit.row.at,
                "content": hit.row.content,
                "parts": {name: round(value, 3) for name, value in hit.parts.items()},
            }
            for hit in answer.hits
        ],
    }
