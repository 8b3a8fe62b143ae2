"""Finds the entry that a selector means."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from typing import Final, Literal, TypeAlias, assert_never

from hermes_memory.adapters.inmemory.records import Records
from hermes_memory.domain.model import Caller, Entry, Turn
from hermes_memory.domain.operations import ByContent, ById, BySubstring, Selector
from hermes_memory.domain.visibility import changeable


class Several(Enum):
    """The answer that a selector fits several entries equally well."""

    SEVERAL = "several"


SEVERAL: Final = Several.SEVERAL
Selected: TypeAlias = Entry | Literal[Several.SEVERAL] | None


def select(records: Records, caller: Caller, selector: Selector) -> Selected:
    """Return the one entry that is meant, None when there is none, `SEVERAL` when it cannot be told.

    Only entries that the caller may change are looked at. Those that mirror the selector's home come first; among
    equals the caller's own subject comes before no subject. The first of these groups that holds a match decides.
    """
    match selector:
        case ById():
            entry = records.entries.get(selector.id)
            mine = entry is not None and changeable(entry.theme, entry.subject, caller)
            return entry if mine and _as_left(records, selector) else None
        case ByContent():
            return _first_group(records, caller, selector, lambda content: content == selector.content)
        case BySubstring():
            return _first_group(records, caller, selector, lambda content: selector.text in content)
        case _:
            assert_never(selector)


def said_by_id(records: Records, caller: Caller, selector: Selector) -> Turn | None:
    """Return the turn that is meant, None when there is none that the caller may forget."""
    if not isinstance(selector, ById) or selector.left_by is not None:
        return None
    turn = records.turns.get(selector.id)
    return turn if turn and changeable(turn.theme, turn.subject, caller) else None


def _as_left(records: Records, selector: ById) -> bool:
    """Tell whether an entry is as the write has left it that the selector names, if it names one."""
    if selector.left_by is None:
        return True
    changes = (change for change in reversed(records.history) if change.row == selector.id)
    last = next(changes, None)
    return last is not None and last.operation == selector.left_by


def _first_group(
    records: Records, caller: Caller, selector: ByContent | BySubstring, fits: Callable[[str], bool]
) -> Selected:
    fitting = [
        entry
        for entry in records.entries.values()
        if entry.target is selector.target and changeable(entry.theme, entry.subject, caller) and fits(entry.content)
    ]
    for group in _groups(fitting, caller, selector):
        if group:
            return group[0] if len(group) == 1 else SEVERAL
    return None


def _groups(entries: Iterable[Entry], caller: Caller, selector: ByContent | BySubstring) -> Iterator[list[Entry]]:
    """Sort the entries by precedence. Within a group no two contents are equal, for it shares one natural key."""
    entries = list(entries)
    mirrors = [entry for entry in entries if selector.source is not None and entry.source == selector.source]
    for candidates in (mirrors, entries):
        yield [entry for entry in candidates if entry.subject == caller.subject]
        yield [entry for entry in candidates if entry.subject is None]
