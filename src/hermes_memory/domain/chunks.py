"""Cuts a long text into parts that an embedding model can take in, so that what stands late in it is found as well.

A model reads so many tokens and no more, and a vector of a long text says little about any one sentence of it. Parts
end where a paragraph, a line or a sentence ends, else between words, and repeat a little of what came before, so that
a thought across a border is whole in one of them.
"""

from __future__ import annotations

import math
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Final

from hermes_memory.domain.errors import InvalidInput

_QUARTERS: Final = 4
"""Costs are counted in quarters of a token, so that they are whole numbers."""
_LATIN, _OTHER, _IDEOGRAPH = 1, 2, 4
"""Quarters for a character of ASCII, of the other alphabets, and of the East Asian scripts. Rounded up from what common
tokenisers need for prose."""
_FIRST_OTHER: Final = "\x80"
_FIRST_IDEOGRAPH: Final = "\u2e80"
_FEWEST: Final = 0.7
"""A part ends at the best border in the last three tenths of its room, however good an earlier one is."""
_BORDERS: Final = (
    re.compile(r"\n[ \t]*\n\s*"),
    re.compile(r"\n\s*"),
    re.compile(r"(?<=[.!?…])[\"'”’»)\]]*\s+|[。！？][”’」』）]*\s*"),
    re.compile(r"\s+"),
)
"""Best first: paragraph, line, sentence, word. The part ends before the next one's first character."""
_JOINERS: Final = frozenset("\u200d\ufe0e\ufe0f")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkPolicy:
    """How long texts are cut.

    Attributes:
        tokens: Most tokens of a part, as `tokens` estimates them; at least 16.
        overlap: Tokens that a part repeats of the one before; less than half of `tokens`.
        most: Parts of one text at most, 1 to 1,000; what stands after them is not embedded.
        context: Tokens by which a part may be longer when it begins with something that is not of the text; at least 0.

    Raises:
        InvalidInput: A value is out of range.
    """

    tokens: int = 256
    overlap: int = 32
    most: int = 256
    context: int = 0

    def of_length(self, tokens: int | None) -> ChunkPolicy:
        """Return the policy with parts of another length, an eighth of which repeats; None is the length it has.

        >>> ChunkPolicy().of_length(64)
        ChunkPolicy(tokens=64, overlap=8, most=256, context=0)
        """
        if tokens is None or tokens == self.tokens:
            return self
        return replace(self, tokens=tokens, overlap=tokens // 8)

    def __post_init__(self) -> None:
        """Refuse what would cut for ever."""
        if (
            self.tokens < 16
            or not 0 <= self.overlap < self.tokens / 2
            or not 1 <= self.most <= 1_000
            or self.context < 0
        ):
            raise InvalidInput("texts cannot be cut this way: too short a part, or too long an overlap", field="tokens")


def tokens(text: str) -> int:
    """Estimate how many tokens a model sees in a text.

    >>> tokens("Launch on 3 May."), tokens("五月三日に発売")
    (4, 7)
    """
    return -(-_total(text) // _QUARTERS)


def ending(text: str, most: int) -> str:
    """Return as much of the end of a text as costs at most so many tokens.

    >>> ending("launch on 3 May", 2), ending("五月三日", 2), ending("all", 0)
    ('on 3 May', '三日', '')
    """
    left = most * _QUARTERS
    for place in range(len(text), 0, -1):
        left -= _cost(text[place - 1])
        if left < 0:
            return text[place:]
    return text


def chunks(text: str, policy: ChunkPolicy) -> list[str]:
    """Cut a text into parts, in order; a short text is its own only part.

    >>> chunks("First thought. " * 3, ChunkPolicy(tokens=16, overlap=0))
    ['First thought. First thought. First thought. ']
    >>> [len(part) for part in chunks("word " * 40, ChunkPolicy(tokens=16, overlap=4))]
    [60, 60, 60, 40, 40]
    """
    bound, overlap = policy.tokens * _QUARTERS, policy.overlap * _QUARTERS
    if len(text) * _LATIN <= bound and _total(text) <= bound:
        return [text]
    ends = _running_total(text)
    parts: list[str] = []
    start = 0
    while len(parts) < policy.most:
        rest = ends[-1] - _before(ends, start)
        if rest <= bound:
            parts.append(text[start:])
            break
        end = _end(text, ends, start, _share(rest, bound, overlap), bound)
        parts.append(text[start:end])
        start = max(_beginning(text, ends, end, overlap), start + 1)
    return parts


def _total(text: str) -> int:
    return len(text) * _LATIN if text.isascii() else sum(map(_cost, text))


def _running_total(text: str) -> Sequence[int]:
    return range(1, len(text) + 1) if text.isascii() else list(accumulate(map(_cost, text)))


def _before(ends: Sequence[int], place: int) -> int:
    """Return what the text before a place costs."""
    return ends[place - 1] if place else 0


def _cost(character: str) -> int:
    if character < _FIRST_OTHER:
        return _LATIN
    return _OTHER if character < _FIRST_IDEOGRAPH else _IDEOGRAPH


def _share(rest: int, bound: int, overlap: int) -> int:
    """Return how long the parts of the rest become when they are about equally long."""
    parts = math.ceil((rest - overlap) / (bound - overlap))
    return math.ceil((rest - overlap) / parts) + overlap


def _end(text: str, ends: Sequence[int], start: int, share: int, bound: int) -> int:
    """Return where the part from `start` ends: at the best border that leaves it neither short nor too long."""
    spent = _before(ends, start)
    least = max(bisect_right(ends, spent + int(share * _FEWEST)), start + 1)
    most = max(bisect_right(ends, spent + bound), start + 1)
    wanted = max(bisect_right(ends, spent + share), least)
    for border in _BORDERS:
        found = [match.end() for match in border.finditer(text, least, most) if match.end() <= most]
        if found:
            return min(found, key=lambda place: abs(place - wanted))
    return _between_characters(text, wanted, start + 1)


def _beginning(text: str, ends: Sequence[int], end: int, overlap: int) -> int:
    """Return where the part after one that ends at `end` begins: a little earlier, at the beginning of something."""
    earliest = bisect_right(ends, ends[end - 1] - overlap)
    if earliest >= end:
        return end
    for border in _BORDERS:
        if match := border.search(text, earliest, end):
            return match.end()
    return _between_characters(text, earliest, 1)


def _between_characters(text: str, place: int, earliest: int) -> int:
    """Return the nearest place before that takes no accent from its letter and cuts no emoji in two."""
    while place > earliest and place < len(text) and _belongs_to_previous(text, place):
        place -= 1
    return place


def _belongs_to_previous(text: str, place: int) -> bool:
    character = text[place]
    return character in _JOINERS or text[place - 1] == "\u200d" or unicodedata.combining(character) != 0
