"""What a question asks for, and whether a text only asks.

Whoever asks when or how many is answered by a text with a time or a number in it, and who names a speaker mostly by
that one. The type of answer that is expected is an old help in finding it (Li and Roth, "Learning Question
Classifiers", 2002), taken here in its cheapest form: nothing is parsed, and a text of another type is not shut out.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from hermes_memory.domain.characters import fold

QUESTION_MARKS: Final = ("?", "？", "؟")

_LOOKED_AT: Final = 600
"""Characters looked at. Whoever asks and nothing else is briefer."""
_READ: Final = 2_000
"""Characters of a question that are read."""
_MOSTLY: Final = 0.6
_SENTENCE: Final = re.compile(r"[^.!?。！？؟…\n]*[.!?。！？؟…]*\n?")

# Words that join clauses as well ("when a truck waits", "quand", "когда") ask only at the beginning of one.
_ASKS_WHEN: Final = re.compile(
    r"(?:^|[¿,;:.!?—–\n(-])\s*(?:(?:and|but|so|und|aber|y|et|e|i|и|а)\s+)?(?:(?:since|until|till|by|from|seit|bis|ab|"
    r"desde|hasta|para|depuis|da|до|од|od|do|vanaf|sinds|с|со)\s+)?"
    r"(?:when|wann|cu[aá]ndo|quand|quando|wanneer|kiedy|n[aä]r|когда)\b"
    r"|\b(?:what|which)\s+(?:date|day|month|year|weekday|time)\b|\bhow long ago\b|\bwhat time\b"
    r"|\b(?:welche[mnrs]?|wie ?viel)\s+(?:tag|datum|monat|jahr|woche|uhr)|\bqu[eé]\s+(?:d[ií]a|fecha|mes|a[nñ]o|hora)\b"
    r"|\bquel(?:le)?\s+(?:jour|date|mois|ann[eé]e|heure)\b|\bche\s+(?:giorno|data|mese|anno|ora)\b"
    r"|\b(?:que|qual)\s+(?:dia|data|m[eê]s|ano|hora)\b|\b(?:во сколько|какого числа|как давно)\b"
    r"|\bкак(?:ой|ого|ом|ая|ую)\s+(?:день|дня|дате?|дату|месяц\w*|год[ау]?)\b"
    r"|什么时候|何时|何時|哪天|哪一天|哪年|几点|几月|几号|什么日期|多久以前"
    r"|いつ|何日|何月|何年|何曜日|언제|며칠|몇 ?시",
    re.IGNORECASE,
)
_ASKS_HOW_MANY: Final = re.compile(
    r"\bhow\s+(?:many|much|long|often|old|big|large|far|high|tall|wide|deep|fast|heavy|late)\b"
    r"|\bwie\s?(?:viele?n?|oft|lange?|alt|gro(?:ss|ß)|hoch|weit|teuer|schnell|schwer|sp[aä]t)\b"
    r"|\bcu[aá]nt[oa]s?\b|\bcombien\b|\bquel [aâ]ge\b|\bquant[oaie]s?\b|\bhoeveel\b|\bile\b|\bhur m[aå]nga\b"
    r"|\bсколько\b|\bкак\s+(?:долго|часто|далеко)\b"
    r"|多少|几[个次天年名人台件种块辆箱]|多[久长大高远重]|いくつ|いくら|ど[のれ]くらい|何[人個回台件本枚分歳冊杯]|何時間|何日間|얼마|몇",
    re.IGNORECASE,
)
_WORDS: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a question asks for.

    Attributes:
        time: It asks when.
        number: It asks how many, how much, or how long.
        words: Its words as they are written, without accents: names are told from words by their capitals.
    """

    time: bool = False
    number: bool = False
    words: frozenset[str] = frozenset()

    def names(self, speakers: Collection[str]) -> frozenset[str]:
        """Return those of the speakers whom the question names, by the first of their names; none if it names all.

        Example:
            >>> sorted(read("What did Ana say to Bo's boss?").names(["Ana Ruiz", "Bo", "Cy"]))
            ['Ana Ruiz', 'Bo']
        """
        named = frozenset(speaker for speaker in speakers if self._names(speaker))
        return frozenset() if len(named) == len(speakers) else named

    def _names(self, speaker: str) -> bool:
        first = _WORDS.search(fold(speaker))
        if first is None:
            return False
        if first[0].casefold() != first[0]:
            return first[0] in self.words
        # In scripts without capitals names stand among other signs without a space; a small word is no name.
        return first[0].upper() == first[0] and any(first[0] in word for word in self.words)


NOTHING: Final = Asked()
"""Of a question whose words are not known."""


def read(question: str) -> Asked:
    """Tell what a question asks for.

    Example:
        >>> asked = read("And when did Ana move?")
        >>> asked.time, asked.number, "Ana" in asked.words
        (True, False, True)
    """
    looked_at = question[:_READ].strip()
    return Asked(
        time=_ASKS_WHEN.search(looked_at) is not None,
        number=_ASKS_HOW_MANY.search(looked_at) is not None,
        words=frozenset(_WORDS.findall(fold(looked_at))),
    )


def only_asks(text: str) -> bool:
    """Tell whether a text ends with a question mark and consists mostly of questions.

    Example:
        >>> only_asks("Good. And how long do we keep the backups?")
        True
        >>> only_asks("We keep them for 35 days, on the second server as well. Is that enough?")
        False
    """
    if text[-1:].isalnum() or text[-1:] == ".":  # as most texts end
        return False
    stripped = text.rstrip()
    if not stripped.endswith(QUESTION_MARKS) or len(stripped) > _LOOKED_AT:
        return False
    sentences = [sentence.strip() for sentence in _SENTENCE.findall(stripped)]
    asked = sum(len(sentence) for sentence in sentences if sentence.endswith(QUESTION_MARKS))
    return asked >= _MOSTLY * sum(map(len, sentences))
