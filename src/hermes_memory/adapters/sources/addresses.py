"""Reads addresses of databases as people have them: URLs, and the keywords of libpq, which the driver does not know."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from hermes_memory.domain.errors import ConfigurationError

_PAIR: Final = re.compile(r"\s*(\w+)\s*=\s*(?:'((?:[^'\\]|\\.)*)'|((?:[^\s'\\]|\\.)*))(?=\s|$)")
_NAMES: Final[Mapping[str, str]] = {
    "host": "host",
    "hostaddr": "host",
    "port": "port",
    "user": "user",
    "password": "password",
    "dbname": "database",
    "passfile": "passfile",
    "sslmode": "ssl",
}
"""What a keyword is called by the driver. Others, such as time limits, are the caller's to set."""


def connection_arguments(address: str) -> dict[str, Any]:
    """Return what to give to the driver for an address.

    >>> connection_arguments("host=/run/postgresql dbname=memory user='the agent' connect_timeout=5")
    {'host': '/run/postgresql', 'database': 'memory', 'user': 'the agent'}
    >>> connection_arguments("postgresql://db/memory")
    {'dsn': 'postgresql://db/memory'}

    Raises:
        ConfigurationError: It is neither a URL nor keywords. The message quotes nothing of it.
    """
    if "://" in address.partition("=")[0]:
        return {"dsn": address}
    found: dict[str, Any] = {}
    place = 0
    while place < len(address.rstrip()):
        pair = _PAIR.match(address, place)
        if pair is None:
            raise ConfigurationError("the address of the source is neither a URL nor keywords such as dbname=memory")
        place = pair.end()
        if name := _NAMES.get(pair[1]):
            found[name] = re.sub(r"\\(.)", r"\1", pair[2] if pair[2] is not None else pair[3])
    if "port" in found:
        found["port"] = _port(found["port"])
    return found


def _port(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 1 << 16:
        raise ConfigurationError("the port in the address of the source is no number from 1 to 65535")
    return int(text)
