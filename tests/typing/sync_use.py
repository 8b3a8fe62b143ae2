"""A consumer that does not await: both type checkers must accept it. It is not run."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import assert_type
from uuid import UUID

from hermes_memory import (
    Caller,
    Change,
    Entry,
    Explanation,
    Kind,
    RecallResult,
    Settings,
    Status,
    Subject,
    SyncMemory,
    SyncView,
    Theme,
    Turn,
    Verdict,
    open_memory_sync,
)
from hermes_memory.application.health import Trouble
from hermes_memory.domain.model import OperationId, RowId
from hermes_memory.domain.operations import BySubstring, Outcome


def use() -> None:
    with open_memory_sync(Settings(), wait=5.0) as memory:
        assert_type(memory, SyncMemory)
        assert_type(memory.subject_for("telegram", "1001"), Subject)
        assert_type(memory.view("marketing", session="s1"), SyncView)
        assert_type(memory.view_of(Caller(theme=Theme("marketing")), patient=False), SyncView)
        assert_type(memory.ready(timeout=5), None)
        assert_type(memory.reconcile(Caller(theme=Theme("marketing")), timeout=5), int)
        assert_type(memory.settled(timeout=5), bool)
        assert_type(memory.status(), Status)
        assert_type(memory.troubles, tuple[Trouble, ...])
        use_view(memory.view("marketing"))


def use_view(desk: SyncView) -> None:
    assert_type(desk.theme, Theme)
    assert_type(desk.caller, Caller)
    entry = desk.remember("Launch moved to 3 May", target="memory", at=datetime.now(UTC), metadata={"n": 1})
    assert_type(desk.remember("Launch moved"), Entry)
    assert_type(desk.capture(user="When?", assistant="On 3 May."), OperationId | None)
    assert_type(desk.capture_turn("Ship it.", speaker="Ana"), OperationId | None)
    result = desk.recall("launch date", limit=5, kinds=frozenset({Kind.ENTRY}))
    assert_type(desk.recall("launch"), RecallResult)
    assert_type(desk.note_shown(result.trace_id, 1), None)
    assert_type(desk.explain(result.trace_id, rows=5), Explanation)
    assert_type(desk.why(result.trace_id, entry.id), Verdict)
    assert_type(desk.get(entry.id), Entry | Turn)
    assert_type(desk.profile(limit=5), Sequence[Entry])
    assert_type(desk.history(entry.id), Sequence[Change])
    assert_type(desk.undo(entry.id, reason="a slip"), Entry | None)
    assert_type(desk.replace(entry.id, "Launch moved to 9 May"), Entry)
    assert_type(desk.forget(UUID(int=1)), None)
    assert_type(desk.forget_selected(BySubstring(target=entry.target, text="Launch")), Outcome)
    assert_type(desk.forget_content("Launch moved"), Sequence[RowId])
    # Arguments are checked as those of the awaited calls are.
    desk.remember("Launch moved", target=3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    desk.recall("launch", most=3)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
