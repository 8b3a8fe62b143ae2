"""Runs one scenario inside the host's interpreter and writes down what came of it."""

from __future__ import annotations

import faulthandler
import importlib
import json
import logging
import re
import sys
import time
import traceback
from pathlib import Path
from typing import Any

_HOST_LOGGERS = ("agent", "plugins.memory", "providers", "run_agent", "hermes_cli", "gateway")
_OURS = re.compile(r"hermes[-_]memory|broken-memory", re.IGNORECASE)
_GONE_WRONG = re.compile(
    r"failed|timed out|not found|not available|still running|reject|loaded but no|abandon", re.IGNORECASE
)
_GUARD = "hermes_memory.hermes.guard"
"""Tells of a hook that could not do its work, as a warning where the reason is one of our own errors."""
_MEANT_TO_FAIL = ("contract:hostile_arguments", "trouble:")
"""Scenarios that hand hooks what they must refuse, or take from them what they need."""
_HANG_SECONDS = 170


class SwallowedFailures(logging.Handler):
    """Collects what the host logs, at any level, about failures of its memory.

    Args:
        hooks: Whether a hook that could not do its work is one of them.
    """

    def __init__(self, *, hooks: bool) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []
        self._hooks = hooks

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a record that tells of a failure."""
        hook = record.name == _GUARD and record.levelno >= logging.WARNING
        if (hook and self._hooks) or _tells_of_a_failure(record):
            reasons = [str(getattr(record, name)) for name in ("action", "reason") if hasattr(record, name)]
            line = " ".join([f"{record.name} {record.levelname}: {record.getMessage()}", *reasons])
            if record.exc_info and record.exc_info[0]:
                line += "\n" + "".join(traceback.format_exception(*record.exc_info))
            self.lines.append(line)


def _tells_of_a_failure(record: logging.LogRecord) -> bool:
    text = record.getMessage()
    if record.name.startswith(("hermes_memory", "_hermes_user_memory")):
        return record.levelno >= logging.ERROR or bool(record.exc_info and record.exc_info[0])
    if not record.name.startswith(_HOST_LOGGERS):
        return False
    if record.name == "agent.memory_manager":
        return record.levelno >= logging.WARNING or bool(_GONE_WRONG.search(text))
    return bool(_OURS.search(text) and _GONE_WRONG.search(text))


def main(scenario: str, arguments: str, report: str) -> int:
    """Run `module:function` and write facts and failures to the report file."""
    faulthandler.dump_traceback_later(_HANG_SECONDS, exit=True)
    failures = SwallowedFailures(hooks=not scenario.startswith(_MEANT_TO_FAIL))
    logging.getLogger().addHandler(failures)
    logging.getLogger().setLevel(logging.DEBUG)
    for name in ("agent.memory_manager", "plugins.memory"):
        logging.getLogger(name).setLevel(logging.DEBUG)
    module, _, function = scenario.partition(":")
    facts: dict[str, Any] = {}
    error = ""
    try:
        getattr(importlib.import_module(f"tests.host.scenarios.{module}"), function)(facts, **json.loads(arguments))
    except BaseException:  # noqa: BLE001 - the report tells, whatever it was
        error = traceback.format_exc()
    faulthandler.cancel_dump_traceback_later()
    document = {"facts": facts, "failures": failures.lines, "error": error, "ended": time.monotonic()}
    Path(report).write_text(json.dumps(document, default=str), encoding="utf-8")
    return 1 if error else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
