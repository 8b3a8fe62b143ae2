"""A consumer's program: both type checkers must accept it. It is not run."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import assert_type
from uuid import UUID

from hermes_memory import (
    AmbientTrust,
    Caller,
    Change,
    DeadlineExceeded,
    Entry,
    Explanation,
    Kind,
    Memory,
    MigrationReport,
    NotVisible,
    Origin,
    Ranked,
    RecallResult,
    Settings,
    Status,
    Subject,
    Theme,
    Turn,
    Verdict,
    View,
    migrate,
    open_memory,
)
from hermes_memory.application.health import Trouble
from hermes_memory.domain.model import OperationId, RowId, TraceId
from hermes_memory.domain.operations import BySubstring, Outcome


async def use() -> None:
    async with open_memory(Settings(), wait=5.0) as memory:
        assert_type(memory, Memory)
        subject = memory.subject_for("telegram", "1001")
        assert_type(memory.subject_for("telegram", "1001"), Subject)
        desk = memory.view("marketing", session="s1", subject=subject)
        assert_type(memory.view("marketing"), View)
        assert_type(memory.view_of(Caller(theme=Theme("marketing")), patient=False), View)
        entry = await desk.remember("Launch moved to 3 May", target="memory", at=datetime.now(UTC), metadata={"n": 1})
        assert_type(await desk.remember("Launch moved", origin=Origin.AGENT, tool="notes", timeout=2.0), Entry)
        await read(desk, entry)
        await change(desk, entry)
        assert_type(await memory.ready(timeout=5), None)
        assert_type(await memory.reconcile(desk.caller, timeout=5), int)
        assert_type(await memory.settled(timeout=5), bool)
        assert_type(await memory.status(unanswered=None), Status)
        assert_type(memory.troubles, tuple[Trouble, ...])


async def change(desk: View, entry: Entry) -> None:
    assert_type(desk.theme, Theme)
    assert_type(desk.caller, Caller)
    captured = await desk.capture(user="When do we launch?", assistant="On 3 May.", metadata={"channel": "web"})
    assert_type(await desk.capture(user="When?", assistant="On 3 May."), OperationId | None)
    assert_type(
        await desk.capture_turn("Ship it.", role="user", speaker="Ana", at=datetime.now(UTC), occurrence=1),
        OperationId | None,
    )
    try:
        assert_type(await desk.replace(entry.id, "Launch moved to 9 May"), Entry)
        assert_type(await desk.forget(UUID(int=1)), None)
        assert_type(await desk.forget_selected(BySubstring(target=entry.target, text="Launch")), Outcome)
        assert_type(await desk.forget_content("Launch moved"), Sequence[RowId])
    except (NotVisible, DeadlineExceeded):
        pass
    if captured is not None:
        assert_type(await desk.undo(captured, reason="a slip"), Entry | None)


async def read(desk: View, entry: Entry) -> None:
    result = await desk.recall("launch date", limit=5, kinds=frozenset({Kind.ENTRY}))
    assert_type(await desk.recall("launch date", as_of=datetime.now(UTC), scope="all"), RecallResult)
    assert_type(await desk.recall("launch date", unasked=AmbientTrust.VOUCHED, floor=0.2, timeout=1), RecallResult)
    assert_type(result.hits, tuple[Ranked, ...])
    assert_type(result.degraded, tuple[str, ...])
    assert_type(result.trace_id, TraceId)
    for hit in result.hits:
        show(hit)
    assert_type(desk.note_shown(result.trace_id, 1), None)
    assert_type(await desk.explain(result.trace_id, rows=5), Explanation)
    assert_type(await desk.why(result.trace_id, entry.id), Verdict)
    assert_type(await desk.get(entry.id), Entry | Turn)
    assert_type(await desk.profile(target="user", limit=5), Sequence[Entry])
    for told in await desk.history(entry.id):
        show_change(told)
    assert_type(await desk.history(scope="session"), Sequence[Change])


def show(hit: Ranked) -> str:
    assert_type((hit.id, hit.kind, hit.content, hit.at), tuple[RowId, Kind, str, datetime])
    match hit.row:
        case Entry(content=content, target=target):
            return f"{hit.score:.2f} {target} {content}"
        case Turn(content=content, speaker=speaker):
            return f"{hit.score:.2f} {speaker or '-'}: {content}"


def show_change(told: Change) -> str:
    assert_type(told.gone, bool)
    assert_type(told.without_texts(), Change)
    return f"{told.at:%H:%M} {told.kind} {told.before or '-'} -> {told.after or '-'}"


async def prepare(dsn: str) -> None:
    assert_type(await migrate(dsn, runtime_role="agents", partitions=32), MigrationReport)
