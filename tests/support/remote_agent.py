"""Drives an agent that lives in another process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any

_ROOT = Path(__file__).parents[2]


class RemoteAgent:
    """Use it as a context manager: at the end the process is killed, if it did not end before."""

    def __init__(self, home: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.agent_process", str(home)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=_ROOT,
            env={**os.environ, "PYTHONPATH": str(_ROOT)},
        )

    def call(self, name: str, /, *arguments: object, **named: object) -> Any:
        """Make a call and return its answer."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(json.dumps([name, arguments, named]) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, "the agent's process ended"
        return json.loads(line)

    def kill(self) -> None:
        """End the process as hard as can be."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(90)

    def __enter__(self) -> RemoteAgent:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self.process:
            self.process.kill()
