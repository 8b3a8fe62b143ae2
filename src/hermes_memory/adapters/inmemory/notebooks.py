"""The host's notebooks without files: for trials, and for tests of what mirrors them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from hermes_memory.domain.model import HomeId, Target
from hermes_memory.domain.notebook import parse
from hermes_memory.domain.notebook_lines import VISITED, KnownLines, Standing, spelling


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
        self._known = KnownLines()

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

    def told(self, entries: Collection[str], *, private: bool) -> None:
        """Note of entries that they are some subject's, or, while one is here, that they are everybody's."""
        if private or self._known.visited:
            self._note(self._known.told(map(spelling, entries), private=private))

    def subject_comes(self) -> None:
        """Note that a session with a subject is here."""
        if not self._known.visited:
            self._settle()
            self._note([VISITED])

    def subjects_leave(self) -> None:
        """Note that there is no session with a subject here any more."""
        if self._known.visited:
            self._settle()

    def standing(self) -> Standing:
        """Return whose the entries are that are there."""
        entries = self._entries()
        kinds = self._known.kinds([spelling(entry) for entry in entries], alone=not self._known.visited)
        return Standing.of(entries, kinds)

    def _entries(self) -> list[str]:
        return [entry for text in self._texts.values() for entry in parse(text)]

    def _settle(self) -> None:
        self._note(self._known.settled([spelling(entry) for entry in self._entries()], whole=True))

    def _note(self, records: Sequence[str]) -> None:
        for record in records:
            self._known.take(record)
