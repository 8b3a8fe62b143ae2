"""Finding the server that runs for a directory without being one of its users: nothing is started or kept running."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from hermes_memory.adapters.embedded_postgres.address import ServerAddress, load_address
from hermes_memory.adapters.embedded_postgres.handshake import Answer, probe
from hermes_memory.adapters.embedded_postgres.layout import address_path
from hermes_memory.domain.errors import StoreUnavailable

PROBE_SECONDS: Final = 2.0


def running_server(directory: Path) -> ServerAddress:
    """Return the address of the server that runs for a directory. It blocks for a moment.

    Raises:
        StoreUnavailable: None does, or its address cannot be read.
    """
    try:
        address = load_address(address_path(directory.resolve()))
    except OSError as error:
        raise StoreUnavailable("the address of the embedded database cannot be read") from error
    if address is None or probe(address, timeout=PROBE_SECONDS) is not Answer.READY:
        raise StoreUnavailable("the embedded database does not run now")
    return address
