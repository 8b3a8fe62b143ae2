"""Changing the embedding model of a home's memory, with an operator's rights on its database."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

from hermes_memory.adapters.postgres.administrator import administrator
from hermes_memory.adapters.postgres.embedding_queue import PostgresEmbeddingQueue
from hermes_memory.adapters.postgres.generations import PostgresGenerations
from hermes_memory.adapters.postgres.pool import Pool
from hermes_memory.adapters.postgres.roles import OWNER
from hermes_memory.application.breaker import EMBEDDER, Breaker
from hermes_memory.application.embed import EmbedStage
from hermes_memory.application.reembed import Reembedded, Reembedding, Wanted
from hermes_memory.application.reembed_progress import Progress
from hermes_memory.bootstrap.administration import administered_address
from hermes_memory.bootstrap.embedder import make_embedder
from hermes_memory.bootstrap.parts import ON_THIS_MACHINE, part_policy
from hermes_memory.domain.errors import InvalidInput
from hermes_memory.ports.embedding import Embedder, EmbeddingQueue
from hermes_memory.settings import Settings

CONNECTIONS: Final = 4
"""Claims, leases and two batches that are stored at once."""


@asynccontextmanager
async def opened_generations(settings: Settings, admin_dsn: str | None) -> AsyncIterator[PostgresGenerations]:
    """Open the embedding generations of a home's database.

    Raises:
        ConfigurationError: The login is not fit.
        StoreUnavailable, SchemaNotApplied: The database does not serve.
    """
    async with administered_address(settings, admin_dsn) as dsn, administrator(dsn) as opened:
        yield PostgresGenerations(opened)


async def reembed(
    settings: Settings,
    admin_dsn: str | None,
    *,
    switch: bool = True,
    tolerate: bool = False,
    patience: float = 60.0,
    progress: Progress | None = None,
) -> Reembedded:
    """Give all rows vectors by the embedder that `settings` name, and use them; see `Reembedding`.

    Raises:
        InvalidInput: The settings name no embedder.
        ConfigurationError: The login is not fit, or the embedder is not installed.
        EmbedderUnavailable, EmbeddingRejected: It does not answer, or not rightly.
        StoreUnavailable, SchemaNotApplied: The database does not serve.
    """
    embedder = make_embedder(settings)
    if embedder is None:
        raise InvalidInput("no embedder is configured: name a model with --model, --dim and --url", field="model")
    try:
        async with _filled(settings, admin_dsn, embedder, patience, progress) as work:
            return await work.run(Wanted(part_tokens=part_policy(settings).tokens, switch=switch, tolerate=tolerate))
    finally:
        await embedder.aclose()


@asynccontextmanager
async def _filled(
    settings: Settings, admin_dsn: str | None, embedder: Embedder, patience: float, progress: Progress | None
) -> AsyncIterator[Reembedding]:
    async with administered_address(settings, admin_dsn) as dsn, administrator(dsn) as opened:
        pool = Pool(dsn, max_size=CONNECTIONS, connect_timeout=settings.connect_timeout, statement_cache_size=0)
        try:
            yield Reembedding(
                PostgresGenerations(opened),
                embedder,
                queue_of=lambda number: PostgresEmbeddingQueue(pool, generation=number, role=OWNER),
                stage_of=partial(_stage, settings, embedder),
                timeout=settings.embed_write_timeout,
                patience=patience,
                progress=progress,
            )
        finally:
            await pool.close()


def _stage(settings: Settings, embedder: Embedder, queue: EmbeddingQueue) -> EmbedStage:
    return EmbedStage(
        queue,
        embedder,
        breaker=Breaker(EMBEDDER, failures=3, delay=0.5, longest_delay=5.0),
        batch=settings.embed_batch,
        parallel=1 if settings.embedder in ON_THIS_MACHINE else settings.embed_parallel,
        timeout=settings.embed_write_timeout,
        chunk=part_policy(settings),
    )
