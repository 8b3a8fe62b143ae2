"""What an address of a database must look like."""

from __future__ import annotations

import asyncpg
import pytest
from tests.support.tables import for_each

from hermes_memory.domain.database_address import require_database_address
from hermes_memory.domain.errors import ConfigurationError


@for_each(
    "address",
    [
        "postgresql://",
        "postgres://app@db.example/memory",
        "postgresql:///memory?host=/run/postgresql&port=5433&user=app",
        "postgresql://app:p%40ss@one:5432,two:5433/memory?target_session_attrs=read-write&sslmode=verify-full",
        "postgresql://app@[2001:db8::1]:5432/memory?sslmode=verify_full",
        "postgresql://app@%2Frun%2Fpostgresql/memory",
        "postgresql://app@db/memory?application_name=agents&sslrootcert=/etc/ca.pem&sslnegotiation=direct",
    ],
)
def test_what_the_driver_reads_is_an_address(address: str) -> None:
    assert require_database_address(address) == address


@for_each(
    ("address", "told"),
    [
        ("http://x", "URL such as postgresql://"),
        ("justaname", "URL such as postgresql://"),
        ("host=db dbname=memory", "URL such as postgresql://"),
        ("postgresql://db/memory?sslmode=foo", "sslmode must be one of disable, allow"),
        ("postgresql://db/memory?target_session_attrs=writable", "target_session_attrs must be one of any"),
        ("postgresql://db/memory?target_session_attrs=read_write", "target_session_attrs must be one of any"),
        ("postgresql://db/memory?sslmode", "parameters"),
        ("postgresql://app@db:fivefour/memory", "host or port"),
        ("postgresql://app@one,,two/memory", "host or port"),
        ("postgresql://app:pa#ss@db/memory", "%23 for #"),
        ("postgresql:///memory?host=/run&port=x", "host or port"),
    ],
)
async def test_what_the_driver_cannot_read_is_none_and_is_told_why(address: str, told: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        require_database_address(address)

    assert told in str(caught.value)
    with pytest.raises((ValueError, IndexError)):
        await asyncpg.connect(address, timeout=1)


@pytest.mark.parametrize("port", ["0", "65536"])
def test_a_port_that_no_server_has_is_none(port: str) -> None:
    with pytest.raises(ConfigurationError, match="port"):
        require_database_address(f"postgresql://db:{port}/memory")
