"""Scenarios: texts that try to break out of what the host puts before a turn, or to come back into the memory."""
# pyright: reportMissingImports=false

from __future__ import annotations

import time
from typing import Any

from agent.memory_manager import MemoryManager, build_memory_context_block, sanitize_context

from tests.host.scenarios.life import PATIENCE, ask, eventually, managed

Facts = dict[str, Any]


def drill(facts: Facts, home: str, poison: dict[str, str]) -> None:
    """Store each text, let the host put it before a turn, and let model and host hand back what they were shown.

    Each text is stored under a word of its own, by which it is recalled.
    """
    manager = managed(home, "poisoned")
    for word, text in poison.items():
        ask(manager, "memory_remember", content=f"{word} {text}", sync=False)
    eventually(manager, list(poison)[-1], "recall_memory", query=list(poison)[-1])
    recalled = {word: _recalled(manager, word) for word in poison}
    facts["injected"] = {word: build_memory_context_block(block) for word, block in recalled.items()}
    facts["stripped"] = [word for word, block in recalled.items() if sanitize_context(block) != block]
    facts["answers"] = {word: manager.handle_tool_call("recall_memory", {"query": word}) for word in poison}
    for word, block in recalled.items():
        said, answer = f"What of {word} then?\n\n{facts['injected'][word]}", f"I was shown:\n{block}"
        manager.sync_all(said, answer, session_id="poisoned")
        lines = "\n".join(block.splitlines()[1:-1])
        manager.sync_all(f"Once more, {word}?", f"Line by line:\n{lines}", session_id="poisoned")
    assert manager.flush_pending(60)
    manager.sync_all("That was the Quillwort drill", "The Quillwort drill is over.", session_id="poisoned")
    assert manager.flush_pending(60)
    eventually(manager, "Quillwort drill is over", "recall_conversation", query="Quillwort drill")
    facts["turns"] = {
        word: [hit["content"] for hit in ask(manager, "recall_conversation", query=word, limit=50)["hits"]]
        for word in poison
    }
    manager.shutdown_all()


def _recalled(manager: MemoryManager, word: str) -> str:
    deadline = time.monotonic() + PATIENCE
    while word not in (block := manager.prefetch_all(f"What is {word}?")):
        assert time.monotonic() < deadline, word
    return str(block)
