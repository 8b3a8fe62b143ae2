"""What an address of a database must look like, as far as that can be told without connecting."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

from hermes_memory.domain.errors import ConfigurationError

_SCHEMES: Final = frozenset({"postgres", "postgresql"})
_CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "sslmode": ("disable", "allow", "prefer", "require", "verify-ca", "verify-full"),
    "target_session_attrs": ("any", "primary", "standby", "prefer-standby", "read-write", "read-only"),
    "sslnegotiation": ("postgres", "direct"),
}
"""Parameters that take one of some words."""
_HOST: Final = re.compile(r"(?:\[[^\]]+\]|/[^:]*|[^:\[/]+)(?::(?P<port>[0-9]{0,5}))?")
_LAST_PORT: Final = (1 << 16) - 1


def require_database_address(address: str) -> str:
    """Return an address of a database that a driver can read.

    >>> require_database_address("postgresql://app@one,two:5433/memory?sslmode=require")
    'postgresql://app@one,two:5433/memory?sslmode=require'

    Raises:
        ConfigurationError: It is none. The message quotes nothing of it.
    """
    try:
        parts = urlsplit(address)
        given = parse_qs(parts.query, strict_parsing=True) if parts.query else {}
    except ValueError:
        raise ConfigurationError("its parameters or its host cannot be read: write ?name=value&other=value") from None
    if parts.scheme not in _SCHEMES:
        raise ConfigurationError("must be a URL such as postgresql://role:password@host/database")
    if not _reads_hosts(parts, given):
        raise ConfigurationError(
            "its host or port cannot be read: write host:port, and in a password %40 for @, %23 for #, %2F for /"
        )
    for name, words in _CHOICES.items():
        if name in given and _word(name, given[name][-1]) not in words:
            raise ConfigurationError(f"its {name} must be one of {', '.join(words)}")
    return address


def _word(name: str, given: str) -> str:
    return given.replace("_", "-") if name == "sslmode" else given  # the driver takes both spellings of that one alone


def _reads_hosts(parts: SplitResult, given: Mapping[str, list[str]]) -> bool:
    hosts = parts.netloc.rpartition("@")[2] or given.get("host", [""])[-1]
    ports = given.get("port", [""])[-1]
    return _each(_is_host, hosts) and _each(_is_port, ports)


def _each(fits: Callable[[str], bool], listed: str) -> bool:
    return not listed or all(map(fits, listed.split(",")))


def _is_host(text: str) -> bool:
    found = _HOST.fullmatch(unquote(text))
    return found is not None and (not found["port"] or _is_port(found["port"]))


def _is_port(text: str) -> bool:
    return text.isdecimal() and 0 < int(text) <= _LAST_PORT
