"""Packs what text search needs to know of a document into 63 bits, and batches of it into blocks, best first.

A posting says that a lexeme occurs in a document: the document's key, how often, and how long the document is. Blocks
are sorted by impact, so that a reader who stops early has seen the best. The key holds session and position, hence
neighbours are key ± 1 and a session is key >> 16, without a join.
"""

from __future__ import annotations

import struct
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from hermes_memory.domain.errors import InvalidInput

MAX_SESSION_NUMBER: Final = 2**31 - 1
MAX_POSITION: Final = 2**16 - 1
MAX_FREQUENCY: Final = 15
"""Higher term frequencies count as this one: BM25 saturates far below it."""
MAX_LENGTH: Final = 4_095
BLOCK_POSTINGS: Final = 240
"""As many 8-byte postings as keep a row below the size at which Postgres moves it out of line."""
STATISTICS_LEXEME: Final = ""
"""Lexeme of the block that counts documents and their lengths instead of postings."""

_POSITION_BITS: Final = 16
_FREQUENCY_BITS: Final = 4
_LENGTH_BITS: Final = 12
_COUNTED: Final = (1 << (_FREQUENCY_BITS + _LENGTH_BITS)) - 1
# Okapi BM25 with k1 = .9, b = .4 at an assumed average length of 30: tf·(k1+1) / (tf + k1·(1-b) + k1·b/30·length).
_IMPACT_SCALE: Final = 1.9
_IMPACT_BASE: Final = 0.54
_IMPACT_PER_LEXEME: Final = 0.012


@dataclass(frozen=True, slots=True, kw_only=True)
class Posting:
    """One lexeme's occurrence in one document. `frequency` is 1 to 15 and `length` 0 to 4,095, both capped."""

    key: int
    frequency: int
    length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """What is to be indexed of one memory.

    Attributes:
        key: See `lexeme_key`. Never used for two documents, also not for a new version of the same memory.
        counts: How often each lexeme occurs, at least once.
        length: Number of lexemes with repetition.
    """

    key: int
    counts: Mapping[str, int]
    length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Up to `BLOCK_POSTINGS` postings of one lexeme, or the statistics of a batch under `STATISTICS_LEXEME`.

    Attributes:
        hi: Impact of the best posting, exact as a 4-byte float; 0 for statistics.
        count: Number of postings; for statistics, of documents.
        packed: Postings, best first; for statistics, the sum of the lengths alone.
    """

    lexeme: str
    hi: float
    count: int
    packed: tuple[int, ...]


def lexeme_key(session_number: int, position: int) -> int:
    """Join a session's number (below 2³¹) and a position in it (below 2¹⁶) to the key of a document.

    Raises:
        InvalidInput: One of them is out of range.
    """
    if not 0 <= session_number <= MAX_SESSION_NUMBER:
        raise InvalidInput("a session number lies between 0 and 2^31-1", field="session_number")
    if not 0 <= position <= MAX_POSITION:
        raise InvalidInput("a position lies between 0 and 65,535: begin a new session number", field="position")
    return session_number << _POSITION_BITS | position


def pack(key: int, frequency: int, length: int) -> int:
    """Pack a posting into a number below 2⁶³; frequency and length are capped at what fits.

    Raises:
        InvalidInput: The key is out of range, the frequency below 1 or the length below 0.
    """
    if frequency < 1:
        raise InvalidInput("a posting needs a frequency of at least 1", field="frequency")
    return _frame(key, length) | min(frequency, MAX_FREQUENCY) << _LENGTH_BITS


def unpack(packed: int) -> Posting:
    """Take a packed posting apart: the inverse of `pack` up to its caps.

    Raises:
        InvalidInput: The number is not a packed posting.
    """
    posting = Posting(
        key=packed >> (_FREQUENCY_BITS + _LENGTH_BITS),
        frequency=packed >> _LENGTH_BITS & MAX_FREQUENCY,
        length=packed & MAX_LENGTH,
    )
    _require_key(posting.key)
    if posting.frequency < 1:
        raise InvalidInput("not a packed posting: its frequency is 0", field="packed")
    return posting


def impact(frequency: int, length: int) -> float:
    """Return how much a posting can add to a score, up to the lexeme's weight. It only orders postings.

    The value is exact as a 4-byte float, so that it compares equal to what a `real` column holds.
    """
    capped = min(frequency, MAX_FREQUENCY)
    exact = capped * _IMPACT_SCALE / (capped + _IMPACT_BASE + _IMPACT_PER_LEXEME * min(length, MAX_LENGTH))
    rounded: float = struct.unpack("f", struct.pack("f", exact))[0]
    return rounded


def document(key: int, lexemes: Sequence[str]) -> Document:
    """Count the lexemes of a document, given in order and with repetition."""
    return Document(key=key, counts=Counter(lexemes), length=len(lexemes))


def postings(document: Document) -> dict[str, int]:
    """Return the packed posting of each lexeme of a document: what its blocks hold of it, to be found and removed.

    Raises:
        InvalidInput: The key is out of range, a count below 1 or the length below 0.
    """
    counts = document.counts
    if counts and min(counts.values()) < 1:
        raise InvalidInput("a posting needs a frequency of at least 1", field="frequency")
    frame = _frame(document.key, document.length)
    return {lexeme: frame | min(count, MAX_FREQUENCY) << _LENGTH_BITS for lexeme, count in counts.items()}


class BlockBuilder:
    """Groups documents of one theme and shelf into blocks, bit by bit, so that others can be served in between."""

    def __init__(self) -> None:
        self._by_lexeme: defaultdict[str, list[int]] = defaultdict(list)
        self._lengths: dict[int, int] = {}

    def add(self, document: Document) -> None:
        """Take in a document.

        Raises:
            InvalidInput: It shares its key with another one, holds an empty lexeme, or a value is out of range.
        """
        if document.key in self._lengths:
            raise InvalidInput("two documents share a key: their frequencies would be added up", field="key")
        if STATISTICS_LEXEME in document.counts:
            raise InvalidInput("a lexeme cannot be empty", field="counts")
        by_lexeme = self._by_lexeme
        for lexeme, packed in postings(document).items():
            by_lexeme[lexeme].append(packed)
        self._lengths[document.key] = min(document.length, MAX_LENGTH)

    def blocks(self) -> Iterator[Block]:
        """Make the blocks, by lexeme, best first, the statistics block in front; none without a document."""
        if not self._lengths:
            return
        total = sum(self._lengths.values())
        yield Block(lexeme=STATISTICS_LEXEME, hi=0.0, count=len(self._lengths), packed=(total,))
        for lexeme in sorted(self._by_lexeme):
            yield from _blocks(lexeme, self._by_lexeme[lexeme])


def _blocks(lexeme: str, packed: list[int]) -> Iterator[Block]:
    if len(packed) > 1:
        packed.sort(key=_rank, reverse=True)
    for start in range(0, len(packed), BLOCK_POSTINGS):
        part = tuple(packed[start : start + BLOCK_POSTINGS])
        yield Block(lexeme=lexeme, hi=_impact_of(part[0] & _COUNTED), count=len(part), packed=part)


def _rank(packed: int) -> tuple[float, int]:
    return _impact_of(packed & _COUNTED), packed


@lru_cache(maxsize=_COUNTED + 1)
def _impact_of(counted: int) -> float:
    """Return the impact of a posting from its lowest bits, frequency and length: the only ones that it depends on."""
    return impact(counted >> _LENGTH_BITS, counted & MAX_LENGTH)


def _frame(key: int, length: int) -> int:
    """Pack what the postings of a document share, and leave its place to the frequency."""
    _require_key(key)
    if length < 0:
        raise InvalidInput("a length cannot be negative", field="length")
    return key << (_FREQUENCY_BITS + _LENGTH_BITS) | min(length, MAX_LENGTH)


def _require_key(key: int) -> None:
    if not 0 <= key < 1 << (31 + _POSITION_BITS):
        raise InvalidInput("a document key lies between 0 and 2^47-1: make it with lexeme_key(...)", field="key")
