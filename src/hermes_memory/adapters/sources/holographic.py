"""Reads the facts that the host's holographic memory keeps in a SQLite file, `memory_store.db`."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Final, TypeAlias

from hermes_memory.adapters.sources.files import key_of, time_of, time_told
from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.foreign import Foreign, ForeignEntry, Whose
from hermes_memory.domain.model import Target

NAME: Final = "holographic"
FILE: Final = "memory_store.db"
BUSY_SECONDS: Final = 10.0
MAX_CHARS: Final = 268_435_456
FACTS: Final = """
select fact_id, content, category, tags, trust_score, created_at, updated_at from facts order by updated_at, fact_id"""
_ABOUT_THE_USER: Final = "user_pref"
_Row: TypeAlias = tuple[int, str, str | None, str | None, float | None, str | None, str | None]


def read_facts(path: Path) -> list[Foreign]:
    """Read the facts, while the host may be writing.

    Args:
        path: The file, or the home that holds it under its usual name.

    Raises:
        InvalidInput: There is no such file, or it holds no facts.
    """
    file = path / FILE if path.is_dir() else path
    if not file.is_file():
        raise InvalidInput(f"there is no {FILE} in {path}")
    try:
        with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True, timeout=BUSY_SECONDS)) as opened:
            return [_fact(row) for row in _bounded(opened.execute(FACTS), file)]
    except sqlite3.Error as error:
        raise InvalidInput(f"{file} holds no facts of the holographic memory ({type(error).__name__})") from None


def _bounded(rows: Iterable[_Row], file: Path) -> Iterator[_Row]:
    characters = 0
    for row in rows:
        characters += sum(len(value) for value in row if isinstance(value, str))
        if characters > MAX_CHARS:
            raise InvalidInput(f"{file} holds more than {MAX_CHARS:,} characters of facts: import it in parts")
        yield row


def _fact(row: _Row) -> Foreign:
    identity, content, category, tags, trust, made, changed = row
    return ForeignEntry(
        place=f"fact {identity}",
        key=key_of(identity, made, content),
        whose=Whose(),
        target=Target.USER if category == _ABOUT_THE_USER else Target.MEMORY,
        content=content,
        at=time_of(changed) or time_of(made),
        metadata={
            "category": category,
            "tags": [tag.strip() for tag in (tags or "").split(",") if tag.strip()],
            "trust": trust,
            "imported": {"from": NAME, "id": identity, "created_at": time_told(made)},
        },
    )
