"""Scenarios: the database away, the embedder silent, and both."""
# pyright: reportMissingImports=false

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agent.memory_manager import MemoryManager
from plugins.memory import load_memory_provider

from tests.host.scenarios.life import COMMAND_LINE, ask, eventually, managed

NAME = "hermes-memory"
Facts = dict[str, Any]


def measured(facts: Facts, home: str, session: str, mended: str | None = None) -> None:
    """Measure every call of a session in trouble; then, when the file `mended` appears, expect memory to work again."""
    _warm_up(home)
    manager = MemoryManager()
    manager.add_provider(load_memory_provider(NAME))
    seconds: dict[str, float] = {}

    def timed(name: str, call: Callable[[], Any]) -> Any:
        started = time.perf_counter()
        answer = call()
        seconds[name] = max(seconds.get(name, 0.0), time.perf_counter() - started)
        return answer

    facts["seconds"] = seconds
    timed("initialize", lambda: manager.initialize_all(session_id=session, hermes_home=home, **COMMAND_LINE))
    manager.on_turn_start(1, "Where is the Periwinkle contract?")
    facts["recalled"] = [
        timed("prefetch", lambda: manager.prefetch_all("Where is the Periwinkle contract?")) for _ in range(3)
    ]
    fact = "The Periwinkle contract is in safe 12"
    facts["accepted"] = timed("remember", lambda: ask(manager, "memory_remember", content=fact))
    facts["answers"] = [
        timed("tool", lambda: ask(manager, "recall_memory", query="Periwinkle contract")),
        timed("tool", lambda: ask(manager, "recall_conversation", query="Periwinkle contract")),
        timed("tool", lambda: ask(manager, "memory_profile")),
        timed("tool", lambda: ask(manager, "memory_forget", content="no such entry")),
    ]
    manager.sync_all("Who signed the Periwinkle contract?", "Ms Saffron signed it on Monday.", session_id=session)
    assert manager.flush_pending(60)
    if mended is not None:
        Path(mended).with_suffix(".wanted").touch()
        deadline = time.monotonic() + 60
        while not Path(mended).exists():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        facts["afterwards"] = [
            eventually(manager, "safe 12", "recall_memory", query="Periwinkle contract"),
            eventually(manager, "Saffron", "recall_conversation", query="who signed the Periwinkle contract"),
        ]
    timed("shutdown", manager.shutdown_all)


def _warm_up(home: str) -> None:
    # What is measured is a session's start, not the first import of the library in a process.
    provider = load_memory_provider(NAME)
    assert provider.is_available(), provider.unavailable_reason()
    __import__("hermes_memory.bootstrap")


def found_after_all(facts: Facts, home: str, query: str, wanted: str) -> None:
    """Look in a healthy session for what a session in trouble accepted."""
    manager = managed(home, "healthy")
    facts["answer"] = eventually(manager, wanted, "recall_memory", query=query)
    manager.shutdown_all()
