"""The host's notebooks without files: for trials, and for tests of what mirrors them."""

from __future__ import annotations

from collections.abc import Sequence

from hermes_memory.domain.model import HomeId, Target
from hermes_memory.domain.notebook import parse


class InMemoryNotebooks:
    """Notebooks whose text is set by hand. Any thread may call.

    Example:
        >>> notebooks = InMemoryNotebooks(HomeId("home"))
        >>> notebooks.write(Target.USER, "prefers tea")
        >>> notebooks.read(Target.USER), notebooks.read(Target.MEMORY)
        (('prefers tea',), None)
    """

    def __init__(self, home: HomeId) -> None:
        self._home = home
        self._texts: dict[Target, str] = {}
        self._writes = 0

    @property
    def home(self) -> HomeId:
        """The home they belong to."""
        return self._home

    def write(self, target: Target, text: str | None) -> None:
        """Set the whole text of a notebook; None takes it away."""
        self._writes += 1
        if text is None:
            self._texts.pop(target, None)
        else:
            self._texts[target] = text

    def read(self, target: Target) -> Sequence[str] | None:
        """Return the entries as written, None when there is no such notebook."""
        text = self._texts.get(target)
        return None if text is None else parse(text)

    def fingerprint(self) -> str:
        """Return a value that changes with every write."""
        return str(self._writes)
