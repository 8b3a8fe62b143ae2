"""Bringing what is handed in to the form in which it is kept: cleaned, without secrets, within its bounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final, assert_never

from hermes_memory.application.secret_guard import SecretGuard
from hermes_memory.domain.characters import shows
from hermes_memory.domain.cleaning import CUT_MARKER, clean_metadata, clean_text
from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.model import NO_METADATA, Caller, Metadata, SessionId
from hermes_memory.domain.operations import ByContent, ById, BySubstring, Selector
from hermes_memory.domain.scrubbing import cut, scrub
from hermes_memory.domain.sessions import SessionNames, session_name
from hermes_memory.domain.speakers import speaker_name
from hermes_memory.domain.themes import refuse_contact

ENTRY_MAX_CHARS: Final = 65_536
LOOKED_BEYOND: Final = 4096
"""Characters after the cut of a long text that are searched for the rest of a secret."""
EARLIEST: Final = datetime(2, 1, 1, tzinfo=UTC)
LATEST: Final = datetime(9998, 12, 31, tzinfo=UTC)


class Preparing:
    """Prepares texts, metadata, names and selectors. Preparing a result again changes nothing. Any thread may call."""

    def __init__(self, secrets: SecretGuard, *, sessions: SessionNames | None = None) -> None:
        """Let `secrets` decide what becomes of secrets; whatever keeps a text may raise its `HoldsSecret`.

        Sessions are kept under the names that `sessions` gives them.
        """
        self._secrets = secrets
        self._sessions = sessions
        self.session: Callable[[object], SessionId | None] = sessions or session_name

    def hidden_session(self, named: SessionId) -> SessionId | None:
        """Return the name under which a session is kept if who keeps it knows that its name tells of a contact."""
        return None if self._sessions is None else self._sessions.hidden(named)

    def caller(self, caller: Caller) -> Caller:
        """Return the caller with the name under which its session is kept.

        Raises:
            InvalidInput: Its theme is the key of a person or group.
        """
        refuse_contact(caller.theme)
        session = self.session(caller.session)
        return caller if session == caller.session else replace(caller, session=session)

    def text(self, value: object, max_chars: int) -> str:
        """Return a text cut at `max_chars` characters, "" for nothing that shows."""
        # A secret across the cut is known by what follows it: so a piece more is looked at than is kept.
        return self.cleaned(clean_text(value, max_chars=max_chars + LOOKED_BEYOND), max_chars)

    def cleaned(self, text: str, max_chars: int) -> str:
        """Return what `text` does, for a text that is clean and was cut `LOOKED_BEYOND` characters later, if at all."""
        text = self._secrets.kept(text)
        if len(text) > max_chars:
            text = cut(text, max_chars, CUT_MARKER)
        text = text.strip()
        return text if shows(text) else ""

    def speaker(self, value: object, max_chars: int) -> str | None:
        """Return the name of who speaks, without the key of a contact; None when nothing else is left of it."""
        if value is None:
            return None
        whole = self._secrets.kept(clean_text(value, max_chars=max_chars + LOOKED_BEYOND))
        if (name := speaker_name(whole)) is None:
            return None
        # Once more, as it is now: what was cut may look like a key that the whole did not.
        return speaker_name(self.cleaned(name, max_chars))

    def content(self, value: object) -> str:
        """Return the text that is stored for a durable memory.

        Raises:
            InvalidInput: Nothing is left of it, or it is longer than a memory may be.
        """
        text = self.text(value, ENTRY_MAX_CHARS + 1)
        if not text:
            raise InvalidInput("the content is empty: there is nothing to remember", field="content")
        if len(text) > ENTRY_MAX_CHARS:
            raise InvalidInput(
                f"the content is longer than {ENTRY_MAX_CHARS:,} characters: store it in parts", field="content"
            )
        return text

    def fitting(self, value: object) -> str:
        """Return `content(value)`, but cut and marked where it is longer than a memory may be.

        Raises:
            InvalidInput: Nothing is left of it.
        """
        return self.content(clean_text(self.text(value, ENTRY_MAX_CHARS), max_chars=ENTRY_MAX_CHARS))

    def metadata(self, value: Mapping[str, object] | None) -> Metadata:
        """Return metadata as they are stored."""
        return self._secrets.metadata(clean_metadata(value)) if value else NO_METADATA

    def sought(self, text: str) -> str:
        """Return the content under which a text is stored, if it is.

        Raises:
            InvalidInput: Nothing is left of it.
        """
        return self.content(self._secrets.sought(clean_text(text, max_chars=ENTRY_MAX_CHARS + 1)))

    def selector(self, selector: Selector) -> Selector:
        """Bring the selecting text into the form in which contents are stored, so that it finds them.

        Raises:
            InvalidInput: Nothing is left of the text.
        """
        match selector:
            case ByContent():
                return replace(selector, content=self.sought(selector.content))
            case BySubstring():
                # Not trimmed: blanks at its ends tell one entry from another.
                return replace(selector, text=self._secrets.sought(scrub(selector.text)))
            case ById():
                return selector
            case _:
                assert_never(selector)


def moment(at: object) -> datetime:
    """Return a time that every part of the memory can hold and show, whatever the zone it is shown in.

    Raises:
        InvalidInput: It is no time, or out of range.
    """
    if not isinstance(at, datetime):
        raise InvalidInput("a time is a datetime", field="at")
    try:
        found = at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
    except OverflowError:
        found = datetime.min.replace(tzinfo=UTC)
    if not EARLIEST <= found <= LATEST:
        raise InvalidInput(f"a time is from {EARLIEST.year} to {LATEST.year}", field="at")
    return found
