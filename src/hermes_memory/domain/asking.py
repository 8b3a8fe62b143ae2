"""Tells a text that only asks from one that states something."""

from __future__ import annotations

import re
from typing import Final

QUESTION_MARKS: Final = ("?", "？", "؟")

_LOOKED_AT: Final = 600
"""Characters looked at. Whoever asks and nothing else is briefer."""
_MOSTLY: Final = 0.6
_SENTENCE: Final = re.compile(r"[^.!?。！？؟…\n]*[.!?。！？؟…]*\n?")


def only_asks(text: str) -> bool:
    """Tell whether a text ends with a question mark and consists mostly of questions.

    Example:
        >>> only_asks("Good. And how long do we keep the backups?")
        True
        >>> only_asks("We keep them for 35 days, on the second server as well. Is that enough?")
        False
    """
    stripped = text.rstrip()
    if not stripped.endswith(QUESTION_MARKS) or len(stripped) > _LOOKED_AT:
        return False
    sentences = [sentence.strip() for sentence in _SENTENCE.findall(stripped)]
    asked = sum(len(sentence) for sentence in sentences if sentence.endswith(QUESTION_MARKS))
    return asked >= _MOSTLY * sum(map(len, sentences))
