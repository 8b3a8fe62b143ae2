"""Whether a text tells a time or a number, in the languages that agents mostly write.

It need not be right about every text: what it finds is a hint among others, which moves a row by a few places.
"""

from __future__ import annotations

import re
from typing import Final

from hermes_memory.domain.characters import fold
from hermes_memory.domain.remembered import remembered

_READ: Final = 2_000
"""Characters in which a time or a number is looked for."""
_WORDS: Final = re.compile(r"\w+")
_TIME_WORDS: Final = frozenset(
    fold(
        "january february march april may june july august september october november december monday tuesday "
        "wednesday thursday friday saturday sunday yesterday today tonight tomorrow ago last next recently since "
        "weekend week weeks month months year years januar februar märz april mai juni juli august september "
        "oktober november dezember montag dienstag mittwoch donnerstag freitag samstag sonntag gestern heute "
        "morgen letzte letzten letztes nächste nächsten nächstes vorige vorigen seit woche wochen monat monate "
        "monaten jahr jahre jahren enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre "
        "diciembre lunes martes miércoles jueves viernes sábado domingo ayer hoy mañana pasado pasada próximo "
        "próxima hace semana semanas mes meses año años janvier février mars avril mai juin juillet août "
        "septembre octobre novembre décembre lundi mardi mercredi jeudi vendredi samedi dimanche hier demain "
        "dernier dernière prochain prochaine depuis semaine semaines mois année années ieri oggi domani settimana "
        "mese anni ontem hoje amanhã января февраля марта апреля мая июня июля августа сентября октября ноября "
        "декабря понедельник вторник среду четверг пятницу субботу воскресенье вчера сегодня завтра прошлой "
        "прошлом прошлого следующей следующем назад неделе неделю недели месяц месяца месяце год года году лет"
    ).split()
)
_NUMBER_WORDS: Final = frozenset(
    fold(
        "two three four five six seven eight nine ten eleven twelve once twice couple few several dozen half zwei "
        "drei vier fünf sechs sieben acht neun zehn elf zwölf halb halbe dos tres cuatro cinco seis siete ocho "
        "nueve diez deux trois quatre cinq sept huit neuf dix due tre quattro cinque два две три четыре пять "
        "шесть семь восемь девять десять дважды"
    ).split()
)
_TIME_SIGNS: Final = re.compile(
    r"\b(?:19|20)\d\d\b|\b\d{1,2}:\d\d\b|\b\d{1,2}\.\s?\d{1,2}\.|\b\d{1,2}/\d{1,2}\b"
    r"|[\d一二三四五六七八九十][年月日号時点]|[昨今明前]天|[上下]个?[周月]|[去今明]年|周[一二三四五六日]|星期"
    r"|[昨今明]日|[先来今][週月]|来年|[月火水木金土日]曜|어제|오늘|내일|지난|다음|\d[년월일]"
)
_MAYBE_SIGNS: Final = re.compile(r"[\d\u3040-\u9fff\uac00-\ud7a3]")
_NUMBER_SIGNS: Final = re.compile(r"\d|[一二三四五六七八九十百千万两半]")


@remembered
def tells_time(text: str) -> bool:
    """Tell whether a text has a date, a time or a span of time in it.

    Example:
        >>> tells_time("We moved in May, all four of us."), tells_time("We moved.")
        (True, False)
    """
    folded = fold(text[:_READ])
    if not _TIME_WORDS.isdisjoint(_WORDS.findall(folded.casefold())):
        return True
    # Few texts have anything in them that such a sign begins with.
    return _MAYBE_SIGNS.search(folded) is not None and _TIME_SIGNS.search(folded) is not None


@remembered
def tells_number(text: str) -> bool:
    """Tell whether a text has a number in it, in digits or in a small word.

    Example:
        >>> tells_number("We moved in May, all four of us."), tells_number("We moved.")
        (True, False)
    """
    folded = fold(text[:_READ])
    return _NUMBER_SIGNS.search(folded) is not None or not _NUMBER_WORDS.isdisjoint(_WORDS.findall(folded.casefold()))
