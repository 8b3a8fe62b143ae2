"""Where the work of a process waits: what a test that hangs has to tell."""

from __future__ import annotations

import asyncio
import sys
import threading
import traceback
from collections.abc import Iterator
from typing import Any, Final

_INNER: Final = ("cr_await", "ag_await", "gi_yieldfrom")
_FRAME: Final = ("cr_frame", "ag_frame", "gi_frame")


def tell_waits(loop: asyncio.AbstractEventLoop) -> str:
    """Tell in which lines the tasks of a loop wait, outermost first, and where the threads of the process are."""
    tasks = [f"{task.get_name()}: {' > '.join(_lines(task.get_coro()))}" for task in asyncio.all_tasks(loop)]
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    threads = [
        f"{names.get(ident, ident)}: {' > '.join(_line(*place) for place in traceback.walk_stack(frame))}"
        for ident, frame in sys._current_frames().items()
    ]
    return "\n".join(("tasks", *tasks, "threads, innermost first", *threads))


def _lines(work: Any) -> Iterator[str]:
    """Follow an await to what it waits for."""
    while work is not None:
        frame = next((found for name in _FRAME if (found := getattr(work, name, None)) is not None), None)
        if frame is not None:
            yield _line(frame, frame.f_lineno)
        work = next((inner for name in _INNER if (inner := getattr(work, name, None)) is not None), None)


def _line(frame: Any, line: int) -> str:
    code = frame.f_code
    return f"{code.co_filename.rpartition('/')[2]}:{line} {code.co_name}"
