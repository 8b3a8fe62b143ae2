"""Plain output for people: at most 100 columns, and colour only where it can be seen."""

from __future__ import annotations

import os
from collections.abc import Iterator
from enum import StrEnum
from io import TextIOWrapper
from typing import Final, TextIO

from hermes_memory.domain.characters import without_invisible
from hermes_memory.domain.noise import display_width

COLUMNS: Final = 100
_RESET: Final = "\x1b[0m"


class Style(StrEnum):
    """How a piece of text looks, as an escape sequence (ECMA-48, SGR)."""

    PLAIN = ""
    BOLD = "\x1b[1m"
    DIM = "\x1b[2m"
    GOOD = "\x1b[32m"
    BAD = "\x1b[1;31m"
    NAME = "\x1b[36m"


class Terminal:
    """Writes lines to a stream, or nowhere."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self._coloured = stream is not None and _shows_colour(stream)
        if isinstance(stream, TextIOWrapper):
            # A terminal that cannot show a script gets marks in its place; memories are written in every script.
            stream.reconfigure(errors="replace")

    def line(self, *pieces: str | tuple[str, Style]) -> None:
        """Write a line made of pieces, each plain or with a style."""
        if self._stream is None:
            return
        self._stream.write("".join(map(self._dressed, pieces)) + "\n")
        self._stream.flush()

    def prompt(self, text: str) -> None:
        """Write text that an answer follows on the same line."""
        if self._stream is not None:
            self._stream.write(self._dressed((text, Style.BOLD)))
            self._stream.flush()

    def _dressed(self, piece: str | tuple[str, Style]) -> str:
        text, style = (piece, Style.PLAIN) if isinstance(piece, str) else piece
        return f"{style}{text}{_RESET}" if style and self._coloured else text


def single_line(text: str) -> str:
    """Bring a text to one line without anything that would steer a terminal."""
    return " ".join(without_invisible(text).split())


def fit(text: str, columns: int) -> str:
    """Bring a text to one line and cut it to a width, with an ellipsis."""
    line = single_line(text)
    if display_width(line) <= columns:
        return line
    return next(_wrapped(line, columns - 1)).rstrip() + "…"


def paragraph(text: str, columns: int, lines: int, *, around: str = "") -> list[str]:
    """Break a text into few lines of a width. What is too long is cut so that `around` stays in sight."""
    line = single_line(text)
    pieces = list(_wrapped(line, columns))
    if len(pieces) <= lines:
        return pieces
    needle = single_line(around)
    kept = " ".join(pieces[: lines - 1])
    if needle in line and needle not in kept:
        # One line of what stands before is enough to see what the passage is about.
        start = line.rfind(" ", 0, max(line.index(needle) - columns // 2, 0)) + 1
        pieces = list(_wrapped(f"… {line[start:]}" if start else line, columns))
    return pieces if len(pieces) <= lines else [*pieces[: lines - 1], fit(" ".join(pieces[lines - 1 :]), columns)]


def _wrapped(line: str, columns: int) -> Iterator[str]:
    """Break between words, or within one that is wider than the line."""
    start, space = 0, -1
    used = 0
    for index, char in enumerate(line):
        if char == " ":
            space = index
        used += display_width(char)
        if used > columns:
            end = space if space > start else index
            yield line[start:end]
            start = end + 1 if end == space else end
            used = display_width(line[start : index + 1])
    yield line[start:]


def _shows_colour(stream: TextIO) -> bool:
    """Tell whether to colour: on a terminal, unless the person asked for none (no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
