"""A store in this process's memory: the whole contract of the store ports, without a server and without durability."""

from __future__ import annotations

from hermes_memory.adapters.inmemory.store import InMemoryStore

__all__ = ["InMemoryStore"]
