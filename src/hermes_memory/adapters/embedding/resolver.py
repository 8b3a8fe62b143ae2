"""Host names to addresses, judged before anything is sent there."""

from __future__ import annotations

import ipaddress
import socket
from typing import Final

from aiohttp.abc import AbstractResolver, ResolveResult

from hermes_memory.adapters.embedding.worker import Worker
from hermes_memory.domain.endpoint import objection
from hermes_memory.domain.errors import EmbedderUnavailable

_NUMERIC: Final = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV


class GuardedResolver(AbstractResolver):
    """Resolves by the system's `getaddrinfo` on a daemon thread, and refuses addresses that break the rules.

    The event loop's own resolver runs on an executor whose threads are joined when the loop or the interpreter
    ends; a name server that does not answer would hold both.
    """

    def __init__(self, *, encrypted: bool) -> None:
        self._encrypted = encrypted
        self._worker = Worker("hermes-memory-resolver")

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Return the addresses of a host.

        Raises:
            OSError: The name does not resolve.
            EmbedderUnavailable: One of its addresses is refused; the name may resolve otherwise later.
        """
        found = await self._worker.run(lambda: _look_up(host, port, family))
        for result in found:
            verdict = objection(ipaddress.ip_address(result["host"]), encrypted=self._encrypted)
            if verdict is not None:
                raise EmbedderUnavailable(f"the embedder's URL {verdict}")
        return found

    async def close(self) -> None:
        """Let the thread go."""
        await self._worker.aclose()


def _look_up(host: str, port: int, family: int) -> list[ResolveResult]:
    found = socket.getaddrinfo(host, port, family=family, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
    return [
        ResolveResult(hostname=host, host=str(sockaddr[0]), port=port, family=kind, proto=proto, flags=_NUMERIC)
        for kind, _, proto, _, sockaddr in found
    ]
