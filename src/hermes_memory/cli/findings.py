"""What the doctor reports."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How bad a finding is."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        message: What was found and, when something is wrong, what to do.
        down: Something else that the memory depends on does not answer.
    """

    check: str
    level: Level
    message: str
    down: bool = False
