"""Errors that nobody foresaw, told so that they can be found and mended, and without their words.

What an error says may quote what was being stored, or an address with its password; its kind and the lines of source
that it passed through are all that a log is given.
"""

from __future__ import annotations

import logging
import traceback
from typing import Final

_DEEPEST: Final = 16
"""So many errors, each the cause of the one before, are told."""


class WordlessError(Exception):
    """Stands for another error in a log: its kind and its trace, none of its words."""


def tell_fault(logger: logging.Logger, message: str, error: BaseException, *, action: str) -> None:
    """Log an error that nobody foresaw, with its trace.

    Args:
        message: What it means for the memory, without anything of the error.
        action: The machine-readable name of what was being done.
    """
    _tell(logger, logging.ERROR, message, error, action)


class RepeatedFaults:
    """Tells of faults that a loop may meet in every round: each place and kind once, then for debugging only."""

    def __init__(self, logger: logging.Logger) -> None:
        self._logger = logger
        self._told: set[tuple[str, str, int | None]] = set()

    def tell(self, message: str, error: BaseException, *, action: str) -> None:
        """Log an error that nobody foresaw; the arguments are those of `tell_fault`."""
        place = _place(error)
        _tell(self._logger, logging.DEBUG if place in self._told else logging.ERROR, message, error, action)
        self._told.add(place)


def _tell(logger: logging.Logger, level: int, message: str, error: BaseException, action: str) -> None:
    facts = {"action": action, "cause": type(error).__name__}
    logger.log(level, message, extra=facts, exc_info=_wordless(error, _DEEPEST))


def _place(error: BaseException) -> tuple[str, str, int | None]:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    frames = traceback.extract_tb(error.__traceback__)
    return (
        (type(error).__name__, frames[-1].filename, frames[-1].lineno) if frames else (type(error).__name__, "", None)
    )


def _wordless(error: BaseException, deepest: int) -> BaseException:
    """Return what stands for an error, for those it contains, and for the errors that led to it."""
    bare: BaseException = WordlessError(type(error).__name__)
    if isinstance(error, BaseExceptionGroup) and deepest:
        bare = BaseExceptionGroup(type(error).__name__, [_wordless(each, deepest - 1) for each in error.exceptions])
    earlier = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if earlier is not None and deepest:
        bare.__cause__ = _wordless(earlier, deepest - 1)
    return bare.with_traceback(error.__traceback__)
