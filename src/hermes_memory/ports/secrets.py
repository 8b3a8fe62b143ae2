"""Counting the secrets that were kept out of the memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Protocol

NONE: Final[Mapping[str, int]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretTotals:
    """How many secrets a home kept out, ever, by kind.

    Attributes:
        redacted: Secrets whose place a mark has taken.
        refused: Secrets because of which a text was not kept.
    """

    redacted: Mapping[str, int] = field(default_factory=lambda: NONE)
    refused: Mapping[str, int] = field(default_factory=lambda: NONE)


class SecretTally(Protocol):
    """Keeps the count for a home. Any thread and any process may call."""

    def note(self, kinds: Mapping[str, int], *, refused: bool) -> None:
        """Add what was found in one text. A count that cannot be kept is no reason to lose a write: nothing is raised.

        Args:
            kinds: Number of secrets by kind.
            refused: The text was not kept because of them.
        """
        ...

    def totals(self) -> SecretTotals:
        """Return the counts, none when they cannot be read."""
        ...
