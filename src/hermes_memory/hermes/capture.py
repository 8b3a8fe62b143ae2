"""Capturing conversations: each turn as it completes, and whole transcripts as a backstop, without repeats."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from hermes_memory.application.accept import Acceptor, Said
from hermes_memory.domain import transcript
from hermes_memory.domain.model import Role
from hermes_memory.hermes.sessions import Binding

SESSIONS_KEPT: Final = 256
TURNS_AN_OPERATION: Final = 50
CHARS_AN_OPERATION: Final = 60_000

Key = tuple[str, Role, int]


@dataclass(slots=True)
class _Heard:
    """What this process heard of one session.

    Attributes:
        accepted: The messages accepted so far.
        told: How often each message was told of singly, without a transcript that says which of several equal ones
            it is.
    """

    accepted: set[Key] = field(default_factory=set)
    told: Counter[tuple[str, Role]] = field(default_factory=Counter)


class Capture:
    """Hands what was said to the acceptor. Any thread may call.

    Which message it is of several equal ones makes it unique within its session, so that a transcript handed in twice,
    or by another process later, stores nothing new. What this process accepted before is not even accepted again.
    A message told of singly is taken for the first of its kind, its repetition for the second: turns told again after a
    resume are those that are stored already.
    """

    def __init__(self, acceptor: Acceptor, *, max_chars: int) -> None:
        """Capture messages of up to `max_chars` characters."""
        self._acceptor = acceptor
        self._max_chars = max_chars
        self._lock = threading.Lock()
        self._heard: OrderedDict[str, _Heard] = OrderedDict()

    def exchange(
        self, binding: Binding, user: object, assistant: object, *, messages: object = None, speaker: str | None = None
    ) -> None:
        """Capture one completed exchange.

        Args:
            messages: The transcript so far, when the host hands it in.
            speaker: Who spoke, when it is not the person of the session.

        Raises:
            SpoolFull: The spool has reached its bound.
        """
        name = speaker or binding.speaker
        halves = (
            self._half(binding, Role.USER, user, messages, name),
            self._half(binding, Role.ASSISTANT, assistant, messages, None),
        )
        self._accept(binding, [half for half, _ in halves if half is not None])
        with self._lock:
            self._session(binding).told.update(_words(half) for half, is_told in halves if half is not None and is_told)

    def transcript(self, binding: Binding, messages: object) -> None:
        """Capture what of a whole transcript was not captured yet.

        Raises:
            SpoolFull: The spool has reached its bound; what came before was accepted.
        """
        said = [
            Said(
                role=one.role,
                content=one.content,
                speaker=binding.speaker if one.role is Role.USER else None,
                occurrence=one.occurrence,
            )
            for one in transcript.said_in(messages, max_chars=self._max_chars)
        ]
        for part in _packed(said):
            self._accept(binding, part)

    def _half(
        self, binding: Binding, role: Role, content: object, messages: object, speaker: str | None
    ) -> tuple[Said | None, bool]:
        """Return one half of an exchange, None when it says nothing, and whether it was told of singly."""
        found = transcript.find_said(messages, role, content, max_chars=self._max_chars)
        if found is not None:
            return Said(role=role, content=found.content, speaker=speaker, occurrence=found.occurrence), False
        words = transcript.words_of(role, content, max_chars=self._max_chars)
        if not words:
            return None, True
        with self._lock:
            occurrence = self._session(binding).told[words, role]
        return Said(role=role, content=words, speaker=speaker, occurrence=occurrence), True

    def _accept(self, binding: Binding, said: Sequence[Said]) -> None:
        with self._lock:
            accepted = self._session(binding).accepted
            fresh = [one for one in said if (*_words(one), one.occurrence) not in accepted]
        if fresh:
            self._acceptor.turns(binding.caller, fresh, parent=binding.parent)
            with self._lock:
                self._session(binding).accepted.update((*_words(one), one.occurrence) for one in fresh)

    def _session(self, binding: Binding) -> _Heard:
        session = binding.caller.session or ""
        heard = self._heard.setdefault(session, _Heard())
        self._heard.move_to_end(session)
        while len(self._heard) > SESSIONS_KEPT:
            self._heard.popitem(last=False)
        return heard


def _packed(said: Sequence[Said]) -> Iterator[Sequence[Said]]:
    """Part a transcript into writes that are small enough for the spool, in order."""
    part: list[Said] = []
    size = 0
    for one in said:
        length = len(str(one.content))
        if part and (len(part) >= TURNS_AN_OPERATION or size + length > CHARS_AN_OPERATION):
            yield part
            part, size = [], 0
        part.append(one)
        size += length
    if part:
        yield part


def _words(said: Said) -> tuple[str, Role]:
    return str(said.content), said.role
