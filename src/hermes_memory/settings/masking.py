"""Shows settings without the secrets in them."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit

MASK: Final = "********"
_ADDRESSES: Final = frozenset({"dsn", "embed_url"})
_HARMLESS: Final = frozenset(
    {"sslmode", "sslrootcert", "target_session_attrs", "application_name", "host", "port", "user", "dbname"}
)


def masked(key: str, value: Any) -> Any:
    """Return a setting as it may be shown.

    >>> masked("dsn", "postgresql://app:hunter2@db.example/memory"), masked("pool_size", 4)
    ('postgresql://app:********@db.example/memory', 4)
    """
    if value is None:
        return None
    if key in _ADDRESSES:
        return masked_address(str(value))
    return MASK if key == "subject_secret" else value


def masked_address(address: str) -> str:
    """Return a URL without password and without what its query may hide; all of it is masked when it is no clear URL.

    >>> masked_address("http://token@models.example:8080/v1?key=abc")
    'http://********@models.example:8080/v1?key=********'
    """
    try:
        parts = urlsplit(address)
        _ = parts.port
    except ValueError:
        return MASK
    # A secret that was not escaped shifts what is behind it into path, query or fragment.
    if not parts.scheme or "//" not in address or parts.fragment or "@" in parts.path + parts.query:
        return MASK
    query = [(name, value if name in _HARMLESS else MASK) for name, value in parse_qsl(parts.query)]
    shown = f"{parts.scheme}://{_netloc(parts.netloc, parts.scheme)}{parts.path}"
    return f"{shown}?{urlencode(query, safe='*/')}" if query else shown


def _netloc(netloc: str, scheme: str) -> str:
    login, at, host = netloc.rpartition("@")
    user, colon, _ = login.partition(":")
    if not at:
        return host
    if not scheme.startswith("postgres"):
        return f"{MASK}@{host}"
    return f"{user}:{MASK}@{host}" if colon else f"{user}@{host}"
