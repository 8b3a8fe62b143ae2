"""A consumer's program: both type checkers must accept it. It is not run."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import assert_type
from uuid import UUID

from hermes_memory import (
    Change,
    DeadlineExceeded,
    Entry,
    Explanation,
    Kind,
    Memory,
    NotVisible,
    Ranked,
    RecallResult,
    Settings,
    Subject,
    Turn,
    Verdict,
    View,
    open_memory,
)


async def use() -> None:
    async with open_memory(Settings(), wait=5.0) as memory:
        assert_type(memory, Memory)
        subject = memory.subject_for("telegram", "1001")
        assert_type(subject, Subject)
        desk = memory.view("marketing", session="s1", subject=subject)
        assert_type(desk, View)
        entry = await desk.remember("Launch moved to 3 May", target="memory", at=datetime.now(UTC), metadata={"n": 1})
        assert_type(entry, Entry)
        await desk.capture(user="When do we launch?", assistant="On 3 May.")
        await desk.capture_turn("Ship it.", role="user", speaker="Ana", at=datetime.now(UTC), metadata={"turn": "D1:3"})
        result = await desk.recall("launch date", limit=5, kinds=frozenset({Kind.ENTRY}))
        assert_type(result, RecallResult)
        for hit in result.hits:
            show(hit)
        assert_type(await desk.explain(result.trace_id), Explanation)
        assert_type(await desk.why(result.trace_id, entry.id), Verdict)
        try:
            await desk.replace(entry.id, "Launch moved to 9 May")
            await desk.forget(UUID(int=1))
        except (NotVisible, DeadlineExceeded):
            pass
        for change in await desk.history(entry.id):
            assert_type(change, Change)
            assert_type(await desk.undo(change.operation, reason="a slip"), Entry | None)
        assert_type(await desk.recall("launch date", as_of=datetime.now(UTC)), RecallResult)
        assert_type(await desk.profile(), Sequence[Entry])
        assert_type(await memory.settled(timeout=5), bool)


def show(hit: Ranked) -> str:
    match hit.row:
        case Entry(content=content, target=target):
            return f"{hit.score:.2f} {target} {content}"
        case Turn(content=content, speaker=speaker):
            return f"{hit.score:.2f} {speaker or '-'}: {content}"
