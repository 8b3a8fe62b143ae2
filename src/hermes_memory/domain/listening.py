"""Where a process listens for whoever watches it: an address, and one port or a few."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final

from hermes_memory.domain.errors import InvalidInput

MOST_PORTS: Final = 64
"""Each is one more target to ask, whether or not anybody is there."""
_SPELLING: Final = re.compile(
    r"(?:\[(?P<six>[0-9a-fA-F:.]{2,45})\]|(?P<four>[0-9.]{7,15}|localhost)):(?P<first>[0-9]{1,5})(?:-(?P<last>[0-9]{1,5}))?"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listening:
    """An address and the ports to try there, in order.

    Attributes:
        address: Of an interface of this machine.
        first, last: The ports, both included; 0 for one that the system chooses.
    """

    address: IPv4Address | IPv6Address
    first: int
    last: int

    @property
    def local(self) -> bool:
        """Whether only this machine reaches it."""
        return self.address.is_loopback

    @property
    def ports(self) -> range:
        """The ports to try."""
        return range(self.first, self.last + 1)


def listening(text: str) -> Listening:
    """Read `ADDRESS:PORT` or `ADDRESS:FIRST-LAST`. Names are not looked up: what they lead to may change.

    >>> listening("127.0.0.1:9464").local, list(listening("[::1]:9465-9467").ports)
    (True, [9465, 9466, 9467])

    Raises:
        InvalidInput: It is nothing of the kind, or these are too many ports.
    """
    found = _SPELLING.fullmatch(text.strip())
    if not found:
        raise InvalidInput("must be an address and a port, such as 127.0.0.1:9464 or [::1]:9464", field="listen")
    first = int(found["first"])
    last = int(found["last"] or first)
    if not first <= last <= 65_535 or last - first >= MOST_PORTS or (first == 0 and last != 0):
        raise InvalidInput(f"must name one port, or from a lower to a higher one up to {MOST_PORTS}", field="listen")
    return Listening(address=_address(found["six"] or found["four"]), first=first, last=last)


def _address(text: str) -> IPv4Address | IPv6Address:
    try:
        return ip_address("127.0.0.1" if text == "localhost" else text)
    except ValueError as error:
        raise InvalidInput("is no address of the Internet protocol", field="listen") from error
