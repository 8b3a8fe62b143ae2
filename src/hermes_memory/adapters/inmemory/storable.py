"""Refuses what no database can hold, so that a test without one meets the same refusal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from hermes_memory.domain.errors import DeliveryRejected
from hermes_memory.domain.model import Json, Metadata
from hermes_memory.domain.operations import (
    AddEntry,
    ByContent,
    ById,
    BySubstring,
    Operation,
    RecordDelegation,
    RecordTurns,
    RemoveEntry,
    ReplaceEntry,
    Selector,
)

_Part: TypeAlias = "Json | Metadata"


def require_storable(operation: Operation) -> None:
    """Check every text of an operation.

    Raises:
        DeliveryRejected: One holds a NUL, or half a surrogate pair, or a number is not finite.
    """
    for part in _parts(operation):
        _require(part)


def _parts(operation: Operation) -> Iterator[_Part]:
    caller = operation.stamp.caller
    yield from (caller.theme, caller.session, operation.stamp.reason)
    match operation:
        case AddEntry():
            yield from (operation.content, operation.source, operation.metadata)
        case ReplaceEntry():
            yield from (operation.content, operation.source, *_selected(operation.selector))
        case RemoveEntry():
            yield from _selected(operation.selector)
        case RecordTurns():
            yield operation.parent_session
            for turn in operation.turns:
                yield from (turn.content, turn.speaker, turn.metadata)
        case RecordDelegation():
            yield from (operation.child_session, operation.child_theme, operation.task, operation.result)


def _selected(selector: Selector) -> Iterator[_Part]:
    match selector:
        case ById():
            return
        case ByContent():
            yield from (selector.content, selector.source)
        case BySubstring():
            yield from (selector.text, selector.source)


def _require(part: _Part) -> None:
    if isinstance(part, str):
        _require_text(part)
    elif isinstance(part, Mapping):
        for key, value in part.items():
            _require_text(key)
            _require(value)
    elif isinstance(part, list):
        for value in part:
            _require(value)
    elif isinstance(part, float) and part - part != 0.0:
        raise DeliveryRejected("a number is not finite", reason="number is not finite")


def _require_text(text: str) -> None:
    if "\x00" in text:
        raise DeliveryRejected("a text holds a NUL character", reason="text holds a NUL")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise DeliveryRejected("a text holds half a surrogate pair", reason="text holds a lone surrogate")
