"""TLS before a test's server, whose own build has none: an authority made for the test, and a door that speaks TLS."""

from __future__ import annotations

import asyncio
import ssl
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs, urlsplit

SSL_REQUEST: Final = bytes.fromhex("0000000804d2162f")
"""What a client sends first that wants TLS (PostgreSQL protocol, SSLRequest); the answer is S or N."""


def make_authority(folder: Path, name: str) -> Path:
    """Make a certificate authority; return its certificate, beside which its key lies."""
    certificate = folder / f"{name}.pem"
    _openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}",
             "-out", certificate, "-keyout", certificate.with_suffix(".key"))  # fmt: skip
    return certificate


def make_certificate(authority: Path, host: str) -> Path:
    """Make a server's certificate for a host name, signed by an authority; return it, its key beside it."""
    certificate = authority.with_name(f"{authority.stem}-{host}.pem")
    request, names = certificate.with_suffix(".csr"), certificate.with_suffix(".ext")
    names.write_text(f"subjectAltName=DNS:{host}\n")
    _openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={host}",
             "-out", request, "-keyout", certificate.with_suffix(".key"))  # fmt: skip
    _openssl("x509", "-req", "-days", "2", "-in", request, "-CA", authority, "-CAkey", authority.with_suffix(".key"),
             "-CAcreateserial", "-extfile", names, "-out", certificate)  # fmt: skip
    return certificate


@asynccontextmanager
async def tls_door(server_dsn: str, certificate: Path | None) -> AsyncIterator[int]:
    """Listen on a loopback port and pass on what comes to a server; without a certificate refuse TLS.

    Yields:
        The port.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    if certificate:
        context.load_cert_chain(certificate, certificate.with_suffix(".key"))

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            if await reader.readexactly(len(SSL_REQUEST)) == SSL_REQUEST:
                writer.write(b"S" if certificate else b"N")
                await writer.drain()
                if certificate:
                    await writer.start_tls(context)
                    await _joined(reader, writer, *await _connected(server_dsn))
        writer.close()

    listener = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with listener:
        yield listener.sockets[0].getsockname()[1]


async def _connected(server_dsn: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect to a server at its socket, or where there is none at its port."""
    address = urlsplit(server_dsn)
    if address.hostname:
        return await asyncio.open_connection(address.hostname, address.port or 5432)
    told = parse_qs(address.query)
    return await asyncio.open_unix_connection(f"{told['host'][0]}/.s.PGSQL.{told['port'][0]}")


async def _joined(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    far_reader: asyncio.StreamReader,
    far_writer: asyncio.StreamWriter,
) -> None:
    ways = [asyncio.ensure_future(_pass_on(reader, far_writer)), asyncio.ensure_future(_pass_on(far_reader, writer))]
    await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    for way in ways:
        way.cancel()
    await asyncio.gather(*ways, return_exceptions=True)
    far_writer.close()


async def _pass_on(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    while some := await source.read(65_536):
        sink.write(some)
        await sink.drain()


def _openssl(*arguments: str | Path) -> None:
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True, timeout=60)
