"""An embedded Postgres: one server per home, shared by its processes, stopped after the last of them.

The binaries come from the wheel of the extra ``embedded``; everything else is here: creation of the cluster, start,
liveness, sharing, privileges, recovery and stop. All calls block; call them from a worker thread.
"""

from __future__ import annotations

from hermes_memory.adapters.embedded_postgres.address import ServerAddress
from hermes_memory.adapters.embedded_postgres.binaries import Binaries, find_binaries
from hermes_memory.adapters.embedded_postgres.supervisor import EmbeddedPostgres

__all__ = ["Binaries", "EmbeddedPostgres", "ServerAddress", "find_binaries"]
