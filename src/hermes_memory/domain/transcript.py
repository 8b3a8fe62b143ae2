"""What was said in a conversation, taken from the host's list of messages.

The host hands over the same exchange twice: when a turn ends, as two texts with the list beside them, and when a
session ends, as the list alone. Both ways lead to the same words and ordinals here, so that a turn is stored once.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final

from hermes_memory.domain import scaffolding
from hermes_memory.domain.cleaning import CUT_MARKER, clean_text
from hermes_memory.domain.model import Role
from hermes_memory.domain.scaffolding import NO_CHAT, Chat
from hermes_memory.domain.scrubbing import cut

UNCUT: Final = 1 << 24
"""Characters up to which a message is read while the user's words are looked for in it."""
_IMAGES: Final = re.compile(r"\[[0-9]{1,4} images?\] ?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """One message that was said.

    Attributes:
        role: `Role.USER` or `Role.ASSISTANT`.
        content: What was said, cleaned and never empty.
        occurrence: How many equal messages of the role came before in the conversation.
        sender: What of who sent it was left out of it, "" for nothing. Personal data.
    """

    role: Role
    content: str
    occurrence: int
    sender: str = field(default="", repr=False)


def said_in(messages: object, *, max_chars: int, beyond: int = 0, chat: Chat = NO_CHAT) -> tuple[Spoken, ...]:
    """Find what was said in a list of messages: the user's words, and to each the assistant's final answer.

    Tool calls, remarks between tool calls, system messages and everything the host wrote in the user's name are left
    out. An element that is no message costs nothing but itself, and a message of the user without usable content does
    not take the answer with it.

    Args:
        messages: What the host gives: dictionaries with `role` and `content`, or anything else.
        max_chars: Characters up to which a message is told from others.
        beyond: Characters that are kept of it after those, for whoever has to know what follows the cut.
        chat: The chat that it was said in.

    Returns:
        The messages in order. Earlier ones do not change when the conversation goes on.
    """
    if not messages:
        return ()
    counts: Counter[tuple[Role, str]] = Counter()
    said: list[Spoken] = []
    for role, content, sender in _spoken(messages, max_chars + beyond, chat):
        key = (role, _key(told_apart(content, max_chars)))
        said.append(Spoken(role=role, content=content, occurrence=counts[key], sender=sender))
        counts[key] += 1
    return tuple(said)


def told_apart(content: str, max_chars: int) -> str:
    """Return what of a clean message tells it from others: as much as is kept of it in the end."""
    return content if len(content) <= max_chars else cut(content, max_chars, CUT_MARKER)


def find_said(
    conversation: Sequence[Spoken],
    role: Role,
    content: object,
    *,
    max_chars: int,
    chat: Chat = NO_CHAT,
) -> Spoken | None:
    """Find a text that the host hands over beside the list of messages: the last such message in the list.

    An answer to which the host has added a paragraph for display is found as the conversation has it, without the
    addition.

    Args:
        conversation: What `said_in` found in the list.
        max_chars: The bound with which it was found.
        chat: The chat with which it was found.

    Returns:
        The message as the list has it, or None when it is not there.
    """
    spoken = [said for said in conversation if said.role is role]
    if not spoken:
        return None
    words = words_of(role, content, max_chars=max_chars, chat=chat)
    for said in reversed(spoken):
        if _key(said.content) == _key(words):
            return said
    if role is Role.ASSISTANT and words.startswith(f"{spoken[-1].content}\n\n"):
        return spoken[-1]
    return None


def words_of(role: Role, content: object, *, max_chars: int, chat: Chat = NO_CHAT) -> str:
    """Bring the content of a single message to the words that `said_in` finds in it, "" for none."""
    text = clean_text(content, max_chars=UNCUT)
    words = (scaffolding.own_words(text, chat) or "") if role is Role.USER else scaffolding.own_answer(text)
    # Most messages are all words, and what is clean and short enough need not be cleaned again.
    return words if words == text and len(words) <= max_chars else _cut(words, max_chars)


def sender_of(content: object, *, chat: Chat) -> str:
    """Return what of who sent a single message of a user `words_of` leaves out, "" for nothing."""
    if isinstance(content, str) and "[" not in content:  # as most: the host writes it in brackets
        return ""
    return scaffolding.words_and_sender(clean_text(content, max_chars=UNCUT), chat)[1]


class _Event(Enum):
    """What a message does to the answer that is being given."""

    ANSWER = auto()
    CONTINUATION = auto()
    TOOL = auto()
    NOTHING = auto()
    USER = auto()


def _spoken(messages: object, max_chars: int, chat: Chat) -> Iterator[tuple[Role, str, str]]:
    answer: list[str] = []
    going_on = False
    for event, text, sender in _events(messages, chat):
        if event is _Event.USER:
            yield from _answered(answer, max_chars)
            if words := _cut(text, max_chars):
                yield Role.USER, words, sender
        if event in {_Event.USER, _Event.TOOL} or (event is _Event.ANSWER and not going_on):
            answer = []
        if event is _Event.ANSWER:
            answer.append(text)
        if event is not _Event.NOTHING:
            going_on = event is _Event.CONTINUATION
    yield from _answered(answer, max_chars)


def _answered(answer: list[str], max_chars: int) -> Iterator[tuple[Role, str, str]]:
    if words := words_of(Role.ASSISTANT, "".join(answer), max_chars=max_chars):
        yield Role.ASSISTANT, words, ""


def _events(messages: object, chat: Chat) -> Iterator[tuple[_Event, str, str]]:
    # A text is no list of messages, and a long one takes a while to walk through.
    if not isinstance(messages, Iterable) or isinstance(messages, str | bytes):
        return
    for message in messages:
        if isinstance(message, Mapping) and not scaffolding.is_flagged(message):
            yield _event(message.get("role"), message, chat)


def _event(role: object, message: Mapping[object, object], chat: Chat) -> tuple[_Event, str, str]:
    content = message.get("content")
    if role == Role.USER.value:
        return _user_event(clean_text(content, max_chars=UNCUT), bool(message.get(scaffolding.SUMMARY_FLAG)), chat)
    if role == Role.TOOL.value:
        return _Event.TOOL, "", ""
    if role != Role.ASSISTANT.value or message.get(scaffolding.SUMMARY_FLAG):
        return _Event.NOTHING, "", ""
    text = content if isinstance(content, str) else clean_text(content, max_chars=UNCUT)
    return (_Event.ANSWER, text, "") if scaffolding.own_answer(text.strip()) else (_Event.NOTHING, "", "")


def _user_event(text: str, is_summary: bool, chat: Chat) -> tuple[_Event, str, str]:
    if scaffolding.asks_to_continue(text):
        return _Event.CONTINUATION, "", ""
    if is_summary:
        words, sender = scaffolding.after_summary(text) or None, ""
    else:
        words, sender = scaffolding.words_and_sender(text, chat)
    return (_Event.NOTHING, "", "") if words is None else (_Event.USER, words, sender)


def _cut(text: str, max_chars: int) -> str:
    return clean_text(text, max_chars=max_chars)


def _key(content: str) -> str:
    """Spell a message for comparison: the host counts images in one place and not in another."""
    return " ".join(_IMAGES.sub("", content, count=1).split()) or content
