"""Exit codes of the command."""

from __future__ import annotations

from typing import Final

from hermes_memory.domain.errors import (
    ConfigurationError,
    DeadlineExceeded,
    EmbedderUnavailable,
    HermesMemoryError,
    InvalidInput,
    StoreUnavailable,
)

DONE: Final = 0
ERROR: Final = 1
DEPENDENCY_DOWN: Final = 2
WORK_REMAINS: Final = 3
USAGE: Final = 64
INTERRUPTED: Final = 130


def exit_for(error: HermesMemoryError) -> int:
    """Return the exit code for an error: what the caller can do about it."""
    if isinstance(error, StoreUnavailable | EmbedderUnavailable | DeadlineExceeded):
        return DEPENDENCY_DOWN
    if isinstance(error, InvalidInput | ConfigurationError):
        return USAGE
    return ERROR
