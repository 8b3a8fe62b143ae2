"""The server of a directory as its users see it: acquire, keep running, release."""

from __future__ import annotations

import logging
import os
import threading
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from hermes_memory.adapters.embedded_postgres.address import ServerAddress
from hermes_memory.adapters.embedded_postgres.binaries import (
    Binaries,
    find_binaries,
    reachable_binaries,
    require_plain_path,
)
from hermes_memory.adapters.embedded_postgres.configuration import check_settings
from hermes_memory.adapters.embedded_postgres.filelock import FileLock
from hermes_memory.adapters.embedded_postgres.files import translated_errors
from hermes_memory.adapters.embedded_postgres.handshake import Answer, probe
from hermes_memory.adapters.embedded_postgres.layout import (
    STATE_DIRECTORY,
    Layout,
    locate,
    prepare_directory,
    prepare_state_directory,
    start_lock_path,
    users_lock_path,
)
from hermes_memory.adapters.embedded_postgres.patience import Patience
from hermes_memory.adapters.embedded_postgres.server import PROBE_SECONDS, Server
from hermes_memory.domain.errors import StoreUnavailable

logger = logging.getLogger(__name__)


class EmbeddedPostgres:
    """The server of one directory, shared by every process that acquires it.

    Each user holds ``users.lock`` in shared mode. Whoever leaves tries to take it alone: success means that nobody is
    left, and the server is stopped. The kernel drops the lock of a user that is killed, so such a user never keeps the
    server alive. When the *last* user is killed, nobody is there to stop the server; it stays, idle, until the next
    user joins it and stops it when leaving.

    Every method blocks and may be called from any thread. A child made by ``fork`` starts without a registration.

    Args:
        directory: Where the cluster lives, created when missing. Nothing else may be in it.
        start_timeout: Seconds a call to `acquire` may take in all, the creation of the cluster included.
        stop_timeout: Seconds the server gets for an orderly stop.
        settings: Configuration of the server beside the defaults, as name and value.
        state_directory: Where root puts the cluster, or a copy of the programs, when the account that runs Postgres
            cannot enter their own place.
        binaries: An installation of Postgres to use instead of the wheel's.

    Raises:
        ConfigurationError: A setting is malformed or fixed.

    Example:
        ```python
        postgres = EmbeddedPostgres(home / "postgres")
        dsn = postgres.acquire().dsn()
        try:
            ...
        finally:
            postgres.release()
        ```
    """

    _registration: FileLock | None
    _address: ServerAddress | None
    _layout: Layout | None

    def __init__(
        self,
        directory: Path,
        *,
        start_timeout: float = 60.0,
        stop_timeout: float = 10.0,
        settings: Mapping[str, str] | None = None,
        state_directory: Path = STATE_DIRECTORY,
        binaries: Binaries | None = None,
    ) -> None:
        self._directory = Path(os.path.realpath(directory))
        self._start_timeout = start_timeout
        self._stop_timeout = stop_timeout
        self._settings = dict(settings or {})
        self._state_directory = state_directory
        self._binaries = binaries
        check_settings(self._settings)
        self._forget()
        _instances.add(self)

    def acquire(self) -> ServerAddress:
        """Start the server or join the running one, and count as its user from now on.

        A second call by the same object changes nothing but makes sure that the server runs.

        Raises:
            ConfigurationError: Binaries, directory, account or data are not usable; the message says what to do.
            StoreUnavailable: The server did not answer in time, or `release` was called meanwhile.
        """
        with self._mutex:
            self._called_off.clear()
            self._involved = True
            address = self._address
            if self._registration and address and probe(address, timeout=PROBE_SECONDS) is Answer.READY:
                return address
            with translated_errors("start"):
                self._address = self._acquire(Patience(self._start_timeout, self._called_off))
            return self._address

    def ensure_running(self) -> ServerAddress:
        """Restart the server if it has died, and return its address, which may have changed.

        Raises:
            ConfigurationError: See `acquire`.
            StoreUnavailable: See `acquire`; or this object is no user of the server.
        """
        if self._registration is None:
            raise StoreUnavailable("The embedded Postgres is not in use here: acquire it first")
        return self.acquire()

    def release(self) -> None:
        """Stop being a user, and stop the server when no other is left. May be called twice.

        It takes at most three times `stop_timeout` and a few seconds. A call to `acquire` in another thread is called
        off. Close connections first: the server ends those that remain.

        Raises:
            ConfigurationError: The directory is no longer accessible.
            StoreUnavailable: The server did not stop in time.
        """
        self._called_off.set()
        if not self._mutex.acquire(timeout=self._stop_timeout):
            # The other thread is creating the cluster; it finds the flag at its next pause and unregisters itself.
            logger.warning("Left a starting embedded Postgres", extra={"action": "embedded_postgres.left_starting"})
            return
        try:
            if self._involved:
                with translated_errors("stop"):
                    self._release(Patience(self._stop_timeout))
        finally:
            self._mutex.release()

    def _acquire(self, patience: Patience) -> ServerAddress:
        prepare_directory(self._directory)
        with FileLock(start_lock_path(self._directory)) as starting:
            starting.wait_exclusive(patience)
            newcomer = self._registration is None
            self._register(patience)
            try:
                self._layout = locate(self._directory, self._state_directory)
                server = Server(self._layout, self._settings)
                return server.join(patience) or server.start(self._programs(self._layout), patience)
            except BaseException:
                if newcomer:
                    self._unregister()
                raise

    def _programs(self, layout: Layout) -> Binaries:
        found = self._binaries or find_binaries()
        if not layout.account.switches:
            return require_plain_path(found)
        if not layout.account.can_run(found.program("postgres")):
            prepare_state_directory(self._state_directory)
        return require_plain_path(reachable_binaries(found, layout.account, self._state_directory))

    def _release(self, patience: Patience) -> None:
        try:
            starting = FileLock(start_lock_path(self._directory), create=False)
        except FileNotFoundError:
            self._unregister()  # the directory is gone, and a server without its files ends by itself
            return
        with starting:
            try:
                starting.wait_exclusive(patience)
            finally:
                self._unregister()
            with FileLock(users_lock_path(self._directory)) as users:
                if users.try_exclusive():
                    self._stop()
        self._involved = False

    def _stop(self) -> None:
        if self._layout and not Server(self._layout, self._settings).stop(self._stop_timeout):
            raise StoreUnavailable("The embedded Postgres did not stop in time and was left running")

    def _register(self, patience: Patience) -> None:
        if self._registration is not None:
            return
        registration = FileLock(users_lock_path(self._directory))
        while not registration.try_shared():
            patience.pause("a user that is leaving the embedded Postgres")
        self._registration = registration

    def _unregister(self) -> None:
        self._address = None
        if self._registration is not None:
            self._registration.release()
            self._registration = None

    def _forget(self) -> None:
        """Begin without a registration; in a forked child the parent's stays the parent's."""
        self._mutex = threading.Lock()
        self._called_off = threading.Event()
        self._registration = None
        self._address = None
        self._layout = None
        self._involved = False


_instances: Final[weakref.WeakSet[EmbeddedPostgres]] = weakref.WeakSet()


def _forget_in_child() -> None:
    for instance in list(_instances):
        instance._forget()


os.register_at_fork(after_in_child=_forget_in_child)
