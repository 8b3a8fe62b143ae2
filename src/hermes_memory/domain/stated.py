"""What a text states, as far as two statements are compared: its words, and which of them are values."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from hermes_memory.domain.asking import QUESTION_MARKS
from hermes_memory.domain.characters import fold
from hermes_memory.domain.lexemes import MONTHS, content_words
from hermes_memory.domain.remembered import remembered
from hermes_memory.domain.stop_words import STOP_WORDS

_COMPARED_CHARACTERS: Final = 600
_MIN_WORDS: Final = 2
_MAX_WORDS: Final = 40
_SAME_OPENING: Final = 3
"""Characters without spaces with which two texts begin that name the same thing."""

_PAIRED: Final = re.compile("[\u3041-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
_PLAIN_WORDS: Final = re.compile(r"\w+(?:[-.:/]\w+)*")
_WEEKDAYS: Final = (
    "monday tuesday wednesday thursday friday saturday sunday "
    "montag dienstag mittwoch donnerstag freitag samstag sonntag"
)
_NUMBERS: Final = "one two three four five six seven eight nine ten eleven twelve"
VALUE_WORDS: Final = frozenset((*map(str.casefold, MONTHS), *_WEEKDAYS.split(), *_NUMBERS.split()))
"""Words that are values without a digit in them: months, days of the week, small numbers."""
CHANGES: Final = re.compile(
    r"\b(?:now|no longer|not any ?more|any ?more|instead|actually|correction|corrected|update|updated|changed?|moved|"
    r"switched|renamed|replaced|migrated|postponed|rescheduled|previously|formerly|used to|as of|"
    r"jetzt|nicht mehr|stattdessen|korrektur|geändert|verschoben|umbenannt|ersetzt|nun|ab sofort|"
    r"ahora|ya no|en lugar de|en vez de|cambió|cambiado|corrección|"
    r"désormais|maintenant|ne plus|n'est plus|au lieu de|changé|déplacé|"
    r"agora|não mais|em vez de|mudou|adesso|non più|invece|"
    r"теперь|больше не|вместо|перенес\w*|измен\w*)\b|现在|不再|改为|改成|改到|更正|已改|に変更|変更|今は|이제|변경",
    re.IGNORECASE,
)
"""Words that announce a change."""


class Stated(NamedTuple):
    """What is compared of a text.

    Attributes:
        text: Its beginning.
        words: Its content words.
        values: Those of them that corrections change: with a digit, or of `VALUE_WORDS`.
        frame: The others.
        paired: Whether it begins in a script without spaces, whose words are pairs of characters.
        opening: What it begins with in such a script, "" when it does not.
    """

    text: str
    words: frozenset[str]
    values: frozenset[str]
    frame: frozenset[str]
    paired: bool
    opening: str


@remembered
def stated(content: str) -> Stated | None:
    """Return what a text states; None for a question and for what is too short or long to be one statement."""
    text = content[:_COMPARED_CHARACTERS].strip()
    if text.endswith(QUESTION_MARKS):
        return None
    words = _words(text)
    if not _MIN_WORDS <= len(words) <= _MAX_WORDS:
        return None
    values = frozenset(filter(_is_value, words))
    opening = text[:_SAME_OPENING]
    return Stated(
        text=text,
        words=words,
        values=values,
        frame=words - values,
        paired=_PAIRED.match(text) is not None,
        opening=opening if all(map(_PAIRED.match, opening)) else "",
    )


@remembered
def announces_change(text: str) -> bool:
    """Tell whether a text says that something is not as it was.

    Example:
        >>> announces_change("The launch moved to 9 May"), announces_change("The launch is on 3 May")
        (True, False)
    """
    return CHANGES.search(text) is not None


@remembered
def spelt(content: str) -> str:
    """Return a text without what two equal texts may differ in: case, accents, spacing and invisible characters.

    Example:
        >>> spelt("Use  PORT 5433") == spelt("use port 5433")
        True
    """
    return " ".join(fold(content).casefold().split())


def _is_value(word: str) -> bool:
    return word in VALUE_WORDS or (not word.isalpha() and any(map(str.isdigit, word)))


def _words(text: str) -> frozenset[str]:
    # Plain words do for English and cost a fraction of taking identifiers apart.
    if text.isascii():
        return frozenset(_PLAIN_WORDS.findall(text.casefold())) - STOP_WORDS
    return content_words(text)
