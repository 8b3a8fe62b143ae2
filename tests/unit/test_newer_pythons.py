"""What newer Pythons warn of and the oldest one lets pass."""

from __future__ import annotations

import re
from pathlib import Path

import hermes_memory

SOURCES = sorted(Path(hermes_memory.__path__[0]).rglob("*.py"))
_NUMBERED = re.compile(r"[(\s=,+]\?\d")


def test_no_statement_for_sqlite_numbers_its_question_marks() -> None:
    """From Python 3.12 on a sequence may fill plain question marks alone, and from 3.14 it must."""
    using = [source for source in SOURCES if "sqlite3" in source.read_text(encoding="utf-8")]

    assert using
    assert not [source.name for source in using if _NUMBERED.search(source.read_text(encoding="utf-8"))]
