"""Asks every public entry point of the library on behalf of a caller of a small world, and compares with the rule."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from copy import copy
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, NamedTuple
from uuid import UUID, uuid4

from hermes_memory.application.answers import Fate, RecallResult
from hermes_memory.application.memory import Memory
from hermes_memory.application.view import View
from hermes_memory.domain.errors import HermesMemoryError, InvalidInput, NotVisible
from hermes_memory.domain.history import Change, ChangeKind
from hermes_memory.domain.model import (
    SINKS,
    AllScope,
    Caller,
    CurrentScope,
    Entry,
    Kind,
    RowId,
    Scope,
    SubjectScope,
    Theme,
    ThemeScope,
)
from hermes_memory.domain.trust import AmbientTrust
from hermes_memory.domain.visibility import changeable, past_visible
from hermes_memory.hermes.ambient import Ambient
from hermes_memory.hermes.runtime import Runtime
from hermes_memory.hermes.sessions import Binding
from hermes_memory.testing.worlds import Placed, Setting
from tests.support.agents import eventually

PLENTY = 200
SECONDS = 60.0
OPEN: Final[dict[str, Any]] = {"recall_floor": 0.0, "ambient_trust": AmbientTrust.ALL, "prefetch_timeout": 7.5}
ROOMY: Final[dict[str, Any]] = {**OPEN, "prefetch_limit": 50, "prefetch_tokens": 8000}
NARROW: Final[dict[str, Any]] = {**OPEN, "prefetch_limit": 2}
NOTHING_IN_VIEW: Final = datetime.max.replace(tzinfo=UTC)


class Written(NamedTuple):
    """An entry as it was written, and by whom."""

    owner: Caller
    entry: Entry


async def answers_are_as_the_rule_has_them(memory: Memory, setting: Setting, caller: Caller) -> None:
    """Read through a view, by every scope and by every id, and see that nothing more and nothing less comes back."""
    view = memory.view_of(caller)
    for scope in setting.scopes():
        expected = setting.seen(caller, scope)
        entries = {row.id for row in expected if row.kind is Kind.ENTRY}
        result = await view.recall(setting.word, limit=PLENTY, scope=scope, timeout=SECONDS)
        listed = await view.profile(scope=scope, limit=PLENTY, timeout=SECONDS)
        changes = await view.history(scope=scope, limit=PLENTY, timeout=SECONDS)

        past = await view.recall(setting.word, limit=PLENTY, scope=scope, as_of=datetime.now(UTC), timeout=SECONDS)

        assert {hit.row.id for hit in result.hits} == {row.id for row in expected}, (caller, scope)
        turns = {row.id for row in expected if row.kind is Kind.TURN}
        assert {hit.row.id for hit in past.hits} == turns | (entries & _with_past(setting, caller)), (caller, scope)
        assert _of_world(setting, [entry.id for entry in listed]) == entries, (caller, scope)
        told = _of_world(setting, [change.row for change in changes])
        assert told == entries & _with_past(setting, caller), (caller, scope)
    await _pages_obey(view, setting)
    await _ids_obey(view, setting, caller)
    await _explanations_obey(memory, setting, caller)


async def _pages_obey(view: View, setting: Setting) -> None:
    """Room for as many as there are is room for all of them: what is hidden takes no place."""
    for ask in (partial(view.recall, setting.word), view.profile, view.history):
        asked = partial(ask, scope="all", timeout=SECONDS)
        everything = _listed(await asked(limit=PLENTY))
        assert _listed(await asked(limit=max(len(everything), 1))) == everything


def _listed(answer: RecallResult | Sequence[object]) -> list[object]:
    return [hit.row for hit in answer.hits] if isinstance(answer, RecallResult) else list(answer)


async def _ids_obey(view: View, setting: Setting, caller: Caller) -> None:
    seen = {row.id for row in setting.seen(caller)}
    absent, never = [str(await _refusal(ask, RowId(uuid4()))) for ask in (view.get, view.history)]
    for row in setting.rows:
        refusal = await _refusal(view.get, row.id)
        assert (refusal is None) is (row.id in seen), (caller, row)
        assert refusal is None or str(refusal) == absent
        past = await _refusal(view.history, row.id)
        assert (past is None) is (row.id in _with_past(setting, caller)), (caller, row)
        assert past is None or str(past) == never


async def _explanations_obey(memory: Memory, setting: Setting, caller: Caller) -> None:
    view, stranger = memory.view_of(caller), memory.view_of(Caller(theme=Theme("nobody")))
    seen = {row.id for row in setting.seen(caller)}
    trace = (await view.recall(setting.word, limit=PLENTY, scope="all", timeout=SECONDS)).trace_id
    explained = await view.explain(trace, rows=PLENTY, timeout=SECONDS)

    searched = {row.id for row in setting.seen(caller, AllScope())}
    assert {each.row.id for each in explained.verdicts if each.row is not None} == searched
    assert [word.documents for word in explained.words] == [len(searched)]
    assert sum(explained.fates.values()) == len(searched)
    absent = await view.why(trace, RowId(uuid4()), timeout=SECONDS)
    for row in setting.rows:
        verdict = await view.why(trace, row.id, timeout=SECONDS)
        assert (verdict.fate is Fate.UNKNOWN) is (row.id not in seen), (caller, row)
        assert row.id in seen or replace(verdict, id=absent.id) == absent, (caller, row)
    foreign, never = [await _refusal(stranger.explain, named) for named in (trace, uuid4())]
    assert str(foreign) == str(never) != "None"


def prompts_are_as_the_rule_has_them(runtime: Runtime, setting: Setting, callers: Sequence[Caller]) -> None:
    """See what is put before a turn unasked: of what the caller may see where it speaks all there is room for.

    Hidden rows take up no room. So it is with what is found for the turn, and with what was made ahead while somebody
    else asks the same.
    """
    bindings = [_speaking(caller) for caller in callers]
    allowed = [{row.id for row in setting.seen(caller, CurrentScope())} for caller in callers]
    roomy, narrow = (Ambient(_under(runtime, settings)) for settings in (ROOMY, NARROW))
    for binding, expected in zip(bindings, allowed, strict=True):
        few = _told(narrow.block(binding, setting.word), setting)

        assert _told(roomy.block(binding, setting.word), setting) == expected, binding.caller
        assert few <= expected, binding.caller
        assert len(few) == min(len(expected), NARROW["prefetch_limit"]), binding.caller
    for binding in bindings:
        roomy.prepare(binding, setting.word)
    runtime.call(lambda _: asyncio.sleep(0), timeout=SECONDS)
    eventually(lambda: not runtime.loop._tasks)
    told = {binding for binding, expected in zip(bindings, allowed, strict=True) if expected}
    assert {binding for binding, _ in roomy._queued} == told
    for binding, expected in zip(bindings, allowed, strict=True):
        assert _told(roomy.block(binding, setting.word), setting) == expected, binding.caller


def _speaking(caller: Caller) -> Binding:
    return Binding(caller=caller, files_caller=caller, writes=True, visible_since=NOTHING_IN_VIEW)


def _under(runtime: Runtime, settings: dict[str, Any]) -> Runtime:
    """Return a runtime that goes by other settings and is the same otherwise."""
    other = copy(runtime)
    other.settings = runtime.settings.model_copy(update=settings)
    return other


def _told(block: str, setting: Setting) -> set[RowId]:
    """Return the rows of the world whose texts a block holds."""
    return {setting.rows[int(number)].id for number in re.findall(rf"{setting.word} number (\d+)", block)}


async def changes_reach_ones_own_alone(memory: Memory, setting: Setting, caller: Caller) -> None:
    """Change and forget every row by id: it works for what is one's own and is refused in one way for all else.

    What was said can be forgotten and not be changed.
    """
    view = memory.view_of(caller)
    absent = str(await _refusal(view.forget, RowId(uuid4())))
    for number, row in enumerate(setting.rows):
        own = changeable(row.caller.theme, row.caller.subject, caller)
        rewrite = partial(view.replace, content=f"{setting.word} replaced {number}")
        for attempt, allowed in ((rewrite, own and row.kind is Kind.ENTRY), (view.forget, own)):
            refusal = await _refusal(attempt, row.id)
            assert (refusal is None) is allowed, (caller, row)
            assert refusal is None or str(refusal) == absent
        await _is_where_it_belongs(memory, row, gone=own)


async def _is_where_it_belongs(memory: Memory, row: Placed, *, gone: bool) -> None:
    refusal = await _refusal(memory.view_of(row.caller).get, row.id)
    assert (refusal is not None) is gone, row


async def written_everywhere(memory: Memory, setting: Setting, words: str, *, alike: bool) -> Sequence[Written]:
    """Write words to nobody and to each subject of every theme: nothing else where `alike`, else as a part."""
    owners = _owners(setting)
    texts = [words if alike else f"{number} holds {words}" for number in range(len(owners))]
    views = map(memory.view_of, owners)
    entries = await asyncio.gather(*(view.remember(text) for view, text in zip(views, texts, strict=True)))
    return list(map(Written, owners, entries))


def ones_own(written: Sequence[Written], caller: Caller) -> set[RowId]:
    """Tell by the rule which of these the caller may change."""
    return {entry.id for owner, entry in written if changeable(owner.theme, owner.subject, caller)}


async def touched(memory: Memory, written: Sequence[Written]) -> set[RowId]:
    """Return which of these their owners do not find as they wrote them."""
    views = [memory.view_of(owner) for owner, _ in written]
    listed = await asyncio.gather(*(view.profile(limit=PLENTY, timeout=SECONDS) for view in views))
    return {entry.id for (_, entry), found in zip(written, listed, strict=True) if entry not in found}


async def undo_reaches_ones_own_alone(memory: Memory, setting: Setting, caller: Caller, words: str) -> None:
    """Undo the last change of entries of every theme, by the entry and by the write that made it.

    One's own is as it was before. Of all else nothing changes, and what has no past for the caller looks as if it
    were not there.
    """
    view = memory.view_of(caller)
    absent = str(await _refusal(view.undo, RowId(uuid4())))
    owners = _owners(setting)
    made = await asyncio.gather(*(_changes_of_each_kind(memory, owner, words) for owner in owners))
    for owner, changes in zip(owners, made, strict=True):
        if changeable(owner.theme, owner.subject, caller):
            for change, name in zip(changes, _names_in_turn(changes), strict=True):
                await _is_taken_back(view, change, name)
            continue
        before = await _past(memory, owner)
        hidden = not past_visible(owner.theme, owner.subject, setting.reading(caller))
        names = [RowId(name) for change in changes for name in (change.row, change.operation)]
        refusals = await asyncio.gather(*(_refusal(view.undo, name) for name in names))
        assert None not in refusals, (caller, owner)
        assert not hidden or {str(refusal) for refusal in refusals} == {absent}, (caller, owner)
        assert await _past(memory, owner) == before, (caller, owner)


async def _changes_of_each_kind(memory: Memory, owner: Caller, words: str) -> Sequence[Change]:
    """Write an entry, change another one and forget a third; return what was done last to each."""
    view = memory.view_of(owner)
    entries = await asyncio.gather(*(view.remember(f"{words} {kind}") for kind in ChangeKind))
    await asyncio.gather(view.replace(entries[1].id, f"{words} in better words"), view.forget(entries[2].id))
    changes = [(await view.history(entry.id, timeout=SECONDS))[0] for entry in entries]
    assert [change.kind for change in changes] == list(ChangeKind)
    return changes


def _names_in_turn(changes: Sequence[Change]) -> Sequence[RowId]:
    """Name changes by the entry and by the write, one after the other."""
    return [RowId((change.row, change.operation)[number % 2]) for number, change in enumerate(changes)]


async def _is_taken_back(view: View, change: Change, name: RowId) -> None:
    back = await view.undo(name)
    if change.kind is ChangeKind.ADDED:
        assert back is None
        assert await _refusal(view.get, change.row) is not None, change
        return
    assert back is not None
    assert (back.content, back.theme, back.subject) == (change.before, change.theme, change.subject)
    assert await view.get(back.id) == back


async def _past(memory: Memory, owner: Caller) -> Sequence[Change]:
    """Return all that became of what is written for a theme and a subject, or for a theme and nobody."""
    told = await memory.view_of(owner).history(limit=PLENTY, timeout=SECONDS)
    return [change for change in told if (change.theme, change.subject) == (owner.theme, owner.subject)]


def _owners(setting: Setting) -> Sequence[Caller]:
    """Return everybody for whom something can be written in this world."""
    pairs = [(theme, subject) for theme in setting.themes for subject in setting.subjects]
    return [Caller(theme=theme, subject=subject) for theme, subject in pairs if subject or theme not in SINKS]


def scope_names(setting: Setting, caller: Caller) -> Sequence[tuple[str, Scope]]:
    """Return the scopes that a tool can name, as the model would."""
    named: list[tuple[str, Scope]] = []
    for scope in setting.scopes():
        match scope:
            case ThemeScope() if scope.theme not in SINKS or scope.theme == caller.theme:
                named.append((scope.theme, scope))
            case SubjectScope() if caller.subject is not None:
                named.append(("subject", scope))
            case _:
                pass
    return named


def _with_past(setting: Setting, caller: Caller) -> set[RowId]:
    """Return what the caller sees and may ask the past of: its own theme's and its own person's."""
    seen = setting.seen(caller)
    return {row.id for row in seen if row.caller.subject is not None or row.caller.theme == caller.theme}


def _of_world(setting: Setting, found: Sequence[RowId]) -> set[RowId]:
    return set(found) & {row.id for row in setting.rows}


async def _refusal(ask: Callable[[Any], Awaitable[object]], named: UUID) -> HermesMemoryError | None:
    try:
        await ask(named)
    except NotVisible as error:
        return error
    except InvalidInput as error:  # pragma: no cover - would be a defect of this module
        raise AssertionError(error) from error
    return None
