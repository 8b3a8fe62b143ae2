"""Reaching the database of a home with an operator's rights."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from hermes_memory.adapters.postgres.administrator import Administrator, administrator
from hermes_memory.application.worker import Worker
from hermes_memory.bootstrap.embedder import make_embedder
from hermes_memory.bootstrap.home import database_folder
from hermes_memory.bootstrap.parts import part_policy
from hermes_memory.bootstrap.store import EMBEDDED_PARTITIONS, EmbeddedStore
from hermes_memory.domain.errors import ConfigurationError
from hermes_memory.settings import Settings


@asynccontextmanager
async def administered(
    settings: Settings, admin_dsn: str | None, *, embeds: bool = False
) -> AsyncIterator[Administrator]:
    """Open the database of a home as its owner: the embedded one by itself, an operator's by the login named.

    Args:
        admin_dsn: Address with a login that may act as the owner. The embedded database needs none.
        embeds: Whether what is done uses vectors, so that an embedded database that is made for it takes them.

    Raises:
        ConfigurationError: The home has a database of an operator's and no login is named, or the login is not fit;
            or the embedder is not installed, where vectors are used.
        StoreUnavailable: The database cannot be reached.
    """
    async with administered_address(settings, admin_dsn, embeds=embeds) as dsn, administrator(dsn) as opened:
        yield opened


@asynccontextmanager
async def administered_address(
    settings: Settings, admin_dsn: str | None, *, embeds: bool = False
) -> AsyncIterator[str]:
    """Give the address of a home's database for a login that may act as the owner; see `administered`."""
    if admin_dsn is not None:
        yield admin_dsn
        return
    if settings.dsn is not None:
        raise ConfigurationError("this needs the owner's rights on the database: name a login with --admin-dsn URL")
    embedder = make_embedder(settings) if embeds else None
    store = EmbeddedStore(
        database_folder(settings.home),
        Worker(),
        state_directory=settings.state_directory,
        runtime_role=settings.runtime_role,
        partitions=settings.partitions or EMBEDDED_PARTITIONS,
        read_policy=settings.read_policy,
        forgotten_days=settings.forgotten_days,
        generation=(embedder.model, embedder.dimension) if embedder else None,
        part_tokens=part_policy(settings).tokens,
    )
    try:
        await store.prepare()
        yield store.owner_dsn()
    finally:
        await store.aclose()
        if embedder is not None:
            await embedder.aclose()
