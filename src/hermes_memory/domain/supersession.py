"""Keeps one of several identical texts, and puts a correction before what it corrects.

Scores of relevance cannot tell the old state of a fact from the new one: "The launch is on 3 May" answers the question
as well as "The launch moved to 9 May". What tells them apart is time. Nothing is hidden: the older row stays in the
list, below the newer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from operator import attrgetter
from typing import Final, NamedTuple

from hermes_memory.domain.characters import fold
from hermes_memory.domain.fusion import Ranked
from hermes_memory.domain.model import Row, RowId, Subject, Theme, Turn
from hermes_memory.domain.stated import CHANGES, VALUE_WORDS, Stated, announces_change, spelt, stated

CORRECTED_ROWS: Final = 20
"""How many of the best rows are looked at as possibly outdated."""
CORRECTING_ROWS: Final = 60
"""How many of the best rows are looked at as possible corrections of those."""

# Thresholds on content words. Same frame: the same statement about other values. Same topic: most words of the shorter
# text are shared; a text that announces a change needs to share less.
_FRAME_JACCARD: Final = 0.7
_TOPIC_CONTAINMENT: Final = 0.6
_TOPIC_JACCARD: Final = 0.4
_VALUE_JACCARD: Final = 0.3
_CHANGE_CONTAINMENT: Final = 0.5
_CHANGE_JACCARD: Final = 0.2
_MIN_SHARED: Final = 2
# In pairs of characters each changed character costs two words, and what is added counts twice.
_PAIRS_CHANGE_CONTAINMENT: Final = 0.4
_PAIRS_CHANGE_JACCARD: Final = 0.15

_QUANTITY: Final = re.compile(r"v?\d")


class _Fact(NamedTuple):
    """What is compared of a row: when, where and by whom it was stated, and what."""

    when: tuple[float, int]
    place: tuple[Theme, Subject | None]
    speaker: str | None
    stated: Stated


def recency(row: Row) -> tuple[float, int]:
    """Order rows in time: when it was said or became true, then the position in the session."""
    return row.at.timestamp(), row.position if isinstance(row, Turn) else 0


def in_order(ranked: Sequence[Ranked]) -> list[Ranked]:
    """Sort by score, newer rows first among equals, then by id: a total order, the same for any order of input."""
    ordered = sorted(ranked, key=attrgetter("score"), reverse=True)
    scores = [hit.score for hit in ordered]
    start = 0
    for end in range(1, len(scores) + 1):
        if end == len(scores) or scores[end] != scores[start]:
            if end - start > 1:
                ordered[start:end] = sorted(ordered[start:end], key=_place)
            start = end
    return ordered


def _place(hit: Ranked) -> tuple[float, int, RowId]:
    at, position = recency(hit.row)
    return -at, -position, hit.row.id


def collapse(ranked: Sequence[Ranked]) -> list[Ranked]:
    """Keep the newest of the rows with the same text by the same speaker, with the best score among them, in any order.

    Texts are the same when they differ at most in case, accents, spacing and invisible characters.
    """
    firsts: dict[str | tuple[str, str], Ranked] = {}
    groups: dict[str | tuple[str, str], list[Ranked]] = {}  # of few, so that no list is made for each of the others
    for hit in ranked:
        row = hit.row
        speaker, text = row.speaker if isinstance(row, Turn) else None, spelt(row.content)
        key = (text, speaker.casefold()) if speaker else text
        if (first := firsts.setdefault(key, hit)) is not hit:
            groups.setdefault(key, [first]).append(hit)
    for key, group in groups.items():
        firsts[key] = _newest(group)
    return list(firsts.values())


def _newest(group: Sequence[Ranked]) -> Ranked:
    newest = max(group, key=lambda hit: (recency(hit.row), hit.row.id))
    others = {row for hit in group for row in (hit.row.id, *hit.collapsed)} - {newest.row.id}
    return newest._replace(
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
    facts = [(index, fact) for index, hit in enumerate(ordered[:CORRECTING_ROWS]) if (fact := _fact(hit.row))]
    facts.sort(key=lambda fact: fact[1].when)
    names, numbered = frozenset(asked), _numbered(asked)
    outdated = [(index, fact, fact.stated.values & names) for index, fact in facts if index < CORRECTED_ROWS]
    scores = [hit.score for hit in ordered]
    newer_of: dict[int, RowId] = {}
    for newer, new in facts:
        when = new.when
        for older, old, named in outdated:
            if old.when >= when:  # and so are all that follow
                break
            if _corrects(new, old) and not (named and _asked_by_name(old, new, named, numbered)):
                scores[newer] = max(scores[newer], scores[older])
                newer_of[older] = ordered[newer].row.id
    changed = newer_of.keys() | {index for index, hit in enumerate(ordered) if hit.score != scores[index]}
    if not changed:
        return ordered
    for index in changed:
        ordered[index] = ordered[index]._replace(score=scores[index], superseded_by=newer_of.get(index))
    return in_order(ordered)


def corrects(newer: Row, older: Row) -> bool:
    """Tell whether a row seems to state anew what an older one stated: the same about the same, with other values."""
    new, old = _fact(newer), _fact(older)
    return new is not None and old is not None and old.when < new.when and _corrects(new, old)


def _corrects(new: _Fact, old: _Fact) -> bool:
    """Tell whether a fact seems to state anew what an older one does."""
    _, place, speaker, now = new
    _, old_place, old_speaker, then = old
    # Two texts that share but a date or an amount need not be about the same thing.
    if now.frame.isdisjoint(then.frame) or place != old_place:
        return False
    if speaker and old_speaker and speaker != old_speaker:
        return False
    if now.words == then.words:
        return False
    return _same_frame(now, then) or _same_topic(now, then)


def _same_frame(new: Stated, old: Stated) -> bool:
    if not new.values or not old.values or new.values == old.values:
        return False
    shared = len(new.frame & old.frame)
    return shared >= _FRAME_JACCARD * (len(new.frame) + len(old.frame) - shared)


def _same_topic(new: Stated, old: Stated) -> bool:
    shared, words, others = len(new.words & old.words), len(new.words), len(old.words)
    containment = shared / min(words, others)
    jaccard = shared / (words + others - shared)
    if shared >= _MIN_SHARED and containment >= _TOPIC_CONTAINMENT:
        other_values = bool(new.values and old.values) and new.values.isdisjoint(old.values)
        if jaccard >= (_VALUE_JACCARD if other_values else _TOPIC_JACCARD):
            return True
    return _near_enough_for_a_change(new, old, containment, jaccard) and announces_change(new.text)


def _near_enough_for_a_change(new: Stated, old: Stated, containment: float, jaccard: float) -> bool:
    if not (new.paired and old.paired):
        return containment >= _CHANGE_CONTAINMENT and jaccard >= _CHANGE_JACCARD
    if new.opening and new.opening == old.opening:
        return True
    return containment >= _PAIRS_CHANGE_CONTAINMENT and jaccard >= _PAIRS_CHANGE_JACCARD


def _asked_by_name(old: _Fact, new: _Fact, named: frozenset[str], numbered: Mapping[str, re.Pattern[str]]) -> bool:
    """Tell whether the question names a thing, by identifier or number, that the old text is about and the new not.

    Args:
        named: Those of the old text's values that the question names.
    """
    gone = named - new.stated.words
    if any(map(_is_identifier, gone)):
        return True
    return any(word in numbered and numbered[word].search(fold(old.stated.text).casefold()) for word in gone)


def _numbered(asked: Sequence[str]) -> Mapping[str, re.Pattern[str]]:
    """Return for each number of the question that follows a word how that word and number look in a text.

    A number alone may be the very amount or date that was corrected; after the same word it is a name.
    """
    return {
        number: re.compile(rf"\b{re.escape(word)}\w*[\s#.:]{{1,3}}{re.escape(number)}\b")
        for word, number in pairwise(asked)
        if number.isdigit() and word.isalpha() and word not in VALUE_WORDS and not CHANGES.fullmatch(word)
    }


def _is_identifier(word: str) -> bool:
    """Tell the name of one thing, such as `pay-1187`, from what corrections change: months, amounts, versions."""
    return word not in VALUE_WORDS and any(map(str.isalpha, word)) and not _QUANTITY.match(word)


def _fact(row: Row) -> _Fact | None:
    """Return what is compared of a row, or None when it makes no statement."""
    content = stated(row.content)
    if content is None:
        return None
    speaker = row.speaker if isinstance(row, Turn) else None
    return _Fact(recency(row), (row.theme, row.subject), speaker, content)
