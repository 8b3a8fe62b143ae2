"""Never raise into the host: one decorator, and what hooks answer when they cannot."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any, Final, ParamSpec, TypeVar

from hermes_memory.application.faults import tell_fault
from hermes_memory.domain.errors import DeadlineExceeded, HermesMemoryError, StoreUnavailable

logger = logging.getLogger(__name__)

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")

FALLS_BACK: Final = "a memory hook could not do its work"


def never_raises(
    fallback: Callable[[], Answer], *, accepts: bool = False
) -> Callable[[Callable[Arguments, Answer]], Callable[Arguments, Answer]]:
    """Turn whatever a hook raises into a log line and `fallback()`: a memory must never stop an agent.

    Args:
        accepts: The hook accepts writes, for which it needs no database: whatever it raises, something was not kept.
    """
    expected = logging.WARNING if accepts else logging.INFO

    def decorate(hook: Callable[Arguments, Answer]) -> Callable[Arguments, Answer]:
        @functools.wraps(hook)
        def guarded(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Answer:
            try:
                return hook(*args, **kwargs)
            except (StoreUnavailable, DeadlineExceeded) as error:
                # A question may fail while the database starts or is away; that state is told elsewhere.
                logger.log(expected, FALLS_BACK, extra=_facts(hook.__name__, error))
            except HermesMemoryError as error:
                logger.warning(FALLS_BACK, extra=_facts(hook.__name__, error))
            except Exception as error:  # noqa: BLE001 - a memory must never stop an agent
                tell_fault(logger, "a memory hook failed", error, action=f"hook.{hook.__name__}")
            return fallback()

        return guarded

    return decorate


def _facts(hook: str, error: HermesMemoryError) -> dict[str, str]:
    return {"action": f"hook.{hook}", "cause": type(error).__name__, "reason": str(error)}


def nothing() -> None:
    """Return nothing: the fallback of hooks without an answer."""


def no_facts() -> dict[str, Any]:
    """Return no facts: the fallback of hooks that describe."""
    return {}


def no_paths() -> list[str]:
    """Return no paths: the fallback of the hook that lists them."""
    return []
