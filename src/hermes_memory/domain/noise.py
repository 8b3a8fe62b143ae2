"""Tells messages that say something from those that only keep a talk going.

A message is noise when nothing is left of it once acknowledgements, greetings, emoji and punctuation are taken away.
There is no minimal length: a fact is kept however short, in any script, and what is not known as noise is kept too.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

from hermes_memory.domain.model import Role
from hermes_memory.domain.phrases import SPACED_PHRASES, UNSPACED_PHRASES

LONGEST_NOISE: Final = 160
"""A message with letters or digits and more characters than this is never noise."""
_BEGINNING: Final = 32
"""Characters in which most messages have their first word."""

_SLASH_COMMAND: Final = re.compile(r"/([a-z][\w.:-]{0,63})(?:\s|$)", re.IGNORECASE)
_ROOT_DIRECTORY: Final = re.compile(
    "bin|boot|dev|etc|home|lib|media|mnt|opt|proc|root|run|srv|sys|tmp|usr|var", re.IGNORECASE
)
_APOSTROPHES: Final = re.compile(r"(?<=\w)['’ʼ`´](?=\w)")
_ACCENTS: Final = re.compile("[\u0300-\u036f\u064b-\u0652]")
"""Of Latin, Greek and Cyrillic letters, and the marks of Arabic vowels, which most writers leave out."""
_ASCII_WORDS: Final = re.compile("[a-z0-9]+")
_DRAWN_OUT: Final = re.compile(r"(\w)\1{2,}")
_LAUGHTER: Final = re.compile(
    "(?:ha|he|hi|ja|je|xa|ха|хе|хи|ah|lo|k){2,}[hkl]?|w{2,}|lo+l+|[\u110f\u1112]+|[哈呵嘿笑]+"
)
"""Runs of laughing syllables; the two escapes are the Korean letters for k and h as NFKC writes them."""


def is_noise(text: str, *, min_width: int = 0) -> bool:
    """Tell whether a message of a user says nothing that is worth keeping.

    Time is linear in the length of the text.

    Args:
        text: The message, cleaned.
        min_width: Width below which a message counts as noise whatever it says, in columns: a Chinese character is as
            wide as two Latin letters. 0 sets no such floor.

    >>> is_noise("ok, thanks a lot 👍"), is_noise("Use port 5433, not 5432"), is_noise("会议改到周五")
    (True, False, False)
    """
    return _is_slash_command(text.strip()) or _says_nothing(text, min_width)


def worth_remembering(text: str, role: Role, *, min_width: int = 0) -> bool:
    """Tell whether a message is worth keeping. Slash commands are a user's; from others a slash is just text."""
    if role is Role.USER:
        return not is_noise(text, min_width=min_width)
    return not _says_nothing(text, min_width)


def is_trivial_query(text: str) -> bool:
    """Tell whether searching the memory for this message is pointless: greetings, acknowledgements, slash commands."""
    return is_noise(text)


def display_width(text: str) -> int:
    """Measure a text in columns of a terminal (Unicode Standard Annex 11): wide characters count two, marks none."""
    return sum(map(_columns, text))


def _says_nothing(text: str, min_width: int) -> bool:
    trimmed = text.strip()
    if not any(map(str.isalnum, trimmed)):
        return True
    if len(trimmed) < min_width and display_width(trimmed) < min_width:
        return True
    return len(trimmed) <= LONGEST_NOISE and _may_be_phrases(trimmed) and _only_phrases(_words(trimmed))


def _may_be_phrases(text: str) -> bool:
    """Look at the first word alone: that of most messages begins no phrase, and spares the search for the others."""
    if not text.isascii() or "'" in text or "`" in text:
        return True
    first = _ASCII_WORDS.search(text[:_BEGINNING].lower()) or _ASCII_WORDS.search(text.lower())
    return first is None or first[0] in _FIRST_WORDS or _is_filler(first[0])


def _is_slash_command(text: str) -> bool:
    command = _SLASH_COMMAND.match(text) if text.startswith("/") else None
    return command is not None and not _ROOT_DIRECTORY.fullmatch(command[1])


def _columns(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(char) in {"W", "F"} else 1


def _words(text: str) -> list[str]:
    """Split into words as they are compared: without case, accents and apostrophes, with the marks of other scripts."""
    if text.isascii():  # most are, and need no tables of Unicode
        plain = _APOSTROPHES.sub("", text) if "'" in text or "`" in text else text
        return _ASCII_WORDS.findall(plain.lower())
    spelt = _APOSTROPHES.sub("", unicodedata.normalize("NFKD", text).casefold()).replace("ı", "i")
    composed = unicodedata.normalize("NFKC", _ACCENTS.sub("", spelt))
    runs = "".join(char if char.isalnum() or _is_mark(char) else " " for char in composed).split()
    return [run for run in runs if any(map(str.isalnum, run))]


def _is_mark(char: str) -> bool:
    return unicodedata.category(char) in {"Mn", "Mc"}


def _only_phrases(words: Sequence[str]) -> bool:
    """Tell whether the words are phrases in a row. The longest phrase that fits is taken first, then shorter ones."""
    reachable = {0}
    for start in range(len(words)):
        if start in reachable:
            reachable.update(_phrase_ends(words, start))
        elif start > max(reachable):  # no phrase leads further
            return False
    return len(words) in reachable


def _phrase_ends(words: Sequence[str], start: int) -> Iterator[int]:
    if _is_filler(words[start]):
        yield start + 1
    if words[start] not in _FIRST_WORDS:
        return
    for end in range(start + 2, min(start + _LONGEST_PHRASE, len(words)) + 1):
        if " ".join(words[start:end]) in _PHRASES:
            yield end


@lru_cache(maxsize=1_024)
def _is_filler(word: str) -> bool:
    if word in _PHRASES or _LAUGHTER.fullmatch(word):
        return True
    if _DRAWN_OUT.search(word):
        once, twice = _DRAWN_OUT.sub(r"\1", word), _DRAWN_OUT.sub(r"\1\1", word)
        if once in _PHRASES or twice in _PHRASES:
            return True
    return word[0] in _UNSPACED_STARTS and _only_unspaced(word)


def _only_unspaced(word: str) -> bool:
    """Tell whether a run of characters without spaces consists of known phrases."""
    reachable = [True, *(False for _ in word)]
    for start in range(len(word)):
        if reachable[start]:
            for end in range(start + 1, min(start + _LONGEST_UNSPACED, len(word)) + 1):
                reachable[end] = reachable[end] or word[start:end] in _UNSPACED_PHRASES
    return reachable[-1]


_PHRASES: Final = frozenset(" ".join(_words(phrase)) for phrase in SPACED_PHRASES)
_UNSPACED_PHRASES: Final = frozenset("".join(_words(phrase)) for phrase in UNSPACED_PHRASES)
_FIRST_WORDS: Final = frozenset(phrase.partition(" ")[0] for phrase in _PHRASES if " " in phrase)
_UNSPACED_STARTS: Final = frozenset(phrase[0] for phrase in _UNSPACED_PHRASES)
_LONGEST_PHRASE: Final = max(phrase.count(" ") + 1 for phrase in _PHRASES)
_LONGEST_UNSPACED: Final = max(map(len, _UNSPACED_PHRASES))
