"""A fork while modules are imported in the background: the child has whole modules, and nobody waits for ever."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

PROGRAM = """
    import os, sys, threading, time, warnings
    from hermes_memory.adapters import loading
    from hermes_memory.adapters.loading import LOADING

    warnings.simplefilter("ignore")
    loading.WAIT_SECONDS = float(sys.argv[1])
    held, imported = threading.Event(), threading.Event()

    def load():
        with LOADING:
            with LOADING:
                held.set()
            time.sleep(float(sys.argv[2]))
            imported.set()

    threading.Thread(target=load, daemon=True).start()
    held.wait(30)
    child = os.fork()
    if child == 0:
        with LOADING:
            print("child", imported.is_set(), flush=True)
        os._exit(0)
    os.waitpid(child, 0)
    imported.wait(float(sys.argv[1]))
    print("parent", imported.is_set(), flush=True)
    if imported.is_set():
        with LOADING:
            pass
        child = os.fork()
        if child == 0:
            os._exit(7)
        print("again", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    os._exit(0)
"""


def forked(wait: float, takes: float) -> list[str]:
    """Fork while an import is under way that `takes` so many seconds; the fork waits for up to `wait`."""
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PROGRAM), str(wait), str(takes)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    return ended.stdout.splitlines()


def test_a_fork_waits_until_the_import_is_over() -> None:
    assert forked(wait=30.0, takes=0.2) == ["child True", "parent True", "again 7"]


def test_a_fork_waits_no_longer_than_it_may_and_the_child_is_not_held_up_by_whom_it_has_not() -> None:
    assert forked(wait=0.05, takes=30.0) == ["child False", "parent False"]
