"""Scenarios: sessions measured, in health, with the database away, with the embedder silent, and with both."""
# pyright: reportMissingImports=false

from __future__ import annotations

import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

from agent.memory_manager import MemoryManager
from plugins.memory import load_memory_provider

from tests.host.scenarios.life import COMMAND_LINE, PATIENCE, Taken, ask, crowd, eventually, managed

NAME = "hermes-memory"
FACT = "The Periwinkle contract is in safe 12"
QUESTION = "Where is the Periwinkle contract?"
ASKED = "Who signed the Periwinkle contract?"
ANSWERED = "Ms Saffron signed it on Monday."
TOOLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("recall_memory", {"query": "Periwinkle contract"}),
    ("recall_conversation", {"query": "Periwinkle contract"}),
    ("memory_profile", {}),
    ("memory_forget", {"content": "no such entry"}),
    ("memory_remember", {"content": FACT, "sync": True}),
)
Facts = dict[str, Any]


def measured(facts: Facts, home: str, rounds: int, mended: str | None = None, paraphrase: str = "") -> None:
    """Measure every call of `rounds` sessions, each of which starts the memory anew and ends it.

    With `mended`, the last session asks for help by the file `<mended>.wanted`, and from when `mended` appears it
    expects memory to work again by itself: to find by words, and by meaning alone what `paraphrase` asks.
    """
    _warm_up(home)
    before = set(threading.enumerate())
    taken = facts["seconds"] = Taken()
    facts.update(recalled=[], answers=[])
    for number in range(rounds):
        manager = _session(facts, taken, home, f"s{number}")
        if mended is not None and number == rounds - 1:
            _recovery(facts, manager, Path(mended), paraphrase)
        taken.measure("shutdown", manager.shutdown_all)
    facts.update(crowd(home, before))


def _session(facts: Facts, taken: Taken, home: str, session: str) -> MemoryManager:
    manager = MemoryManager()
    manager.add_provider(load_memory_provider(NAME))
    taken.measure("initialize", lambda: manager.initialize_all(session_id=session, hermes_home=home, **COMMAND_LINE))
    manager.on_turn_start(1, QUESTION)
    for which in ("first", "second"):
        facts["recalled"].append(taken.measure(f"prefetch, {which}", lambda: manager.prefetch_all(QUESTION)))
    accepted = taken.measure("remember", lambda: ask(manager, "memory_remember", content=FACT))
    assert accepted.get("accepted"), accepted
    for tool, arguments in TOOLS:
        facts["answers"].append(taken.measure(f"tool, {tool}", partial(ask, manager, tool, **arguments)))
    facts["recalled"].append(taken.measure("prefetch, third", lambda: manager.prefetch_all(QUESTION)))
    manager.sync_all(ASKED, ANSWERED, session_id=session)
    assert manager.flush_pending(60)
    return manager


def _recovery(facts: Facts, manager: MemoryManager, mended: Path, paraphrase: str) -> None:
    mended.with_suffix(".wanted").touch()
    deadline = time.monotonic() + PATIENCE
    while not mended.exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    started = time.monotonic()
    eventually(manager, "safe 12", "recall_memory", query="Periwinkle contract")
    eventually(manager, "Saffron", "recall_conversation", query="Saffron")
    facts["text_back_seconds"] = time.monotonic() - started
    eventually(manager, "Saffron", "recall_conversation", query=paraphrase)
    facts["meaning_back_seconds"] = time.monotonic() - started


def _warm_up(home: str) -> None:
    # What is measured is a session's start, not the first import of the library in a process.
    provider = load_memory_provider(NAME)
    assert provider.is_available(), provider.unavailable_reason()


def found_after_all(facts: Facts, home: str, query: str, wanted: str) -> None:
    """Look in a healthy session for what a session in trouble accepted."""
    manager = managed(home, "healthy")
    facts["answer"] = eventually(manager, wanted, "recall_memory", query=query)
    manager.shutdown_all()
