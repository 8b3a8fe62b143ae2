"""Where an embedder over HTTP may be: the rules for its address.

Texts and a key travel to this address, and whoever sets it may not be whoever owns the network. So: http and https
only, no user or password, no query, never an address at which cloud machines serve their credentials (any link-local
one, and some others), and without TLS only to an address that is loopback or private. Names are judged by what they
resolve to, at every look-up: that admits `http://ollama:11434` in a cluster without a list of known names, and a name
that changes its mind is caught.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import Final, TypeAlias
from urllib.parse import SplitResult, urlsplit

from hermes_memory.domain.errors import ConfigurationError

Address: TypeAlias = "ipaddress.IPv4Address | ipaddress.IPv6Address"

_HOST_NAME: Final = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,62}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,62}[a-z0-9_])?)*\.?")
_ODD_ADDRESS: Final = re.compile(r"((0x[0-9a-f]*|[0-9]+)\.?)+")
"""What a resolver takes for an address though it is not written as one: 2852039166, 0xa9.254.1."""
_PATH: Final = re.compile(r"[A-Za-z0-9._~%!$&'()*+,;=:@/-]*")
_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")
_SHARED: Final = ipaddress.IPv4Network("100.64.0.0/10")
"""Carrier-grade NAT space (RFC 6598), where private overlay networks live."""
_CREDENTIALS: Final = frozenset(
    ipaddress.ip_address(text).packed
    for text in (
        "fd00:ec2::254",  # AWS: metadata
        "fd00:ec2::23",  # AWS: credentials of a pod
        "fd20:ce::254",  # Google
        "168.63.129.16",  # Azure
        "100.100.100.200",  # Alibaba
        "192.0.0.192",  # Oracle
        "fd00:c1::a9fe:a9fe",  # Oracle
        "fd00:42::42",  # Scaleway
        "fd00:a9fe:a9fe::1",  # Linode
    )
)
"""Where machines in a cloud are told their credentials, other than at a link-local address; without zones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """An address that passed the rules.

    Attributes:
        origin: Scheme, host and port, as they may be shown in a message.
        path: What stands before `/v1/embeddings` or `/api/embed`; "" or "/…" without a slash at its end.
        encrypted: Whether TLS protects the way there.
    """

    origin: str
    path: str
    encrypted: bool

    @property
    def openai_url(self) -> str:
        """Where the OpenAI shape is served. A path that ends in `/embeddings` is taken as it stands."""
        if self.path.endswith("/embeddings"):
            return self.origin + self.path
        return self.origin + self.path.removesuffix("/v1") + "/v1/embeddings"

    @property
    def ollama_url(self) -> str:
        """Where the Ollama shape is served."""
        return self.origin + self.path.removesuffix("/v1").removesuffix("/api/embed") + "/api/embed"


def parse_endpoint(base_url: str) -> Endpoint:
    """Judge the address an operator configured.

    >>> parse_endpoint("https://api.openai.com/v1/").openai_url
    'https://api.openai.com/v1/embeddings'
    >>> parse_endpoint("http://127.0.0.1:11434").ollama_url
    'http://127.0.0.1:11434/api/embed'

    Raises:
        ConfigurationError: The address breaks a rule. The message names the rule and never shows the address.
    """
    parts = _split(base_url)
    host = parts.hostname or ""
    address = _literal(host)
    if address is not None:
        verdict = objection(address, encrypted=parts.scheme == "https")
        if verdict is not None:
            raise ConfigurationError(f"the embedder's URL {verdict}")
    shown = f"[{host}]" if address is not None and address.version == 6 else host
    port = f":{parts.port}" if parts.port is not None else ""
    return Endpoint(
        origin=f"{parts.scheme}://{shown}{port}",
        path=parts.path.rstrip("/"),
        encrypted=parts.scheme == "https",
    )


def objection(address: Address, *, encrypted: bool) -> str | None:
    """Say what is wrong with sending texts to an address, None when nothing is."""
    address = _embedded(address)
    if address.is_link_local:
        return "leads to a link-local address, which is refused: name a host that serves an embedding model"
    if address.packed in _CREDENTIALS:
        return "leads to where a cloud serves its credentials, which is refused: name a host that serves a model"
    if address.is_multicast:
        return "leads to a multicast address: name a single host"
    if not encrypted and not _is_near(address):
        return "uses plain http to a public address: use https, or a loopback or private address"
    return None


def _split(base_url: str) -> SplitResult:
    try:
        parts = urlsplit(base_url.strip())
        port = parts.port
    except ValueError:
        raise ConfigurationError("the embedder's URL cannot be read: write it as https://host:port/path") from None
    if parts.scheme not in {"http", "https"}:
        raise ConfigurationError("the embedder's URL must begin with http:// or https://")
    if "@" in parts.netloc:
        raise ConfigurationError(
            "the embedder's URL holds a user or password: remove it and name the key's environment variable instead"
        )
    if parts.query or parts.fragment:
        raise ConfigurationError("the embedder's URL holds a query or a fragment: remove what follows ? or #")
    if port == 0 or not _PATH.fullmatch(parts.path):
        raise ConfigurationError("the embedder's URL has a port or path that cannot be used")
    return parts


def _literal(host: str) -> Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        pass
    if not _HOST_NAME.fullmatch(host) or _ODD_ADDRESS.fullmatch(host):
        raise ConfigurationError(
            "the embedder's URL needs a host name or a plain IP address (a name with other letters in its xn-- form)"
        )
    return None


def _embedded(address: Address) -> Address:
    """Return the IPv4 address that an IPv6 address carries, where it carries one."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address


def _is_near(address: Address) -> bool:
    return address.is_loopback or address.is_private or (address.version == 4 and address in _SHARED)
