"""Mirroring the host's notebooks: each write as it happens, and a reconciliation that makes up for what was not told.

The host tells of writes its live memory tool makes, but not of edits by hand, approved drafts or resets. The notebook
file is the truth; the reconciliation compares it with the stored copies and accepts the writes that are missing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Final

from hermes_memory.application.accept import Acceptor
from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.model import Caller, Entry, HomeId, Origin, Target
from hermes_memory.domain.notebook import difference, parse
from hermes_memory.domain.notebook_lines import Standing
from hermes_memory.domain.operations import ByContent, ById, BySubstring, Operation, Selector
from hermes_memory.ports.notebook import Notebooks

TOOL: Final = "memory"


class Mirror:
    """Accepts what keeps the stored copies of one home's notebooks in step with the files. Any thread may call.

    The host holds an entry whatever its length, so one that is longer than a memory may be is cut, not refused.
    """

    def __init__(self, acceptor: Acceptor, notebooks: Notebooks) -> None:
        self._acceptor = acceptor
        self._fitting = acceptor.preparing.fitting
        self._notebooks = notebooks
        # Held while a file is compared and while a told write is accepted, so that neither sees the other half done.
        self._order = threading.Lock()
        self._read: dict[Target, tuple[str, tuple[str, ...]]] = {}
        self._entries: dict[Target, dict[str, str | None]] = {}
        self._visited = False

    def added(self, caller: Caller, target: Target, content: object) -> Operation:
        """Accept an addition the host told of.

        Raises:
            InvalidInput: The content is empty.
            SpoolFull: The spool has reached its bound.
        """
        with self._order:
            self._note(caller, content)
            return self._acceptor.add(
                caller,
                self._fitting(content),
                target=target,
                origin=Origin.ASSISTANT,
                source=self._notebooks.home,
                tool=TOOL,
            )

    def replaced(
        self, caller: Caller, target: Target, content: object, *, previous: object, old_text: object
    ) -> Operation:
        """Accept a replacement the host told of. Any thread.

        Args:
            previous: The whole entry it replaces, when the host knows it; it decides.
            old_text: Otherwise a text that the entry contains literally.

        Raises:
            InvalidInput: The content is empty, or nothing says which entry is meant.
            SpoolFull: The spool has reached its bound.
        """
        with self._order:
            self._note(caller, content)
            return self._acceptor.replace(
                caller,
                self._selector(target, previous, old_text),
                self._fitting(content),
                origin=Origin.ASSISTANT,
                upsert=True,
                source=self._notebooks.home,
                tool=TOOL,
            )

    def removed(self, caller: Caller, target: Target, *, previous: object, old_text: object) -> Operation:
        """Accept a removal the host told of. See `replaced` for the arguments.

        Raises:
            InvalidInput: Nothing says which entry is meant.
            SpoolFull: The spool has reached its bound.
        """
        with self._order:
            selector = self._selector(target, previous, old_text)
            return self._acceptor.remove(caller, selector, origin=Origin.ASSISTANT, tool=TOOL)

    def kept_out(self, content: object) -> None:
        """Note of an entry that the host told of, and that is not mirrored, that it is not everybody's."""
        self._notebooks.told(parse(str(content)), private=True)

    def keep_out(self, private: Collection[tuple[Target, str]]) -> None:
        """Note of entries, in the form in which they are stored, that they are somebody's for good."""
        found = [
            entry
            for target, entries in self._entries.items()
            for entry, text in entries.items()
            if (target, text) in private
        ]
        if found:
            self._notebooks.told(found, private=True)

    def subject_comes(self) -> None:
        """Note that somebody's session is here: what is new in the files may be theirs until the host tells."""
        self._visited = True
        self._notebooks.subject_comes()

    def subjects_leave(self) -> None:
        """Note that no session of somebody is here any more."""
        self._visited = False
        self._notebooks.subjects_leave()

    def subjects_move(self, successor: Mirror) -> None:
        """Have another mirror of the same notebooks note who is here, in the place of this one."""
        if self._visited:
            successor.subject_comes()
        self.subjects_leave()

    @property
    def home(self) -> HomeId:
        """The home whose notebooks these are."""
        return self._notebooks.home

    def prompt_contents(self) -> frozenset[str]:
        """Return what the host's prompt shows of the notebooks anyway."""
        return frozenset(text for texts in self.written().values() for text in texts)

    def standing(self) -> Standing:
        """Return whose the entries, as written, are."""
        return self._notebooks.standing()

    def fingerprint(self) -> str:
        """Return a value that changes when the notebooks are to be compared again."""
        return self._notebooks.fingerprint()

    def accept_differences(
        self,
        caller: Caller,
        stored: Sequence[Entry],
        private: frozenset[tuple[Target, str]],
        *,
        done: set[tuple[Target, str]] | None = None,
        most: int | None = None,
    ) -> int:
        """Compare the files as they are now with the stored copies; accept the writes that are missing, count them.

        A caller with a subject only loses copies that are gone from the file: what else it holds is not its own. One
        without is given what is everybody's; whose a line is, the notebooks know better than what is stored of it. It
        loses nothing of a file that holds a line of which nobody told: that may be what has replaced the copy.

        Args:
            stored: The caller's copies, read before this call.
            private: Entries whose copy belongs to a person or group.
            done: What earlier calls with the same copies have accepted; grows by what this one accepts.
            most: Writes to accept at most. What the host tells has to wait while a call lasts.
        """
        accepted = set() if done is None else done
        with self._order:
            before = len(accepted)
            for change, accept in islice(self._differences(caller, stored, private, frozenset(accepted)), most):
                accept()
                accepted.add(change)
            return len(accepted) - before

    def _differences(
        self,
        caller: Caller,
        stored: Sequence[Entry],
        private: frozenset[tuple[Target, str]],
        done: frozenset[tuple[Target, str]],
    ) -> Iterator[tuple[tuple[Target, str], Callable[[], object]]]:
        """Yield each copy that must come or go, and what accepts that, without those that are done."""
        for target, written in self.written().items():
            copies = {entry.content: entry for entry in stored if entry.target is target}
            hidden = {text for kind, text in private if kind is target}
            found = difference(written=written, stored=copies, private=hidden)
            shared, held = self._standing(target) if caller.subject is None and found.add else (set(), set())
            if held.isdisjoint(found.add):
                for text in found.remove:
                    if (target, text) not in done:
                        yield (target, text), partial(self._take_out, caller, copies[text])
            for text in found.add:
                if text in shared and (target, text) not in done:
                    yield (target, text), partial(self._put_in, caller, target, text)

    def _standing(self, target: Target) -> tuple[set[str], set[str]]:
        """Return what is everybody's and what is held to be somebody's, in the form in which it would be stored."""
        standing, entries = self._notebooks.standing(), self._entries.get(target, {})
        texts = [(entry, text) for entry, text in entries.items() if text]
        own = {text for entry, text in texts if entry not in standing.shared}
        return (
            {text for entry, text in texts if entry in standing.shared} - own,
            {text for entry, text in texts if entry in standing.held},
        )

    def _note(self, caller: Caller, content: object) -> None:
        self._notebooks.told(parse(str(content)), private=caller.subject is not None)

    def _take_out(self, caller: Caller, entry: Entry) -> Operation:
        return self._acceptor.remove(caller, self._as_read(entry), origin=Origin.IMPORT, tool=TOOL)

    def _put_in(self, caller: Caller, target: Target, text: str) -> Operation:
        return self._acceptor.add(
            replace(caller, session=None),
            text,
            target=target,
            origin=Origin.IMPORT,
            source=self._notebooks.home,
            tool=TOOL,
        )

    def written(self) -> dict[Target, tuple[str, ...]]:
        """Read the notebooks that exist, each entry in the form in which it would be stored.

        What was read is kept until a file changes; what changes while it is read counts as changed afterwards.
        """
        mark = self.fingerprint()
        found = ((target, self._written_in(target, mark)) for target in Target)
        return {target: texts for target, texts in found if texts is not None}

    def _written_in(self, target: Target, mark: str) -> tuple[str, ...] | None:
        known = self._read.get(target)
        if known is not None and known[0] == mark:
            return known[1]
        entries = self._notebooks.read(target)
        if entries is None:
            return None
        # What has not changed since the last reading is not prepared, and its secrets are not counted, again.
        before = self._entries.get(target, {})
        now = {entry: before[entry] if entry in before else self._prepared(entry) for entry in entries}
        texts = tuple(dict.fromkeys(text for text in now.values() if text))
        self._entries[target] = now
        self._read[target] = (mark, texts)
        return texts

    def _prepared(self, entry: str) -> str | None:
        try:
            return self._fitting(entry)
        except InvalidInput:
            return None

    def _as_read(self, entry: Entry) -> Selector:
        """Select an entry as long as it says what was read: a change that was told and waits for delivery keeps its id.

        What another version prepared in another way can be selected by id alone.
        """
        if self._prepared(entry.content) == entry.content:
            return ByContent(target=entry.target, content=entry.content, source=self._notebooks.home)
        return ById(id=entry.id)

    def _selector(self, target: Target, previous: object, old_text: object) -> Selector:
        if isinstance(previous, str) and previous.strip():
            return ByContent(target=target, content=self._fitting(previous), source=self._notebooks.home)
        if isinstance(old_text, str) and old_text.strip():
            return BySubstring(target=target, text=old_text, source=self._notebooks.home)
        raise InvalidInput("an empty old_text would select every memory: name the text to find", field="old_text")
