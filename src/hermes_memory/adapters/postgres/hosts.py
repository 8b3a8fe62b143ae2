"""Chooses among the hosts of an address that names several, so that one that answers nothing does not hide the rest."""

from __future__ import annotations

from urllib.parse import urlsplit, urlunsplit


def rotated(dsn: str, turns: int) -> str:
    """Return an address whose list of hosts begins that many places later.

    The driver tries the hosts in their order, all within one limit of time. A host that is gone without a refusal
    takes all of it, so whoever tries again begins with the next one. An address of one host is returned as it is, and
    so is one that names them among its parameters.

    >>> rotated("postgresql://app@one:5432,two:5433/memory?target_session_attrs=read-write", 1)
    'postgresql://app@two:5433,one:5432/memory?target_session_attrs=read-write'
    """
    parts = urlsplit(dsn)
    login, at, places = parts.netloc.rpartition("@")
    hosts = places.split(",")
    if len(hosts) == 1:
        return dsn
    first = turns % len(hosts)
    return urlunsplit(parts._replace(netloc=f"{login}{at}{','.join(hosts[first:] + hosts[:first])}"))
