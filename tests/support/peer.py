"""Published releases of hermes-memory-pgvector, and databases that they have written."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import asyncpg
from benchmarks.kit.embeddings import DIMENSION, MODEL, endpoint
from benchmarks.kit.peer import PACKAGE, PEER, install_peer, migrate_peer

from tests.support.postgres import TestServer
from tests.support.venv_cache import built, cache_directory, digest

WRITER: Final = Path(__file__).with_name("peer_writer.py")
SECONDS: Final = 120.0
DISTRIBUTION: Final = "hermes-memory-pgvector"
NEWEST: Final = PEER.removeprefix(f"{DISTRIBUTION}==")
OLDEST: Final = "0.4.0"
"""The first release that knows delegations."""
RELEASES_VARIABLE: Final = "PEER_RELEASES"
"""Names the releases to try, such as `0.4.3 0.6.0`, in the place of the oldest and the newest."""
KEYS: Final = r"""
import importlib, inspect, json, re, sys
package = importlib.import_module(sys.argv[1])
offered = {field["key"] for field in package.PgvectorMemoryProvider(config={}).get_config_schema()}
read = re.findall(r"config\.get\(\s*.(\w+)", inspect.getsource(package))
print(json.dumps(sorted(offered.union(read, getattr(package, "DEFAULTS", ())))))
"""
"""A program for its environment."""
ROLE: Final = "hermes"
"""To whom the releases before 0.6 grant, whatever the runtime role is called."""


@dataclass(frozen=True, slots=True)
class Release:
    """One of them, by its version."""

    version: str

    @property
    def package(self) -> str:
        """What it is imported by."""
        return "pgvector" if self.version.startswith("0.4.") else PACKAGE

    @property
    def names_role(self) -> bool:
        """Whether it is told the runtime role."""
        return not self.version.startswith(("0.4.", "0.5."))

    async def installed(self) -> Path:
        """Return a Python that has it, made once a machine."""
        pinned = f"{DISTRIBUTION}=={self.version}"
        environment = cache_directory() / f"peer-{digest(pinned)}"
        with built(environment):
            return await install_peer(environment, pinned)


def releases() -> list[str]:
    """Return the versions to try."""
    return os.environ.get(RELEASES_VARIABLE, "").split() or [OLDEST, NEWEST]


async def keys_of(version: str) -> list[str]:
    """Return the settings that a release offers or reads."""
    release = Release(version)
    process = await asyncio.create_subprocess_exec(
        *(str(await release.installed()), "-c", KEYS, release.package), stdout=asyncio.subprocess.PIPE
    )
    told, _ = await asyncio.wait_for(process.communicate(), SECONDS)
    keys: list[str] = json.loads(told)
    return keys


@asynccontextmanager
async def written_by_the_peer(server: TestServer, place: Path, version: str = NEWEST) -> AsyncIterator[str]:
    """Give the address of a database that a release has made and written; it is dropped afterwards."""
    release = Release(version)
    python = await release.installed()
    name = server.unique_name("peer")
    dsn = await server.create_database(name)
    try:
        if not release.names_role:
            await _have_role(dsn)
        await migrate_peer(python, dsn, "postgres" if release.names_role else None, package=release.package)
        async with endpoint() as serving:
            await _write(python, dsn, serving.url(0), place, release.package)
        yield dsn
    finally:
        await server.drop_database(name)


async def _have_role(dsn: str) -> None:
    """Make the role, unless somebody else at the server has. It owns nothing, and goes with the server."""
    connection = await asyncpg.connect(dsn)
    try:
        with suppress(asyncpg.DuplicateObjectError):
            await connection.execute(f"create role {ROLE} nologin")
    finally:
        await connection.close()


async def _write(python: Path, dsn: str, embed_url: str, place: Path, package: str) -> None:
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
        told = json.dumps({"package": package, "config": settings, "home": str(place)}).encode() + b"\n"
        said, complaints = await asyncio.wait_for(process.communicate(told), SECONDS)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if said.split() != [b"done"]:
        raise RuntimeError(f"the peer did not write: {complaints.decode(errors='replace')[-2000:]}")
