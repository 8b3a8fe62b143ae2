"""The published release of hermes-memory-pgvector, and a database that it has written."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from benchmarks.kit.embeddings import DIMENSION, MODEL, endpoint
from benchmarks.kit.peer import PEER, install_peer, migrate_peer

from tests.support.postgres import TestServer
from tests.support.venv_cache import built, cache_directory, digest

WRITER: Final = Path(__file__).with_name("peer_writer.py")
SECONDS: Final = 120.0


@asynccontextmanager
async def written_by_the_peer(server: TestServer, place: Path) -> AsyncIterator[str]:
    """Give the address of a database that the peer has made and written; it is dropped afterwards."""
    environment = cache_directory() / f"peer-{digest(PEER)}"
    with built(environment):
        python = await install_peer(environment)
    name = server.unique_name("peer")
    dsn = await server.create_database(name)
    try:
        await migrate_peer(python, dsn, "postgres")
        async with endpoint() as serving:
            await _write(python, dsn, serving.url(0), place)
        yield dsn
    finally:
        await server.drop_database(name)


async def _write(python: Path, dsn: str, embed_url: str, place: Path) -> None:
    settings = {
        "dsn": dsn,
        "embed_url": embed_url,
        "embed_model": MODEL,
        "embed_dim": DIMENSION,
        "embed_protocol": "openai",
        "bulk_sync_on_init": False,
    }
    process = await asyncio.create_subprocess_exec(
        str(python),
        str(WRITER),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={"HOME": str(place), "PATH": "/usr/bin:/bin"},
    )
    try:
        told = json.dumps({"config": settings, "home": str(place)}).encode() + b"\n"
        said, complaints = await asyncio.wait_for(process.communicate(told), SECONDS)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if said.split() != [b"done"]:
        raise RuntimeError(f"the peer did not write: {complaints.decode(errors='replace')[-2000:]}")
