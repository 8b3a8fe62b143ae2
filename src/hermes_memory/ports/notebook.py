"""Reading the host's notebooks of one home."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from hermes_memory.domain.model import HomeId, Target
from hermes_memory.domain.notebook_lines import Standing


class Notebooks(Protocol):
    """MEMORY.md and USER.md of a home. All methods are short and may be called from any thread.

    What they know of whose an entry is, all readers of a home have in common, for good, and keep no text of it.
    """

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
        """Return a value that changes when one of the files does; cheap enough to ask before every turn.

        It changes once more, a while after a file could not be read, or after it could not be known whose entries are.
        """
        ...

    def told(self, entries: Collection[str], *, private: bool) -> None:
        """Note whose entries are, there or not: some subject's, or everybody's. What once is private stays so.

        That they are everybody's is noted only while a session with a subject is here: else every new entry is.
        """
        ...

    def subject_comes(self) -> None:
        """Note that a session with a subject is here, before it can write. It may be told of again."""
        ...

    def subjects_leave(self) -> None:
        """Note that there is no session with a subject here any more. Entries that came meanwhile are held."""
        ...

    def standing(self) -> Standing:
        """Return whose the entries, as written, are.

        Every entry is everybody's until a session with a subject comes. From then on, and as long as one is here, an
        entry that came since is held to be somebody's unless it was told of; also afterwards. No entry that is private
        is everybody's or held, nor one that differs from it by spaces or the case of letters alone. Where what is known
        of them cannot be read or noted, it says why, and all are held until it can.
        """
        ...
