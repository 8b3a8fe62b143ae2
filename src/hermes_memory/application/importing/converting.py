"""Turning what another memory holds into operations of this one, the same ones each time it is read."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from uuid import UUID, uuid5

from hermes_memory.application.accept import DELEGATION_MAX_CHARS
from hermes_memory.application.importing.owners import Owners, without_contacts
from hermes_memory.application.preparing import Preparing, moment
from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.foreign import ForeignDelegation, ForeignEntry, ForeignTurn
from hermes_memory.domain.model import Caller, OperationId, Origin
from hermes_memory.domain.operations import AddEntry, Operation, RecordDelegation, RecordTurns, Stamp, TurnDraft
from hermes_memory.domain.trust import imported_as

NAMESPACE: Final = UUID("5f0d3f5e-0a0b-5d0f-9b1e-7f1a6c2d9e41")
"""Of the ids of imported operations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Converted:
    """An operation, where it comes from, and what its row will hold.

    Attributes:
        text: The content as it will be stored; None where there is none to look for afterwards.
        vector: A vector of exactly that text.
        mended: Whether the text is not what it was there: it was cleaned or cut, or lost a secret.
    """

    operation: Operation
    place: str
    text: str | None = None
    vector: Sequence[float] | None = field(default=None, repr=False)
    mended: bool = False


class Converter:
    """Converts one source, in its order. Noise is imported too: somebody kept it."""

    def __init__(
        self, source: str, owners: Owners, preparing: Preparing, *, now: Callable[[], datetime], turn_chars: int
    ) -> None:
        """Convert what the source of this name holds; turns are cut at `turn_chars` characters."""
        self._source = source
        self._owners = owners
        self._preparing = preparing
        self._now = now
        self._turn_chars = turn_chars
        self._said: Counter[bytes] = Counter()
        self._session: str | None = None

    def convert(self, item: ForeignEntry | ForeignTurn | ForeignDelegation) -> Converted:
        """Convert one item.

        Raises:
            InvalidInput: Nothing of it can be kept, and why.
        """
        match item:
            case ForeignEntry():
                return self._entry(item)
            case ForeignTurn():
                return self._turn(item)
            case ForeignDelegation():
                return self._delegation(item)

    def _entry(self, item: ForeignEntry) -> Converted:
        content = self._preparing.fitting(item.content)
        stamp = self._stamp(self._owners.caller(item.whose, item.session), item.key)
        operation = AddEntry(
            stamp=stamp,
            target=item.target,
            content=content,
            at=stamp.accepted_at if item.at is None else moment(item.at),
            metadata=self._preparing.metadata(without_contacts(item.metadata)),
        )
        return self._converted(operation, item, content)

    def _turn(self, item: ForeignTurn) -> Converted:
        content = self._preparing.text(item.content, self._turn_chars)
        if not content:
            raise InvalidInput("the content is empty: there is nothing to remember", field="content")
        caller = self._owners.caller(item.whose, item.session)
        stamp = self._stamp(caller, item.key)
        draft = TurnDraft(
            role=item.role,
            content=content,
            at=stamp.accepted_at if item.at is None else moment(item.at),
            origin=imported_as(Origin.IMPORT, item.role),
            occurrence=self._occurrence(item, caller, content),
            metadata=self._preparing.metadata(without_contacts(item.metadata)),
        )
        parent = self._owners.session(item.parent, item.whose.contact)
        return self._converted(RecordTurns(stamp=stamp, turns=(draft,), parent_session=parent), item, content)

    def _delegation(self, item: ForeignDelegation) -> Converted:
        operation = RecordDelegation(
            stamp=self._stamp(self._owners.caller(item.whose, item.session), item.key, at=moment(item.at)),
            child_session=self._owners.session(item.child_session, item.whose.contact),
            child_theme=self._owners.theme(item.child) if item.child else None,
            task=self._preparing.text(item.task, DELEGATION_MAX_CHARS),
            result=self._preparing.text(item.result, DELEGATION_MAX_CHARS),
        )
        return Converted(operation=operation, place=item.place)

    def _converted(self, operation: Operation, item: ForeignEntry | ForeignTurn, content: str) -> Converted:
        # A vector is of the text as it was: one that was mended gets its own.
        mended = content != item.content
        same = not mended or (isinstance(item.content, str) and content == item.content.strip())
        return Converted(
            operation=operation,
            place=item.place,
            text=content,
            vector=item.vector if same else None,
            mended=not same,
        )

    def _occurrence(self, item: ForeignTurn, caller: Caller, content: str) -> int:
        """Count equal messages before this one in its session, of which only one is held in memory at a time."""
        if item.session != self._session:
            self._said.clear()
            self._session = item.session
        whose = f"{caller.theme}\0{caller.subject!r}\0{item.role}\0{content}"
        key = hashlib.sha256(whose.encode()).digest()
        self._said[key] += 1
        return self._said[key] - 1

    def _stamp(self, caller: Caller, key: str, *, at: datetime | None = None) -> Stamp:
        whose = "" if caller.subject is None else caller.subject.hex()
        return Stamp(
            operation=OperationId(uuid5(NAMESPACE, f"{caller.theme}\0{whose}\0{self._source}\0{key}")),
            caller=caller,
            origin=Origin.IMPORT,
            accepted_at=at or self._now(),
            reason=f"imported from {self._source}",
        )
