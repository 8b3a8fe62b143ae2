"""Where an embedder over HTTP may be, and where not."""

from __future__ import annotations

import socket
import traceback
from pathlib import Path

import pytest

from hermes_memory.adapters.embedding.ollama import OllamaEmbedder
from hermes_memory.adapters.embedding.openai import OpenAIEmbedder
from hermes_memory.domain.errors import ConfigurationError, EmbedderUnavailable
from tests.support.embedders import PATIENCE, threads_named
from tests.support.embedding_server import EmbeddingServer
from tests.support.tables import for_each


class TestBaseUrl:
    @pytest.mark.parametrize("suffix", ["", "/", "/v1", "/v1/", "/v1/embeddings"])
    async def test_the_version_may_be_written_or_not(self, server: EmbeddingServer, suffix: str) -> None:
        embedder = OpenAIEmbedder(server.url + suffix, model="m", dimension=server.dimension)

        await embedder.embed_query("hello", timeout=PATIENCE)
        await embedder.aclose()

        assert [asked.path for asked in server.requests] == ["/v1/embeddings"]

    @pytest.mark.parametrize("suffix", ["", "/", "/v1", "/api/embed"])
    async def test_ollama_is_found_beside_it(self, server: EmbeddingServer, suffix: str) -> None:
        embedder = OllamaEmbedder(server.url + suffix, model="m", dimension=server.dimension)

        await embedder.embed_query("hello", timeout=PATIENCE)
        await embedder.aclose()

        assert [asked.path for asked in server.requests] == ["/api/embed"]

    async def test_a_path_in_front_is_kept(self) -> None:
        async with EmbeddingServer(prefix="/api") as server:
            embedder = OpenAIEmbedder(server.url, model="m", dimension=server.dimension)

            await embedder.embed_query("hello", timeout=PATIENCE)
            await embedder.aclose()

        assert [asked.path for asked in server.requests] == ["/api/v1/embeddings"]


async def test_a_proxy_of_the_environment_gets_neither_texts_nor_key(
    server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    embedder = OpenAIEmbedder(server.url, model="m", dimension=server.dimension)

    await embedder.embed_query("hello", timeout=PATIENCE)
    await embedder.aclose()

    assert server.texts == ["hello"]


class TestAddress:
    @for_each(
        "url",
        [
            "ftp://example.org",
            "file:///etc/passwd",
            "example.org",
            "",
            "http://",
            "https://user:geheim@example.org",
            "https://geheim@example.org",
            "https://example.org?api-key=geheim",
            "https://example.org/#geheim",
            "https://exa mple.org",
            "https://example.org/a b",
            "https://example.org:99999",
            "https://example.org:0",
            "https://bücher.example",
            "http://169.254.169.254",
            "https://169.254.1.1/v1",
            "http://[fe80::1]",
            "http://[fe80::1%25eth0]",
            "http://[::ffff:169.254.169.254]",
            "http://[64:ff9b::a9fe:a9fe]",
            "http://[2002:a9fe:a9fe::1]",
            "http://[fd00:ec2::254]",
            "https://[fd00:ec2::23]",
            "http://[fd20:ce::254]",
            "http://[fd00:ec2::254%25eth0]",
            "http://100.100.100.200",
            "http://[::ffff:100.100.100.200]",
            "http://192.0.0.192",
            "https://168.63.129.16",
            "http://2852039166",
            "http://0xa9fea9fe",
            "http://0xa9.254.0xa9.254",
            "http://169.254.43518",
            "http://224.0.0.1",
            "http://8.8.8.8",
            "http://[2606:4700::1111]",
        ],
    )
    def test_an_address_that_breaks_a_rule_is_a_configuration_error(self, url: str) -> None:
        with pytest.raises(ConfigurationError) as caught:
            OpenAIEmbedder(url, model="m", dimension=8)

        assert "geheim" not in "".join(traceback.format_exception(caught.value))

    @for_each(
        "url",
        [
            "https://api.openai.com/v1",
            "https://8.8.8.8",
            "http://127.0.0.1:11434",
            "http://[::1]:11434",
            "http://10.1.2.3",
            "http://192.168.0.9:8080/v1/",
            "http://172.18.0.2",
            "http://100.64.0.7",
            "http://100.100.100.201",
            "http://[fd00::5]:80",
            "http://[fd00:ec2::255]",
            "http://ollama:11434",
            "http://embed.ai.svc.cluster.local",
            "http://my_service:80",
            " https://example.org ",
        ],
    )
    def test_an_address_within_the_rules_is_taken(self, url: str) -> None:
        assert OpenAIEmbedder(url, model="m", dimension=8).dimension == 8

    @pytest.mark.parametrize(
        ("scheme", "addresses", "message"),
        [
            ("http", ["169.254.169.254"], "link-local"),
            ("https", ["169.254.169.254"], "link-local"),
            ("https", ["8.8.8.8", "fe80::1%2"], "link-local"),
            ("http", ["fd00:ec2::254"], "credentials"),
            ("https", ["100.100.100.200"], "credentials"),
            ("http", ["8.8.8.8"], "plain http"),
            ("http", ["127.0.0.1", "8.8.8.8"], "plain http"),
        ],
    )
    async def test_a_name_is_judged_by_what_it_resolves_to(
        self, monkeypatch: pytest.MonkeyPatch, scheme: str, addresses: list[str], message: str
    ) -> None:
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [_resolved(address) for address in addresses])
        embedder = OpenAIEmbedder(f"{scheme}://embed.example", model="m", dimension=8)

        with pytest.raises(EmbedderUnavailable, match=message):
            await embedder.embed_query("hello", timeout=PATIENCE)
        await embedder.aclose()

    async def test_a_name_of_this_machine_is_reached_without_tls(self, server: EmbeddingServer) -> None:
        embedder = OpenAIEmbedder(f"http://localhost:{server.port}", model="m", dimension=server.dimension)

        await embedder.embed_query("hello", timeout=PATIENCE)
        await embedder.aclose()

        assert len(server.requests) == 1
        assert not threads_named("hermes-memory-resolver")

    async def test_a_name_that_does_not_resolve_is_unavailable(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(*_: object, **__: object) -> None:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

        monkeypatch.setattr(socket, "getaddrinfo", fail)
        embedder = OpenAIEmbedder("https://nowhere.example", model="m", dimension=8)

        with pytest.raises(EmbedderUnavailable, match="cannot be reached"):
            await embedder.embed_query("hello", timeout=PATIENCE)
        await embedder.aclose()

    def test_authorities_that_cannot_be_read_are_a_configuration_error(self, tmp_path: Path) -> None:
        broken = tmp_path / "ca.pem"
        broken.write_text("no certificate")

        for file in (broken, tmp_path / "missing.pem"):
            with pytest.raises(ConfigurationError, match="authorities"):
                OpenAIEmbedder("https://example.org", model="m", dimension=8, ca_file=file)


def _resolved(address: str) -> tuple[int, int, int, str, tuple[object, ...]]:
    if ":" in address:
        return socket.AF_INET6, socket.SOCK_STREAM, 6, "", (address, 443, 0, 2)
    return socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 443)
