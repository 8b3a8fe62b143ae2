"""An agent that asks: a program with the standard library alone, so that it runs in the peer's environment too.

It reads one JSON object a line. The first one sets it up, each later one is an order, answered by one line. Both
providers are driven as the host drives them: `register`, `initialize`, `prefetch`, `handle_tool_call`.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any


class Ours:
    """Our provider, configured by its environment."""

    def __init__(self, _: dict[str, Any]) -> None:
        self._made: list[Any] = []

    def make(self) -> Any:
        """Return a new provider, as the host gets it."""
        from hermes_memory.hermes.plugin import register

        register(self)
        return self._made.pop()

    def register_memory_provider(self, provider: Any) -> None:
        """Take the provider that registers itself."""
        self._made.append(provider)


class Peer:
    """The peer's provider, configured as its readme says, by the keys of its section."""

    def __init__(self, setup: dict[str, Any]) -> None:
        self._config = setup["config"]

    def make(self) -> Any:
        """Return a new provider."""
        from hermes_pgvector import PgvectorMemoryProvider  # type: ignore[import-not-found]

        return PgvectorMemoryProvider(config=dict(self._config))


class Asker:
    """Carries out the orders."""

    def __init__(self, setup: dict[str, Any]) -> None:
        self._provider = (Ours(setup) if setup["side"] == "ours" else Peer(setup)).make()
        self._provider.initialize(
            "asking",
            platform="cli",
            hermes_home=setup["home"],
            agent_context="primary",
            agent_identity=setup["theme"],
            agent_workspace="hermes",
        )

    def prefetch(self, questions: list[str]) -> dict[str, Any]:
        """Have the block before a turn made for each question."""
        return self._timed(questions, lambda question: bool(self._provider.prefetch(question, session_id="asking")))

    def tool(self, questions: list[str], limit: int) -> dict[str, Any]:
        """Have the model's tool answer each question."""

        def ask(question: str) -> bool:
            answer = json.loads(
                self._provider.handle_tool_call("recall_conversation", {"query": question, "limit": limit})
            )
            if answer.get("error") or answer.get("degraded"):
                raise RuntimeError(f"a degraded answer says nothing of recall: {answer}")
            return bool(answer["count"])

        return self._timed(questions, ask)

    def close(self) -> dict[str, Any]:
        """Shut down."""
        self._provider.shutdown()
        return {}

    def _timed(self, questions: list[str], ask: Callable[[str], bool]) -> dict[str, Any]:
        waits, answered, cpu = [], 0, time.process_time()
        for question in questions:
            before = time.perf_counter()
            answered += ask(question)
            waits.append((time.perf_counter() - before) * 1_000)
        used = (time.process_time() - cpu) * 1_000 / len(questions)
        return {"waits_ms": waits, "answered": answered, "own_cpu_ms": used}


def main() -> None:
    """Carry out orders until the input ends."""
    asker = Asker(json.loads(sys.stdin.readline()))
    for line in sys.stdin:
        given = json.loads(line)
        print(json.dumps(getattr(asker, given.pop("order"))(**given)), flush=True)
    os._exit(0)  # whoever gave the orders is gone, or has seen enough


if __name__ == "__main__":
    main()
