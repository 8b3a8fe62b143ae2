"""Answers of the tools that recall and remember, found in a text: as JSON, as a string in JSON, or cut off.

They are known by what they hold, however they are spaced and ordered. Of one that was cut, at either end or within,
not all is there to be read, so there the order counts in which they are written.
"""

from __future__ import annotations

import json
import re
from typing import Final

from hermes_memory.domain.model import Origin
from hermes_memory.domain.scrubbing import scrub

_UUID: Final = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_SIGNS: Final = tuple(
    quote + name for quote in "\"'" for name in ("hits", "entries", "entry", "turn", "own", "accepted", "forgotten")
)
"""An answer, or what is left of one that still tells something, has one of them."""
_BLANKS: Final = r"(?:\s|\\{1,8}n){0,32}"
_NAMES: Final = (
    "hits|entries|count|scope|trace_id|degraded|left_out|notes?|stored|entry|accepted|operation|forgotten"
    "|id|kind|content|at|origin|theme|own|session|metadata|speaker|role|target|tool|score|copies|superseded_by"
)
_START: Final = re.compile(
    rf"(?:\[{_BLANKS})?\{{{_BLANKS}(?P<escapes>\\{{0,15}})(?P<quote>[\"'])(?:{_NAMES})(?P=escapes)(?P=quote){_BLANKS}:"
)
"""The beginning of an object, or of a list of them; within a string the quotes of its names are escaped."""
_NAME: Final = r"[\"']{}[\"']\s{{0,4}}"
_ROW_BEGINS: Final = (
    rf"\{{\s{{0,32}}{_NAME.format('id')}:\s{{0,4}}[\"']{_UUID}[\"']\s{{0,4}},\s{{0,32}}"
    rf"{_NAME.format('kind')}:\s{{0,4}}[\"'](?:entry|turn)[\"']\s{{0,4}},\s{{0,32}}{_NAME.format('content')}:"
)
_OWN_BEGINNING: Final = re.compile(
    rf"(?:\{{\s{{0,32}}{_NAME.format('(?:hits|entries)')}:\s{{0,4}}\[\s{{0,32}}"
    rf"|\{{\s{{0,32}}{_NAME.format('stored')}:\s{{0,4}}[Tt]rue\s{{0,4}},\s{{0,32}}{_NAME.format('entry')}:\s{{0,4}}"
    rf"|\[\s{{0,32}})?{_ROW_BEGINS}"
)
_TOKEN: Final = re.compile(
    r"\s{1,256}|[\[{]|[\]}]|[,:]|\"(?:[^\"\\\n]|\\.){0,65536}+\"|'(?:[^'\\\n]|\\.){0,65536}+'|[\"'][^\n]*"
    r"|[+-]?[0-9][\w.+-]{0,64}|[Tt]rue|[Ff]alse|null|None"
)
"""Of JSON, or of what Python shows for it; a string without an end goes to the end of its line."""
_STRING: Final = re.compile(r"(?:\\u[0-9a-fA-F]{4}|\\[\"\\/bfnrt]|[^\"\\\n])*+")

_ROW: Final = frozenset({"id", "kind", "content", "at", "origin", "theme", "own"})
_ANSWERS: Final = (
    frozenset({"hits", "count", "scope", "trace_id"}),
    frozenset({"entries", "count", "left_out"}),
)
_RECEIPTS: Final = {frozenset({"accepted", "operation"}): "operation", frozenset({"forgotten", "id"}): "id"}
_ID: Final = re.compile(_UUID)

_FIELD: Final = r"\s{0,8}\"[\w.-]{1,64}\"\s{0,4}:\s{0,4}"
_PLAIN_FIELD: Final = rf"{_FIELD}(?:\"[\w.:/-]{{0,64}}\"|[\w.-]{{1,24}})\s{{0,4}}"
_WRAPPED_BEFORE: Final = re.compile(rf"\{{(?:{_PLAIN_FIELD},){{0,6}}{_FIELD}\"?\Z")
_WRAPPED_BEHIND: Final = re.compile(rf"\"?\s{{0,8}}(?:,{_PLAIN_FIELD}){{0,6}}\s{{0,8}}(?:\}}|\Z)")
_LONGEST_WRAPPING: Final = 512

_Q: Final = "(?P=quote)"
_COMMA, _COLON = (rf"{_BLANKS}{sign}{_BLANKS}" for sign in ",:")
_TEXT: Final = rf"{_Q}(?:(?!{_Q})[^\n]){{0,4096}}{_Q}"
_VALUE: Final = rf"(?:{_TEXT}|\[{_BLANKS}\]|\{{[^{{}}\n]{{0,2048}}\}}|[\w.+-]{{1,64}})"
_REST_OF_ROW: Final = re.compile(
    rf"\\{{0,7}}[\"']{_COMMA}(?P<quote>\\{{0,7}}[\"'])at{_Q}{_COLON}{_Q}[0-9T:-]{{10,16}}{_Q}"
    rf"{_COMMA}{_Q}origin{_Q}{_COLON}{_Q}(?:{'|'.join(Origin)}){_Q}"
    rf"(?:{_COMMA}{_Q}operation{_Q}{_COLON}{_Q}{_UUID}{_Q})?"
    rf"{_COMMA}{_Q}theme{_Q}{_COLON}{_TEXT}{_COMMA}{_Q}own{_Q}{_COLON}(?:[Tt]rue|[Ff]alse)"
    rf"(?:{_BLANKS}(?:[,\]}}]|{_Q}(?:{_NAMES}){_Q}{_COLON}{_VALUE})){{0,64}}(?:[\s\"'}}\]]{{0,16}}\Z)?"
)
"""What follows the content of a row, and what follows the last row of an answer."""
_ABOVE_CONTENT: Final = re.compile(
    rf"(?:^[^\n]{{0,80}}[\"'],\n)?[ \t]{{0,32}}{_NAME.format('kind')}:\s{{0,4}}[\"'](?:entry|turn)[\"']\s{{0,4}},\s*\Z",
    re.MULTILINE,
)
_LONGEST_ABOVE: Final = 256

_QUOTED_LINES: Final = re.compile(r"(?:^[ \t]{0,3}>[^\n]*(?:\n|\Z))+", re.MULTILINE)
_QUOTATION_SIGN: Final = re.compile(r"^[ \t]{0,3}(?:> ?){1,8}", re.MULTILINE)

_MOST_READINGS: Final = 32
"""How often a text may be read over: what is within an object is read once more for each that is around it."""


def without_answers(text: str) -> str:
    """Remove the answers, whole or in part, with an object around them that tells nothing but names.

    An answer that tells nothing but an id is as good as anybody's, and goes only where nothing else is said.

    >>> without_answers('{"forgotten": true, "id": "00000000-0000-0000-0000-000000000007"}')
    ''
    """
    if not _may_hold_answer(text):
        return text
    if _is_receipts(text):
        return ""
    if ">" in text:
        text = _QUOTED_LINES.sub(_without_quoted_answers, text)
    return _without_rests(_without_answers(text))


def _is_receipts(text: str) -> bool:
    """Tell whether a text is answers that tell nothing but an id, and nothing else."""
    end, length = 0, len(text.rstrip())
    while end < length:
        try:
            found, end = json.JSONDecoder().raw_decode(text, _first_said(text, end))
        except (ValueError, RecursionError):
            return False
        receipt = _RECEIPTS.get(frozenset(found)) if isinstance(found, dict) else None
        if receipt is None or not _is_id(found[receipt]):
            return False
    return end > 0


def _first_said(text: str, start: int) -> int:
    while text[start].isspace():
        start += 1
    return start


def _without_quoted_answers(lines: re.Match[str]) -> str:
    said = _QUOTATION_SIGN.sub("", lines[0])
    left = _without_rests(_without_answers(said))
    if left == said:
        return lines[0]
    return "".join(f"> {line}" for line in left.splitlines(keepends=True) if line.strip())


def _without_rests(text: str) -> str:
    """Remove what is left of rows whose beginning was cut off: from the beginning of its line, or of its object."""
    kept: list[str] = []
    position = 0
    for rest in _REST_OF_ROW.finditer(text):
        begin = max(text.rfind("\n", position, rest.start()) + 1, position)
        if row := _START.search(text, begin, rest.start()):
            begin = row.start()
        elif above := _ABOVE_CONTENT.search(text, max(begin - _LONGEST_ABOVE, position), begin):
            begin = above.start()
        kept.append(text[position:begin])
        position = rest.end()
    return "".join((*kept, text[position:]))


def _without_answers(text: str) -> str:
    kept: list[str] = []
    position = place = read = 0
    while read <= _MOST_READINGS * len(text) and (start := _START.search(text, place)):
        if start["escapes"]:
            end, left = _without_answers_in_string(text, start.start())
        else:
            end, left, again = _end(text, start)
            read += again
        place = end or start.start() + 1
        if left is not None:
            begin, place = (start.start(), end) if left else _with_wrapping(text, start.start(), end)
            kept += (text[position : max(begin, position)], left)
            position = place
    return "".join((*kept, text[position:])) if kept else text


def _may_hold_answer(text: str) -> bool:
    for sign in _SIGNS:  # noqa: SIM110 - on the way of every write, and any() takes four times as long
        if sign in text:
            return True
    return False


def _without_answers_in_string(text: str, start: int) -> tuple[int, str | None]:
    """Return where the string ends, and what is left of it from `start`, None when it holds no answer."""
    string = _STRING.match(text, start)
    written = string[0] if string else ""
    said = json.loads(f'"{written}"', strict=False)
    left = _without_answers(said)
    if left == said:
        return start + len(written), None
    return start + len(written), json.dumps(scrub(left).strip(), ensure_ascii=written.isascii())[1:-1]


def _end(text: str, start: re.Match[str]) -> tuple[int, str | None, int]:
    """Return where a value ends, 0 when it is to be looked into, "" when it is an answer, and how much was read."""
    begin, read = start.start(), 0
    if start["quote"] == '"':
        try:
            found, end = json.JSONDecoder().raw_decode(text, begin)
        except json.JSONDecodeError as error:
            read = (len(text) if error.msg.startswith("Unterminated") else error.pos) - begin
            read += error.pos // _MOST_READINGS  # for the error has counted the lines above it, if fast
        except RecursionError:
            read = len(text) - begin
        else:
            if _is_answer(found):
                return end, "", 0
            return (0, None, end - begin) if _may_hold_answer(text[begin:end]) else (end, None, 0)
    if _OWN_BEGINNING.match(text, begin):
        return _end_of_tokens(text, begin), "", read
    return 0, None, read


def _end_of_tokens(text: str, start: int) -> int:
    """Return where a value ends, or where it was cut off."""
    depth, end = 0, start
    while token := _TOKEN.match(text, end):
        end = token.end()
        depth += (token[0] in "[{") - (token[0] in "]}")
        if depth == 0:
            break
    return end


def _is_answer(found: object) -> bool:
    if isinstance(found, list):
        return bool(found) and all(map(_is_row, found))
    if not isinstance(found, dict):
        return False
    if any(keys <= found.keys() for keys in _ANSWERS) or _is_row(found):
        return True
    return found.keys() == {"stored", "entry"} and _is_row(found["entry"])


def _is_row(found: object) -> bool:
    return (
        isinstance(found, dict) and found.keys() >= _ROW and found["kind"] in ("entry", "turn") and _is_id(found["id"])
    )


def _is_id(found: object) -> bool:
    return isinstance(found, str) and _ID.fullmatch(found) is not None


def _with_wrapping(text: str, start: int, end: int) -> tuple[int, int]:
    """Add the object around an answer that has nothing beside it but names, numbers and the like."""
    before = _WRAPPED_BEFORE.search(text, max(start - _LONGEST_WRAPPING, 0), start)
    behind = _WRAPPED_BEHIND.match(text, end)
    return (before.start(), behind.end()) if before and behind else (start, end)
