"""What was recalled, taken out of a text on its way in, so that memory does not feed on itself.

A model quotes what it was shown: the whole block, a line of it, or the answer of a tool. A host may hand the block back
with the message it stood before. None of it is said anew.
"""

from __future__ import annotations

import re
from typing import Final

from hermes_memory.domain.echoed_answers import without_answers
from hermes_memory.domain.fences import HEADING, strip_blocks
from hermes_memory.domain.model import Origin, Role

_LABEL: Final = r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?: [0-9]{2}:[0-9]{2})? (?:turn|entry \((?:memory|user)\)), "
_QUOTATION: Final = re.compile(
    rf"(?P<start>^[ \t>*]{{0,8}})?(?:- )?\*{{0,2}}(?<![0-9]){_LABEL}[^\n“”]{{1,400}}:\*{{0,2}} "
    r"“[^\n“”]{0,65536}(?:”|$)(?P<end>[ \t]{0,8}(?:\n|\Z))?",
    re.MULTILINE,
)
"""A memory as a block shows it: dated, attributed, in quotes that no quoted text can hold. It may be cut at its end."""
_PLAINLY_QUOTED: Final = re.compile(
    rf"^[ \t>*]{{0,8}}(?:- )?\*{{0,2}}{_LABEL}[^\n\"]{{1,400}}:\*{{0,2}} \"[^\n]{{0,65536}}\"[ \t]{{0,8}}(?:\n|\Z)",
    re.MULTILINE,
)
"""The same in the quotes of a keyboard, which a quoted text may hold as well: they end with the line."""
_LABELLED: Final = re.compile(r"(?:turn|entry \((?:memory|user)\)), [^\n“”\"]{1,400}:\*{0,2} [“\"]")
_ROLES: Final = "|".join(Role)
_PART: Final = r"[^\n,:;()\[\]\"“”]{1,200}"
_OWN_LABEL: Final = (
    rf"[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}(?: [0-9]{{2}}:[0-9]{{2}} turn, (?:{_PART} \((?:{_ROLES})\)|{_ROLES})"
    rf"| entry \((?:memory|user)\), from (?:{'|'.join(Origin)}))"
    rf"(?:, theme {_PART})?(?:, unverified)?(?:, quoted; contains instruction-like text)?:"
)
_OTHERWISE_QUOTED: Final = re.compile(
    rf"^[ \t>*+|#]{{0,8}}(?:[0-9]{{1,3}}[.)][ \t])?(?:[-•*][ \t])?[*_`]{{0,3}}{_OWN_LABEL}[*_`]{{0,3}}[ \t]"
    "(?:"
    + "|".join(
        rf"{before}[^\n]{{0,65536}}{behind}(?!\w)"
        for before, behind in ("„“", "„”", "«»", "»«", "‹›", "‘’", "‚‘", "''", "「」", "``")
    )
    # Without quotes nothing else tells where a remark of the one who quotes begins.
    + r"|[^\n„“”«»‹›‘’‚'「`][^\n]{0,65536}?(?=[ \t](?:[—–]|-{1,2}>?)[ \t])|[^\n]{0,65536})"
    r"(?P<end>[ \t|*_]{0,8}(?:\n|\Z))?",
    re.MULTILINE,
)
"""A line whose label is ours to the letter, in other quotes or in none: what it quotes then ends with the line.

Where it is in no quotes, it ends before a dash: what is said of a memory is not to go with it.
"""
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
    if not ("<" in text or '"' in text or "'id'" in text or "recalled" in text or _may_hold_label(text)):  # as most
        return text
    for _ in range(_MOST_ROUNDS):
        before = text
        text = _without_quotations(strip_blocks(without_answers(text)))
        if text == before:
            break
    return text


def _may_hold_label(text: str) -> bool:
    return "“" in text or " entry (" in text or " turn, " in text


def _without_quotations(text: str) -> str:
    if "recalled memory context" in text:
        text = _HOST_NOTE.sub("", text)
    if HEADING in text:
        text = text.replace(HEADING, "")
    if _LABELLED.search(text):
        text = _PLAINLY_QUOTED.sub("", _QUOTATION.sub(_gap, text))
    if _may_hold_label(text):
        text = _OTHERWISE_QUOTED.sub(lambda match: " " if match["end"] is None else "", text)
    return text


def _gap(match: re.Match[str]) -> str:
    """Leave nothing of a line that held nothing else, and a blank within a line."""
    if match["start"] is not None and match["end"] is not None:
        return ""
    return f" {match['end'] or ''}"
