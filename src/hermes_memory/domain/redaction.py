"""Takes secrets out of a text before it is written anywhere, and leaves the rest readable.

Only shapes that mark a credential count: "My PIN for the door is 8841" is a memory, "the token expired" is prose.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

from hermes_memory.domain import secret_shapes as shapes


@dataclass(frozen=True, slots=True, kw_only=True)
class Redacted:
    """A text without its secrets.

    Attributes:
        text: The text, with `[redacted:<kind>]` where each secret stood.
        count: Number of secrets taken out.
        kinds: Which kinds they were.
    """

    text: str
    count: int = 0
    kinds: frozenset[str] = frozenset()


def redact(text: str) -> Redacted:
    """Take the secrets out of a text. Redacting the result again changes nothing.

    Works line by line, in time linear in the length of the text; a private key may span lines.

    >>> redact("export PGPASSWORD=hunter2").text
    'export PGPASSWORD=[redacted:password]'
    >>> redact("the password is in the vault").count
    0
    """
    if not _may_hold_any(text):
        return Redacted(text=text)
    found: Counter[str] = Counter()
    clean = "".join(_redact_line(line, found) for line in _without_private_keys(text, found))
    return Redacted(text=clean, count=found.total(), kinds=frozenset(found))


_SHAPES: Final = (
    ("uri-password", ("://",), shapes.URI_PASSWORD),
    ("authorization", ("authorization",), shapes.AUTHORIZATION),
    ("authorization", ("bearer", "basic"), shapes.BEARER),
    ("signature", ("sig",), shapes.SIGNATURE),
    ("webhook", ("hooks",), shapes.WEBHOOK),
    ("secret", ("</",), shapes.ELEMENT),
    ("password", ("-u", "--"), shapes.OPTION),
)
"""Kinds, the literals without which a line cannot hold one, and shapes. The literals spare most lines the search."""
_SHORTEST_LINE: Final = 4
_SHORTEST_TOKEN: Final = 15
"""Characters of the shortest token that a shape knows; none holds white space. Few words of prose are so long."""
_SIGNS: Final = ("=", ":", "：")
_NAMES: Final = (
    *("pass", "pwd", "key", "secret", "token", "credential", "kennwort", "contraseña", "senha", "hasło", "пароль"),
    *("密码", "密碼", "パスワード", "비밀번호"),
)
"""One of these is in every name of a secret that is given a value."""
_DASHES: Final = "-----BEGIN"
_LITERALS: Final = (*(literal for _, literals, _ in _SHAPES for literal in literals), _DASHES.lower())
_PATHS: Final = ("/", "~/", "C:\\", "./")
_SHORTEST_KEY: Final = 8
_SURELY_A_KEY: Final = 20
_SHORTEST_QUOTED_KEY: Final = 6
_LONGEST_NUMBER: Final = 15


def _may_hold_any(text: str) -> bool:
    """Tell whether a text may hold a secret. Most texts may not, and are spared the search line by line."""
    folded = _folded(text)
    if _holds_any(folded, _LITERALS) or (_holds_any(text, _SIGNS) and _holds_any(folded, _NAMES)):
        return True
    return _may_hold_token(text)


def _may_hold_token(text: str) -> bool:
    words = text.split()
    if max(map(len, words), default=0) < _SHORTEST_TOKEN:
        return False
    return any(shapes.TOKEN.search(word) for word in words if len(word) >= _SHORTEST_TOKEN)


def _without_private_keys(text: str, found: Counter[str]) -> Iterator[str]:
    """Yield the lines of a text, line ends included, with one mark in the place of each private key."""
    inside = False
    for line in text.splitlines(keepends=True):
        rest = line
        if inside:
            end = shapes.PRIVATE_KEY_END.search(line)
            if end is None and shapes.KEY_LINE.fullmatch(line):
                continue
            rest = line[end.end() :] if end else f"\n{line}"
        kept, inside = _cut_private_keys(rest, found) if _DASHES in rest else (rest, False)
        yield kept


def _cut_private_keys(line: str, found: Counter[str]) -> tuple[str, bool]:
    """Cut the keys that begin in a line, and tell whether the last one goes on in the next."""
    kept: list[str] = []
    position = 0
    open_ended = False
    while begin := shapes.PRIVATE_KEY_BEGIN.search(line, position):
        kept += (line[position : begin.start()], _mark("private-key", found))
        end = None if open_ended else shapes.PRIVATE_KEY_END.search(line, begin.end())
        open_ended = end is None
        run = end or shapes.KEY_RUN.match(line, begin.end())
        position = run.end() if run else begin.end()
    rest = line[position:]
    if open_ended and not rest.strip():
        return "".join(kept), True
    return "".join((*kept, rest)), False


def _redact_line(line: str, found: Counter[str]) -> str:
    if len(line) < _SHORTEST_LINE:
        return line
    if _may_hold_token(line):
        line = shapes.TOKEN.sub(lambda match: _mark((match.lastgroup or "token").replace("_", "-"), found), line)
    folded = _folded(line)
    for kind, literals, shape in _SHAPES:
        if _holds_any(folded, literals):
            line = shape.sub(partial(_redact_group, kind=kind, found=found), line)
    if _holds_any(line, _SIGNS) and _holds_any(folded, _NAMES):
        line = shapes.ASSIGNMENT.sub(partial(_redact_assignment, found=found), line)
    return line


def _holds_any(line: str, literals: tuple[str, ...]) -> bool:
    for literal in literals:  # noqa: SIM110 - on the way of every write, and any() takes four times as long
        if literal in line:
            return True
    return False


def _folded(line: str) -> str:
    """Fold the case at least as far as a search that ignores it does, for which ı and İ are an i and ſ is an s."""
    return line.lower() if line.isascii() else line.casefold().replace("ı", "i").replace("\u0307", "")


def _mark(kind: str, found: Counter[str]) -> str:
    found[kind] += 1
    return f"[redacted:{kind}]"


def _redact_group(match: re.Match[str], *, kind: str, found: Counter[str]) -> str:
    """Put a mark in the place of the one group that matched, unless a placeholder stands there."""
    group = match.lastgroup
    if group is None or shapes.PLACEHOLDER.fullmatch(match[group]):
        return match[0]
    return _replaced(match, group, len(match[group]), _mark(kind, found))


def _replaced(match: re.Match[str], group: str, length: int, mark: str) -> str:
    start = match.start(group) - match.start()
    return f"{match[0][:start]}{mark}{match[0][start + length :]}"


def _redact_assignment(match: re.Match[str], *, found: Counter[str]) -> str:
    group = match.lastgroup
    if group is None:
        return match[0]
    value = match[group] if group != "bare" else _unbracketed(match[group])
    if _stands_for_nothing(value, match) or not _is_secret(value, group, match):
        return match[0]
    return _replaced(match, group, len(value), _mark("password" if match["password"] else "secret", found))


def _unbracketed(value: str) -> str:
    """Leave the brackets that close something outside the value, as in `connect(password=x)`."""
    return value.rstrip(")]}") or value


def _stands_for_nothing(value: str, match: re.Match[str]) -> bool:
    name = match["password"] or match["key"]
    return (
        shapes.PLACEHOLDER.fullmatch(match[match.lastgroup or 0]) is not None
        or shapes.PLACEHOLDER.fullmatch(value) is not None
        or value.lower() == name.lower()
        or (match.lastgroup == "bare" and shapes.CODE.fullmatch(match["bare"]) is not None)
        or (name.lower() == "pwd" and value.startswith(_PATHS))
    )


def _is_secret(value: str, group: str, match: re.Match[str]) -> bool:
    quoted = group != "bare"
    if match["password"]:
        return quoted or not _is_prose(value, match)
    if quoted:
        return len(value) >= _SHORTEST_QUOTED_KEY and not any(map(str.isspace, value))
    if value.isdigit() and len(value) <= _LONGEST_NUMBER:
        return False
    return len(value) >= _SURELY_A_KEY or (len(value) >= _SHORTEST_KEY and any(map(str.isdigit, value)))


def _is_prose(value: str, match: re.Match[str]) -> bool:
    """Tell whether a sentence goes on after "password:", so that its first word is no password."""
    if "=" in match["sign"]:
        return False
    following = match.string[match.end() :][:8].lstrip(",; ")
    return following[:1].isalpha() and len(_classes(value)) < 2


def _classes(value: str) -> set[str]:
    """Name the classes of characters in a value; a capital at its start is spelling, not a class."""
    return {
        "digit" if char.isdigit() else "letter" if char.isalpha() and not char.isupper() else "other"
        for char in value[1:]
    }
