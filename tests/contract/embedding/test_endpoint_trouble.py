"""What an embedder over HTTP makes of an endpoint that is down, busy, slow or not who it seems."""

from __future__ import annotations

import asyncio
import ssl
import subprocess
import sys
import time
import traceback
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import anyio
import pytest
from aiohttp import web

from hermes_memory.adapters.embedding.auto import AutoEmbedder
from hermes_memory.adapters.embedding.http import HttpEmbedder
from hermes_memory.adapters.embedding.openai import OpenAIEmbedder
from hermes_memory.domain.errors import EmbedderBusy, EmbedderForbidden, EmbedderUnavailable, EmbeddingRejected
from tests.support import embedding_server as faults
from tests.support.embedders import KEY, PATIENCE, PRIVATE, threads_named
from tests.support.embedding_server import EmbeddingServer, EmbeddingServerThread


class TestUnavailable:
    @pytest.mark.parametrize("code", [402, 408, 425, 429, 500, 502, 503, 504, 529])
    async def test_a_busy_endpoint_is_unavailable(self, http: HttpEmbedder, server: EmbeddingServer, code: int) -> None:
        server.fault = faults.status(code)

        with pytest.raises(EmbedderUnavailable, match=f"HTTP {code}") as caught:
            await http.embed_query(PRIVATE, timeout=PATIENCE)

        assert caught.value.retry_after is None
        assert len(server.requests) == 1

    @pytest.mark.parametrize(
        ("header", "least", "most"),
        [
            ("7", 7.0, 7.0),
            ("999999999999", 60.0, 60.0),
            ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0, 0.0),
            ("date", 20.0, 31.0),
        ],
    )
    async def test_its_wish_to_be_left_alone_is_told(
        self, openai: OpenAIEmbedder, server: EmbeddingServer, header: str, least: float, most: float
    ) -> None:
        soon = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
        server.fault = faults.status(503, retry_after=soon if header == "date" else header)

        with pytest.raises(EmbedderUnavailable) as caught:
            await openai.embed_query("hello", timeout=PATIENCE)

        assert caught.value.retry_after is not None
        assert least <= caught.value.retry_after <= most

    @pytest.mark.parametrize("header", ["soon", "-5", "1.5", "", "Wed, 99 Xyz"])
    async def test_an_unreadable_wish_is_no_wish(
        self, openai: OpenAIEmbedder, server: EmbeddingServer, header: str
    ) -> None:
        server.fault = faults.status(429, retry_after=header)

        with pytest.raises(EmbedderUnavailable) as caught:
            await openai.embed_query("hello", timeout=PATIENCE)

        assert caught.value.retry_after is None

    @pytest.mark.parametrize("code", [401, 403])
    async def test_a_refused_key_names_its_variable(
        self, http: HttpEmbedder, server: EmbeddingServer, code: int
    ) -> None:
        server.fault = faults.status(code, body={"error": f"incorrect key {KEY}"})

        with pytest.raises(EmbedderForbidden, match="environment variable EMBED_KEY"):
            await http.embed_query("hello", timeout=PATIENCE)

    async def test_a_cut_connection_is_unavailable(self, http: HttpEmbedder, server: EmbeddingServer) -> None:
        server.fault = faults.reset()

        with pytest.raises(EmbedderUnavailable, match="cannot be reached"):
            await http.embed_query("hello", timeout=PATIENCE)

    async def test_a_connection_cut_amid_the_answer_is_unavailable(
        self, http: HttpEmbedder, server: EmbeddingServer
    ) -> None:
        server.fault = faults.reset_amid()

        with pytest.raises(EmbedderUnavailable, match="cannot be reached"):
            await http.embed_query("hello", timeout=PATIENCE)

    async def test_an_answer_that_drips_costs_no_more_than_the_time_allowed(
        self, http: HttpEmbedder, server: EmbeddingServer
    ) -> None:
        server.fault = faults.drip(0.05)

        with pytest.raises(EmbedderUnavailable, match=r"within 0\.3 s"):
            await http.embed_query("hello", timeout=0.3)

    @pytest.mark.parametrize(
        ("code", "retry_after", "busy"),
        [(429, None, True), (429, "3", True), (503, "3", True), (503, None, False), (500, None, False)],
    )
    async def test_an_endpoint_that_asks_for_less_is_told_from_one_that_is_down(
        self, openai: OpenAIEmbedder, server: EmbeddingServer, code: int, retry_after: str | None, busy: bool
    ) -> None:
        server.fault = faults.status(code, retry_after=retry_after)

        with pytest.raises(EmbedderUnavailable) as caught:
            await openai.embed_query("hello", timeout=PATIENCE)

        assert isinstance(caught.value, EmbedderBusy) is busy

    async def test_an_endpoint_that_hangs_costs_no_more_than_the_time_allowed(
        self, http: HttpEmbedder, server: EmbeddingServer
    ) -> None:
        server.fault = faults.hang()
        before = time.monotonic()

        with pytest.raises(EmbedderUnavailable, match=r"within 0\.2 s"):
            await http.embed_documents(["hello"], timeout=0.2)

        assert time.monotonic() - before < PATIENCE / 2

    async def test_the_time_allowed_covers_all_batches_together(self, server: EmbeddingServer) -> None:
        embedder = OpenAIEmbedder(server.url, model="m", dimension=server.dimension, max_batch=1)
        server.fault = faults.delayed(0.1)

        with pytest.raises(EmbedderUnavailable):
            await embedder.embed_documents([f"note {number}" for number in range(200)], timeout=0.5)
        await embedder.aclose()

        assert len(server.requests) < 200

    async def test_cancelling_a_call_leaves_the_embedder_usable(
        self, http: HttpEmbedder, server: EmbeddingServer
    ) -> None:
        server.fault = faults.hang()
        with anyio.move_on_after(0.1) as scope:
            await http.embed_query("hello", timeout=PATIENCE)
        server.fault = None

        assert scope.cancelled_caught
        assert len(await http.embed_query("hello", timeout=PATIENCE)) == server.dimension

    async def test_nothing_listens_then_something_does(self) -> None:
        server = EmbeddingServer(dimension=8)
        async with server:
            pass
        embedder = AutoEmbedder(server.url, model="m", dimension=8)

        with pytest.raises(EmbedderUnavailable, match="cannot be reached"):
            await embedder.embed_query("hello", timeout=PATIENCE)
        async with EmbeddingServer(dimension=8, port=server.port):
            vector = await embedder.embed_query("hello", timeout=PATIENCE)
            await embedder.aclose()

        assert len(vector) == 8

    async def test_a_server_that_speaks_no_http_is_unavailable_and_shows_no_key(self) -> None:
        async def babble(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readline()
            writer.write(b"220 mail.example ESMTP\r\n\r\n")
            await writer.drain()
            writer.close()

        listener = await asyncio.start_server(babble, "127.0.0.1", 0)
        port = listener.sockets[0].getsockname()[1]
        embedder = OpenAIEmbedder(f"http://127.0.0.1:{port}", model="m", dimension=8, key=lambda: KEY)

        async with listener:
            with pytest.raises(EmbedderUnavailable, match="proper HTTP") as caught:
                await embedder.embed_query(PRIVATE, timeout=PATIENCE)
            await embedder.aclose()

        assert KEY not in "".join(traceback.format_exception(caught.value))
        assert KEY not in repr(caught.value.__cause__)

    async def test_a_closed_embedder_is_unavailable(self, http: HttpEmbedder) -> None:
        await http.aclose()

        with pytest.raises(EmbedderUnavailable, match="closed"):
            await http.embed_query("hello", timeout=PATIENCE)

    async def test_a_certificate_nobody_vouches_for_is_refused(self, tmp_path: Path) -> None:
        certificate = _self_signed(tmp_path)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, certificate.with_suffix(".key"))
        runner = web.AppRunner(web.Application(), access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
        port = runner.addresses[0][1]
        trusting = OpenAIEmbedder(f"https://127.0.0.1:{port}", model="m", dimension=8, ca_file=certificate)
        wary = OpenAIEmbedder(f"https://127.0.0.1:{port}", model="m", dimension=8)

        with pytest.raises(EmbedderUnavailable, match="not trusted"):
            await wary.embed_query("hello", timeout=PATIENCE)
        with pytest.raises(EmbeddingRejected, match="does not know the path"):
            await trusting.embed_query("hello", timeout=PATIENCE)
        for embedder in (wary, trusting):
            await embedder.aclose()
        await runner.cleanup()


class TestCourtesy:
    async def test_texts_to_store_wait_for_a_question_under_way(
        self, openai: OpenAIEmbedder, server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("hermes_memory.adapters.embedding.http._COURTESY_SECONDS", PATIENCE)
        server.faults.append(faults.delayed(0.2))

        async with anyio.create_task_group() as callers:
            callers.start_soon(lambda: openai.embed_query("question", timeout=PATIENCE))
            await anyio.sleep(0)
            await openai.embed_documents(["note"], timeout=PATIENCE)

        assert server.texts == ["question", "note"]
        assert len({id(asked.connection) for asked in server.requests}) == 1  # one after the other

    async def test_questions_without_end_do_not_keep_texts_from_being_stored(
        self, openai: OpenAIEmbedder, server: EmbeddingServer
    ) -> None:
        server.faults.append(faults.hang())

        async with anyio.create_task_group() as callers:
            callers.start_soon(lambda: openai.embed_query("question", timeout=PATIENCE))
            await anyio.sleep(0)
            await openai.embed_documents(["note"], timeout=PATIENCE)
            callers.cancel_scope.cancel()

        assert server.texts[-1] == "note"


class TestNameServerThatHangs:
    def test_it_holds_up_neither_the_call_nor_the_loop_nor_the_exit(self) -> None:
        program = """
import asyncio, socket, threading, warnings
warnings.simplefilter("error")
socket.getaddrinfo = lambda *a, **k: threading.Event().wait()
from hermes_memory.adapters.embedding.auto import AutoEmbedder
from hermes_memory.domain.errors import EmbedderUnavailable
async def main():
    embedder = AutoEmbedder("https://embed.example", model="m", dimension=8)
    for _ in range(3):
        try:
            await embedder.embed_query("hello", timeout=0.1)
        except EmbedderUnavailable:
            continue
        raise SystemExit("an answer from nowhere")
    await embedder.aclose()
asyncio.run(main())
"""
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=200, check=False)

        assert (done.returncode, done.stderr) == (0, "")


class TestServerThread:
    def test_the_fake_server_also_servesthreads_named(self) -> None:
        async def ask(url: str) -> int:
            embedder = OpenAIEmbedder(url, model="m", dimension=16)
            try:
                return len(await embedder.embed_query("hello", timeout=PATIENCE))
            finally:
                await embedder.aclose()

        with EmbeddingServerThread() as server:
            assert anyio.run(ask, server.url) == 16

        assert not threads_named("embedding-server")


def _self_signed(folder: Path) -> Path:
    certificate = folder / "server.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"),
            *("-addext", "subjectAltName=IP:127.0.0.1"),
            *("-out", str(certificate), "-keyout", str(certificate.with_suffix(".key"))),
        ],
        check=True,
        capture_output=True,
        timeout=60,
    )
    return certificate
