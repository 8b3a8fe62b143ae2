"""Reads from the pages what a reader would type."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

CHECKOUT: Final = Path(__file__).resolve().parents[2]
_BLOCK: Final = re.compile(r"^```(?P<language>[\w-]+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_LEFT_OUT: Final = re.compile(r"^(?:\.\.\.|\$ .*)$", re.MULTILINE)
_NUMBER: Final = re.compile(r"\d[\d.,]*")


def blocks(page: str, language: str) -> list[str]:
    """Return the fenced blocks of a language, in their order on a page below `docs/`."""
    text = (CHECKOUT / "docs" / page).read_text(encoding="utf-8")
    return [block["text"] for block in _BLOCK.finditer(text) if block["language"] == language]


def typed(block: str) -> list[str]:
    """Return the commands of a block of a session, without what they print."""
    return [line.removeprefix("$ ") for line in block.splitlines() if line.startswith("$ ")]


def not_printed(block: str, printed: str) -> list[str]:
    """Return what a session of a page shows and no command printed; numbers and the width of gaps do not count.

    Args:
        block: The session. Its lines follow each other, except where `...` or the next command stands between.
        printed: What the commands of the session printed.
    """
    rest, missing = f"\n{_plain(printed)}\n", []
    for part in _LEFT_OUT.split(block):
        wanted = _plain(part).strip("\n")
        _, found, after = rest.partition(f"\n{wanted}\n")
        if not wanted:
            continue
        if found:
            rest = f"\n{after}"
        else:
            missing.append(part)
    return missing


def _plain(text: str) -> str:
    return "\n".join(" ".join(_NUMBER.sub("0", line).split()) for line in text.splitlines())
