"""Shows settings without the secrets and the people in them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from hermes_memory.domain.contacts import recognise
from hermes_memory.domain.redaction import redact, redact_value

MASK: Final = "********"
ADDRESSES: Final = frozenset({"dsn", "embed_url"})
"""Settings that are URLs."""
_HARMLESS: Final = frozenset(
    {"sslmode", "sslrootcert", "target_session_attrs", "application_name", "host", "port", "user", "dbname"}
)
_UNCLEAR: Final = re.compile(r"[\s;=]")
"""Begins another parameter for whoever reads an address by other rules than those of URLs."""
_VARIABLE: Final = re.compile(r"_?[A-Za-z]{1,20}[0-9]{0,3}(?:_[A-Za-z]{0,20}[0-9]{0,3}){0,16}")
"""The name of an environment variable, in words as people choose them: a key fits the setting's own pattern too."""


def masked(key: str, value: Any) -> Any:
    """Return a setting as it may be shown.

    >>> masked("dsn", "postgresql://app:hunter2@db.example/memory"), masked("pool_size", 4)
    ('postgresql://app:********@db.example/memory', 4)
    >>> masked("identity_aliases", {"sms:+15550100": "errands"})
    {'[contact 1]': 'errands'}
    """
    if value is None:
        return None
    if key in ADDRESSES:
        return masked_address(str(value))
    if key == "embed_api_key_env":
        return _masked_variable(str(value))
    return MASK if key == "subject_secret" else _masked_value(value)


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
    given = parse_qsl(parts.query)
    query = [(name, value if name in _HARMLESS else MASK) for name, value in given]
    place = f"{_netloc(parts.netloc, parts.scheme)}{parts.path}"
    if any(map(_is_unclear, (unquote(place), *(text for pair in query for text in pair)))):
        return MASK
    shown = f"{parts.scheme}://{place}"
    return redact(f"{shown}?{urlencode(query, safe='*/')}" if query else shown).text


def _netloc(netloc: str, scheme: str) -> str:
    login, at, host = netloc.rpartition("@")
    user, colon, _ = login.partition(":")
    if not at:
        return host
    if not scheme.startswith("postgres"):
        return f"{MASK}@{host}"
    return f"{user}:{MASK}@{host}" if colon else f"{user}@{host}"


def _is_unclear(text: str) -> bool:
    return _UNCLEAR.search(text) is not None


def _masked_variable(name: str) -> str:
    return name if _VARIABLE.fullmatch(name) and not redact(name).count else MASK


def _masked_value(value: Any) -> Any:
    """Return a value without secrets; a mapping or a sequence, which may hold names of people, without these too."""
    if isinstance(value, Mapping):
        return {
            _named(name, number): _masked_entry(name, item, number)
            for number, (name, item) in enumerate(value.items(), start=1)
        }
    if isinstance(value, list | tuple):
        return [_named(item, number) for number, item in enumerate(value, start=1)]
    return redact(value).text if isinstance(value, str) else value


def _masked_entry(name: str, value: Any, number: int) -> Any:
    return redact_value(name, _named(value, number)).text if isinstance(value, str) else value


def _named(name: Any, number: int) -> Any:
    """Return a name as it may be shown, that of a contact by its number among the others."""
    if not isinstance(name, str):
        return name
    return f"[contact {number}]" if recognise(name) else redact(name).text
