"""Scenarios: the ways the provider gets into the host."""
# pyright: reportMissingImports=false

from __future__ import annotations

import argparse
import sys
import threading
from collections.abc import Callable
from importlib.metadata import EntryPoint
from typing import Any

from agent.memory_manager import MemoryManager
from agent.memory_provider import MemoryProvider
from plugins.memory import discover_memory_providers, discover_plugin_cli_commands, load_memory_provider

from tests.support.newer_loader import GROUP, load, load_from_entry_point, provider_directory

NAME = "hermes-memory"
Facts = dict[str, Any]


def from_directory(facts: Facts) -> None:
    """Load twice and list, as the agent and the status command do."""
    first, second = load_memory_provider(NAME), load_memory_provider(NAME)
    _describe(facts, first)
    facts["fresh_instances"] = first is not second
    facts["listed"] = [row for row in discover_memory_providers() if row[0] == NAME]


def after_the_command_line(facts: Facts) -> None:
    """Let the host build its command line first: it imports `cli.py` alone, under a shell package."""
    (command,) = discover_plugin_cli_commands()
    parser = argparse.ArgumentParser(prog="hermes hermes-memory")
    command["setup_fn"](parser)
    facts["command"] = command["name"]
    facts["help"] = parser.format_help()
    _describe(facts, load_memory_provider(NAME))


def from_entry_point(facts: Facts) -> None:
    """Load by the installed distribution's entry point, as newer hosts do."""
    _describe(facts, load_from_entry_point(NAME))
    _describe(facts, load_from_entry_point(NAME))


def from_bare_factory(facts: Facts) -> None:
    """Load the class itself, named by an entry point, as a factory without arguments."""
    _describe(facts, load(EntryPoint(NAME, "hermes_memory.hermes.provider:HermesMemoryProvider", GROUP)))


def directory_without_import(facts: Facts) -> None:
    """Find the entry point's directory; nothing of the library that does work may be imported by that."""
    before = set(sys.modules)
    directory = provider_directory(EntryPoint(NAME, "hermes_memory.hermes.plugin:register", GROUP))
    facts["files"] = sorted(path.name for path in directory.iterdir()) if directory else []
    facts["imported"] = sorted(name for name in set(sys.modules) - before if name.startswith("hermes_memory"))


def in_threads(facts: Facts, threads: int, loader: str, warm: bool) -> None:
    """Load in many threads at once."""
    loaders: dict[str, Callable[[str], Any]] = {"directory": load_memory_provider, "entry point": load_from_entry_point}
    if warm:
        loaders[loader](NAME)
    barrier = threading.Barrier(threads)
    loaded: list[Any] = [None] * threads

    def load_one(position: int) -> None:
        barrier.wait()
        loaded[position] = loaders[loader](NAME)

    workers = [threading.Thread(target=load_one, args=(position,)) for position in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    facts["kinds"] = sorted({type(provider).__name__ for provider in loaded})
    facts["available"] = [bool(provider and provider.is_available()) for provider in loaded]
    facts["distinct"] = len({id(provider) for provider in loaded})


def as_the_manager_takes_it(facts: Facts) -> None:
    """Give it to a manager: it must keep every tool."""
    manager = MemoryManager()
    manager.add_provider(load_memory_provider(NAME))
    facts["tools"] = sorted(manager.get_all_tool_names())


def _describe(facts: Facts, provider: Any) -> None:
    facts["class"] = f"{type(provider).__module__}.{type(provider).__name__}"
    facts["is_provider"] = isinstance(provider, MemoryProvider)
    facts["name"] = provider.name
    facts["available"] = provider.is_available()
    facts["reason"] = provider.unavailable_reason()
