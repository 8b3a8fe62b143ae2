"""What a host writes into a conversation in the user's name, and how to find the user's own words beside it.

The markers below are the host's wording. They are compared literally, since that is all that tells its notes from
what a person wrote in brackets.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

SUMMARY_FLAG: Final = "_compressed_summary"
_OTHER_FLAGS: Final = ("_empty_terminal_sentinel", "_thinking_prefill")

_SUMMARY_STARTS: Final = ("[CONTEXT COMPACTION", "[CONTEXT SUMMARY]", "[PRIOR CONTEXT")
_SUMMARY_END: Final = "--- END OF CONTEXT SUMMARY"

_NOTE_STARTS: Final = (
    "[System note:",
    "[System: You",
    "[System: The previous response",
    "[System: Continue",
    "[Note: model was just switched",
)
"""Notes in front of the user's words, or in their place."""

_TRAILERS: Final = (
    "\n\n[System note:",
    "\n\n[Your active task list was preserved across context compression]",
)
"""Notes after the user's words."""

_MESSAGE_STARTS: Final = (
    "[ASYNC DELEGATION",
    "[Background process ",
    "[IMPORTANT: Background process ",
    "[IMPORTANT: MCP servers ",
    "[IMPORTANT: The following skill(s) ",
    "[IMPORTANT: You are running as a scheduled cron job",
    "[Your active task list was preserved across context compression]",
    "Continue from the compressed conversation context above.",
    "You just executed tool calls but returned an empty response.",
    "You've reached the maximum number of tool-calling iterations",
)
"""Messages that are the host's from beginning to end."""

_CONTINUATIONS: Final = (
    "[System: Your previous response was truncated",
    "[System: The previous response was cut off",
)
"""Requests to go on in the middle of an answer: the next message is the answer's next part."""

_SKILL_START: Final = "[IMPORTANT: The user has invoked the "
_SKILL_INSTRUCTION: Final = "The user has provided the following instruction alongside the skill invocation: "
_SKILL_INSTRUCTION_END: Final = "\n\n[Runtime note:"
_BUNDLE_MARK: Final = " skill bundle,"
_BUNDLE_INSTRUCTION: Final = "\nUser instruction: "
_BUNDLE_INSTRUCTION_END: Final = "\n\n[Loaded as part of the "

_NOTES_BEFORE_SENDER: Final = (
    ("[Replying to", '"]\n\n'),
    ("[The user sent ", "]\n\n"),
    ("[Triggering message id: ", "]\n\n"),
    ("[voice message could not be transcribed]", "\n\n"),
    ('"', '"\n\n'),
)
"""How notes begin and end that stand before who sent a text, the last of them what was said in a voice message."""
_IMAGES: Final = re.compile(r"\[[0-9]{1,4} images?\] ?")
_END_OF_A_NOTE: Final = re.compile(r"[\"\]]\n\n")
"""What ends a note in front of who sent a text. What is quoted in a note may hold it, and so may the text."""
_CHANNEL: Final = (
    "[Recent channel messages]\n",
    "[Context around the replied-to message]\n",
    "[Messages prefixed with [unverified] are from people whose ",
)
_CHANNEL_END: Final = "\n\n[New message]\n"
"""What others have said in a channel before, and what stands between that and who sent a text."""
_THREAD: Final = "[Thread context — prior messages in this thread (not yet in conversation history)"
_THREAD_END: Final = "\n[End of thread context]\n\n"
"""What others have said in a thread before, behind who sent a text, and what stands between that and the text."""

_FIRST_CHARACTERS: Final = tuple(
    sorted({start[0] for start in (_SKILL_START, *_SUMMARY_STARTS, *_NOTE_STARTS, *_MESSAGE_STARTS)})
)
_TRAILER: Final = "\n\n["
"""With what every trailer begins."""
_NOT_AN_ANSWER: Final = frozenset({"(empty)", "Operation interrupted."})
_MOST_NOTES: Final = 8
_SENDER: Final = re.compile(r"\[([^\n|]{1,320}?|[^\n]{1,320}?(?=\](?:\n|$)))\](?:\s|$)")
"""Who sent a text. Hosts that write a name and a key write them on a line of their own."""
SEVERAL: Final = "?"
"""Who sent a text in which it does not show where the words of others end."""


def is_flagged(message: Mapping[object, object]) -> bool:
    """Tell whether the host itself marks a message as not part of the conversation."""
    return any(
        value is True and isinstance(key, str) and (key in _OTHER_FLAGS or key.endswith("_synthetic"))
        for key, value in message.items()
    )


def asks_to_continue(text: str) -> bool:
    """Tell whether a message asks the assistant to go on in the middle of its answer."""
    return text.startswith(_CONTINUATIONS)


def _is_no_key(_sender: str) -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Chat:
    """What is known of the chat in which a message was sent.

    Attributes:
        is_key: Tells whether what stands in brackets in front is the key of a contact by which the host says who sent
            a message. Everything else in brackets is the user's.
        in_group: The host may write in front what others said in a channel before. Elsewhere that is the user's.
    """

    is_key: Callable[[str], bool] = _is_no_key
    in_group: bool = False


NO_CHAT: Final = Chat()


def own_words(text: str, chat: Chat = NO_CHAT) -> str | None:
    """Find what the user wrote in a message of the role "user".

    Args:
        text: The message, cleaned but uncut: a skill's text stands before the instruction given with it.
        chat: The chat in which it was sent.

    Returns:
        The words; "" when the user said something without words, as by calling a skill; None when the message is the
        host's alone.
    """
    return words_and_sender(text, chat)[0]


def words_and_sender(text: str, chat: Chat = NO_CHAT) -> tuple[str | None, str]:
    """Find what the user wrote, as `own_words`, and what of who sent it was left out, "" for nothing.

    Where it does not show what the user wrote, that is all of it, by `SEVERAL`.
    """
    if not text.startswith(_FIRST_CHARACTERS) and _TRAILER not in text:  # as most
        return text.strip() or (None if text else ""), ""
    if text.startswith(_SKILL_START):
        return _instruction(text), ""
    if text.startswith(_MESSAGE_STARTS):
        return None, ""
    said = _without_notes(_after_summary(text))
    return _without_sender(said, chat) if said else (None, "")


def own_answer(text: str) -> str:
    """Find what the assistant said in a message of its own, "" when it is a summary or a stopgap of the host."""
    return "" if text in _NOT_AN_ANSWER or text.startswith(_SUMMARY_STARTS) else text


def after_summary(text: str) -> str:
    """Return what follows a summary of earlier messages, "" when nothing does."""
    _, _, rest = text.rpartition(_SUMMARY_END)
    return rest.partition("---")[2].strip() if _SUMMARY_END in text else ""


def _after_summary(text: str) -> str:
    return after_summary(text) if text.startswith(_SUMMARY_STARTS) else text


def _without_notes(text: str) -> str:
    for _ in range(_MOST_NOTES):
        if not text.startswith(_NOTE_STARTS):
            break
        text = _after_note(text)
    for trailer in _TRAILERS:
        text = text.partition(trailer)[0]
    return text.strip()


def _after_note(text: str) -> str:
    """Return what follows the note at the beginning of a text. A note ends with its paragraph."""
    _, mark, rest = text.partition("]\n\n")
    if not mark and not text.endswith("]"):
        _, _, rest = text.partition("]")
    return rest.strip()


def _without_sender(text: str, chat: Chat) -> tuple[str, str]:
    """Part a text and who sent it to a group, as the host writes it in front, where that is the key of a contact."""
    start = _behind_notes(text)
    notes, rest = text[:start], _without_others(text[start:], chat)
    if rest is None:
        return text, SEVERAL
    sender = _SENDER.match(rest)
    if not sender or not chat.is_key(sender[1]) or (notes and _END_OF_A_NOTE.search(rest, sender.end())):
        return f"{notes}{rest}".strip(), ""
    return f"{notes}{rest[sender.end() :]}".strip(), sender[1]


def _without_others(text: str, chat: Chat) -> str | None:
    """Leave out what others said before, None where it does not show which of several marks ends it."""
    start, end = 0, ""
    if text.startswith(_CHANNEL) and chat.in_group:
        end = _CHANNEL_END
    elif _THREAD in text:
        sender = _SENDER.match(text)
        start = 0 if text.startswith(_THREAD) or not sender else sender.end()
        end = _THREAD_END if text.startswith(_THREAD, start) else ""
    _, *words = f"{text[start:]}\n\n".split(end) if end else [text]
    if len(words) > 1:
        return None
    return f"{text[:start]}{words[0]}".strip() if words else text


def _behind_notes(text: str) -> int:
    """Return where the notes end that stand before who sent a text."""
    images = _IMAGES.match(text)
    at = images.end() if images else 0
    for _ in range(_MOST_NOTES):
        end = next((end for start, end in _NOTES_BEFORE_SENDER if text.startswith(start, at)), "")
        found = text.find(end, at) if end else -1
        if found < 0:
            break
        at = found + len(end)
    return at


def _instruction(text: str) -> str:
    """Return the instruction given with a skill. A bundle has it before the skills' texts, a single skill after its."""
    if _BUNDLE_MARK in text.partition("\n")[0]:
        instruction = text.partition(_BUNDLE_INSTRUCTION)[2].partition(_BUNDLE_INSTRUCTION_END)[0]
    elif _SKILL_INSTRUCTION in text:
        instruction = text.rpartition(_SKILL_INSTRUCTION)[2].partition(_SKILL_INSTRUCTION_END)[0]
    else:
        instruction = ""
    return instruction.strip()
