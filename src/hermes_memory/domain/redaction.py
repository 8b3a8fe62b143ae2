"""Takes secrets out of a text before it is written anywhere, and leaves the rest readable.

Only shapes that mark a credential count: "My PIN for the door is 8841" is a memory, "the token expired" is prose.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from types import MappingProxyType
from typing import Final, NamedTuple

from hermes_memory.domain import secret_shapes as shapes
from hermes_memory.domain.assigned_secrets import assigns_a_secret, folded, named_secret, without_assigned
from hermes_memory.domain.private_keys import may_hold_key, without_private_keys
from hermes_memory.domain.secret_lines import SPANNING, ContextShape
from hermes_memory.domain.secret_names import MARKED_WITHIN, PLACEHOLDER
from hermes_memory.domain.secret_spelling import bared, plainly_named
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

    Works line by line, in time linear in the length of the text; some shapes may span lines, as a private key does. The
    name of a secret that is written in characters that only look like its own comes out in plain ones, and a line with
    a secret that something unseen is in comes out without what is unseen.

    >>> redact("export PGPASSWORD=hunter2").text
    'export PGPASSWORD=[redacted:password]'
    >>> redact("the password is in the vault").count
    0
    """
    found: Counter[str] = Counter()
    clean = whole = _redact(text, found)
    bare = bared(text)
    if bare != text:
        # Of a secret that is cut in two the first half may have been found: what differs is what was hidden.
        found_bare: Counter[str] = Counter()
        whole = _redact(bare, found_bare)
        if found_bare.total() >= found.total() and whole != bared(clean):
            # What is unseen may also have parted a name from its value, in a line that is kept.
            found = found_bare
            clean = _redact(_lines_kept(clean, whole), found)
    plain = plainly_named(bared(clean))
    if plain not in {clean, whole}:
        before = found.total()
        again = _redact(plain, found)
        clean = again if found.total() > before else clean
    return Redacted(text=clean, counts=dict(found)) if found else Redacted(text=text)


def may_hold_secret(text: str) -> bool:
    """Tell whether a text is worth the search for secrets: by a look of microseconds, since most hold none.

    >>> may_hold_secret("the parts arrive on 3 May: two boxes"), may_hold_secret("password: hunter2")
    (False, True)
    """
    if _is_suspect(text):
        return True
    plain = plainly_named(bared(text))
    return plain != text and _is_suspect(plain)


def redact_value(name: str, value: str) -> Redacted:
    """Take the secrets out of a value that stands under a name, as in metadata: the name may tell that it is one.

    >>> redact_value("db_password", "correct horse").text, redact_value("colour", "correct horse").text
    ('[redacted:password]', 'correct horse')
    """
    kind = named_secret(plainly_named(bared(name)), value)
    return redact(value) if kind is None else Redacted(text=f"[redacted:{kind}]", counts={kind: 1})


def _lines_kept(text: str, bare: str) -> str:
    """Return a bare text with the lines of the other, where these are no more than bared in it.

    A key that spans lines leaves fewer of them: those behind it are the same counted from the end.
    """
    lines, others = text.splitlines(keepends=True), bare.splitlines(keepends=True)
    fewer = len(lines) - len(others)
    if fewer < 0:
        return bare
    kept: list[str] = []
    for other, *candidates in zip(others, lines, lines[fewer:], strict=False):
        kept.append(next((line for line in candidates if bared(line) == other), other))
    return "".join(kept)


def _redact(text: str, found: Counter[str]) -> str:
    if not _is_suspect(text):
        return text
    parts = without_private_keys(_redact_spanning(text, found), partial(_mark, "private-key", found))
    return "".join(_redact_line(line, found) for line in parts)


def _is_suspect(text: str) -> bool:
    if may_hold_key(text) or suspected_tokens(text):
        return True
    lowered = folded(text)
    return assigns_a_secret(lowered) or shapes.surrounds_a_secret(text, lowered)


_SHORTEST_LINE: Final = 4


class _Suspects(NamedTuple):
    """What a text may hold, by a first look that is quick and never too strict."""

    tokens: tuple[TokenShape, ...]
    contexts: tuple[ContextShape, ...]
    assignments: bool


def _suspects(text: str) -> _Suspects | None:
    """Take a first look at a text. Most hold nothing, and are spared the search."""
    lowered = folded(text)
    tokens, contexts = suspected_tokens(text), shapes.suspected_contexts(text, lowered)
    assignments = assigns_a_secret(lowered)
    return _Suspects(tokens, contexts, assignments) if tokens or contexts or assignments else None


def _redact_spanning(text: str, found: Counter[str]) -> str:
    lowered = folded(text)
    for shape in SPANNING:
        if shapes.holds_any(lowered, shape.literals):
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
    return "".join(without_assigned(line, partial(_mark, found=found))) if suspects.assignments else line


def _mark(kind: str, found: Counter[str]) -> str:
    found[kind] += 1
    return f"[redacted:{kind}]"


def _redact_token(_match: re.Match[str], *, kind: str, found: Counter[str]) -> str:
    return _mark(kind, found)


def _redact_group(match: re.Match[str], *, kind: str, found: Counter[str]) -> str:
    """Put a mark in the place of the one group that matched, unless a placeholder stands there or within it."""
    group = match.lastgroup
    if group is None or PLACEHOLDER.fullmatch(match[group]) or MARKED_WITHIN.search(match[group]):
        return match[0]
    return _replaced(match, group, len(match[group]), _mark(kind, found))


def _replaced(match: re.Match[str], group: str, length: int, mark: str) -> str:
    start = match.start(group) - match.start()
    return f"{match[0][:start]}{mark}{match[0][start + length :]}"
