"""One provider's share of its home's runtime: taken, kept through forks, and let go."""

from __future__ import annotations

import threading
import weakref
from pathlib import Path

from hermes_memory.bootstrap.home import LocalHalf
from hermes_memory.hermes.ambient import Ambient
from hermes_memory.hermes.capture import Capture
from hermes_memory.hermes.host import read_settings, secret_reader
from hermes_memory.hermes.notebook_watch import NotebookWatch
from hermes_memory.hermes.runtime import Handle, Runtime, acquire, release


class RuntimeShare:
    """What a provider does its work with. Any thread may call. A share that is dropped is let go by itself.

    Attributes:
        handle: The share, None before the first one and after it was let go.
        capture: Keeps what is said, None before the first share.
        ambient: Recalls before a turn, likewise.
        watch: Notices edits of the notebooks, likewise.
    """

    def __init__(self) -> None:
        # Held while the share changes hands: hooks run on several threads at once.
        self._changing = threading.Lock()
        self._finalizer: weakref.finalize[..., RuntimeShare] | None = None
        self._local: LocalHalf | None = None
        self.handle: Handle | None = None
        self.capture: Capture | None = None
        self.ambient: Ambient | None = None
        self.watch: NotebookWatch | None = None

    def take(self, home: Path | None) -> Runtime:
        """Share the runtime of the home as its settings are now, keeping the present share if they are unchanged.

        Raises:
            ConfigurationError: A setting is wrong, or the home's state cannot be used safely.
        """
        settings = read_settings(home, secret_reader())
        with self._changing:
            fresh = acquire(settings, secret_reader())
            if self.handle is not None:
                release(self.handle)
            self._keep(fresh)
        return fresh.runtime

    def live(self) -> Runtime | None:
        """Return the runtime, None after it was let go. In a process that was forked meanwhile, it is a new one.

        Raises:
            ConfigurationError: A new one is needed, and the home's state cannot be used safely.
        """
        handle = self.handle
        if handle is not None and not handle.runtime.loop.alive:
            with self._changing:
                handle = self.handle
                if handle is not None and not handle.runtime.loop.alive:
                    handle = acquire(handle.runtime.settings, handle.runtime.secret)
                    self._keep(handle)
        return handle.runtime if handle else None

    def writable(self) -> LocalHalf | None:
        """Return the half that accepts writes, None before the first share: it accepts also after that was let go.

        Raises:
            ConfigurationError: As for `live`.
        """
        runtime = self.live()
        return runtime.local if runtime else self._local

    def let_go(self) -> None:
        """Give the share back. If it was the last of the runtime, that delivers for a bounded time first."""
        with self._changing:
            handle, self.handle = self.handle, None
            if self._finalizer is not None:
                self._finalizer.detach()
                self._finalizer = None
        if handle is not None:
            release(handle, timeout=handle.runtime.settings.shutdown_timeout)

    def _keep(self, handle: Handle) -> None:
        if self._finalizer is not None:
            self._finalizer.detach()
        self.handle = handle
        self._finalizer = weakref.finalize(self, release, handle)
        self._finalizer.atexit = False
        if self._local is handle.runtime.local:
            return
        self._local = handle.runtime.local
        self.capture = Capture(handle.runtime.local.acceptor, max_chars=handle.runtime.settings.turn_max_chars)
        self.ambient = Ambient(handle.runtime)
        self.watch = NotebookWatch(handle.runtime)
