"""Bringing the records of an archive to the form in which live writes keep the same, which those of an export have."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from hermes_memory.application.accept import NAME_MAX_CHARS, REASON_MAX_CHARS
from hermes_memory.application.preparing import Preparing
from hermes_memory.domain.archive import (
    Archived,
    ArchivedChange,
    ArchivedDelegation,
    ArchivedEntry,
    ArchivedSession,
    ArchivedTheme,
    ArchivedTurn,
)
from hermes_memory.domain.chain import ERASED
from hermes_memory.domain.contacts import recognise
from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.model import Origin, Role
from hermes_memory.domain.sessions import session_name
from hermes_memory.domain.trust import imported_as

TEXT_MAX_CHARS: Final = 1_000_000


class RecordPreparing:
    """Prepares records: texts, names and metadata. Preparing a result again changes nothing."""

    def __init__(self, preparing: Preparing) -> None:
        """Prepare texts and metadata by `preparing`."""
        self._preparing = preparing

    def prepared(self, record: Archived) -> Archived:
        """Return a record as it may be stored.

        Raises:
            InvalidInput: Nothing is left of its content, a name in it is a contact's, or it holds a secret and the
                installation refuses such texts. The message quotes nothing of it.
        """
        match record:
            case ArchivedEntry():
                return self._entry(record)
            case ArchivedTurn():
                return self._turn(record)
            case ArchivedSession():
                return replace(
                    record, session=self._session(record.session), parent=self._preparing.session(record.parent)
                )
            case ArchivedDelegation():
                return self._delegation(record)
            case ArchivedChange():
                return self._change(record)
            case ArchivedTheme():
                return replace(record, metadata=self._preparing.metadata(record.metadata))

    def _entry(self, record: ArchivedEntry) -> ArchivedEntry:
        content = self._preparing.fitting(record.content)
        return replace(
            record,
            content=content,
            tool=self._name(record.tool),
            session=self._preparing.session(record.session),
            source=session_name(record.source),
            metadata=self._preparing.metadata(record.metadata),
            vectors=_vectors(record, content),
        )

    def _turn(self, record: ArchivedTurn) -> ArchivedTurn:
        if not (said := self._text(record.content)):
            raise InvalidInput("the content is empty: there is nothing to remember", field="content")
        return replace(
            record,
            session=self._session(record.session),
            parent=self._preparing.session(record.parent),
            speaker=self._preparing.speaker(record.speaker, NAME_MAX_CHARS),
            content=said,
            metadata=self._preparing.metadata(record.metadata),
            vectors=_vectors(record, said),
        )

    def _delegation(self, record: ArchivedDelegation) -> ArchivedDelegation:
        return replace(
            record,
            session=self._preparing.session(record.session),
            child_theme=_no_contact(self._name(record.child_theme), "child_theme"),
            child_session=self._preparing.session(record.child_session),
            task=self._text(record.task),
            result=self._text(record.result),
        )

    def _change(self, record: ArchivedChange) -> ArchivedChange:
        return replace(
            record,
            before=None if record.before is None else self._text(record.before),
            after=None if record.after is None else self._text(record.after),
            tool=self._name(record.tool),
            session=self._preparing.session(record.session),
            # That of an erasure names each memory that stayed.
            reason=self._short(record.reason, TEXT_MAX_CHARS if record.change == ERASED else REASON_MAX_CHARS),
            metadata=None if record.metadata is None else self._preparing.metadata(record.metadata),
        )

    def _session(self, name: str) -> str:
        """Return the session that a host's id stands for, as live writes keep it, whatever the id looks like."""
        if (session := self._preparing.session(name)) is None:
            raise InvalidInput("the field 'session' has no usable value", field="session")
        return session

    def _text(self, content: str) -> str:
        return self._preparing.text(content, TEXT_MAX_CHARS)

    def _name(self, name: str | None) -> str | None:
        return self._short(name, NAME_MAX_CHARS)

    def _short(self, text: str | None, max_chars: int) -> str | None:
        return None if text is None else self._preparing.text(text, max_chars) or None


def _vectors(record: ArchivedEntry | ArchivedTurn, content: str) -> tuple[bytes, ...]:
    """Return the vectors that a record keeps with this content; of another text they are not told."""
    return record.vectors if content == record.content else ()


def unvouched(record: Archived) -> Archived:
    """Return a record of a file without what the file says to be trusted by: nobody but the file vouches for it.

    It is an import's, unless it says to be worth less; it mirrors no home's notebook; its vectors, which decide what it
    is found by, are not taken over; and it makes no session drop what is said there next as something forgotten.
    """
    match record:
        case ArchivedEntry():
            origin = imported_as(Origin(record.origin))
            tool = record.tool if origin == record.origin else None
            return replace(record, origin=origin, tool=tool, source=None, vectors=())
        case ArchivedTurn():
            return replace(record, origin=imported_as(Origin(record.origin), Role(record.role)), vectors=())
        case ArchivedChange():
            origin = imported_as(Origin(record.origin))
            return replace(record, origin=origin, tool=record.tool if origin == record.origin else None)
        case ArchivedSession():
            return replace(record, forgotten=b"")
        case ArchivedDelegation() | ArchivedTheme():
            return record


def _no_contact(name: str | None, field: str) -> str | None:
    # Live talk keeps who is handed a task as a theme, and a contact is none.
    if name is not None and recognise(name) is not None:
        raise InvalidInput(f"the field '{field}' is the key of a person or group, which is no name here", field=field)
    return name
