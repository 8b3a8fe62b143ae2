"""Stems words with Snowball (PyStemmer), choosing the language by script."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from functools import lru_cache
from typing import Final

import Stemmer

_CACHED_WORDS: Final = 65_536
_SCRIPTS: Final = (
    (re.compile("[\u0400-\u052f]"), "russian"),
    (re.compile("[\u0370-\u03ff]"), "greek"),
    (re.compile("[\u0600-\u06ff]"), "arabic"),
    (re.compile("[\u0900-\u097f]"), "hindi"),
    (re.compile("[\u0530-\u058f]"), "armenian"),
    (re.compile("[\u0b80-\u0bff]"), "tamil"),
)
# Inflections of German and the Romance languages that the English rules leave. Of every word, English ones too, because
# the language is not known; that merges few English words, and finds no less among English texts.
_INFLECTION: Final = re.compile(r"(?<=[a-z]{4})(?:ern|en|er|em|es|as|os|[aeio])$")


def snowball_stem() -> Callable[[str], str]:
    """Build a stemmer for casefolded single words.

    A word in Cyrillic, Greek, Arabic, Devanagari, Armenian or Tamil is stemmed by the language most written in that
    script. Every other word is stemmed by the English rules and then loses the common endings of German, Spanish,
    Italian, French and Portuguese, if four letters remain. Calls may come from any thread.

    Returns:
        A function that maps a word to its stem; the same word always to the same stem.
    """
    lock = threading.Lock()
    english = Stemmer.Stemmer("english", 0)
    others = [(script, Stemmer.Stemmer(language, 0)) for script, language in _SCRIPTS]

    def choose(word: str) -> Stemmer.Stemmer:
        if word.isascii():
            return english
        return next((stemmer for script, stemmer in others if script.match(word)), english)

    @lru_cache(maxsize=_CACHED_WORDS)
    def stem(word: str) -> str:
        # A Snowball stemmer works in a buffer of its own and may not be entered twice.
        with lock:
            stemmed: str = choose(word).stemWord(word)
        return _INFLECTION.sub("", stemmed)

    return stem
