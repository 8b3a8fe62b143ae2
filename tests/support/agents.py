"""An agent as its host sees it: one memory provider, driven by the host's hooks, in this process."""

from __future__ import annotations

import gc
import json
import threading
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, Final, TypeVar

from hermes_memory.hermes.provider import HermesMemoryProvider
from hermes_memory.hermes.runtime import Runtime

PATIENCE: Final = 90.0
"""Seconds; a guard against hanging, no measure of speed."""

Answer = TypeVar("Answer")


class Agent:
    """A provider and the home it is started for. Its methods are short for what tests ask of every provider."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.provider = HermesMemoryProvider()

    def start(self, session: str = "s1", **facts: object) -> Agent:
        """Initialise as the host does for the profile `coder`; `facts` change or add to what it says."""
        said: dict[str, object] = {
            "hermes_home": str(self.home),
            "platform": "cli",
            "agent_context": "primary",
            "agent_identity": "coder",
            "agent_workspace": "hermes",
            **facts,
        }
        self.provider.initialize(session, **said)
        return self

    @property
    def runtime(self) -> Runtime:
        """What the provider shares with the other agents of the home."""
        handle = self.provider._share.handle
        assert handle is not None
        return handle.runtime

    def tool(self, name: str, /, **arguments: object) -> dict[str, Any]:
        """Call a tool and return its answer."""
        answer: dict[str, Any] = json.loads(self.provider.handle_tool_call(name, arguments))
        return answer

    def facts(self, query: str, **arguments: object) -> list[str]:
        """Return the contents that recall_memory answers with, best first."""
        return self._contents("recall_memory", query, arguments)

    def facts_if_any(self, query: str) -> list[str]:
        """Return the contents that recall_memory answers with, none when it cannot answer now."""
        return [hit["content"] for hit in self.tool("recall_memory", query=query).get("hits", [])]

    def said(self, query: str, **arguments: object) -> list[str]:
        """Return the contents that recall_conversation answers with, best first."""
        return self._contents("recall_conversation", query, arguments)

    def profile(self) -> list[str]:
        """Return the contents of the agent's entries."""
        answer = self.tool("memory_profile", limit=50)
        assert "error" not in answer, answer
        return [entry["content"] for entry in answer["entries"]]

    def settle(self) -> None:
        """Wait until everything accepted so far is stored and, where there is an embedder, embedded."""
        assert self.runtime.call(lambda memory: memory.settled(timeout=PATIENCE), timeout=PATIENCE + 5)

    def rest(self) -> None:
        """Wait until nothing is under way in the background, such as the look at the notebooks that a start brings."""
        eventually(lambda: self.runtime.loop.memory and not self.runtime.loop._tasks)

    def dead_letters(self) -> list[str]:
        """Return why operations were set aside."""
        return [letter.reason for letter in self.runtime.local.spool.dead()]

    def write_notebook(self, name: str, *entries: str) -> None:
        """Write a notebook of the home as the host does."""
        folder = self.home / "memories"
        folder.mkdir(exist_ok=True)
        draft = folder / f".{name}.new"
        draft.write_text("\n§\n".join(entries), encoding="utf-8")
        draft.replace(folder / name)

    def _contents(self, tool: str, query: str, arguments: dict[str, object]) -> list[str]:
        answer = self.tool(tool, query=query, **arguments)
        assert "error" not in answer, answer
        return [hit["content"] for hit in answer["hits"]]


def eventually(check: Callable[[], Answer], *, seconds: float = PATIENCE) -> Answer:
    """Ask again until the answer is true; return it."""
    deadline = time.monotonic() + seconds
    while not (answer := check()):
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)
    return answer


def memory_threads(*, besides: Collection[threading.Thread]) -> list[str]:
    """Return the names of the living threads that belong to a memory, besides those of memories a test found open."""
    return [
        thread.name
        for thread in threading.enumerate()
        if thread not in besides and thread.name.startswith(("hermes-memory", "AnyIO worker", "asyncio_"))
    ]


def collect() -> None:
    """Let go of every object nobody refers to."""
    for _ in range(3):
        gc.collect()
