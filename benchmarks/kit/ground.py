"""The ground that benchmarks stand on: a directory, a Postgres server and an embedding endpoint, for one run."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.kit.databases import Databases
from benchmarks.kit.embeddings import Endpoint, endpoint
from benchmarks.kit.workplace import embedded_server, workplace


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What a run has to itself; `homes` is a directory for the homes that it makes."""

    databases: Databases
    embeddings: Endpoint
    homes: Path


@asynccontextmanager
async def ground(admin_dsn: str | None) -> AsyncIterator[Ground]:
    """Lay the ground on a superuser's server, or on an embedded one when there is none; remove it at the end."""
    async with AsyncExitStack() as stack:
        place = stack.enter_context(workplace())
        dsn = admin_dsn or stack.enter_context(embedded_server(place))
        embeddings = await stack.enter_async_context(endpoint())
        databases = await stack.enter_async_context(Databases(dsn, lasting=admin_dsn is not None))
        homes = place / "homes"
        homes.mkdir()
        yield Ground(databases=databases, embeddings=embeddings, homes=homes)
