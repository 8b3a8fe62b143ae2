"""A doorbell: any thread rings it, one task of the loop waits for it."""

from __future__ import annotations

import asyncio
import time
from typing import Final

import anyio

QUIET_SECONDS: Final = 0.02
"""How long threads must have stopped ringing before they are answered. Answering takes the interpreter and the spool,
which those who go on accepting then wait for; and what comes together is delivered together."""
LONGEST_QUIET_SECONDS: Final = 0.2
"""How long threads that go on ringing wait at most for an answer, counted from the first ring."""


class Doorbell:
    """Rings that come while nobody waits are not lost; many of them count as one.

    A ring from within the loop is answered at once: somebody waits for what it is about. Rings from threads only tell
    that there is something, so they are answered when they pause.
    """

    def __init__(self) -> None:
        self._event: anyio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._rung = False
        self._urgent = False
        self._last = 0.0

    @property
    def ringing(self) -> bool:
        """Whether a thread has rung that was not answered, and none in the loop."""
        return self._rung and not self._urgent

    def ring(self) -> None:
        """Ring from within the loop's thread."""
        self._rung = self._urgent = True
        self._wake()

    def ring_from_thread(self) -> None:
        """Ring from any thread. It costs microseconds and does nothing when the loop is gone.

        A ring that nobody has answered yet stands for this one too: waking the loop again would take the ringing thread
        the interpreter's lock, which it then waits for as long as the loop is busy.
        """
        self._last = time.monotonic()
        if self._rung:
            return
        self._rung = True
        loop = self._loop
        if loop is None:
            return
        try:
            loop.call_soon_threadsafe(self._hear)
        except RuntimeError:
            return

    async def wait(self, seconds: float) -> bool:
        """Wait for a ring, but not longer than `seconds`, and for a pause in the ringing; return whether it rang."""
        self._loop = asyncio.get_running_loop()
        if not self._rung:
            await self._woken(seconds)
        if self.ringing:
            await self._quiet()
        rang, self._rung, self._urgent = self._rung, False, False
        return rang

    async def _quiet(self) -> None:
        """Wait until threads stop ringing, or have rung for long, or somebody in the loop rings."""
        now = time.monotonic()
        latest = now + LONGEST_QUIET_SECONDS
        while not self._urgent and now < (until := min(latest, self._last + QUIET_SECONDS)):
            await self._woken(until - now)
            now = time.monotonic()

    async def _woken(self, seconds: float) -> None:
        self._event = anyio.Event()
        with anyio.move_on_after(seconds):
            await self._event.wait()
        self._event = None

    def _hear(self) -> None:
        self._rung = True  # once more: the wait that was ending as the thread rang has taken the ring back
        self._wake()

    def _wake(self) -> None:
        if self._event is not None:
            self._event.set()
