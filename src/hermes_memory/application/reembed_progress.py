"""How far the change of an embedding model has come, for whoever shows it."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol


class Step(StrEnum):
    """What is being done, in the words of an operator."""

    MEASURE = "measuring the model"
    QUEUE = "looking for rows without a vector"
    EMBED = "embedding"
    INDEX = "building the index"
    WAIT = "waiting for another operator"


class Progress(Protocol):
    """Is told what is going on."""

    def begin(self, step: Step, total: int | None) -> None:
        """Begin a step of so many pieces, None when nobody knows. A step may come again."""
        ...

    def reach(self, done: int, total: int | None = None) -> None:
        """Note how much of the step is done, and how much there is if that has changed."""
        ...


class Quiet:
    """`Progress` that nobody sees."""

    def begin(self, step: Step, total: int | None) -> None:
        """Tell nobody."""

    def reach(self, done: int, total: int | None = None) -> None:
        """Tell nobody."""
