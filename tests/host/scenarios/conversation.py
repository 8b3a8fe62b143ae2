"""Scenarios: the host's real agent loop."""
# pyright: reportMissingImports=false

from __future__ import annotations

import time
from typing import Any

from run_agent import AIAgent

PATIENCE = 90.0
Facts = dict[str, Any]


def agent(url: str, session: str) -> Any:
    """Return an agent that has the memory toolset and talks to the scripted model."""
    return AIAgent(
        base_url=url,
        api_key="test",
        provider="custom",
        model="scripted",
        enabled_toolsets=["memory"],
        quiet_mode=True,
        skip_context_files=True,
        session_id=session,
        max_iterations=8,
    )


def talk(facts: Facts, url: str, session: str, messages: list[str], ready: bool = False, until: str = "") -> None:
    """Hold a conversation and end it as the command line does.

    With `ready`, first let the memory connect, which it does in the background. With `until`, first let what was said
    be stored and found by that text.
    """
    speaker = agent(url, session)
    facts["tools"] = sorted(tool["function"]["name"] for tool in speaker.tools)
    if ready:
        _ask_until("entries", speaker, "memory_profile", {})
    history: list[Any] = []
    facts["answers"] = []
    for message in messages:
        result = speaker.run_conversation(message, conversation_history=history)
        history = result["messages"]
        facts["answers"].append(result["final_response"])
    facts["history"] = [str(message.get("content")) for message in history]
    if until:
        _ask_until(until, speaker, "recall_conversation", {"query": until})
    started = time.monotonic()
    speaker.shutdown_memory_provider(history)
    facts["shutdown_seconds"] = time.monotonic() - started


def _ask_until(wanted: str, speaker: Any, tool: str, arguments: dict[str, Any]) -> None:
    deadline = time.monotonic() + PATIENCE
    while wanted not in (answer := speaker._memory_manager.handle_tool_call(tool, arguments)):
        assert time.monotonic() < deadline, answer
        time.sleep(0.2)
