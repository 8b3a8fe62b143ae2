"""Keeps what is shown within a number of tokens, without knowing the tokenizer of the model that reads it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from hermes_memory.domain.model import Json

ELLIPSIS: Final = "…"

# Quarters of a token by kind of character: common tokenizers take about four Latin letters as one token, two letters
# of other alphabets, and more than one token for each character of the scripts of East Asia and for emoji.
_QUARTERS: Final = 4
_ALPHABETIC: Final = 2
_IDEOGRAPHIC: Final = 5
_ASTRAL: Final = 8
_NOT_ASCII: Final = re.compile(r"[^\x00-\x7f]")

_WORTH_SHOWING: Final = 8
"""Tokens below which the beginning of a text tells nothing."""
_LARGEST_SHARE: Final = 4
"""When not all of several items fit, none takes more than one part in this many, unless the caller allows it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A text to show, and the tokens that showing it costs besides: its label, its line break."""

    text: str
    overhead: int = 0


def estimate_tokens(text: str) -> int:
    """Estimate how many tokens a text takes. For texts put together, the sum of the estimates is no less.

    Example:
        >>> estimate_tokens("Launch moved to 9 May"), estimate_tokens("发布日期改为五月")
        (6, 10)
    """
    return -(-_quarters(text) // _QUARTERS)


def fit(pieces: Sequence[Piece], budget: int, *, per_item: int | None = None) -> list[str]:
    """Choose what to show of some pieces, best first, within a number of tokens.

    What fits is shown whole. When not all fits, long texts are cut to `per_item` tokens, then the first that still
    does not fit is cut to the room that is left, and what follows is not shown.

    Args:
        pieces: Best first.
        budget: Tokens for all of them with their overheads.
        per_item: Most tokens for the text of one piece when not all fits; when None, a quarter of the budget, or all
            of it for a single piece.

    Returns:
        The texts of the first pieces, cut on word boundaries where need be: never more than fits.
    """
    if sum(estimate_tokens(piece.text) + piece.overhead for piece in pieces) <= budget:
        return [piece.text for piece in pieces]
    cap = _default_cap(len(pieces), budget) if per_item is None else per_item
    shown: list[str] = []
    left = budget
    for piece in pieces:
        room = left - piece.overhead
        text = truncate(piece.text, min(cap, room))
        cost = estimate_tokens(text)
        if not text or (text != piece.text and cost < min(_WORTH_SHOWING, cap)):
            break
        shown.append(text)
        left -= cost + piece.overhead
        if cap > room and text != piece.text:
            break
    return shown


def _default_cap(pieces: int, budget: int) -> int:
    return budget if pieces == 1 else max(budget // _LARGEST_SHARE, _WORTH_SHOWING)


def truncate(text: str, tokens: int) -> str:
    """Cut a text to a number of tokens, after a word where words are short enough, and mark the cut.

    Returns:
        The text itself when it fits, and "" when not even the mark does.
    """
    if estimate_tokens(text) <= tokens:
        return text
    room = tokens * _QUARTERS - _quarters(ELLIPSIS)
    if room <= 0:
        return ""
    kept = text[: _prefix_within(text, room)]
    words = kept.rsplit(maxsplit=1)
    # A cut inside of a word is the lesser evil when the last blank lies far back, as in scripts without blanks.
    if len(words) == 2 and not kept[-1].isspace() and len(words[0]) >= len(kept) // 2:
        kept = words[0]
    return f"{kept.rstrip()}{ELLIPSIS}" if kept.strip() else ""


def fit_payloads(payloads: Sequence[Mapping[str, Json]], budget: int) -> list[dict[str, Json]]:
    """Choose what to show of some hits of a tool's answer, best first, within a number of tokens of their JSON.

    Contents are cut as in `fit`; a payload whose content is cut says so under "truncated". Metadata too large to stand
    beside its content is left out.
    """
    slim = [_without_large_metadata(payload, budget // _LARGEST_SHARE) for payload in payloads]
    if sum(estimate_tokens(json.dumps(payload, ensure_ascii=False)) + 1 for payload in slim) <= budget:
        return slim
    pieces = [
        Piece(text=json.dumps(str(payload.get("content", "")), ensure_ascii=False), overhead=_json_overhead(payload))
        for payload in slim
    ]
    shown: list[dict[str, Json]] = []
    for payload, piece, text in zip(slim, pieces, fit(pieces, budget), strict=False):
        if text == piece.text:
            shown.append(payload)
        else:
            content = str(payload["content"])
            shown.append({**payload, "content": _within_json(content, estimate_tokens(text)), "truncated": True})
    return shown


def _json_overhead(payload: Mapping[str, Json]) -> int:
    rest = {**payload, "content": None, "truncated": True}
    return estimate_tokens(json.dumps(rest, ensure_ascii=False)) + 1


def _within_json(content: str, tokens: int) -> str:
    """Cut a text so that it fits with the quotes and escapes that JSON adds to it."""
    allowed = tokens
    while allowed > 0:
        text = truncate(content, allowed)
        excess = estimate_tokens(json.dumps(text, ensure_ascii=False)) - tokens
        if excess <= 0:
            return text
        allowed -= excess
    return ""


def _without_large_metadata(payload: Mapping[str, Json], tokens: int) -> dict[str, Json]:
    metadata = payload.get("metadata")
    if metadata and estimate_tokens(json.dumps(metadata, ensure_ascii=False)) > tokens:
        return {name: value for name, value in payload.items() if name != "metadata"}
    return dict(payload)


def _quarters(text: str) -> int:
    if text.isascii():
        return len(text)
    others = _NOT_ASCII.findall(text)
    return len(text) - len(others) + sum(map(_weight, others))


def _weight(character: str) -> int:
    if character < "\u2e80":
        return _ALPHABETIC
    return _IDEOGRAPHIC if character < "\U00010000" else _ASTRAL


def _prefix_within(text: str, quarters: int) -> int:
    used = 0
    for index, character in enumerate(text[:quarters]):
        used += 1 if character < "\x80" else _weight(character)
        if used > quarters:
            return index
    return min(len(text), quarters)
