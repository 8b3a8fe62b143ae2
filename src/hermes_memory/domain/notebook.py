"""The host's notebooks, MEMORY.md and USER.md: entries parted by a section sign on a line of its own."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from hermes_memory.domain.model import Target

SEPARATOR: Final = "\n§\n"
FILE_NAMES: Final = {Target.MEMORY: "MEMORY.md", Target.USER: "USER.md"}


def parse(text: str) -> tuple[str, ...]:
    """Return the entries of a notebook in order, without blank ones and without repeats."""
    unified = text.removeprefix("\ufeff").replace("\r\n", "\n")
    parts = (part.strip() for part in unified.split(SEPARATOR))
    return tuple(dict.fromkeys(part for part in parts if part))


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """What must happen to the stored copies for them to equal the notebook."""

    add: tuple[str, ...]
    remove: tuple[str, ...]


def difference(*, written: Sequence[str], stored: Collection[str], private: Collection[str]) -> Difference:
    """Compare a notebook with its stored copies in one theme.

    Args:
        written: The entries of the notebook.
        stored: The contents stored in the theme as copies of it.
        private: Contents whose copy belongs to a person or group; they are not copied for everyone.
    """
    known, hidden, wanted = set(stored), set(private), set(written)
    return Difference(
        add=tuple(entry for entry in written if entry not in known and entry not in hidden),
        remove=tuple(entry for entry in stored if entry not in wanted),
    )
