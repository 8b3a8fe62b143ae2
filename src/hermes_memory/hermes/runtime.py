"""One runtime for each home of a process, shared by all of its agents and let go with the last of them."""

from __future__ import annotations

import atexit
import hashlib
import logging
import os
import threading
import time
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from hermes_memory.application.memory import Memory
from hermes_memory.bootstrap.home import LocalHalf, open_local_half
from hermes_memory.domain.errors import HermesMemoryError
from hermes_memory.domain.instructions import looks_like_instruction
from hermes_memory.domain.operations import Operation
from hermes_memory.domain.secret_shapes import compile_shapes
from hermes_memory.hermes.loop_thread import LoopThread
from hermes_memory.settings import Settings

logger = logging.getLogger(__name__)

CLOSING_NAME: Final = "hermes-memory-closing"
"""Of the thread that closes the spool."""

Answer = TypeVar("Answer")
Key = tuple[int, str]
SecretReader = Callable[[str], str | None]

_lock = threading.RLock()
_runtimes: dict[Key, Runtime] = {}


class Runtime:
    """The memory of one home within this process: the local half at once, the rest on its own thread."""

    def __init__(self, settings: Settings, secret: SecretReader) -> None:
        """Open the local half and start the thread; `secret` reads the agent's secrets by name.

        Raises:
            ConfigurationError: The home's state cannot be used safely.
        """
        self.settings = settings
        self.secret = secret
        self.local: LocalHalf = open_local_half(settings, accepted=self._accepted)
        self._abandoned = False
        self.loop = LoopThread(self._opening, ended=self._ended)

    def call(self, work: Callable[[Memory], Coroutine[Any, Any, Answer]], *, timeout: float) -> Answer:
        """Run work on the loop and wait. See `LoopThread.call`."""
        return self.loop.call(work, timeout=timeout)

    def close(self, *, timeout: float) -> None:
        """Deliver what can be delivered, end the thread and close the spool, all within `timeout` seconds.

        Each of the last two has a tenth of a second at least. What is not done by then goes on by itself, or the next
        start does it: what was accepted is on the disk.
        """
        deadline = time.monotonic() + timeout
        if self.loop.memory is not None:
            share = timeout * 0.6
            try:
                self.call(lambda memory: memory.services.deliverer.drained(timeout=share, patient=False), timeout=share)
            except HermesMemoryError as error:
                logger.info(
                    "writes wait for the next start", extra={"action": "runtime.close", "cause": type(error).__name__}
                )
        self.loop.stop(timeout=max(deadline - time.monotonic(), 0.1))
        self._close_spool(max(deadline - time.monotonic(), 0.1))

    def _close_spool(self, seconds: float) -> None:
        """Close the home's files aside: the disk and other processes may keep us waiting longer than the host does."""
        closing = threading.Thread(target=self._close_home, name=CLOSING_NAME, daemon=True)
        try:
            closing.start()
        except RuntimeError:  # the interpreter ends, and the system closes the files
            return
        closing.join(seconds)

    def abandon(self) -> None:
        """End the thread without waiting: nobody uses this runtime any more. The thread closes the spool."""
        self._abandoned = True
        self.loop.stop_soon()

    def _ended(self) -> None:
        if self._abandoned:
            self._close_home()

    def _close_home(self) -> None:
        self.local.mirror.subjects_leave()
        self.local.spool.close()

    def _opening(self) -> AbstractAsyncContextManager[Memory]:
        # Imported on the loop's thread: the drivers take a while to load, and an agent's start must not wait for them.
        from hermes_memory.bootstrap.opening import open_memory  # noqa: PLC0415

        # Compiled here, too: the first turn that is accepted and the first block that is made need not wait for it.
        compile_shapes()
        looks_like_instruction("")
        return open_memory(self.settings, local=self.local, secret=self.secret, wait=0, serves_metrics=True)

    def _accepted(self, _operation: Operation) -> None:
        self.loop.ring()


@dataclass(slots=True)
class Handle:
    """One provider's share of a runtime."""

    key: Key
    runtime: Runtime
    released: bool = field(default=False)


_shares: dict[Key, int] = {}


def acquire(settings: Settings, secret: SecretReader) -> Handle:
    """Share the runtime of this home and these settings, making it when there is none in this process.

    Raises:
        ConfigurationError: The home's state cannot be used safely.
    """
    key = (os.getpid(), _digest(settings))
    with _lock:
        # Counted first: at any moment a dropped agent may be collected, on this thread, and release the last share.
        _shares[key] = _shares.get(key, 0) + 1
        runtime = _runtimes.get(key)
        if runtime is None or not runtime.loop.alive:
            runtime = _renewed(key, runtime, settings, secret)
        return Handle(key=key, runtime=runtime)


def _renewed(key: Key, dead: Runtime | None, settings: Settings, secret: SecretReader) -> Runtime:
    """Put a new runtime, with one share, in the place of what there was, which stays if none can be made. Locked."""
    try:
        runtime = Runtime(settings, secret)
    except BaseException:
        _shares[key] -= 1
        raise
    if dead is not None:
        dead.local.mirror.subjects_move(runtime.local.mirror)
    _runtimes[key], _shares[key] = runtime, 1
    return runtime


def release(handle: Handle, *, timeout: float = 0.0) -> None:
    """Give a share back; with the last one the runtime ends, delivering for up to `timeout` seconds first."""
    with _lock:
        if handle.released:
            return
        handle.released = True
        if handle.key[0] != os.getpid() or _runtimes.get(handle.key) is not handle.runtime:
            return
        _shares[handle.key] -= 1
        if _shares[handle.key] > 0:
            return
        del _runtimes[handle.key], _shares[handle.key]
    if timeout > 0:
        handle.runtime.close(timeout=timeout)
    else:
        handle.runtime.abandon()


def _digest(settings: Settings) -> str:
    secrets = "".join(value.get_secret_value() if value else "-" for value in (settings.dsn, settings.subject_secret))
    return hashlib.sha256(f"{settings.model_dump_json()}{secrets}".encode()).hexdigest()


def _unlock_in_child() -> None:
    global _lock  # noqa: PLW0603 - the thread that may hold it does not exist in the child
    _lock = threading.RLock()


def _leave_at_exit() -> None:
    """Say that nobody's session is here any more: of an agent that it only dropped the host says nothing."""
    for (pid, _), runtime in list(_runtimes.items()):
        if pid == os.getpid():
            runtime.local.mirror.subjects_leave()


os.register_at_fork(after_in_child=_unlock_in_child)
atexit.register(_leave_at_exit)
