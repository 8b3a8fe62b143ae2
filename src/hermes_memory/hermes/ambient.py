"""Recall before a turn: for this question, within its budget, and never what the prompt holds already."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

import anyio

from hermes_memory.application.answers import RecallResult
from hermes_memory.application.forgetting import await_forgetting
from hermes_memory.application.memory import Memory
from hermes_memory.domain.errors import HermesMemoryError
from hermes_memory.domain.model import Row
from hermes_memory.domain.noise import is_trivial_query
from hermes_memory.domain.rendering import render_block
from hermes_memory.hermes.runtime import Runtime
from hermes_memory.hermes.sessions import Binding

logger = logging.getLogger(__name__)

QUEUED_KEPT: Final = 16
QUEUED_SECONDS: Final = 120.0
QUEUED_TIMEOUT: Final = 5.0
CHECK_SHARE: Final = 0.3
"""Share of the time left that a queued block's check may take; the rest is for a fresh search if it fails."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Queued:
    """A block made ahead of its question.

    Attributes:
        rows: What it shows, as it was read, and what it had no room for.
        newest: The marks of the theme's newest entries before it was made; see `Standing`.
        in_prompt: What the prompt held then, and the block therefore does not.
        made_at: When that was, on the monotonic clock.
    """

    block: str
    rows: tuple[Row, ...]
    newest: tuple[int, ...]
    in_prompt: frozenset[str]
    made_at: float


class Ambient:
    """Makes and keeps the blocks that the host puts before a turn. Any thread may call.

    A block made ahead is good for its question, session and identity, once, and only if the database says at that
    moment that every row in it is unchanged and that the theme has no newer entry. Nobody need tell this process of a
    change, so none that another process or host made can be missed.
    """

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
        self.shown = _shown(block)
        return block

    def prepare(self, binding: Binding, query: str) -> None:
        """Make the block for a question in the background. Neither a failure nor half an answer is kept."""
        if not self._runtime.settings.prefetch or is_trivial_query(query):
            return

        async def work(memory: Memory) -> None:
            queued = await self._ahead(memory, binding, query)
            if queued is not None:
                self._keep(binding, query, queued)

        self._runtime.loop.spawn(work, action="prefetch.queued")

    def _block(self, binding: Binding, query: str) -> str:
        if not self._runtime.settings.prefetch or is_trivial_query(query):
            return ""
        # The rest of the time is for the way to the loop and back.
        timeout = self._runtime.settings.prefetch_timeout * 0.95
        return self._runtime.call(lambda memory: self._now(memory, binding, query, timeout * 0.95), timeout=timeout)

    async def _now(self, memory: Memory, binding: Binding, query: str, timeout: float) -> str:
        """Return the queued block if it still holds, else a fresh one."""
        deadline = anyio.current_time() + timeout
        in_prompt, left = await self._before(memory, timeout)
        queued = self._take(binding, query)
        if queued is not None and queued.in_prompt == in_prompt:
            if await self._holds(memory, binding, queued, timeout=left * CHECK_SHARE):
                return queued.block
            left = deadline - anyio.current_time()
        return self._render(memory, binding, await self._search(memory, binding, query, in_prompt, timeout=left))

    async def _ahead(self, memory: Memory, binding: Binding, query: str) -> _Queued | None:
        """Make a block to keep, None when not every leg of the search took part in it, or nothing was found.

        What has no vector yet may be found a moment later, and no mark of the theme tells of that.
        """
        deadline, made_at = anyio.current_time() + QUEUED_TIMEOUT, time.monotonic()
        in_prompt, left = await self._before(memory, QUEUED_TIMEOUT)
        # Asked before the search: what is stored while it goes on may have escaped it, and counts as newer.
        standing = await memory.services.reader.standing(binding.caller, (), timeout=left)
        left = deadline - anyio.current_time()
        result = await self._search(memory, binding, query, in_prompt, timeout=left)
        if result.degraded or not result.hits:
            return None
        return _Queued(
            block=self._render(memory, binding, result),
            rows=tuple(hit.row for hit in result.hits),
            newest=standing.newest,
            in_prompt=in_prompt,
            made_at=made_at,
        )

    async def _before(self, memory: Memory, timeout: float) -> tuple[frozenset[str], float]:
        """Return what the prompt holds, and the seconds left once all that is to be forgotten is."""
        deadline = anyio.current_time() + timeout
        spool, deliverer = memory.services.spool, memory.services.deliverer
        in_prompt = await spool.call(self._runtime.local.mirror.prompt_contents)
        return in_prompt, await await_forgetting(spool, deliverer, timeout=deadline - anyio.current_time())

    async def _holds(self, memory: Memory, binding: Binding, queued: _Queued, *, timeout: float) -> bool:
        """Tell whether a block is as true as when it was made. When that cannot be told, it is not."""
        try:
            with anyio.fail_after(timeout):
                standing = await memory.services.reader.standing(binding.caller, queued.rows, timeout=timeout)
        except (HermesMemoryError, TimeoutError) as error:
            logger.debug(
                "a queued block could not be checked",
                extra={"action": "prefetch.unchecked", "cause": type(error).__name__},
            )
            return False
        return standing.newest == queued.newest and standing.unchanged.issuperset(row.id for row in queued.rows)

    async def _search(
        self, memory: Memory, binding: Binding, query: str, in_prompt: frozenset[str], *, timeout: float
    ) -> RecallResult:
        settings, session = self._runtime.settings, binding.caller.session
        return await memory.view_of(binding.caller).recall(
            query,
            limit=settings.prefetch_limit,
            floor=settings.recall_floor,
            exclude=in_prompt,
            window=(session, binding.visible_since) if session else None,
            unasked=settings.ambient_trust,
            timeout=timeout,
        )

    def _render(self, memory: Memory, binding: Binding, result: RecallResult) -> str:
        block = render_block(
            result.hits,
            caller=binding.caller,
            token_budget=self._runtime.settings.prefetch_tokens,
            nonce=secrets.token_hex(4),
        )
        memory.view_of(binding.caller).note_shown(result.trace_id, _shown(block))
        return block

    def _keep(self, binding: Binding, query: str, queued: _Queued) -> None:
        with self._lock:
            self._queued[binding, query] = queued
            while len(self._queued) > QUEUED_KEPT:
                self._queued.popitem(last=False)

    def _take(self, binding: Binding, query: str) -> _Queued | None:
        with self._lock:
            queued = self._queued.pop((binding, query), None)
        return queued if queued and time.monotonic() - queued.made_at <= QUEUED_SECONDS else None


def _shown(block: str) -> int:
    """Count the memories in a block: each is a line of its own."""
    return sum(line.startswith("- ") for line in block.splitlines())
