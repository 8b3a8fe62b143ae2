"""Asks every public entry point of the library on behalf of a caller of a small world, and compares with the rule."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from uuid import uuid4

from hermes_memory.application.answers import Fate
from hermes_memory.application.memory import Memory
from hermes_memory.application.view import View
from hermes_memory.domain.errors import HermesMemoryError, InvalidInput, NotVisible
from hermes_memory.domain.model import SINKS, AllScope, Caller, Kind, RowId, Scope, SubjectScope, ThemeScope
from hermes_memory.domain.visibility import changeable
from hermes_memory.testing.worlds import Placed, Setting

PLENTY = 200
SECONDS = 60.0


async def answers_are_as_the_rule_has_them(memory: Memory, setting: Setting, caller: Caller) -> None:
    """Read through a view, by every scope and by every id, and see that nothing more and nothing less comes back."""
    view = memory.view_of(caller)
    for scope in setting.scopes():
        expected = setting.seen(caller, scope)
        entries = {row.id for row in expected if row.kind is Kind.ENTRY}
        result = await view.recall(setting.word, limit=PLENTY, scope=scope, timeout=SECONDS)
        listed = await view.profile(scope=scope, limit=PLENTY, timeout=SECONDS)
        changes = await view.history(scope=scope, limit=PLENTY, timeout=SECONDS)

        assert {hit.row.id for hit in result.hits} == {row.id for row in expected}, (caller, scope)
        assert _of_world(setting, [entry.id for entry in listed]) == entries, (caller, scope)
        told = _of_world(setting, [change.row for change in changes])
        assert told == entries & _with_past(setting, caller), (caller, scope)
    await _ids_obey(view, setting, caller)
    await _explanations_obey(view, setting, caller)


async def _ids_obey(view: View, setting: Setting, caller: Caller) -> None:
    seen = {row.id for row in setting.seen(caller)}
    absent = str(await _refusal(view.get, RowId(uuid4())))
    for row in setting.rows:
        refusal = await _refusal(view.get, row.id)
        assert (refusal is None) is (row.id in seen), (caller, row)
        assert refusal is None or str(refusal) == absent
        past = await _refusal(view.history, row.id)
        assert (past is None) is (row.id in _with_past(setting, caller)), (caller, row)


async def _explanations_obey(view: View, setting: Setting, caller: Caller) -> None:
    seen = {row.id for row in setting.seen(caller)}
    trace = (await view.recall(setting.word, limit=PLENTY, scope="all", timeout=SECONDS)).trace_id
    explained = await view.explain(trace, rows=PLENTY, timeout=SECONDS)

    searched = {row.id for row in setting.seen(caller, AllScope())}
    assert {each.row.id for each in explained.verdicts if each.row is not None} == searched
    assert explained.documents == len(searched)
    for row in setting.rows:
        verdict = await view.why(trace, row.id, timeout=SECONDS)
        assert (verdict.fate is Fate.UNKNOWN) is (row.id not in seen), (caller, row)


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


async def _refusal(ask: Callable[[RowId], Awaitable[object]], row: RowId) -> HermesMemoryError | None:
    try:
        await ask(row)
    except NotVisible as error:
        return error
    except InvalidInput as error:  # pragma: no cover - would be a defect of this module
        raise AssertionError(error) from error
    return None
