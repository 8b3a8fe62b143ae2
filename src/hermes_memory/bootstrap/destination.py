"""Which database the writes of a home are meant for: the name of the part of the spool that holds them."""

from __future__ import annotations

import getpass
import hashlib
import os
import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

from hermes_memory.settings import Settings

EMBEDDED: Final = "embedded"
"""The name for the home's own database."""
_DIGITS: Final = 12
_PASSWORD: Final = re.compile(r"(?<=:)[^/?#]*(?=@)|(?<=password=)[^&\s]*")
_PORT: Final = "5432"


def destination_of(settings: Settings, *, environment: Mapping[str, str] = os.environ) -> str:
    """Name the database that writes are spooled for, so that a home pointed elsewhere never delivers old ones there.

    The name is a digest of servers, user and database, whatever the address leaves to the environment included.
    A new password or another option of the connection leaves it as it is.
    """
    if settings.dsn is None:
        return EMBEDDED
    address = settings.dsn.get_secret_value()
    try:
        place = _place(urlsplit(address), environment)
    except ValueError:  # not to be connected to either; what is written waits under a name of its own
        place = _PASSWORD.sub("", address)
    return hashlib.sha256(place.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]


def _place(address: SplitResult, environment: Mapping[str, str]) -> str:
    login, _, servers = address.netloc.rpartition("@")
    options = {key: values[-1] for key, values in parse_qs(address.query).items()}
    user = unquote(login.partition(":")[0]) or options.get("user") or environment.get("PGUSER") or _account()
    named = unquote(address.path.removeprefix("/"))
    database = named or options.get("database") or options.get("dbname") or environment.get("PGDATABASE") or user
    service = options.get("service") or environment.get("PGSERVICE") or ""
    return "\0".join((user, database, service, *_servers(servers, options, environment)))


def _servers(servers: str, options: Mapping[str, str], environment: Mapping[str, str]) -> list[str]:
    """Return the servers in their order, each with its port."""
    hosts = servers or options.get("host") or environment.get("PGHOST") or ""
    ports = (options.get("port") or environment.get("PGPORT") or _PORT).split(",")
    found = []
    for index, host in enumerate(hosts.split(",")):
        name, colon, port = host.rpartition(":")
        if not colon or not port.isdigit() or host.endswith("]"):
            name, port = host, ports[min(index, len(ports) - 1)]
        found.append(f"{unquote(name).lower()}:{port}")
    return found


def _account() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # no name for the number of this account
        return ""
