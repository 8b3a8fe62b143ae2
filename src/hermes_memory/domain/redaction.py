"""Takes secrets out of a text before it is written anywhere, and leaves the rest readable.

Only shapes that mark a credential count: "My PIN for the door is 8841" is a memory, "the token expired" is prose.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from types import MappingProxyType
from typing import Final, NamedTuple

from hermes_memory.domain import secret_shapes as shapes
from hermes_memory.domain.private_keys import may_hold_key, without_private_keys
from hermes_memory.domain.secret_shapes import ContextShape
from hermes_memory.domain.secret_tokens import TokenShape, suspected_tokens

_NONE: Final[Mapping[str, int]] = MappingProxyType({})


class SecretPolicy(StrEnum):
    """What becomes of a text that holds a secret."""

    REDACT = "redact"
    """It is kept, with a mark in the place of each secret."""
    REFUSE = "refuse"
    """It is not kept."""
    ALLOW = "allow"
    """It is kept as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Redacted:
    """A text without its secrets.

    Attributes:
        text: The text, with `[redacted:<kind>]` where each secret stood.
        counts: Number of secrets taken out, by kind.
    """

    text: str
    counts: Mapping[str, int] = field(default_factory=lambda: _NONE)

    @property
    def count(self) -> int:
        """Number of secrets taken out."""
        return sum(self.counts.values())

    @property
    def kinds(self) -> frozenset[str]:
        """Which kinds they were."""
        return frozenset(self.counts)


def redact(text: str) -> Redacted:
    """Take the secrets out of a text. Redacting the result again changes nothing.

    Works line by line, in time linear in the length of the text; a private key and a netrc entry may span lines.

    >>> redact("export PGPASSWORD=hunter2").text
    'export PGPASSWORD=[redacted:password]'
    >>> redact("the password is in the vault").count
    0
    """
    if not may_hold_secret(text):
        return Redacted(text=text)
    found: Counter[str] = Counter()
    clean = "".join(
        _redact_line(line, found)
        for line in without_private_keys(_redact_spanning(text, found), partial(_mark, "private-key", found))
    )
    return Redacted(text=clean, counts=dict(found))


def may_hold_secret(text: str) -> bool:
    """Tell whether a text is worth the search for secrets: by a look of microseconds, since most hold none.

    >>> may_hold_secret("the parts arrive on 3 May: two boxes"), may_hold_secret("password: hunter2")
    (False, True)
    """
    if may_hold_key(text) or suspected_tokens(text):
        return True
    folded = _folded(text)
    return _assigns_a_secret(folded) or bool(shapes.suspected_contexts(text, folded))


def redact_value(name: str, value: str) -> Redacted:
    """Take the secrets out of a value that stands under a name, as in metadata: the name may tell that it is one.

    >>> redact_value("db_password", "correct horse").text, redact_value("colour", "correct horse").text
    ('[redacted:password]', 'correct horse')
    """
    match = shapes.NAME.search(name) if _ends_as_a_secret_does(_folded(name)) else None
    if match is None or shapes.PLACEHOLDER.fullmatch(value) or not value.strip():
        return redact(value)
    if not _is_named_secret(value, match):
        return redact(value)
    kind = _kind_of(match)
    return Redacted(text=f"[redacted:{kind}]", counts={kind: 1})


_SHORTEST_LINE: Final = 4
_SIGNS: Final = ("=", ":", "：")
_PATHS: Final = ("/", "~/", "C:\\", "./")
_SHORTEST_KEY: Final = 8
_SURELY_A_KEY: Final = 20
_SHORTEST_QUOTED_KEY: Final = 6
_LONGEST_NUMBER: Final = 15
_LONGEST_TALLY: Final = 4
_VERDICTS: Final = frozenset({"yes", "no", "ok", "on", "off", "all", "any"})


class _Suspects(NamedTuple):
    """What a text may hold, by a first look that is quick and never too strict."""

    tokens: tuple[TokenShape, ...]
    contexts: tuple[ContextShape, ...]
    assignments: bool


def _suspects(text: str) -> _Suspects | None:
    """Take a first look at a text. Most hold nothing, and are spared the search."""
    folded = _folded(text)
    tokens, contexts = suspected_tokens(text), shapes.suspected_contexts(text, folded)
    assignments = _assigns_a_secret(folded)
    return _Suspects(tokens, contexts, assignments) if tokens or contexts or assignments else None


def _assigns_a_secret(folded: str) -> bool:
    """Tell whether a secret's name stands before a sign that gives it a value."""
    for sign in _SIGNS:
        if sign in folded:
            at = folded.find(sign)
            while at >= 0:
                if _ends_as_a_secret_does(folded[max(at - shapes.LONGEST_ENDING, 0) : at]):
                    return True
                at = folded.find(sign, at + 1)
    return False


def _ends_as_a_secret_does(folded: str) -> bool:
    return folded.rstrip(shapes.NAME_TAIL).endswith(shapes.NAME_ENDINGS)


def _redact_spanning(text: str, found: Counter[str]) -> str:
    folded = _folded(text)
    for shape in shapes.SPANNING:
        if shapes.holds_any(folded, shape.literals):
            text = shape.pattern.sub(partial(_redact_group, kind=shape.kind, found=found), text)
    return text


def _redact_line(line: str, found: Counter[str]) -> str:
    suspects = _suspects(line) if len(line) >= _SHORTEST_LINE else None
    if suspects is None:
        return line
    for token in suspects.tokens:
        line = token.pattern.sub(partial(_redact_token, kind=token.kind, found=found), line)
    for context in suspects.contexts:
        line = context.pattern.sub(partial(_redact_group, kind=context.kind, found=found), line)
    return "".join(_redact_assignments(line, found)) if suspects.assignments else line


def _folded(line: str) -> str:
    """Fold the case at least as far as a search that ignores it does, for which ı and İ are an i and ſ is an s."""
    return line.lower() if line.isascii() else line.casefold().replace("ı", "i").replace("\u0307", "")


def _mark(kind: str, found: Counter[str]) -> str:
    found[kind] += 1
    return f"[redacted:{kind}]"


def _redact_token(_match: re.Match[str], *, kind: str, found: Counter[str]) -> str:
    return _mark(kind, found)


def _redact_group(match: re.Match[str], *, kind: str, found: Counter[str]) -> str:
    """Put a mark in the place of the one group that matched, unless a placeholder stands there."""
    group = match.lastgroup
    if group is None or shapes.PLACEHOLDER.fullmatch(match[group]):
        return match[0]
    return _replaced(match, group, len(match[group]), _mark(kind, found))


def _replaced(match: re.Match[str], group: str, length: int, mark: str) -> str:
    start = match.start(group) - match.start()
    return f"{match[0][:start]}{mark}{match[0][start + length :]}"


def _redact_assignments(line: str, found: Counter[str]) -> Iterator[str]:
    """Yield the parts of a line. What is no secret may hold one, as in `secret: password: x`: it is read again."""
    done = position = 0
    inherited = -1
    while match := shapes.ASSIGNMENT.search(line, position):
        group = match.lastgroup or ""
        start = match.start(group)
        value = match[group] if group != "bare" else _unbracketed(match[group])
        passes_on = match.start() == inherited and not (group == "bare" and _is_prose(value, match))
        if _stands_for_nothing(value, match) or not (passes_on or _is_secret(value, group, match)):
            position, inherited = start, start if match["password"] and _names_another(value) else -1
            continue
        yield line[done:start]
        yield _mark(_kind_of(match), found)
        done, position = start + len(value), match.end()
    yield line[done:]


def _kind_of(match: re.Match[str]) -> str:
    return "password" if match["password"] else "secret"


def _unbracketed(value: str) -> str:
    """Leave the brackets that close something outside the value, as in `connect(password=x)`."""
    return value.rstrip(")]}") or value


def _stands_for_nothing(value: str, match: re.Match[str]) -> bool:
    name = match["password"] or match["key"]
    return (
        shapes.PLACEHOLDER.fullmatch(match[match.lastgroup or 0]) is not None
        or shapes.PLACEHOLDER.fullmatch(value) is not None
        or value.lower() == name.lower()
        or _names_another(value)
        or (match.lastgroup == "bare" and shapes.CODE.fullmatch(match["bare"]) is not None)
        or (name.lower() == "pwd" and value.startswith(_PATHS))
    )


def _names_another(value: str) -> bool:
    """Tell whether a value is itself the name of a secret with its sign, as in `password: token: x`."""
    name = value[:-1]
    return value.endswith((":", "：")) and name.isalpha() and _ends_as_a_secret_does(_folded(name))


def _is_secret(value: str, group: str, match: re.Match[str]) -> bool:
    quoted = group != "bare"
    if match["lone"]:
        return _is_passed(value)
    if match["password"]:
        return quoted or not _is_prose(value, match)
    if quoted or _is_authorization(match):
        return _is_named_key(value, match)
    if value.isdigit() and len(value) <= _LONGEST_NUMBER:
        return False
    return len(value) >= _SURELY_A_KEY or (len(value) >= _SHORTEST_KEY and any(map(str.isdigit, value)))


def _is_named_secret(value: str, match: re.Match[str]) -> bool:
    if match["lone"]:
        return _is_passed(value)
    if match["password"]:
        return True
    return _proves_who(value) if match["auth"] else _is_named_key(value, match)


def _is_authorization(match: re.Match[str]) -> bool:
    return str(match["key"]).lower() == "authorization"


def _is_named_key(value: str, match: re.Match[str]) -> bool:
    return _proves_who(value) if _is_authorization(match) else _is_quoted_key(value)


def _is_passed(value: str) -> bool:
    """Tell whether `pass=` is followed by a password and not by how many passed, or whether."""
    return not (value.isdigit() and len(value) <= _LONGEST_TALLY) and value.lower() not in _VERDICTS


def _proves_who(value: str) -> bool:
    """Tell whether the value of an authorization is the proof itself, and not the name of a way to give it."""
    if shapes.SCHEME.match(value):
        return True
    if any(map(str.isspace, value)) or shapes.METHOD.fullmatch(value):
        return False
    return len(value) >= _SURELY_A_KEY or (len(value) >= _SHORTEST_QUOTED_KEY and any(map(str.isdigit, value)))


def _is_quoted_key(value: str) -> bool:
    return len(value) >= _SHORTEST_QUOTED_KEY and not any(map(str.isspace, value))


def _is_prose(value: str, match: re.Match[str]) -> bool:
    """Tell whether a sentence goes on after "password:", so that its first word is no password."""
    if "=" in match["sign"]:
        return False
    following = match.string[match.end() : match.end() + 8].lstrip(",; ")
    return following[:1].isalpha() and len(_classes(value)) < 2


def _classes(value: str) -> set[str]:
    """Name the classes of characters in a value; a capital at its start is spelling, not a class."""
    return {
        "digit" if char.isdigit() else "letter" if char.isalpha() and not char.isupper() else "other"
        for char in value[1:]
    }
