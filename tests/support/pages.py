"""Reads from the pages what a reader would type."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

CHECKOUT: Final = Path(__file__).resolve().parents[2]
_BLOCK: Final = re.compile(r"^```(?P<language>[\w-]+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: str, language: str) -> list[str]:
    """Return the fenced blocks of a language, in their order on a page below `docs/`."""
    text = (CHECKOUT / "docs" / page).read_text(encoding="utf-8")
    return [block["text"] for block in _BLOCK.finditer(text) if block["language"] == language]


def typed(block: str) -> list[str]:
    """Return the commands of a block of a session, without what they print."""
    return [line.removeprefix("$ ") for line in block.splitlines() if line.startswith("$ ")]
