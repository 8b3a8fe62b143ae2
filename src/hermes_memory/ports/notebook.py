"""Reading the host's notebooks of one home."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from hermes_memory.domain.model import HomeId, Target


class Notebooks(Protocol):
    """MEMORY.md and USER.md of a home. Both methods are short and may be called from any thread."""

    @property
    def home(self) -> HomeId:
        """The home they belong to."""
        ...

    def read(self, target: Target) -> Sequence[str] | None:
        """Return the entries as written, None when there is no such file or it cannot be read now.

        A file that is missing says nothing about what should be remembered; an empty one says nothing should.
        """
        ...

    def fingerprint(self) -> str:
        """Return a value that changes when one of the files does; cheap enough to ask before every turn."""
        ...
