"""Loads the memory provider once, while the gateway starts and before it takes messages.

A host without a lock around its plugin loader shows a half-loaded plugin to other threads. When the first messages of
several chats arrive together, as after a restart, agents that look at that moment would go without their memory for
the rest of their session. One load beforehand closes the gap for the whole process.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

# The host executes this file at its start, which is the moment that counts; the event comes after the first messages.
importlib.import_module("plugins.memory").load_memory_provider("hermes-memory")


def handle(event_type: str, context: Mapping[str, Any]) -> None:
    """Do nothing more: the host requires a handler."""
