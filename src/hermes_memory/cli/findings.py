"""What the doctor reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from hermes_memory.cli.exits import DEPENDENCY_DOWN, DONE, ERROR, USAGE


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


_MARKS: Final[Mapping[Level, str]] = {Level.OK: "ok     ", Level.WARNING: "warning", Level.ERROR: "ERROR  "}


def show(findings: Iterable[Finding]) -> None:
    """Print a line for each finding."""
    for finding in findings:
        print(f"{_MARKS[finding.level]} {finding.check:<12} {finding.message}")


def exit_code(findings: Sequence[Finding]) -> int:
    """Return what a command exits with: a wrong setting comes before a dependency that is down."""
    wrong = [finding for finding in findings if finding.level is Level.ERROR]
    if not wrong:
        return DONE
    if any(finding.check == "settings" for finding in wrong):
        return USAGE
    return DEPENDENCY_DOWN if any(finding.down for finding in wrong) else ERROR
