"""A real embedding server on loopback that speaks both shapes and misbehaves on demand."""

from __future__ import annotations

import asyncio
import gzip
import json
import threading
import zlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import TypeAlias

from aiohttp import web

from hermes_memory.adapters.inmemory.embedder import hashed_vector

Vectors: TypeAlias = "list[list[float]]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request as it came in."""

    shape: str
    path: str
    texts: tuple[str, ...]
    body: dict[str, object]
    authorization: str | None
    connection: object
    """The transport it came by: equal for requests of one connection."""


@dataclass(slots=True)
class EmbeddingServer:
    """Serves `/v1/embeddings` and `/api/embed` with hashed vectors, on 127.0.0.1 and a free port.

    `fault`, when set, answers instead; assign None to be well again. `faults` come first, one a request.
    """

    dimension: int = 16
    prefix: str = ""
    shapes: frozenset[str] = frozenset({"openai", "ollama"})
    fault: Fault | None = None
    faults: list[Fault] = field(default_factory=list)
    requests: list[Asked] = field(default_factory=list)
    port: int = 0
    _runner: web.AppRunner | None = None
    _leaving: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def url(self) -> str:
        """Base URL, without `/v1`."""
        return f"http://127.0.0.1:{self.port}{self.prefix}"

    @property
    def texts(self) -> list[str]:
        """Every text that was sent, in order."""
        return [text for asked in self.requests for text in asked.texts]

    async def __aenter__(self) -> EmbeddingServer:
        app = web.Application(client_max_size=64 * 1024 * 1024)
        if "openai" in self.shapes:
            app.router.add_post(f"{self.prefix}/v1/embeddings", self._serve_openai)
        if "ollama" in self.shapes:
            app.router.add_post(f"{self.prefix}/api/embed", self._serve_ollama)
        self._runner = web.AppRunner(app, shutdown_timeout=0.2, access_log=None)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port)  # the same port again after a stop
        await site.start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leaving.set()
        assert self._runner is not None
        await self._runner.cleanup()

    async def until_leaving(self, seconds: float | None = None) -> None:
        """Wait, but not beyond the end of the server."""
        try:
            await asyncio.wait_for(self._leaving.wait(), seconds)
        except TimeoutError:
            return

    def vectors(self, texts: tuple[str, ...]) -> Vectors:
        """Return the right answer."""
        return [hashed_vector(text, self.dimension) for text in texts]

    async def _serve_openai(self, request: web.Request) -> web.StreamResponse:
        return await self._serve(request, "openai")

    async def _serve_ollama(self, request: web.Request) -> web.StreamResponse:
        return await self._serve(request, "ollama")

    async def _serve(self, request: web.Request, shape: str) -> web.StreamResponse:
        body = await request.json()
        asked = Asked(
            shape=shape,
            path=request.path,
            texts=tuple(body["input"]),
            body=body,
            authorization=request.headers.get("Authorization"),
            connection=request.transport,
        )
        self.requests.append(asked)
        fault = self.faults.pop(0) if self.faults else self.fault
        if fault is not None:
            return await fault(self, request, asked)
        return well(self, asked)


Fault: TypeAlias = Callable[[EmbeddingServer, web.Request, Asked], Awaitable[web.StreamResponse]]


def shaped(shape: str, vectors: object) -> dict[str, object]:
    """Return the JSON of an answer."""
    if shape == "ollama":
        return {"model": "m", "embeddings": vectors}
    assert isinstance(vectors, list)
    return {
        "object": "list",
        "data": [{"object": "embedding", "index": i, "embedding": vector} for i, vector in enumerate(vectors)],
    }


def well(server: EmbeddingServer, asked: Asked) -> web.Response:
    """Answer rightly."""
    return web.json_response(shaped(asked.shape, server.vectors(asked.texts)))


def answering(change: Callable[[Vectors], object]) -> Fault:
    """Answer with the right vectors changed by a function."""

    async def fault(server: EmbeddingServer, _: web.Request, asked: Asked) -> web.StreamResponse:
        return web.json_response(shaped(asked.shape, change(server.vectors(asked.texts))))

    return fault


def with_body(text: str, *, content_type: str = "application/json", headers: dict[str, str] | None = None) -> Fault:
    """Answer with a body of one's own."""

    async def fault(_: EmbeddingServer, __: web.Request, ___: Asked) -> web.StreamResponse:
        return web.Response(text=text, content_type=content_type, headers=headers)

    return fault


def status(code: int, *, retry_after: str | None = None, body: object = None) -> Fault:
    """Refuse with an HTTP status."""

    async def fault(_: EmbeddingServer, __: web.Request, ___: Asked) -> web.StreamResponse:
        headers = {} if retry_after is None else {"Retry-After": retry_after}
        return web.json_response({} if body is None else body, status=code, headers=headers)

    return fault


def html() -> Fault:
    """Answer with a web page."""
    return with_body("<html><body>Welcome</body></html>", content_type="text/html")


def wrong_count() -> Fault:
    """Leave the last vector out."""
    return answering(lambda vectors: vectors[:-1])


def wrong_dimension(dimension: int) -> Fault:
    """Answer with vectors of another length."""
    return answering(lambda vectors: [[0.5] * dimension for _ in vectors])


def not_finite(word: str = "NaN") -> Fault:
    """Answer with NaN or Infinity, as Python's JSON spells them."""
    return answering(lambda vectors: [[*vector[:-1], float(word)] for vector in vectors])


def all_zero() -> Fault:
    """Answer with vectors of zeros."""
    return answering(lambda vectors: [[0.0] * len(vector) for vector in vectors])


def wrong_order() -> Fault:
    """Answer in the OpenAI shape back to front, each vector with its right index."""

    async def fault(server: EmbeddingServer, _: web.Request, asked: Asked) -> web.StreamResponse:
        data = shaped("openai", server.vectors(asked.texts))["data"]
        assert isinstance(data, list)
        return web.json_response({"data": data[::-1]})

    return fault


def delayed(seconds: float) -> Fault:
    """Answer rightly, but late."""

    async def fault(server: EmbeddingServer, _: web.Request, asked: Asked) -> web.StreamResponse:
        await server.until_leaving(seconds)
        return well(server, asked)

    return fault


def hang() -> Fault:
    """Never answer while the server lives."""

    async def fault(server: EmbeddingServer, _: web.Request, asked: Asked) -> web.StreamResponse:
        await server.until_leaving()
        return well(server, asked)

    return fault


def redirect(to: str, code: int = 307) -> Fault:
    """Send the caller elsewhere."""

    async def fault(_: EmbeddingServer, __: web.Request, ___: Asked) -> web.StreamResponse:
        return web.Response(status=code, headers={"Location": to})

    return fault


def packed(*, encoding: str = "gzip") -> Fault:
    """Answer rightly and packed."""

    async def fault(server: EmbeddingServer, _: web.Request, asked: Asked) -> web.StreamResponse:
        body = gzip.compress(json.dumps(shaped(asked.shape, server.vectors(asked.texts))).encode())
        return web.Response(body=body, headers={"Content-Encoding": encoding, "Content-Type": "application/json"})

    return fault


def gzip_bomb(megabytes: int) -> Fault:
    """Answer with a small body that unpacks to `megabytes` of white space."""
    packer = zlib.compressobj(level=1, wbits=31)
    body = b"".join(packer.compress(b" " * 1_048_576) for _ in range(megabytes)) + packer.flush()

    async def fault(_: EmbeddingServer, __: web.Request, ___: Asked) -> web.StreamResponse:
        return web.Response(body=body, headers={"Content-Encoding": "gzip", "Content-Type": "application/json"})

    return fault


def oversized(megabytes: int) -> Fault:
    """Answer with an endless-looking plain body."""

    async def fault(_: EmbeddingServer, request: web.Request, __: Asked) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        for _chunk in range(megabytes * 16):
            if request.transport is None or request.transport.is_closing():
                break
            await response.write(b" " * 65_536)
        return response

    return fault


def reset() -> Fault:
    """Cut the connection without an answer."""

    async def fault(_: EmbeddingServer, request: web.Request, __: Asked) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    return fault


def drip(seconds: float) -> Fault:
    """Send the right answer byte by byte, each after so many seconds."""

    async def fault(server: EmbeddingServer, request: web.Request, asked: Asked) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        for byte in json.dumps(shaped(asked.shape, server.vectors(asked.texts))).encode():
            if request.transport is None or request.transport.is_closing():
                break
            await response.write(bytes([byte]))
            await server.until_leaving(seconds)
        return response

    return fault


def reset_amid(bytes_sent: int = 40) -> Fault:
    """Promise the right answer, and cut the connection after its first bytes."""

    async def fault(server: EmbeddingServer, request: web.Request, asked: Asked) -> web.StreamResponse:
        body = json.dumps(shaped(asked.shape, server.vectors(asked.texts))).encode()
        response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": str(len(body))})
        await response.prepare(request)
        await response.write(body[:bytes_sent])
        assert request.transport is not None
        request.transport.abort()
        return response

    return fault


def refusing(part: str, code: int = 400) -> Fault:
    """Refuse a batch that holds a text with `part` in it; answer others rightly."""

    async def fault(server: EmbeddingServer, _: web.Request, asked: Asked) -> web.StreamResponse:
        if any(part in text for text in asked.texts):
            return web.json_response({"error": "input refused"}, status=code)
        return well(server, asked)

    return fault


def no_more_than(texts: int, code: int = 413) -> Fault:
    """Refuse a batch of more texts; answer others rightly."""

    async def fault(server: EmbeddingServer, _: web.Request, asked: Asked) -> web.StreamResponse:
        if len(asked.texts) > texts:
            return web.json_response({"error": f"batch size {len(asked.texts)} > {texts}"}, status=code)
        return well(server, asked)

    return fault


def failing_on(part: str, otherwise: Fault | None = None, *, code: int = 500) -> Fault:
    """Break down over a batch that holds a text with `part` in it."""

    async def fault(server: EmbeddingServer, request: web.Request, asked: Asked) -> web.StreamResponse:
        if any(part in text for text in asked.texts):
            return web.json_response({"error": "internal error"}, status=code)
        return well(server, asked) if otherwise is None else await otherwise(server, request, asked)

    return fault


class EmbeddingServerThread:
    """The server on a thread and loop of its own, for tests that are not coroutines."""

    def __init__(self, server: EmbeddingServer | None = None) -> None:
        self.server = server or EmbeddingServer()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._main()), name="embedding-server", daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None

    def __enter__(self) -> EmbeddingServer:
        self._thread.start()
        assert self._ready.wait(60), "the embedding server did not start"
        return self.server

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._loop is not None
        assert self._stop is not None
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(60)
        assert not self._thread.is_alive(), "the embedding server did not stop"

    async def _main(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        async with self.server:
            self._ready.set()
            await self._stop.wait()
