"""A throw-away Postgres that may be killed: unlike the tests' other servers it loses nothing that was committed."""

from __future__ import annotations

import os
import signal
from contextlib import ExitStack, suppress
from types import TracebackType
from typing import Final

from hermes_memory.adapters.embedded_postgres import EmbeddedPostgres
from tests.support.embedded import leader_below, place, postgres_below
from tests.support.postgres import TestServer

# What the kernel has is safe from a kill, so nothing need reach the disk; but it has to reach the kernel.
_SETTINGS: Final = {"fsync": "off", "max_connections": "100"}


class CrashableServer(TestServer):
    """A server of its own, to be used as a context manager, and killed and started again meanwhile."""

    def __enter__(self) -> CrashableServer:
        with ExitStack() as stack:
            self.directory = stack.enter_context(place())
            self._crashable = EmbeddedPostgres(
                self.directory / "postgres", settings=_SETTINGS, state_directory=self.directory / "state"
            )
            self.superuser_dsn = self._crashable.acquire().dsn()
            stack.callback(self._crashable.release)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def kill(self) -> None:
        """Kill the server's first process. The others notice, in their own time."""
        assert self.directory
        os.kill(leader_below(self.directory), signal.SIGKILL)

    def kill_one_of(self, number: int) -> None:
        """Kill one of the server's other processes, upon which it ends them all and recovers."""
        assert self.directory
        leader = leader_below(self.directory)
        others = [pid for pid in sorted(postgres_below(self.directory)) if pid != leader]
        if others:
            with suppress(ProcessLookupError):
                os.kill(others[number % len(others)], signal.SIGKILL)

    def start_again(self) -> None:
        """Make sure that the server runs."""
        self._crashable.ensure_running()
