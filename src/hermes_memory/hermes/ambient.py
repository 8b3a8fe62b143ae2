"""Recall before a turn: for this question, within its budget, and never what the prompt holds already."""

from __future__ import annotations

import secrets
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from hermes_memory.application.memory import Memory
from hermes_memory.domain.noise import is_trivial_query
from hermes_memory.domain.rendering import render_block
from hermes_memory.hermes.runtime import Runtime
from hermes_memory.hermes.sessions import Binding

QUEUED_KEPT: Final = 16
QUEUED_SECONDS: Final = 120.0
QUEUED_TIMEOUT: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Queued:
    """A block made ahead of its question: good for this question, until something is written or time passes."""

    block: str
    epoch: int
    made_at: float


class Ambient:
    """Makes and keeps the blocks that the host puts before a turn. Any thread may call."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._lock = threading.Lock()
        self._queued: OrderedDict[tuple[Binding, str], _Queued] = OrderedDict()
        self.shown = 0
        """How many memories the last block held."""

    def block(self, binding: Binding, query: str) -> str:
        """Return the block for a question, "" when nothing relevant is known.

        Raises:
            HermesMemoryError: The memory could not answer in time.
        """
        self.shown = 0
        block = self._block(binding, query)
        self.shown = sum(line.startswith("- ") for line in block.splitlines())
        return block

    def _block(self, binding: Binding, query: str) -> str:
        if not self._runtime.settings.prefetch or is_trivial_query(query):
            return ""
        queued = self._take(binding, query)
        if queued is not None:
            return queued
        # The rest of the time is for the way to the loop and back.
        timeout = self._runtime.settings.prefetch_timeout * 0.95
        block, _ = self._runtime.call(
            lambda memory: self._make(memory, binding, query, timeout * 0.95), timeout=timeout
        )
        return block

    def prepare(self, binding: Binding, query: str) -> None:
        """Make the block for a question in the background. Neither a failure nor half an answer is kept."""
        if not self._runtime.settings.prefetch or is_trivial_query(query):
            return

        async def work(memory: Memory) -> None:
            epoch = self._runtime.epoch
            block, is_complete = await self._make(memory, binding, query, QUEUED_TIMEOUT)
            if not is_complete:
                return
            with self._lock:
                self._queued[binding, query] = _Queued(block=block, epoch=epoch, made_at=time.monotonic())
                while len(self._queued) > QUEUED_KEPT:
                    self._queued.popitem(last=False)

        self._runtime.loop.spawn(work, action="prefetch.queued")

    def _take(self, binding: Binding, query: str) -> str | None:
        with self._lock:
            queued = self._queued.pop((binding, query), None)
        if queued is None or queued.epoch != self._runtime.epoch:
            return None
        return queued.block if time.monotonic() - queued.made_at <= QUEUED_SECONDS else None

    async def _make(self, memory: Memory, binding: Binding, query: str, timeout: float) -> tuple[str, bool]:
        """Return the block, and whether every leg of the search took part in it."""
        settings = self._runtime.settings
        in_prompt = await memory.services.spool.call(self._runtime.local.mirror.prompt_contents)
        left = await self._runtime.forgetting.done(memory, timeout=timeout)
        session = binding.caller.session
        result = await memory.view_of(binding.caller).recall(
            query,
            limit=settings.prefetch_limit,
            floor=settings.recall_floor,
            exclude=in_prompt,
            window=(session, binding.visible_since) if session else None,
            timeout=left,
        )
        block = render_block(
            result.hits,
            caller=binding.caller,
            token_budget=settings.prefetch_tokens,
            nonce=secrets.token_hex(4),
        )
        return block, not result.degraded
