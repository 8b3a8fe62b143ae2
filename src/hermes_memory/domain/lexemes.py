"""Turns text into lexemes, the units of text search, without knowing the language it is written in.

Words are casefolded, stripped of accents and stemmed. Scripts that do not put spaces between words become pairs of
characters. Identifiers are kept whole and split as well, so that `src/api/auth.py` is found by its path, by `auth.py`
and by "auth".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache, partial
from itertools import chain, islice, pairwise
from typing import Final, TypeAlias

from hermes_memory.domain.asking_phrases import telling_pieces
from hermes_memory.domain.characters import fold
from hermes_memory.domain.model import Row, Turn
from hermes_memory.domain.stop_words import STOP_WORDS

Stem: TypeAlias = Callable[[str], str]
"""Reduces one casefolded word without accents to its stem. Must be pure: the same word, the same stem."""

MAX_LEXEME_CHARACTERS: Final = 64
MAX_LEXEME_BYTES: Final = 255
MAX_DOCUMENT_LEXEMES: Final = 4_095
"""What a posting can count. Lexemes beyond it are not indexed."""
MAX_QUERY_CHARACTERS: Final = 2_000
MAX_QUERY_LEXEMES: Final = 32
CACHED_PIECES: Final = 65_536
"""Pieces of text whose lexemes an analyser remembers: nearly all words of a text were met before."""
MAX_CACHED_CHARACTERS: Final = 64
MAX_SHORT_CHARACTERS: Final = 4_096

MONTHS: Final = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)

# Han, kana, Hangul, Thai, Lao, Burmese and Khmer: no spaces, or none that separate words.
_UNSPACED: Final = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u1000-\u109f\u1100-\u11ff\u1780-\u17d3\u3005-\u3007\u3041-\u309f"
    "\u30a1-\u30fa\u30fc-\u30ff\u3131-\u318e\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97c\uac00-\ud7a3"
    "\uf900-\ufaff\U00020000-\U0003ffff"
)
# The vowel signs of Indic scripts belong to the word although Python does not count them as word characters.
_WORD: Final = rf"(?:[^\W_{_UNSPACED}]++|[\u0900-\u0963\u0966-\u0dff])+"
# A run without spaces, an amount, or a chunk: a word or an identifier, perhaps an option of a command.
# No group is repeated possessively: Python before 3.11.5 does not step back from a repetition that fails half-way. An
# amount is looked for only where its digits begin: again within it would cost the square of its length.
_TOKEN: Final = re.compile(
    rf"[{_UNSPACED}]++"
    r"|(?<!\d)(?<!\d,)\d{1,3}(?:,\d{3})+(?!\w|,\d)"
    rf"|(?:(?<![\w-])--(?=[^\W\d_]))?{_WORD}(?:(?:::|[-._/\\:@+#~=]){_WORD})*(?:\+\+|\#(?!\w))?"
)
_UNSPACED_RUN: Final = re.compile(rf"[{_UNSPACED}]")
_OUTER: Final = re.compile(r"[/\\:@#~=+]+")
_INNER: Final = re.compile(r"[-._]")
_DATE: Final = re.compile(r"(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])(?:T(?=\d)|(?![\w-]))")
_RUNS: Final = re.compile(r"\d+|[^\W\d_]+")
# A plural of an abbreviation ("APIs") is one hump; an abbreviation ends before the word that follows ("HTTP|Server").
_HUMPS: Final = re.compile(r"[A-Z]{2,}s(?![a-z])|[A-Z]+(?![a-z])|[A-Z]?[^\WA-Z\d_]+")
_MAX_PARTS: Final = 6

_Token: TypeAlias = tuple[str, bool]  # casefolded text, and whether it is a word (to be stemmed) or to be left as it is


@dataclass(frozen=True, slots=True)
class Analyzer:
    """Makes lexemes of documents and queries. Both must use the same stemmer, or they do not meet.

    No lexeme is empty, longer than 64 characters or 255 bytes, or holds a NUL; time is linear in the text.

    Attributes:
        stem: The stemmer for single words.

    Example:
        >>> Analyzer(stem=lambda word: word).analyze("Error E40213")
        ['error', 'e40213', '40213']
    """

    stem: Stem
    _remembered: Callable[[str], tuple[str, ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        remember = lru_cache(maxsize=CACHED_PIECES)
        object.__setattr__(self, "_remembered", remember(partial(_all_lexemes, self.stem)))

    def analyze(self, text: str) -> list[str]:
        """Return the lexemes of a document in order and with repetition, at most `MAX_DOCUMENT_LEXEMES`."""
        folded = fold(text)
        if len(folded) > MAX_SHORT_CHARACTERS:
            pieces = (match[0] for match in _TOKEN.finditer(folded))
            return list(islice(chain.from_iterable(map(self._lexemes_of, pieces)), MAX_DOCUMENT_LEXEMES))
        # All in one go, for most texts are short, and it is what storing them takes the longest.
        found: list[str] = _TOKEN.findall(folded)
        known = all(map(MAX_CACHED_CHARACTERS.__ge__, map(len, found)))
        return list(chain.from_iterable(map(self._remembered if known else self._lexemes_of, found)))[
            :MAX_DOCUMENT_LEXEMES
        ]

    def query_lexemes(self, text: str) -> tuple[str, ...]:
        """Return the distinct lexemes of a query in order, at most `MAX_QUERY_LEXEMES`.

        Stop words, and phrases that only ask in scripts without spaces, are left out unless nothing else remains. Of a
        text over `MAX_QUERY_CHARACTERS` only the beginning and the end count, because a question stands before or after
        what is pasted with it. When there are too many lexemes, long ones stay, which tell most, words and identifiers
        in equal parts.
        """
        asked = head_and_tail(text)
        telling = list(dict.fromkeys(token for token in _asked_tokens(asked) if not _is_stop(token)))
        tokens = telling or list(dict.fromkeys(_tokens(asked)))
        return tuple(dict.fromkeys(_lexeme(self.stem, token) for token in _most_telling(tokens)))

    def _lexemes_of(self, piece: str) -> Iterable[str]:
        return self._remembered(piece) if len(piece) <= MAX_CACHED_CHARACTERS else _lexemes(self.stem, piece)


def content_words(text: str) -> frozenset[str]:
    """Return the distinct words of a text without its stop words, casefolded but not stemmed.

    Example:
        >>> sorted(content_words("Launch moved to 3 May"))
        ['3', 'launch', 'may', 'moved']
    """
    if len(text) > MAX_SHORT_CHARACTERS:
        tokens = islice(_tokens(text), MAX_DOCUMENT_LEXEMES)
        return frozenset(token[0] for token in tokens if not _is_stop(token))
    return frozenset(chain.from_iterable(map(_telling_words, _TOKEN.findall(fold(text)))))


def _telling_words(piece: str) -> Iterable[str]:
    return _known_words(piece) if len(piece) <= MAX_CACHED_CHARACTERS else _words_of(piece)


def _words_of(piece: str) -> tuple[str, ...]:
    return tuple(token[0] for token in _tokens_of(piece) if not _is_stop(token))


_known_words: Final = lru_cache(maxsize=CACHED_PIECES // 4)(_words_of)


def indexed_text(content: str, *, at: datetime, speaker: str | None = None) -> str:
    """Return what is indexed for a memory: its content after the date and the speaker, which questions name.

    Example:
        >>> indexed_text("I moved", at=datetime(2023, 5, 8), speaker="Ana")
        '[8 May 2023] Ana: I moved'
    """
    said = f"{speaker}: {content}" if speaker else content
    return f"[{at.day} {MONTHS[at.month - 1]} {at.year}] {said}"


def indexed_row(row: Row) -> str:
    """Return what is indexed for a stored row; see `indexed_text`."""
    return indexed_text(row.content, at=row.at, speaker=row.speaker if isinstance(row, Turn) else None)


def head_and_tail(text: str) -> str:
    """Return what counts of a query: all of it, or its beginning and end when it has over `MAX_QUERY_CHARACTERS`."""
    if len(text) <= MAX_QUERY_CHARACTERS:
        return text
    half = MAX_QUERY_CHARACTERS // 2 - 1
    head = text[:half].rsplit(maxsplit=1)[:1]
    tail = text[-half:].split(maxsplit=1)[-1:]
    return "\n".join(head + tail)


def _most_telling(tokens: list[_Token]) -> list[_Token]:
    if len(tokens) <= MAX_QUERY_LEXEMES:
        return tokens
    longest = sorted(tokens, key=lambda token: (-len(token[0]), token[0]))
    others = [token for token in longest if not token[1]]
    words = [token for token in longest if token[1]]
    words = words[: max(MAX_QUERY_LEXEMES // 2, MAX_QUERY_LEXEMES - len(others))]
    kept = {*words, *others[: MAX_QUERY_LEXEMES - len(words)]}
    return [token for token in tokens if token in kept]


def _is_stop(token: _Token) -> bool:
    return token[1] and token[0] in STOP_WORDS


def _lexeme(stem: Stem, token: _Token) -> str:
    text, is_word = token
    return _bounded(stem(text) or text) if is_word else text


def _lexemes(stem: Stem, piece: str) -> Iterator[str]:
    """Make the lexemes of one match of `_TOKEN`, which its text alone determines."""
    return (_lexeme(stem, token) for token in _tokens_of(piece))


def _all_lexemes(stem: Stem, piece: str) -> tuple[str, ...]:
    return tuple(_lexemes(stem, piece))


def _tokens(text: str) -> Iterator[_Token]:
    for match in _TOKEN.finditer(fold(text)):
        yield from _tokens_of(match[0])


def _asked_tokens(text: str) -> Iterator[_Token]:
    """Take a question apart, without the phrases that only ask."""
    for match in _TOKEN.finditer(fold(text)):
        if _UNSPACED_RUN.match(match[0]):
            yield from chain.from_iterable(map(_pairs, telling_pieces(match[0])))
        else:
            yield from _tokens_of(match[0])


def _tokens_of(piece: str) -> Iterator[_Token]:
    """Take a match of `_TOKEN` apart by its text: no two of its branches can match the same."""
    if _UNSPACED_RUN.match(piece):
        yield from _pairs(piece)
    elif "," in piece:
        yield _bounded(piece.replace(",", "")), False
    else:
        chunk = piece.removeprefix("--")
        yield from _chunk(chunk, option=piece[: -len(chunk)])


def _pairs(run: str) -> Iterator[_Token]:
    if len(run) == 1:
        yield run, False
    for first, second in pairwise(run):
        yield first + second, False


def _chunk(chunk: str, *, option: str) -> Iterator[_Token]:
    """Take apart a word or an identifier: itself when it is made of several segments, then each segment."""
    if option:
        yield from _whole(option + chunk)
    if date := _DATE.match(chunk):
        yield from _date(date)
        chunk = chunk[date.end() :]
    segments = [segment for segment in _OUTER.split(chunk) if segment]
    if len(segments) > 1 or (segments and segments[0] != chunk):
        yield from _whole(chunk)
    for segment in segments:
        yield from _segment(segment)


def _segment(segment: str) -> Iterator[_Token]:
    words = [word for word in _INNER.split(segment) if word]
    if len(words) > 1:
        yield from _whole(segment)
        if segment[0] in "vV" and segment[1:2].isdigit():
            yield from _whole(segment[1:])
    for word in words:
        yield from _word(word)


def _word(word: str) -> Iterator[_Token]:
    if word.isdigit():
        yield _bounded(word), False
    elif any(map(str.isdigit, word)):
        yield _bounded(word.casefold()), False
        yield from _parts(_RUNS.findall(word))
    else:
        yield _bounded(word.casefold()), True
        if not (word.islower() or word[1:].islower() or word.isupper()):
            yield from _parts(_HUMPS.findall(word))


def _parts(parts: list[str]) -> Iterator[_Token]:
    # A hash in hexadecimal falls into dozens of parts that tell nothing.
    if 1 < len(parts) <= _MAX_PARTS:
        for part in parts:
            if part.isdigit():
                yield _bounded(part), False
            elif len(part) > 1:
                yield _bounded(part.casefold()), True


def _date(date: re.Match[str]) -> Iterator[_Token]:
    """Make an ISO date meet the written one: "2023-05-08" and "8 May 2023" share year, month and day."""
    yield date[0].rstrip("T"), False
    yield str(int(date[3])), False
    yield MONTHS[int(date[2]) - 1].casefold(), True
    yield date[1], False


def _whole(text: str) -> Iterator[_Token]:
    folded = text.casefold()
    if folded == _bounded(folded):
        yield folded, False


def _bounded(text: str) -> str:
    cut = text[:MAX_LEXEME_CHARACTERS]
    while len(cut.encode()) > MAX_LEXEME_BYTES:
        cut = cut[:-1]
    return cut
