"""Private keys in a text, which span lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

_MARK: Final = "BEGIN"
"""Stands in the first line of every key, between the dashes of RFC 7468 or those of RFC 4716."""
_BEGIN: Final = re.compile(r"-{4,5} ?BEGIN (?:[A-Z0-9]{1,16} ){0,4}PRIVATE KEY(?: BLOCK)? ?-{4,5}")
_END: Final = re.compile(r"-{4,5} ?END (?:[A-Z0-9]{1,16} ){0,4}PRIVATE KEY(?: BLOCK)? ?-{4,5}")
_LINE: Final = re.compile(
    r"[\s>|#\"'+]{0,64}[A-Za-z0-9+/=]{0,16384}(?:\\n)?[\s\"',+]{0,8}|[A-Za-z-]{1,32}: [^\n]{0,256}\n?"
)
"""A line inside a private key: base64, or a header such as `Proc-Type: 4,ENCRYPTED`."""
_RUN: Final = re.compile(r"[A-Za-z0-9+/=\\]{0,65536}")
"""What of a private key follows its first line on the same line, with line ends written as an escape."""


def may_hold_key(text: str) -> bool:
    """Tell whether a text may hold a private key."""
    return _MARK in text


def without_private_keys(text: str, mark: Callable[[], str]) -> Iterator[str]:
    """Yield the lines of a text, line ends included, with a mark in the place of each private key."""
    inside = False
    for line in text.splitlines(keepends=True):
        rest = line
        if inside:
            end = _END.search(line)
            if end is None and _LINE.fullmatch(line):
                continue
            rest = line[end.end() :] if end else f"\n{line}"
        kept, inside = _cut_private_keys(rest, mark) if may_hold_key(rest) else (rest, False)
        yield kept


def _cut_private_keys(line: str, mark: Callable[[], str]) -> tuple[str, bool]:
    """Cut the keys that begin in a line, and tell whether the last one goes on in the next."""
    kept: list[str] = []
    position = 0
    open_ended = False
    while begin := _BEGIN.search(line, position):
        kept += (line[position : begin.start()], mark())
        end = None if open_ended else _END.search(line, begin.end())
        open_ended = end is None
        run = end or _RUN.match(line, begin.end())
        position = run.end() if run else begin.end()
    rest = line[position:]
    if open_ended and not rest.strip():
        return "".join(kept), True
    return "".join((*kept, rest)), False
