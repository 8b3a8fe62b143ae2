"""Somebody at a terminal: reads what a program shows, and types when it is asked."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

_SECONDS = 120.0


class Typist:
    """A program in a terminal of its own, which ends with the block.

    Attributes:
        shown: Everything on the screen so far.
    """

    def __init__(self, command: Sequence[str], *, environment: Mapping[str, str], place: Path) -> None:
        self.shown = ""
        self._read_to = 0
        self._screen, keyboard = pty.openpty()
        fcntl.ioctl(keyboard, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
        self._process = subprocess.Popen(
            command,
            cwd=place,
            env={**environment, "TERM": "xterm"},
            stdin=keyboard,
            stdout=keyboard,
            stderr=keyboard,
            start_new_session=True,
        )
        os.close(keyboard)

    def __enter__(self) -> Typist:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._screen)

    def answer(self, question: str, text: str) -> None:
        """Wait until something is shown, after what was answered before, and type."""
        deadline = time.monotonic() + _SECONDS
        while (found := self.shown.find(question, self._read_to)) < 0:
            assert self._more(deadline), f"'{question}' is not shown:\n{self.shown[self._read_to :]}"
        self._read_to = found + len(question)
        os.write(self._screen, text.encode())

    def leave(self) -> int:
        """Wait until the program has ended and return its exit code."""
        deadline = time.monotonic() + _SECONDS
        while self._more(deadline):
            pass
        return self._process.wait(max(1.0, deadline - time.monotonic()))

    def _more(self, deadline: float) -> bool:
        """Read on; tell whether anything can still come."""
        if not select.select([self._screen], [], [], max(0.0, deadline - time.monotonic()))[0]:
            return False
        try:
            read = os.read(self._screen, 65536)
        except OSError:  # the program has closed its side
            return False
        self.shown += read.decode("utf-8", "replace")
        return bool(read)
