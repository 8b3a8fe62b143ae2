"""Scenarios: what the host's own tests demand of any provider."""
# pyright: reportMissingImports=false

from __future__ import annotations

import inspect
import json
from typing import Any

from agent.memory_manager import MemoryManager, normalize_tool_schema
from agent.memory_provider import MemoryProvider
from plugins.memory import load_memory_provider

NAME = "hermes-memory"
Facts = dict[str, Any]


def uninitialised(facts: Facts) -> None:
    """Call every hook with its defaults before `initialize`."""
    provider = load_memory_provider(NAME)
    facts["answers"] = {
        "system_prompt_block": provider.system_prompt_block(),
        "on_turn_start": provider.on_turn_start(1, "hello"),
        "on_session_end": provider.on_session_end([]),
        "on_session_switch": provider.on_session_switch("s2", unheard_of=1),
        "on_pre_compress": provider.on_pre_compress([]),
        "on_memory_write": provider.on_memory_write("add", "memory", "t"),
        "on_delegation": provider.on_delegation("task", "result"),
        "prefetch": provider.prefetch("q"),
        "queue_prefetch": provider.queue_prefetch("q"),
        "sync_turn": provider.sync_turn("u", "a"),
        "shutdown": provider.shutdown(),
    }
    facts["tools"] = {schema["name"]: _call(provider, schema["name"], {}) for schema in provider.get_tool_schemas()}
    facts["backup_paths"] = provider.backup_paths()
    facts["missing_hooks"] = sorted(_hooks_of(MemoryProvider) - set(dir(type(provider))))


def schemas(facts: Facts) -> None:
    """Look at the tools as the host will."""
    provider = load_memory_provider(NAME)
    facts["schemas"] = provider.get_tool_schemas()
    facts["unchanged_by_host"] = [normalize_tool_schema(schema) == schema for schema in provider.get_tool_schemas()]
    manager = MemoryManager()
    manager.add_provider(provider)
    facts["taken"] = [schema["name"] for schema in manager.get_all_tool_schemas()]


def hostile_arguments(facts: Facts, home: str) -> None:
    """Call every tool and hook with what a confused model or host may pass. All answers must be JSON objects."""
    provider = load_memory_provider(NAME)
    provider.initialize("s1", hermes_home=home, platform="cli", agent_context="primary")
    arguments: list[Any] = [
        None, [], "text", 5, {}, {"query": None}, {"query": []}, {"query": "x", "limit": float("inf")},
        {"query": "x", "limit": float("nan")}, {"query": "x", "limit": True}, {"query": "x", "limit": -1},
        {"query": "x", "scope": 7}, {"query": "x", "nonsense": 1}, {"content": 5}, {"id": "no-id"}, {"id": 5},
    ]  # fmt: skip
    names = [schema["name"] for schema in provider.get_tool_schemas()]
    facts["answers"] = [_call(provider, name, given) for name in [*names, "unheard_of", None] for given in arguments]
    for value in (None, 123, [], {}, b"bytes", "\x00 \ud83d", object()):
        provider.on_memory_write("add", "memory", value)
        provider.on_memory_write("remove", "user", "", metadata={"old_text": value})
        provider.on_memory_write(value, value, value, metadata=value)
        provider.sync_turn(value, "assistant", session_id="s1")
        provider.sync_turn("user", value, session_id="s1", messages=value)
        provider.on_session_end([value, {"role": "user", "content": value}])
        provider.on_delegation(value, value, child_session_id="c")
        provider.on_session_switch("s1", parent_session_id="s1", reason="compression")
        provider.prefetch(value)
        provider.queue_prefetch(value)
        provider.on_turn_start(1, value)
    provider.shutdown()
    provider.shutdown()
    facts["after_shutdown"] = [_call(provider, "recall_memory", {"query": "x"}), {"prefetch": provider.prefetch("x")}]


def _call(provider: Any, name: Any, arguments: Any) -> Any:
    answer = provider.handle_tool_call(name, arguments)
    assert isinstance(answer, str), (name, arguments, answer)
    return json.loads(answer)


def _hooks_of(kind: type) -> set[str]:
    return {name for name, _ in inspect.getmembers(kind) if not name.startswith("_")}
