"""Which subjects are one person, in this process's memory."""

from __future__ import annotations

from collections.abc import Collection

from hermes_memory.domain.model import Subject


class Persons:
    """Subjects that were said to be one person each."""

    def __init__(self) -> None:
        self._together: dict[Subject, frozenset[Subject]] = {}

    @property
    def subjects(self) -> Collection[Subject]:
        """All subjects that are one person with others."""
        return self._together.keys()

    def of(self, subject: Subject | None) -> frozenset[Subject]:
        """Return all subjects of the person that one is; none when it is no person with others."""
        return self._together.get(subject, frozenset()) if subject else frozenset()

    def merge(self, subjects: Collection[Subject]) -> frozenset[Subject]:
        """Let subjects be one person with all that any of them was before; return all that it is."""
        together = frozenset(subjects).union(*map(self.of, subjects))
        self._together.update(dict.fromkeys(together, together))
        return together

    def split(self, subject: Subject) -> bool:
        """Take a subject out of its person, who is none any more with one left; tell whether it was one with others."""
        left = self._together.pop(subject, frozenset()) - {subject}
        for other in left:
            self._together[other] = left
        if len(left) == 1:
            self._together.pop(*left)
        return bool(left)


class InMemoryPeople:
    """`People` over what `InMemoryStore.merge` was told."""

    def __init__(self, persons: Persons) -> None:
        self._persons = persons

    async def others(self, subject: Subject, *, timeout: float) -> frozenset[Subject]:
        """Return the other subjects of the same person; see `People.others`."""
        return self._persons.of(subject) - {subject}
