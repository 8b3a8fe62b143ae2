"""Secrets with something within that nobody sees, and their names in characters that only look like their own."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from hermes_memory.domain.characters import without_invisible
from hermes_memory.domain.look_alikes import plain_look
from hermes_memory.domain.secret_names import ACCESS_WORDS, KEYS

_UNUSUAL: Final = (
    # Nothing to be seen; letters of full width, in circles, small, slanted or bold; and letters of few alphabets.
    "\xad\u034f\u200b-\u200f\u2060-\u2064\ufeff\uff21-\uff3a\uff41-\uff5a\u24b6-\u24e9\u1d00-\u1d2f\ua4d0-\ua4ff"
    "\u13a0-\u13ff\U0001d400-\U0001d7ff\U0001f130-\U0001f1ff\u0251\u0261-\u0269\ua730\u051b\u051d\u0501\u0455\u0458"
)
_FOREIGN: Final = "\u0370-\u058f"
"""Greek, Cyrillic and Armenian, of which whole words are written: beside a Latin letter they tell of none."""
_ODD: Final = re.compile(f"[{_UNUSUAL}]|[A-Za-z_][{_FOREIGN}]|[{_FOREIGN}][A-Za-z_]")
_IN_LATIN: Final = "|".join(word for word in ACCESS_WORDS if word.isascii())
_NAME: Final = re.compile(
    rf"(?<![A-Za-z0-9_-])(?=[A-Za-z0-9_-])[A-Za-z0-9_-]{{0,48}}(?:{_IN_LATIN}|pass|passcode|bearer|cookie|{KEYS})",
    re.IGNORECASE,
)

_BREAK: Final = re.compile(r"(?<!<)(?<!<w)(?<!<wb)(?<!<wbr)<wbr>", re.IGNORECASE)
"""Where HTML may break a word; behind the beginning of another, taking it out would leave one."""
_ESCAPE: Final = re.compile(r"(?<!\\)\\++(?=[_./:=+~-])")
"""Before what Markdown, JSON or a file of properties may escape, and a token or an address has in it."""
_SELECTOR: Final = re.compile("[\ufe0e\ufe0f]")
"""Tells how the sign before it is drawn, which of a letter is never seen."""


def bared(text: str) -> str:
    r"""Return a text without what hides a secret in it and is not shown: invisible characters, escapes, word breaks.

    Doing so again changes nothing.

    >>> bared("AKIA\u200bIOSFODNN7<wbr>EXAMPLE"), bared(r"ghp\_abc"), bared(r"C:\new")
    ('AKIAIOSFODNN7EXAMPLE', 'ghp_abc', 'C:\\new')
    """
    if not (text.isascii() and text.replace("\n", "").isprintable()):
        text = _SELECTOR.sub("", without_invisible(text))
    if "<" in text:
        text = _BREAK.sub("", text)
    return _ESCAPE.sub("", text) if "\\" in text else text


def plainly_named(text: str) -> str:
    """Return a text with the names of secrets in plain letters, itself when they are, as in most.

    >>> plainly_named("\uff30\uff37\uff24=x in 東京"), plainly_named("p\u0430ssword: x"), plainly_named("пароль: x")
    ('PWD=x in 東京', 'password: x', 'пароль: x')
    """
    if text.isascii() or _ODD.search(text) is None:
        return text
    looks = list(map(_look, text))
    places = [place for place, look in enumerate(looks) for _ in look]
    parts: list[str] = []
    position = 0
    for match in _NAME.finditer("".join(looks)):
        start, end = places[match.start()], places[match.end() - 1] + 1
        parts += (text[position:start], match[0])
        position = end
    return "".join((*parts, text[position:])) if parts else text


@lru_cache(maxsize=4_096)
def _look(character: str) -> str:
    return plain_look(character) if without_invisible(character) else ""
