"""Start, adoption, recovery and stop of the one server of a cluster. The caller holds the start lock throughout.

Two facts decide everything, and neither is a file's content. *Occupied*: a process of a server lives. Each of them
holds ``server.lock``, whose descriptor they inherit; processes that work in the data directory count as well, in case
somebody started the server by hand. *Answering*: the socket leads through the start-up exchange.
"""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Mapping
from contextlib import suppress

from hermes_memory.adapters.embedded_postgres.address import ServerAddress, load_address, save_address
from hermes_memory.adapters.embedded_postgres.binaries import Binaries
from hermes_memory.adapters.embedded_postgres.cluster import ensure_cluster
from hermes_memory.adapters.embedded_postgres.configuration import write_configuration
from hermes_memory.adapters.embedded_postgres.filelock import FileLock
from hermes_memory.adapters.embedded_postgres.handshake import Answer, probe
from hermes_memory.adapters.embedded_postgres.layout import Layout
from hermes_memory.adapters.embedded_postgres.patience import Patience
from hermes_memory.adapters.embedded_postgres.processes import server_processes
from hermes_memory.adapters.embedded_postgres.server_log import open_log
from hermes_memory.adapters.embedded_postgres.sockets import (
    make_socket_directory,
    remove_short_directory,
    remove_socket_files,
)
from hermes_memory.domain.errors import StoreUnavailable

logger = logging.getLogger(__name__)

PROBE_SECONDS = 2.0
GRACE_SECONDS = 5.0
"""How long processes may linger after the one that led them has died."""

LEADER_GRACE_SECONDS = 20.0
"""How long a server may live without a listening socket; one that starts needs a moment."""

_ATTEMPTS = 3


class Server:
    """The server of one cluster.

    Args:
        layout: Where the cluster lies.
        settings: Configuration beside the defaults.
    """

    def __init__(self, layout: Layout, settings: Mapping[str, str]) -> None:
        self._layout = layout
        self._settings = settings

    def join(self, patience: Patience) -> ServerAddress | None:
        """Return the address of the running server, waiting for one that starts or recovers.

        Processes that linger without a server (children of one that was killed), and a server whose socket has been
        removed, are of use to nobody: after a grace they are ended.

        Returns:
            The address, or None when no process of a server lives any more.

        Raises:
            StoreUnavailable: A server holds the data and did not answer in time.
            OSError: The file system refuses.
        """
        absent_since: float | None = None
        orders = [signal.SIGINT, signal.SIGQUIT, signal.SIGKILL]
        while self._occupied():
            address = load_address(self._layout.address)
            answer = probe(address, timeout=PROBE_SECONDS) if address else Answer.ABSENT
            if answer is Answer.READY:
                return address
            absent_since = (absent_since or time.monotonic()) if answer is Answer.ABSENT else None
            if absent_since and orders and self._is_useless(time.monotonic() - absent_since):
                self._order(orders.pop(0))
                absent_since = None
            patience.pause("the embedded Postgres that holds the data directory")
        return None

    def start(self, binaries: Binaries, patience: Patience) -> ServerAddress:
        """Start the server, creating its cluster when there is none. No process of a server lives when this is called.

        Raises:
            ConfigurationError: The data or a directory is not usable.
            StoreUnavailable: The server did not come up, or is still recovering when the time is over; in the latter
                case it is left to finish, and a later call joins it.
            OSError: The file system refuses.
        """
        with open_log(self._layout.log) as log:
            ensure_cluster(self._layout, binaries, output=log, timeout=patience.remaining)
        for attempt in range(1, _ATTEMPTS + 1):
            self._launch(binaries, patience)
            if address := self.join(patience):
                return address
            logger.warning(
                "The embedded Postgres ended while starting",
                extra={"action": "embedded_postgres.start_failed", "attempt": attempt},
            )
        raise StoreUnavailable(f"The embedded Postgres does not start; the reason is at the end of {self._layout.log}")

    def stop(self, timeout: float) -> bool:
        """Stop the server, letting it write its last checkpoint, and return whether all its processes are gone.

        Raises:
            OSError: The file system refuses.
        """
        for order, seconds in ((signal.SIGINT, timeout), (signal.SIGQUIT, GRACE_SECONDS)):
            self._order(order)
            if self._gone_within(seconds):
                self._tidy()
                return True
        return False

    def _launch(self, binaries: Binaries, patience: Patience) -> None:
        layout = self._layout
        with suppress(FileNotFoundError):
            (layout.data / "postmaster.pid").unlink()  # nobody lives, so whatever it says is stale
        lock = FileLock(layout.server_lock)
        try:
            address = ServerAddress(socket_directory=make_socket_directory(layout, key=lock.inode))
            remove_socket_files(address)
            write_configuration(layout.data, address, self._settings)
            # Recorded before the start: if this process dies now, the next one finds the server all the same.
            save_address(layout.address, address)
            if not lock.try_exclusive():
                raise StoreUnavailable("A server took the data directory at this moment")
            self._run_starter(binaries, lock, patience)
        finally:
            lock.abandon()  # only closes it: the server's processes go on holding it

    def _run_starter(self, binaries: Binaries, lock: FileLock, patience: Patience) -> None:
        # pg_ctl detaches the server from our session and children. The data directory travels in the environment,
        # because pg_ctl would pass an argument on through a shell.
        with open_log(self._layout.log) as log:
            code = self._layout.account.run(
                [binaries.program("pg_ctl"), "start", "-W", "-s"],
                timeout=max(1.0, patience.remaining),
                output=log,
                environment={"PGDATA": self._layout.data},
                pass_fds=(lock.descriptor,),
            )
        if code != 0:
            raise StoreUnavailable(f"The embedded Postgres does not start; see the end of {self._layout.log}")
        logger.info("Started the embedded Postgres", extra={"action": "embedded_postgres.started"})

    def _occupied(self) -> bool:
        with FileLock(self._layout.server_lock) as lock:
            return not lock.try_exclusive() or bool(server_processes(self._layout.data, self._layout.account))

    def _is_useless(self, absent_seconds: float) -> bool:
        if absent_seconds < min(GRACE_SECONDS, LEADER_GRACE_SECONDS):
            return False
        led = any(process.leads for process in server_processes(self._layout.data, self._layout.account))
        return absent_seconds > (LEADER_GRACE_SECONDS if led else GRACE_SECONDS)

    def _order(self, order: signal.Signals) -> None:
        """Send a signal to the leading process, or end the others when it is dead."""
        processes = server_processes(self._layout.data, self._layout.account)
        leaders = [process.pid for process in processes if process.leads]
        for pid in leaders or [process.pid for process in processes]:
            with suppress(ProcessLookupError):
                # Without a leader there is nothing to shut down: their memory is lost and the log will be replayed.
                os.kill(pid, order if leaders else signal.SIGKILL)

    def _gone_within(self, seconds: float) -> bool:
        patience = Patience(seconds)
        try:
            while self._occupied():
                patience.pause("the end of the embedded Postgres")
        except StoreUnavailable:
            return False
        return True

    def _tidy(self) -> None:
        if address := load_address(self._layout.address):
            remove_short_directory(self._layout, address)
        self._layout.address.unlink(missing_ok=True)
        logger.info("Stopped the embedded Postgres", extra={"action": "embedded_postgres.stopped"})
