"""Capturing conversations: each turn as it completes, and whole transcripts as a backstop, without repeats."""

from __future__ import annotations

import hashlib
import threading
from collections import Counter, OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple, TypeVar

from hermes_memory.application.accept import Acceptor, Said
from hermes_memory.application.preparing import LOOKED_BEYOND
from hermes_memory.domain import transcript
from hermes_memory.domain.model import Role
from hermes_memory.domain.scaffolding import SEVERAL, Chat
from hermes_memory.domain.speakers import sender_spellings, shows_sender
from hermes_memory.domain.transcript import Spoken
from hermes_memory.hermes.authors import Author, name_in_front
from hermes_memory.hermes.sessions import Binding

MESSAGES_KEPT: Final = 65_536
"""Messages remembered, as digests, over all sessions of an agent: some 15 MB. A session may have no end."""
TURNS_AN_OPERATION: Final = 50
CHARS_AN_OPERATION: Final = 60_000

_NOBODY: Final = Author(speaker=None)
_AN_AGENT: Final = Author(speaker=None, is_agent=True)

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class _Message(NamedTuple):
    """What was said, what no second message has, and whether it was told of singly, without a transcript."""

    said: Said
    key: tuple[bytes, int]
    told: bool


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
        # The acceptor cuts what it keeps, and has to see what follows the cut: a secret may lie across it.
        self._read_chars = max_chars + LOOKED_BEYOND
        self._lock = threading.Lock()
        # What was accepted; and how often a message was told of singly, without a transcript that says which of
        # several equal ones it is; and how often other agents said a message that was not captured yet. A look at them
        # is one step of the interpreter, and is taken without the lock.
        self._accepted: OrderedDict[tuple[bytes, int], None] = OrderedDict()
        self._told: OrderedDict[bytes, int] = OrderedDict()
        self._agents: OrderedDict[bytes, int] = OrderedDict()
        # What other agents were said to say before the exchange, which may tell of it again.
        self._announced: OrderedDict[bytes, None] = OrderedDict()
        # Digests of the keys of authors: a transcript does not tell whose key stands in front of a message.
        self._senders: OrderedDict[bytes, None] = OrderedDict()

    def exchange(
        self,
        binding: Binding,
        user: object,
        assistant: object,
        *,
        messages: object = None,
        author: Author | None = None,
    ) -> None:
        """Capture one completed exchange.

        Args:
            messages: The transcript so far, when the host hands it in.
            author: Who spoke; the person of the session by default.

        Raises:
            SpoolFull: The spool has reached its bound.
            StoreUnavailable: The spool cannot be used for now.
        """
        spoke = author or Author(speaker=binding.speaker)
        self.meet(binding, spoke)
        conversation = self._conversation(binding, messages)
        if spoke.is_agent:
            self._mark(binding, user, beforehand=False)
        spoke = _called(spoke, binding, transcript.sender_of(user, chat=self._chat(binding)))
        halves = (
            self._half(binding, Role.USER, user, conversation, spoke),
            self._half(binding, Role.ASSISTANT, assistant, conversation, _NOBODY),
        )
        self._accept(binding, [half for half in halves if half is not None])

    def transcript(self, binding: Binding, messages: object) -> None:
        """Capture what of a whole transcript was not captured yet.

        Raises:
            SpoolFull: The spool has reached its bound; what came before was accepted.
            StoreUnavailable: The spool cannot be used for now; what came before was accepted.
        """
        marked: Counter[bytes] = Counter()
        said = [self._in_transcript(binding, one, marked) for one in self._conversation(binding, messages)]
        for part in _packed(said):
            self._accept(binding, part)

    def meet(self, binding: Binding, author: Author) -> None:
        """Remember by which keys the host may say in a text of a session that an author sent it."""
        with self._lock:
            for sender in author.senders:
                _keep(self._senders, _of_session(binding, sender), None)

    def said_by_agent(self, binding: Binding, message: object) -> None:
        """Note that another agent says this: a transcript does not tell who said what in the user's role."""
        self._mark(binding, message, beforehand=True)

    def _mark(self, binding: Binding, message: object, *, beforehand: bool) -> None:
        words = self._words(binding, Role.USER, message)
        if not words:
            return
        digest = self._digest(binding, Role.USER, words)
        with self._lock:
            if beforehand or digest not in self._announced:
                _keep(self._agents, digest, self._agents.get(digest, 0) + 1)
            if beforehand:
                _keep(self._announced, digest, None)
            else:
                self._announced.pop(digest, None)

    def _in_transcript(self, binding: Binding, spoken: Spoken, marked: Counter[bytes]) -> _Message:
        """Return a message of a transcript: another agent's as often as one said it and it was not captured."""
        if spoken.role is not Role.USER:
            return self._found(binding, spoken, _NOBODY)
        # Of several people the agent's own is but one: who said this is told in front of it, or nowhere.
        author = _called(Author(speaker=None if binding.shared else binding.speaker), binding, spoken.sender)
        found = self._found(binding, spoken, author)
        digest = found.key[0]
        if found.key in self._accepted or marked[digest] >= self._agents.get(digest, 0):
            return found
        marked[digest] += 1
        return self._found(binding, spoken, _AN_AGENT)

    def _conversation(self, binding: Binding, messages: object) -> Sequence[Spoken]:
        if not messages:
            return ()
        chat = self._chat(binding)
        return transcript.said_in(messages, max_chars=self._max_chars, beyond=LOOKED_BEYOND, chat=chat)

    def _words(self, binding: Binding, role: Role, content: object) -> str:
        return transcript.words_of(role, content, max_chars=self._read_chars, chat=self._chat(binding))

    def _chat(self, binding: Binding) -> Chat:
        """Return what tells in a session what the host writes in front of a text: who sent it, and what others said.

        Who sent it may be a name and a key. Of whoever sends texts to all in a chat the host may have told another
        agent.
        """

        def is_key(sender: str) -> bool:
            spelt = frozenset().union(*map(sender_spellings, {sender, sender.rpartition("|")[2]}))
            return (
                not spelt.isdisjoint(binding.senders)
                or any(_of_session(binding, each) in self._senders for each in spelt)
                or (binding.shared and shows_sender(sender))
            )

        return Chat(is_key=is_key, in_group=binding.in_group)

    def _half(
        self, binding: Binding, role: Role, content: object, conversation: Sequence[Spoken], author: Author
    ) -> _Message | None:
        """Return one half of an exchange, None when it says nothing."""
        if conversation:
            chat = self._chat(binding)
            found = transcript.find_said(conversation, role, content, max_chars=self._read_chars, chat=chat)
            if found is not None:
                return self._found(binding, found, author)
        words = self._words(binding, role, content)
        if not words:
            return None
        digest = self._digest(binding, role, words)
        return self._message(role, words, author, (digest, self._told.get(digest, 0)), told=True)

    def _found(self, binding: Binding, spoken: Spoken, author: Author) -> _Message:
        """Return a message that the transcript numbers."""
        key = self._digest(binding, spoken.role, spoken.content), spoken.occurrence
        return self._message(spoken.role, spoken.content, author, key, told=False)

    def _message(self, role: Role, words: str, author: Author, key: tuple[bytes, int], *, told: bool) -> _Message:
        said = Said(role, words, author.speaker, occurrence=key[1], by_agent=author.is_agent, cleaned=True)
        return _Message(said, key, told)

    def _accept(self, binding: Binding, messages: Sequence[_Message]) -> None:
        accepted = self._accepted
        fresh = [one for one in messages if one.key not in accepted]
        if fresh:
            self._acceptor.turns(binding.caller, [one.said for one in fresh], parent=binding.parent)
        with self._lock:
            for one in fresh:
                _keep(accepted, one.key, None)
            for one in messages:
                if one.said.by_agent:
                    self._unmark(one.key[0])
                if one.told:
                    _keep(self._told, one.key[0], one.key[1] + 1)

    def _unmark(self, digest: bytes) -> None:
        marks = self._agents.pop(digest, 0)
        if marks > 1:
            _keep(self._agents, digest, marks - 1)

    def _digest(self, binding: Binding, role: Role, content: str) -> bytes:
        """Digest what makes a message the same one, its number among equal ones apart."""
        return _of_session(binding, f"{role}\x1f{transcript.told_apart(content, self._max_chars)}")


def _called(author: Author, binding: Binding, sender: str) -> Author:
    """Call an author as the host does in front of a text.

    In a session of several people a key alone names nobody, and nobody said what several may have.
    """
    name = name_in_front(sender, binding.contacts)
    is_nobodys = sender == SEVERAL or (sender and binding.shared)
    return replace(author, speaker=name) if name or is_nobodys else author


def _of_session(binding: Binding, text: str) -> bytes:
    """Digest a text so that equal ones of two sessions differ."""
    whole = f"{binding.caller.session or ''}\x1f{text}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(whole, digest_size=16).digest()


def _packed(said: Sequence[_Message]) -> Iterator[Sequence[_Message]]:
    """Part a transcript into writes that are small enough for the spool, in order."""
    part: list[_Message] = []
    size = 0
    for one in said:
        length = len(str(one.said.content))
        if part and (len(part) >= TURNS_AN_OPERATION or size + length > CHARS_AN_OPERATION):
            yield part
            part, size = [], 0
        part.append(one)
        size += length
    if part:
        yield part


def _keep(known: OrderedDict[_Key, _Value], key: _Key, value: _Value) -> None:
    known[key] = value
    known.move_to_end(key)
    while len(known) > MESSAGES_KEPT:
        known.popitem(last=False)
