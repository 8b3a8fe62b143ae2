"""Shared, durable, searchable memory for Hermes agents on Postgres and pgvector.

Example:
    ```python
    from hermes_memory import Settings, open_memory

    async with open_memory(Settings()) as memory:
        desk = memory.view("marketing", session="s1")
        entry = await desk.remember("Launch moved to 3 May")
        result = await desk.recall("launch date")
    ```
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hermes_memory.application.answers import Fate, RecallResult
    from hermes_memory.application.explanation import Explanation, Verdict
    from hermes_memory.application.memory import Memory
    from hermes_memory.application.status import Status
    from hermes_memory.application.sync_memory import SyncMemory, SyncView
    from hermes_memory.application.view import View
    from hermes_memory.bootstrap.migration import MigrationReport, migrate
    from hermes_memory.bootstrap.opening import open_memory
    from hermes_memory.bootstrap.sync_opening import open_memory_sync
    from hermes_memory.domain.errors import (
        Ambiguous,
        ConfigurationError,
        DeadlineExceeded,
        DeliveryRejected,
        EmbedderBusy,
        EmbedderForbidden,
        EmbedderUnavailable,
        EmbeddingRejected,
        HermesMemoryError,
        InvalidInput,
        NotVisible,
        Outdated,
        SchemaNotApplied,
        SpoolFull,
        StoreBusy,
        StoreFault,
        StoreUnavailable,
    )
    from hermes_memory.domain.fusion import Ranked
    from hermes_memory.domain.history import Change, ChangeKind
    from hermes_memory.domain.model import Caller, Entry, Kind, Origin, ReadPolicy, Role, Subject, Target, Theme, Turn
    from hermes_memory.domain.redaction import SecretPolicy
    from hermes_memory.domain.trust import AmbientTrust
    from hermes_memory.settings import Settings

__all__ = [
    "AmbientTrust",
    "Ambiguous",
    "Caller",
    "Change",
    "ChangeKind",
    "ConfigurationError",
    "DeadlineExceeded",
    "DeliveryRejected",
    "EmbedderBusy",
    "EmbedderForbidden",
    "EmbedderUnavailable",
    "EmbeddingRejected",
    "Entry",
    "Explanation",
    "Fate",
    "HermesMemoryError",
    "InvalidInput",
    "Kind",
    "Memory",
    "MigrationReport",
    "NotVisible",
    "Origin",
    "Outdated",
    "Ranked",
    "ReadPolicy",
    "RecallResult",
    "Role",
    "SchemaNotApplied",
    "SecretPolicy",
    "Settings",
    "SpoolFull",
    "Status",
    "StoreBusy",
    "StoreFault",
    "StoreUnavailable",
    "Subject",
    "SyncMemory",
    "SyncView",
    "Target",
    "Theme",
    "Turn",
    "Verdict",
    "View",
    "migrate",
    "open_memory",
    "open_memory_sync",
]

# Names are loaded when first used: a host imports this package in every process that merely lists its plugins.
_HOMES = {
    "hermes_memory.application.answers": ("Fate", "RecallResult"),
    "hermes_memory.application.explanation": ("Explanation", "Verdict"),
    "hermes_memory.application.memory": ("Memory",),
    "hermes_memory.application.status": ("Status",),
    "hermes_memory.application.sync_memory": ("SyncMemory", "SyncView"),
    "hermes_memory.application.view": ("View",),
    "hermes_memory.bootstrap.migration": ("MigrationReport", "migrate"),
    "hermes_memory.bootstrap.opening": ("open_memory",),
    "hermes_memory.bootstrap.sync_opening": ("open_memory_sync",),
    "hermes_memory.domain.errors": (
        "Ambiguous",
        "ConfigurationError",
        "DeadlineExceeded",
        "DeliveryRejected",
        "EmbedderBusy",
        "EmbedderForbidden",
        "EmbedderUnavailable",
        "EmbeddingRejected",
        "HermesMemoryError",
        "InvalidInput",
        "NotVisible",
        "Outdated",
        "SchemaNotApplied",
        "SpoolFull",
        "StoreBusy",
        "StoreFault",
        "StoreUnavailable",
    ),
    "hermes_memory.domain.fusion": ("Ranked",),
    "hermes_memory.domain.history": ("Change", "ChangeKind"),
    "hermes_memory.domain.model": (
        "Caller",
        "Entry",
        "Kind",
        "Origin",
        "ReadPolicy",
        "Role",
        "Subject",
        "Target",
        "Theme",
        "Turn",
    ),
    "hermes_memory.domain.redaction": ("SecretPolicy",),
    "hermes_memory.domain.trust": ("AmbientTrust",),
    "hermes_memory.settings": ("Settings",),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    module = _HOME_OF.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(module), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
