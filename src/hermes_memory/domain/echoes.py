"""What was recalled, taken out of a text on its way in, so that memory does not feed on itself.

A model quotes what it was shown: the whole block, a line of it, or the answer of a tool. A host may hand the block back
with the message it stood before. None of it is said anew. What is said about it is: in doubt, words are kept.
"""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import Final

from hermes_memory.domain.echoed_answers import without_answers
from hermes_memory.domain.fences import HEADING, strip_blocks
from hermes_memory.domain.model import Origin, Role, Target
from hermes_memory.domain.rendering import LABEL_SIGNS, UNVERIFIED, WARNING

_BULLET: Final = (
    r"(?:^[^\w\n\"'“„«»‹‘‚「`(\[]{0,12}|[ \t]⏎[ \t]\\?)(?:\(?[0-9A-Za-z]{1,3}[.)][ \t]{1,4})?(?:[-•*+–—‣▪◦][ \t]{1,4})?"
    r"(?:\[[ xX]?\][ \t]{1,4})?"
)
"""What lists, tables and quotations put before a line, also before one that is shown as a part of another."""
_MARKS: Final = "[*_`]{0,3}"
_DAY: Final = r"(?<![0-9])[0-9]{4}-[0-9]{2}-[0-9]{2}"
_ROLES: Final = "|".join(Role)
_TARGETS: Final = "|".join(Target)
_NAME: Final = rf"[^\n“”{re.escape(LABEL_SIGNS)}]{{1,200}}"
_OWN_LABEL: Final = (
    rf"{_DAY}{_MARKS}(?: [0-9]{{2}}:[0-9]{{2}}{_MARKS} turn, (?:{_NAME} \((?:{_ROLES})\)|{_ROLES})"
    rf"| entry \((?:{_TARGETS})\), from (?:{'|'.join(Origin)}))"
    rf"(?:, theme {_NAME})?(?:, {re.escape(UNVERIFIED)})?(?:, quoted; {re.escape(WARNING)})?{_MARKS}:{_MARKS}"
)
"""Ours to the letter: it needs no particular quotes behind it."""
_LIKE_OURS: Final = (
    rf"{_DAY}(?: [0-9]{{2}}:[0-9]{{2}})? (?:turn|entry \((?:{_TARGETS})\)), [^\n“”]{{1,400}}:{_MARKS}(?=[ \t]{{0,8}}“)"
)
"""Known by the quotes behind it, which no quoted text can hold."""
_LABEL: Final = re.compile(rf"(?:{_OWN_LABEL}|{_LIKE_OURS})[ \t]{{0,8}}(?:\*{{1,3}}(?=[\"“„«‘]))?")
_BEFORE: Final = re.compile(
    rf"(?:(?P<line>{_BULLET})|(?<=:[ \t])(?P<told>))?{_MARKS}(?P<around>[\"'“„«»‹‘‚「(\[])?(?:- )?{_MARKS}\Z"
)
_LONGEST_BEFORE: Final = 48
_QUOTES: Final = {
    '"': '"', "“": "”", "„": "“”", "«": "»", "»": "«", "‹": "›", "‘": "’", "‚": "‘’", "'": "'", "「": "」", "`": "`",
}  # fmt: skip
_AROUND: Final = {**_QUOTES, "(": ")", "[": "]"}
_EITHER: Final = {before: re.compile(f"[{re.escape(before + behind)}]") for before, behind in _AROUND.items()}
_BELOW: Final = re.compile(
    rf"(?P<label>{_OWN_LABEL})[ \t]{{0,8}}\n[ \t]{{0,8}}(?:[-*•][ \t]{{1,4}})?"
    rf"(?:>[ \t>]{{0,8}}|(?=[{re.escape(''.join(_QUOTES))}]))"
)
"""A label with what it quotes on the next line."""
_REMARK: Final = re.compile(
    r"(?<=[.!?;…])[ \t]|(?<=[。！？])|(?=[—|])|[ \t](?=[(\[]|<-|//|(?:[–→]|-{1,2}>?|=>)[ \t])"
    r"|(?=, (?:but|aber|pero|mas|mais|ma|maar|men) )"
)
"""Where, without quotes, a remark of the one who quotes may begin."""
_OPENS: Final = frozenset((*_AROUND, "{", "="))
_WORD: Final = re.compile(r"[^\W_]")
_LINE: Final = re.compile(r"[^\n]*\n|[^\n]+\Z")
_HOST_NOTE: Final = re.compile(
    r"\[System note:\s{0,8}The following is recalled memory context[^\]\n]{0,600}\]\s{0,8}", re.IGNORECASE
)
_MOST_ROUNDS: Final = 8
"""What is nested deeper than that was nested on purpose."""


def without_recalled(text: str) -> str:
    r"""Remove what this library, and the host around it, showed of memories.

    That is every complete block, tags and headings that are left over, quotations in the form in which a block has
    them, and the answers of the tools that recall. Linear in the text.

    >>> without_recalled("Noted.\n- 2026-05-03 entry (memory), from user: “Launch on 9 May”")
    'Noted.\n'
    """
    if not ("<" in text or '"' in text or "'id'" in text or "'own'" in text or _may_hold_quotation(text)):  # as most
        return text
    for _ in range(_MOST_ROUNDS):
        before = text
        text = _without_quotations(strip_blocks(without_answers(text)))
        if text == before:
            break
    return text


def _may_hold_quotation(text: str) -> bool:
    return "recalled" in text or _may_hold_label(text)


def _may_hold_label(text: str) -> bool:
    return " entry (" in text or " turn, " in text


def _without_quotations(text: str) -> str:
    if "recalled memory context" in text:
        text = _HOST_NOTE.sub("", text)
    if HEADING in text:
        text = text.replace(HEADING, "")
    if _may_hold_label(text):
        text = _LINE.sub(lambda line: _without_memories(line[0]), _BELOW.sub(r"\g<label> ", text))
    return text


def _without_memories(line: str) -> str:
    """Leave a blank in the place of each memory, and nothing of a line that has no word beside them."""
    labels = list(_LABEL.finditer(line)) if _may_hold_label(line) else []
    kept: list[str] = []
    position = 0
    for label, following in zip_longest(labels, labels[1:]):
        before = _BEFORE.search(line, max(label.start() - _LONGEST_BEFORE, position), label.start())
        if before is None:  # it is quoted by the memory before it
            continue
        end = _end_of_memory(line, label.end(), following.start() if following else len(line.rstrip()), before)
        if end:
            kept += (line[position : before.start()], before["around"] or "", " ")
            position = end
    rest = "".join((*kept, line[position:]))
    return rest if not kept or _WORD.search(rest) else ""


def _end_of_memory(line: str, start: int, limit: int, before: re.Match[str]) -> int | None:
    """Return where the memory ends that begins in a line, by what stands before its label; None when nothing tells."""
    quote, around = line[start : start + 1], before["around"]
    if quote == "“":
        return line.find("”", start) + 1 or len(line)
    if quote in _QUOTES and (behind := _behind_quotation(line, start + 1, limit, quote)):
        return behind
    if quote == "„" and line.count('"', start, limit) == 1:  # as keyboards close it
        return line.find('"', start) + 1
    if around and (behind := _behind_quotation(line, start, limit, around)):
        return behind - 1
    if start >= limit or (before["line"] is None and before["told"] is None):
        return None
    remark = None if quote in _QUOTES else _REMARK.search(line, start, limit)
    return remark.start() if remark else limit


def _behind_quotation(line: str, start: int, limit: int, quote: str) -> int | None:
    """Return where a quotation has ended, at the last that may end it when what it quotes has odd quotes of its own."""
    closing = _AROUND[quote]
    depth, end = 1, None
    for mark in _EITHER[quote].finditer(line, start, limit):
        before, behind = line[mark.start() - 1], line[mark.end() : mark.end() + 1]
        if before == "\\":
            continue
        if mark[0] == quote and behind.strip() and (quote not in closing or before.isspace() or before in _OPENS):
            depth += 1
        elif mark[0] in closing and not _goes_on(behind):
            depth, end = depth - 1, mark.end()
            if depth == 0:
                break
    return end


def _goes_on(behind: str) -> bool:
    """Tell whether a word goes on behind a quote. Scripts without capitals leave no blank behind one that closes."""
    return behind == "_" or behind.isdecimal() or behind.lower() != behind.upper()
