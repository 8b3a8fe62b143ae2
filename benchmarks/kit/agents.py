"""Agents in processes of their own: each is told what to do, one line of JSON at a time, and answers likewise."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

LINE_LIMIT = 64 * 2**20
LAST_WORDS = 300


class AgentDied(Exception):
    """The process ended without an answer. The message tells its last words."""


class Agent:
    """A process that carries out orders until it is closed. It ends with this process too, as its input ends then."""

    def __init__(
        self, command: Sequence[str], settings: Mapping[str, object], *, environment: Mapping[str, str], log: Path
    ) -> None:
        """Run `command`, which reads `settings` as its first line of input. What it complains of goes to `log`."""
        self._command = command
        self._settings = settings
        self._environment = environment
        self._log = log
        self._process: asyncio.subprocess.Process | None = None

    async def __aenter__(self) -> Agent:
        with self._log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                env=dict(self._environment),
                limit=LINE_LIMIT,
                start_new_session=True,
            )
        await self._send(self._settings)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        process = self._running
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()

    async def tell(self, order: str, *, timeout: float, **arguments: object) -> dict[str, Any]:
        """Give an order and return the answer.

        Raises:
            AgentDied: The process ended.
            TimeoutError: No answer in `timeout` seconds.
        """
        await self._send({"order": order, **arguments})
        return await self.answer(timeout=timeout)

    async def answer(self, *, timeout: float) -> dict[str, Any]:
        """Return the next answer; see `tell`."""
        if self._running.stdout is None:
            raise RuntimeError("started without pipes")
        line = await asyncio.wait_for(self._running.stdout.readline(), max(timeout, 0.1))
        if not line:
            code = await self._running.wait()
            last = self._log.read_text(encoding="utf-8", errors="replace").strip().rpartition("\n")[2]
            raise AgentDied(f"ended with code {code}: {last[:LAST_WORDS]}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    async def ended(self, *, timeout: float) -> int:
        """Wait for the end of a process that ends by itself."""
        return await asyncio.wait_for(self._running.wait(), timeout)

    @property
    def _running(self) -> asyncio.subprocess.Process:
        if self._process is None:
            raise RuntimeError("not entered")
        return self._process

    async def _send(self, message: Mapping[str, object]) -> None:
        if self._running.stdin is None:
            raise RuntimeError("started without pipes")
        self._running.stdin.write(json.dumps(message).encode() + b"\n")
        await self._running.stdin.drain()
