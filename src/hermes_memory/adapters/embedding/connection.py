"""One keep-alive connection pool to one embedding endpoint, and what its refusals mean."""

from __future__ import annotations

import json
import ssl
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import aiohttp
import anyio

from hermes_memory.adapters.embedding.body import read_json
from hermes_memory.adapters.embedding.resolver import GuardedResolver
from hermes_memory.adapters.embedding.retry_after import retry_after_seconds
from hermes_memory.adapters.embedding.worker import WorkerClosed
from hermes_memory.domain.endpoint import Endpoint
from hermes_memory.domain.errors import (
    ConfigurationError,
    EmbedderBusy,
    EmbedderForbidden,
    EmbedderUnavailable,
    EmbeddingRejected,
)

_BUSY: Final = frozenset({402, 408, 421, 423, 425, 429})
"""Refusals that concern the moment, the account or the connection, not the text."""
_ASKS_FOR_LESS: Final = frozenset({425, 429})
"""Said by a server that works. Others do so only when they say when to come back."""
_MISSING: Final = frozenset({404, 405, 410})
_ERROR_BODY_BYTES: Final = 64 * 1024
_CLOSING_PATIENCE: Final = 1.0
_KEEP_ALIVE: Final = 30.0


class UnknownPath(EmbeddingRejected):
    """Nothing at this address speaks the shape it was asked in."""


class Connection:
    """Posts JSON to an endpoint. All calls come from one event loop, the one of the first call.

    Redirects are not followed, proxies of the environment are not used, cookies are not kept and certificates are
    always verified.

    Args:
        endpoint: Where texts may go.
        key: Returns the bearer key at each call, None or "" for no key. It is never kept or shown.
        key_variable: Name of the environment variable the key comes from, for messages; "" when there is none.
        limit: Most connections at a time.
        ca_file: PEM file of the authorities to trust instead of the system's, None for the system's.

    Raises:
        ConfigurationError: The file of authorities cannot be read.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        key: Callable[[], str | None] | None,
        key_variable: str,
        limit: int,
        ca_file: Path | None,
    ) -> None:
        self.endpoint = endpoint
        self._key = key
        self._key_variable = key_variable
        self._limit = limit
        self._authorities = _authorities(ca_file)
        self._session: aiohttp.ClientSession | None = None
        self._resolver: GuardedResolver | None = None
        self._closed = False

    async def post(self, url: str, question: Mapping[str, object], *, body_limit: int) -> Any:
        """Post a question and return the JSON of a 200 answer.

        Raises:
            EmbedderUnavailable: Not reachable, busy (`EmbedderBusy`), or it refuses the key (`EmbedderForbidden`).
            EmbeddingRejected: It refuses the question, redirects, or answers with something else than JSON.
            UnknownPath: It does not know the path.
        """
        try:
            async with self._open().post(
                url, data=json.dumps(question).encode(), headers=self._headers(), allow_redirects=False
            ) as response:
                await self._check(response)
                return await read_json(response, body_limit)
        except aiohttp.ClientConnectorCertificateError as error:
            raise EmbedderUnavailable(
                f"the certificate of {self.endpoint.origin} is not trusted: let the system trust its authority, or "
                "name that one's file in the variable SSL_CERT_FILE"
            ) from error
        except aiohttp.ClientResponseError:
            # Not chained: this error's repr shows the headers of the request, the key among them.
            raise EmbedderUnavailable(f"{self.endpoint.origin} does not answer in proper HTTP") from None
        except (aiohttp.ClientError, OSError, WorkerClosed) as error:
            raise EmbedderUnavailable(f"{self.endpoint.origin} cannot be reached ({type(error).__name__})") from error

    async def aclose(self) -> None:
        """Close every connection, waiting at most a second. Called again it does nothing."""
        self._closed = True
        session, self._session = self._session, None
        resolver, self._resolver = self._resolver, None
        with anyio.move_on_after(_CLOSING_PATIENCE):
            if session is not None:
                await session.close()
        if resolver is not None:
            await resolver.close()

    def _open(self) -> aiohttp.ClientSession:
        if self._closed:
            raise EmbedderUnavailable("the embedder is closed")
        if self._session is None:
            self._resolver = GuardedResolver(encrypted=self.endpoint.encrypted)
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=self._limit,
                    resolver=self._resolver,
                    ssl=self._authorities,
                    keepalive_timeout=_KEEP_ALIVE,
                ),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),  # the caller's time budget rules
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                trust_env=False,
            )
        return self._session

    def _headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": "application/json", "Accept-Encoding": "identity"}
        key = ((self._key() if self._key is not None else None) or "").strip()
        if not key:
            return headers
        if not (key.isascii() and key.isprintable()):
            raise EmbedderForbidden(f"the key in {self._source} holds characters that no key has: set it anew")
        return {**headers, "Authorization": f"Bearer {key}"}

    @property
    def _source(self) -> str:
        return f"the environment variable {self._key_variable}" if self._key_variable else "embed_api_key_env"

    async def _check(self, response: aiohttp.ClientResponse) -> None:
        status, origin = response.status, self.endpoint.origin
        if status in {401, 403}:
            raise EmbedderForbidden(f"{origin} refuses the key (HTTP {status}): check {self._source}")
        if status in _BUSY or status >= 500:
            wait = retry_after_seconds(response.headers.get("Retry-After"), datetime.now(UTC))
            kind = EmbedderBusy if status in _ASKS_FOR_LESS or wait is not None else EmbedderUnavailable
            raise kind(f"{origin} cannot answer now (HTTP {status})", retry_after=wait)
        if status in _MISSING:
            await self._refuse_missing(response)
        if 300 <= status < 400:
            raise EmbeddingRejected(
                f"{origin} redirects (HTTP {status}), which is not followed: set embed_url to the final address"
            )
        if status != 200:
            raise EmbeddingRejected(f"{origin} refuses the texts (HTTP {status})")
        if response.content_type == "text/html":
            raise UnknownPath(f"{origin} answers with a web page: check embed_url")

    async def _refuse_missing(self, response: aiohttp.ClientResponse) -> None:
        status, origin = response.status, self.endpoint.origin
        if await _speaks_of_a_model(response):
            raise EmbeddingRejected(f"{origin} does not know the model (HTTP {status}): check embed_model")
        raise UnknownPath(f"{origin} does not know the path (HTTP {status}): check embed_url")


async def _speaks_of_a_model(response: aiohttp.ClientResponse) -> bool:
    """Tell a missing model from a missing path; both are a 404 in either shape."""
    try:
        answer = await read_json(response, _ERROR_BODY_BYTES)
    except EmbeddingRejected:
        return False
    return isinstance(answer, dict) and "model" in json.dumps(answer.get("error", answer.get("message"))).lower()


def _authorities(ca_file: Path | None) -> ssl.SSLContext | bool:
    if ca_file is None:
        return True
    try:
        return ssl.create_default_context(cafile=ca_file)
    except (OSError, ssl.SSLError) as error:
        raise ConfigurationError("the file of certificate authorities for the embedder cannot be read") from error
