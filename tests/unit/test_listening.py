"""Where a process listens for whoever watches it."""

from __future__ import annotations

import pytest
from tests.support.tables import for_each

from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.listening import MOST_PORTS, listening


@for_each(
    ("text", "address", "ports"),
    [
        ("127.0.0.1:9464", "127.0.0.1", [9464]),
        (" 127.0.0.1:9465-9467 ", "127.0.0.1", [9465, 9466, 9467]),
        ("localhost:1", "127.0.0.1", [1]),
        ("[::1]:65535", "::1", [65_535]),
        ("127.9.8.7:0", "127.9.8.7", [0]),
    ],
)
def test_an_address_of_this_machine_alone_is_local(text: str, address: str, ports: list[int]) -> None:
    where = listening(text)

    assert (str(where.address), list(where.ports), where.local) == (address, ports, True)


@for_each("text", ["0.0.0.0:9464", "[::]:9464", "192.168.1.4:9464", "[2001:db8::1]:9464"])
def test_an_address_that_others_reach_is_not_local(text: str) -> None:
    assert not listening(text).local


@for_each(
    "text",
    [
        "",
        "9464",
        ":9464",
        "127.0.0.1",
        "127.0.0.1:",
        "127.0.0.1:-1",
        "127.0.0.1:65536",
        "127.0.0.1:9465-9464",
        "127.0.0.1:0-3",
        f"127.0.0.1:1000-{1000 + MOST_PORTS}",
        "127.0.0.300:9464",
        "127.0.0.1:9464/metrics",
        "::1:9464",
        "[::zz]:9464",
        "metrics.example.org:9464",
        "127.0.0.1:９４６４",
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        listening(text)
