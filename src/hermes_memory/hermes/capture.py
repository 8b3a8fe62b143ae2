"""Capturing conversations: each turn as it completes, and whole transcripts as a backstop, without repeats."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Final

from hermes_memory.application.accept import Acceptor, Said
from hermes_memory.domain import transcript
from hermes_memory.domain.model import Role
from hermes_memory.hermes.sessions import Binding

SESSIONS_KEPT: Final = 256
TURNS_AN_OPERATION: Final = 50
CHARS_AN_OPERATION: Final = 60_000

Key = tuple[str, Role, int]


class Capture:
    """Hands what was said to the acceptor. Any thread may call.

    Which message it is of several equal ones makes it unique within its session, so that a transcript handed in twice,
    or by another process later, stores nothing new. What this process accepted before is not even accepted again.
    """

    def __init__(self, acceptor: Acceptor, *, max_chars: int) -> None:
        """Capture messages of up to `max_chars` characters."""
        self._acceptor = acceptor
        self._max_chars = max_chars
        self._lock = threading.Lock()
        self._accepted: OrderedDict[str, set[Key]] = OrderedDict()

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
        self._accept(binding, [half for half in halves if half is not None])

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
    ) -> Said | None:
        found = transcript.find_said(messages, role, content, max_chars=self._max_chars)
        if found is not None:
            return Said(role=role, content=found.content, speaker=speaker, occurrence=found.occurrence)
        words = transcript.words_of(role, content, max_chars=self._max_chars)
        if not words:
            return None
        with self._lock:
            known = self._known(binding.caller.session or "")
            occurrence = sum(1 for text, who, _ in known if (text, who) == (words, role))
        return Said(role=role, content=words, speaker=speaker, occurrence=occurrence)

    def _accept(self, binding: Binding, said: Sequence[Said]) -> None:
        session = binding.caller.session or ""
        with self._lock:
            known = self._known(session)
            fresh = [one for one in said if _key(one) not in known]
        if fresh:
            self._acceptor.turns(binding.caller, fresh, parent=binding.parent)
            with self._lock:
                self._known(session).update(map(_key, fresh))

    def _known(self, session: str) -> set[Key]:
        known = self._accepted.setdefault(session, set())
        self._accepted.move_to_end(session)
        while len(self._accepted) > SESSIONS_KEPT:
            self._accepted.popitem(last=False)
        return known


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


def _key(said: Said) -> Key:
    return str(said.content), said.role, said.occurrence
