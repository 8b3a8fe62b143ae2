"""What a check of an installed store is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import LiteralString


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing to look for.

    Attributes:
        statement: Returns the names (column `name`) of what is wrong, as the current role sees it.
        sentence: Says what that means and what to do; {} stands for the names.
    """

    statement: LiteralString
    sentence: str
