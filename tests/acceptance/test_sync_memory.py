"""A memory for code that does not await: on a thread of its own, for all threads of its process and for no other."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hermes_memory import NotVisible, Settings, StoreUnavailable, SyncMemory, open_memory_sync
from hermes_memory.bootstrap.sync_opening import THREAD_NAME

FORK = """
import os, sys
from hermes_memory import Settings, open_memory_sync
with open_memory_sync(Settings()) as memory:
    desk = memory.view("marketing")
    desk.remember("Launch moved to 3 May")
    if child := os.fork():
        _, status = os.waitpid(child, 0)
        print("parent", len(desk.recall("launch").hits), os.waitstatus_to_exitcode(status), flush=True)
    else:
        try:
            desk.recall("launch")
        except RuntimeError as error:
            print("child", error, flush=True)
sys.stdout.flush()
os._exit(0)
"""


def test_threads_write_and_read_at_once(served: Path) -> None:
    def note(memory: SyncMemory, number: int) -> str:
        desk = memory.view("marketing", session=f"talk-{number}")
        desk.capture(user=f"Who does task {number}, please?", assistant=f"Ana does task {number}.")
        return desk.remember(f"Task {number} is Ana's").content

    with open_memory_sync(Settings()) as memory, ThreadPoolExecutor(8) as threads:
        kept = list(threads.map(lambda number: note(memory, number), range(24)))
        assert memory.settled(timeout=60)
        hits = memory.view("marketing").recall("task", limit=200).hits
        stored = memory.status()

    assert kept == [f"Task {number} is Ana's" for number in range(24)]
    assert len(hits) == 72
    assert stored.spool.depth == 0
    assert THREAD_NAME not in {thread.name for thread in threading.enumerate()}


def test_every_call_of_a_view_answers_as_the_awaited_one_does(served: Path) -> None:
    with open_memory_sync(Settings()) as memory:
        memory.ready(timeout=60)
        ana = memory.subject_for("telegram", "1001")
        desk = memory.view("marketing", session="s1", subject=ana)
        entry = desk.remember("Ana drinks tea", target="user")
        moved = desk.replace(entry.id, "Ana drinks coffee")
        found = desk.recall("coffee")
        desk.note_shown(found.trace_id, 1)
        told, verdict = desk.explain(found.trace_id), desk.why(found.trace_id, moved.id)
        before = desk.undo(moved.id)
        changes = desk.history(entry.id)
        known = desk.profile(target="user")
        desk.forget(entry.id)
        with pytest.raises(NotVisible):
            desk.get(entry.id)
        assert memory.view_of(desk.caller).theme == desk.theme == "marketing"
        assert memory.reconcile(desk.caller, timeout=60) == 0
        assert memory.troubles == ()

    assert [hit.row.id for hit in found.hits] == [moved.id]
    assert [word.documents for word in told.words] == [1]
    assert verdict.fate == "returned"
    assert before is not None
    assert before.content == "Ana drinks tea"
    assert [change.kind for change in changes] == ["replaced", "replaced", "added"]
    assert [known.content for known in known] == ["Ana drinks tea"]


@pytest.mark.parametrize("error", [KeyError("mine"), KeyboardInterrupt()], ids=["error", "interrupt"])
def test_what_ends_the_block_leaves_it_and_the_memory_is_closed(served: Path, error: BaseException) -> None:
    with pytest.raises(type(error)) as raised, open_memory_sync(Settings()) as memory:
        raise error

    assert raised.value is error
    with pytest.raises(RuntimeError):
        memory.view("marketing").recall("launch")


def test_a_memory_that_cannot_be_opened_raises_why_and_leaves_no_thread(
    home: Path, configure: Callable[..., None]
) -> None:
    configure(dsn="postgresql://nobody@127.0.0.1:9/nothing?sslmode=disable")
    with pytest.raises(StoreUnavailable), open_memory_sync(Settings(), wait=0.2):
        raise AssertionError("it was opened")

    assert THREAD_NAME not in {thread.name for thread in threading.enumerate()}


def test_a_call_on_the_memorys_own_thread_is_refused_and_not_waited_for(served: Path) -> None:
    with open_memory_sync(Settings()) as memory:
        desk = memory.view("marketing")

        async def within() -> None:
            with pytest.raises(RuntimeError):
                desk.recall("launch")
            await asyncio.sleep(0)

        desk.bridge(within)


def test_a_forked_child_is_told_to_open_its_own_and_harms_its_parents_in_no_way(served: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORK],
        env=os.environ.copy(),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )

    child, parent = ran.stdout.splitlines()
    assert child.startswith("child the memory belongs to the process that opened it")
    assert parent == "parent 1 0"
