"""Keeps one of several identical texts, and puts a correction before what it corrects.

Scores of relevance cannot tell the old state of a fact from the new one: "The launch is on 3 May" answers the question
as well as "The launch moved to 9 May". What tells them apart is time. Nothing is hidden: the older row stays in the
list, below the newer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from hermes_memory.domain.asking import QUESTION_MARKS
from hermes_memory.domain.characters import fold
from hermes_memory.domain.fusion import Ranked
from hermes_memory.domain.lexemes import MONTHS, content_words
from hermes_memory.domain.model import Row, RowId, Subject, Theme, Turn
from hermes_memory.domain.stop_words import STOP_WORDS

CORRECTED_ROWS: Final = 20
"""How many of the best rows are looked at as possibly outdated."""
CORRECTING_ROWS: Final = 60
"""How many of the best rows are looked at as possible corrections of those."""

_COMPARED_CHARACTERS: Final = 600
_MIN_WORDS: Final = 2
_MAX_WORDS: Final = 40
# Thresholds on content words. Same frame: the same statement about other values. Same topic: most words of the shorter
# text are shared; a text that announces a change needs to share less.
_FRAME_JACCARD: Final = 0.7
_TOPIC_CONTAINMENT: Final = 0.6
_TOPIC_JACCARD: Final = 0.4
_VALUE_JACCARD: Final = 0.3
_CHANGE_CONTAINMENT: Final = 0.5
_CHANGE_JACCARD: Final = 0.2
# In pairs of characters each changed character costs two words, and what is added counts twice.
_PAIRS_CHANGE_CONTAINMENT: Final = 0.4
_PAIRS_CHANGE_JACCARD: Final = 0.15
_SAME_OPENING: Final = 3
"""Characters without spaces with which two texts begin that name the same thing."""

_PAIRED: Final = re.compile("[\u3041-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
_PLAIN_WORDS: Final = re.compile(r"\w+(?:[-.:/]\w+)*")
_QUANTITY: Final = re.compile(r"v?\d")
_WEEKDAYS: Final = (
    "monday tuesday wednesday thursday friday saturday sunday "
    "montag dienstag mittwoch donnerstag freitag samstag sonntag"
)
_NUMBERS: Final = "one two three four five six seven eight nine ten eleven twelve"
_VALUES: Final = frozenset((*map(str.casefold, MONTHS), *_WEEKDAYS.split(), *_NUMBERS.split()))
_CHANGES: Final = re.compile(
    r"\b(?:now|no longer|not any ?more|any ?more|instead|actually|correction|corrected|update|updated|changed?|moved|"
    r"switched|renamed|replaced|migrated|postponed|rescheduled|previously|formerly|used to|as of|"
    r"jetzt|nicht mehr|stattdessen|korrektur|geändert|verschoben|umbenannt|ersetzt|nun|ab sofort|"
    r"ahora|ya no|en lugar de|en vez de|cambió|cambiado|corrección|"
    r"désormais|maintenant|ne plus|n'est plus|au lieu de|changé|déplacé|"
    r"agora|não mais|em vez de|mudou|adesso|non più|invece|"
    r"теперь|больше не|вместо|перенес\w*|измен\w*)\b|现在|不再|改为|改成|改到|更正|已改|に変更|変更|今は|이제|변경",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fact:
    """What is compared of a row: when, where and by whom it was stated, its content words and the values in it."""

    when: tuple[float, int]
    place: tuple[Theme, Subject | None]
    speaker: str | None
    text: str
    words: frozenset[str]
    values: frozenset[str]


def recency(row: Row) -> tuple[float, int]:
    """Order rows in time: when it was said or became true, then the position in the session."""
    return row.at.timestamp(), row.position if isinstance(row, Turn) else 0


def in_order(ranked: Sequence[Ranked]) -> list[Ranked]:
    """Sort by score, newer rows first among equals, then by id: a total order, the same for any order of input."""
    ordered = sorted(ranked, key=_score, reverse=True)
    start = 0
    for end in range(1, len(ordered) + 1):
        if end == len(ordered) or ordered[end].score != ordered[start].score:
            if end - start > 1:
                ordered[start:end] = sorted(ordered[start:end], key=_place)
            start = end
    return ordered


def _score(hit: Ranked) -> float:
    return hit.score


def _place(hit: Ranked) -> tuple[float, int, RowId]:
    at, position = recency(hit.row)
    return -at, -position, hit.row.id


def collapse(ranked: Sequence[Ranked]) -> list[Ranked]:
    """Keep the newest of the rows with the same text by the same speaker, with the best score among them, in order.

    Texts are the same when they differ at most in case, accents, spacing and invisible characters.
    """
    groups: dict[tuple[str, str], list[Ranked]] = {}
    for hit in ranked:
        speaker = hit.row.speaker if isinstance(hit.row, Turn) else None
        key = " ".join(fold(hit.row.content).casefold().split()), (speaker or "").casefold()
        groups.setdefault(key, []).append(hit)
    return in_order([_newest(group) if len(group) > 1 else group[0] for group in groups.values()])


def _newest(group: Sequence[Ranked]) -> Ranked:
    newest = max(group, key=lambda hit: (recency(hit.row), hit.row.id))
    others = {row for hit in group for row in (hit.row.id, *hit.collapsed)} - {newest.row.id}
    return replace(
        newest,
        score=max(hit.score for hit in group),
        copies=sum(hit.copies for hit in group),
        collapsed=tuple(sorted(others)),
    )


def corrections_first(ranked: Sequence[Ranked], *, asked: Sequence[str] = ()) -> list[Ranked]:
    """Lift each row to at least the score of the older rows that it seems to correct, and return all in order.

    Only the best `CORRECTED_ROWS` and `CORRECTING_ROWS` are compared, so that the cost is bounded.

    Args:
        asked: Lexemes of the question, in order. Who asks by an identifier ("PAY-1187") or a numbered thing ("key 17")
            is not helped by the same statement about another one: a row without it is not lifted over a row with it.
    """
    ordered = in_order(ranked)
    names, numbered = frozenset(asked), _numbered(asked)
    facts = [(index, fact) for index, hit in enumerate(ordered[:CORRECTING_ROWS]) if (fact := _fact(hit.row))]
    facts.sort(key=lambda fact: fact[1].when)
    scores = [hit.score for hit in ordered]
    newer_of: dict[int, RowId] = {}
    for rank, (newer, new) in enumerate(facts):
        for older, old in facts[:rank]:
            if older < CORRECTED_ROWS and _corrects(new, old):
                if _asked_by_name(old, new, names, numbered):
                    continue
                scores[newer] = max(scores[newer], scores[older])
                newer_of[older] = ordered[newer].row.id
    changed = newer_of.keys() | {index for index, hit in enumerate(ordered) if hit.score != scores[index]}
    if not changed:
        return ordered
    for index in changed:
        ordered[index] = replace(ordered[index], score=scores[index], superseded_by=newer_of.get(index))
    return in_order(ordered)


def corrects(newer: Row, older: Row) -> bool:
    """Tell whether a row seems to state anew what an older one stated: the same about the same, with other values."""
    new, old = _fact(newer), _fact(older)
    return new is not None and old is not None and _corrects(new, old)


def _corrects(new: _Fact, old: _Fact) -> bool:
    if new.when <= old.when or new.place != old.place or new.words == old.words:
        return False
    if new.words.isdisjoint(old.words) or (new.speaker and old.speaker and new.speaker != old.speaker):
        return False
    return _same_frame(new, old) or _same_topic(new, old)


def _same_frame(new: _Fact, old: _Fact) -> bool:
    if not new.values or not old.values or new.values == old.values:
        return False
    frame, old_frame = new.words - new.values, old.words - old.values
    shared = len(frame & old_frame)
    return shared > 0 and shared >= _FRAME_JACCARD * len(frame | old_frame)


def _same_topic(new: _Fact, old: _Fact) -> bool:
    common = new.words & old.words
    if common <= new.values:  # two texts that share but a date or an amount need not be about the same thing
        return False
    shared = len(common)
    containment = shared / min(len(new.words), len(old.words))
    jaccard = shared / len(new.words | old.words)
    other_values = bool(new.values and old.values) and new.values.isdisjoint(old.values)
    enough = _VALUE_JACCARD if other_values else _TOPIC_JACCARD
    if shared >= _MIN_WORDS and containment >= _TOPIC_CONTAINMENT and jaccard >= enough:
        return True
    return _near_enough_for_a_change(new, old, containment, jaccard) and _CHANGES.search(new.text) is not None


def _near_enough_for_a_change(new: _Fact, old: _Fact, containment: float, jaccard: float) -> bool:
    opening = new.text[:_SAME_OPENING]
    if not (_PAIRED.match(new.text) and _PAIRED.match(old.text)):
        return containment >= _CHANGE_CONTAINMENT and jaccard >= _CHANGE_JACCARD
    if opening == old.text[:_SAME_OPENING] and all(map(_PAIRED.match, opening)):
        return True
    return containment >= _PAIRS_CHANGE_CONTAINMENT and jaccard >= _PAIRS_CHANGE_JACCARD


def _asked_by_name(old: _Fact, new: _Fact, names: frozenset[str], numbered: Mapping[str, re.Pattern[str]]) -> bool:
    """Tell whether the question names a thing, by identifier or number, that the old text is about and the new not."""
    gone = old.values - new.words
    if any(word in names and _is_identifier(word) for word in gone):
        return True
    return any(word in numbered and numbered[word].search(fold(old.text).casefold()) for word in gone)


def _numbered(asked: Sequence[str]) -> Mapping[str, re.Pattern[str]]:
    """Return for each number of the question that follows a word how that word and number look in a text.

    A number alone may be the very amount or date that was corrected; after the same word it is a name.
    """
    return {
        number: re.compile(rf"\b{re.escape(word)}\w*[\s#.:]{{1,3}}{re.escape(number)}\b")
        for word, number in pairwise(asked)
        if number.isdigit() and word.isalpha() and word not in _VALUES and not _CHANGES.fullmatch(word)
    }


def _is_identifier(word: str) -> bool:
    """Tell the name of one thing, such as `pay-1187`, from what corrections change: months, amounts, versions."""
    return word not in _VALUES and any(map(str.isalpha, word)) and not _QUANTITY.match(word)


def _fact(row: Row) -> _Fact | None:
    """Return what is compared of a row, or None for a question and for what is too short or long to be one fact."""
    text = row.content[:_COMPARED_CHARACTERS].strip()
    if text.endswith(QUESTION_MARKS):
        return None
    words = _words(text)
    if not _MIN_WORDS <= len(words) <= _MAX_WORDS:
        return None
    values = frozenset(word for word in words if word in _VALUES or any(map(str.isdigit, word)))
    return _Fact(
        when=recency(row),
        place=(row.theme, row.subject),
        speaker=row.speaker if isinstance(row, Turn) else None,
        text=text,
        words=words,
        values=values,
    )


def _words(text: str) -> frozenset[str]:
    # Plain words do for English and cost a fraction of taking identifiers apart.
    if text.isascii():
        return frozenset(_PLAIN_WORDS.findall(text.casefold())) - STOP_WORDS
    return content_words(text)
