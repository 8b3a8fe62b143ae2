"""Subjects: keyed hashes that tell people and groups apart without naming them."""

from __future__ import annotations

import hashlib
import hmac
from typing import Final

from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.model import HomeId, Subject

MIN_SECRET_BYTES: Final = 16
_DOMAIN: Final = b"hermes-memory subject v1"
_HOME_DOMAIN: Final = b"hermes-memory home v1"


def subject_for(secret: bytes, kind: str, *parts: str) -> Subject:
    """Hash a contact key to its subject.

    HMAC-SHA256 (RFC 2104, FIPS 180-4) over `kind` and `parts`, each preceded by its length in bytes, so that no two
    different lists of parts share an encoding.

    Args:
        secret: The installation's secret, at least 16 bytes. Another secret gives unrelated subjects.
        kind: What is named: "person", "group" or "bench". The same key of another kind is another subject.
        parts: The key's parts, such as platform and contact, already in their one spelling.

    Returns:
        32 bytes.

    Raises:
        InvalidInput: The secret is too short to hide a phone number behind.
    """
    return Subject(_keyed_hash(secret, _DOMAIN, (kind, *parts)))


def home_id_for(secret: bytes, path: str) -> HomeId:
    """Name a Hermes home without telling its path: 32 hexadecimal digits of a keyed hash.

    Raises:
        InvalidInput: The secret is too short.
    """
    return HomeId(_keyed_hash(secret, _HOME_DOMAIN, (path,)).hex()[:32])


def _keyed_hash(secret: bytes, domain: bytes, parts: tuple[str, ...]) -> bytes:
    if len(secret) < MIN_SECRET_BYTES:
        raise InvalidInput(f"the installation's secret is too short: use {MIN_SECRET_BYTES} bytes or more")
    digest = hmac.new(secret, domain, hashlib.sha256)
    for part in parts:
        encoded = part.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "big"))
        digest.update(encoded)
    return digest.digest()
