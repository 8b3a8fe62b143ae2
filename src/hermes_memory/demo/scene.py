"""What all parts of the story share: the home as it was shipped, who takes part, and where the findings go."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hermes_memory.bootstrap.home import identity_policy, installation_secret
from hermes_memory.demo.cast import Figure, read_cast
from hermes_memory.demo.report import Report
from hermes_memory.demo.story import Story
from hermes_memory.demo.transcripts import Transcript, parse_transcript
from hermes_memory.domain.notebook import FILE_NAMES, parse
from hermes_memory.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """The home and what is found there.

    Attributes:
        notes: How many entries its notebooks hold.
    """

    settings: Settings
    cast: Mapping[str, Figure]
    transcripts: Sequence[Transcript]
    notes: int
    report: Report
    story: Story

    @property
    def turns(self) -> int:
        """How many messages the sessions hold."""
        return sum(len(transcript.lines) for transcript in self.transcripts)

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Note how long a stage takes, in seconds."""
        started = time.perf_counter()
        yield
        self.report.seconds[stage] = time.perf_counter() - started

    def promise(self, text: str, kept: bool) -> None:
        """Note a promise that was looked into, and show it."""
        self.story.promise(self.report.promise(text, kept))


def read_scene(home: Path, story: Story) -> Scene:
    """Read the example's home.

    Raises:
        ConfigurationError: Its settings cannot be used.
        InvalidInput: A transcript cannot be read.
    """
    settings = Settings(home=home)
    return Scene(
        settings=settings,
        cast=read_cast(
            _text(home / "cast.json"), policy=identity_policy(settings), secret=installation_secret(settings)
        ),
        transcripts=[
            parse_transcript(_text(path), name=path.name) for path in sorted((home / "sessions").glob("*.jsonl"))
        ],
        notes=sum(len(parse(_text(home / "memories" / name))) for name in FILE_NAMES.values()),
        report=Report(home=home),
        story=story,
    )


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")
