"""A doorbell: any thread rings it, one task of the loop waits for it."""

from __future__ import annotations

import asyncio

import anyio


class Doorbell:
    """Rings that come while nobody waits are not lost; many of them count as one."""

    def __init__(self) -> None:
        self._event: anyio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._rung = False

    def ring(self) -> None:
        """Ring from within the loop's thread."""
        self._rung = True
        if self._event is not None:
            self._event.set()

    def ring_from_thread(self) -> None:
        """Ring from any thread. It costs microseconds and does nothing when the loop is gone.

        A ring that nobody has answered yet stands for this one too: waking the loop again would take the ringing thread
        the interpreter's lock, which it then waits for as long as the loop is busy.
        """
        if self._rung:
            return
        self._rung = True
        loop = self._loop
        if loop is None:
            return
        try:
            loop.call_soon_threadsafe(self.ring)
        except RuntimeError:
            return

    async def wait(self, seconds: float) -> bool:
        """Wait for a ring, but not longer than `seconds`; return whether it rang."""
        self._loop = asyncio.get_running_loop()
        if not self._rung:
            self._event = anyio.Event()
            with anyio.move_on_after(seconds):
                await self._event.wait()
            self._event = None
        rang, self._rung = self._rung, False
        return rang
