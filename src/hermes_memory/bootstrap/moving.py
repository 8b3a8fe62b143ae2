"""Moving a home's memory out and in, with an operator's rights on its database."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from hermes_memory.adapters.postgres.archive_reading import snapshot
from hermes_memory.adapters.postgres.archive_storing import PostgresArchive
from hermes_memory.adapters.postgres.witness import PostgresWitness
from hermes_memory.adapters.secret_tally import FileSecretTally
from hermes_memory.adapters.stemming import snowball_stem
from hermes_memory.application.exporting.jsonl import Exported, export_jsonl
from hermes_memory.application.importing.converting import Converter
from hermes_memory.application.importing.jsonl import Imported, JsonlImport
from hermes_memory.application.importing.owners import Owners
from hermes_memory.application.importing.run import Import, Moved
from hermes_memory.application.importing.vectors import VectorPassage
from hermes_memory.application.preparing import Preparing
from hermes_memory.application.secret_guard import SecretGuard
from hermes_memory.bootstrap.administration import administered
from hermes_memory.bootstrap.container import Container
from hermes_memory.bootstrap.home import LocalHalf, open_local_half, state_folder, utc_now
from hermes_memory.domain.lexemes import Analyzer
from hermes_memory.domain.model import Theme
from hermes_memory.domain.subject_keys import subject_of_key
from hermes_memory.ports.sources import Source
from hermes_memory.settings import Settings


async def export_memory(
    settings: Settings,
    admin_dsn: str | None,
    write: Callable[[bytes], object],
    *,
    theme: Theme | None,
    vectors: bool,
    progress: Callable[[int], object],
) -> Exported:
    """Write the memory of a home as JSON lines; see `export_jsonl`.

    Raises:
        ConfigurationError: The login is not fit.
        InvalidInput: There is no such theme.
        StoreUnavailable, SchemaNotApplied: The database cannot be read.
    """
    async with administered(settings, admin_dsn) as administrator, snapshot(administrator) as read:
        return await export_jsonl(read, write, theme=theme, vectors=vectors, progress=progress)


async def import_memory(
    settings: Settings,
    admin_dsn: str | None,
    lines: Iterable[bytes],
    *,
    restoring: bool = False,
    dry_run: bool,
    progress: Callable[[int], object],
) -> Imported:
    """Store JSON lines in the memory of a home; see `JsonlImport`.

    Raises:
        ConfigurationError: The login is not fit.
        InvalidInput: It is no export.
        StoreUnavailable, SchemaNotApplied: The database does not take it.
    """
    async with administered(settings, admin_dsn, embeds=True) as administrator:
        archive = PostgresArchive(administrator, analyze=Analyzer(stem=snowball_stem()).analyze)
        guard = SecretGuard(settings.secret_policy, FileSecretTally(state_folder(settings)))
        work = JsonlImport(archive, Preparing(guard), restoring=restoring, dry_run=dry_run, progress=progress)
        return await work.run(lines)


@asynccontextmanager
async def _usable(settings: Settings) -> AsyncIterator[tuple[LocalHalf, Container]]:
    """Make the store of a home usable, with nothing of a memory running beside."""
    half = open_local_half(settings)
    container = Container(settings=settings, local=half, secret=os.environ.get)
    try:
        await container.preparation().prepare()
        yield half, container
    finally:
        await container.pool().close()
        if (embedder := container.embedder()) is not None:
            await embedder.aclose()
        await container.host().aclose()
        half.spool.close()


async def import_source(
    settings: Settings,
    source: AbstractAsyncContextManager[Source],
    *,
    default_theme: str,
    subject_key: str | None = None,
    model: str | None = None,
    dry_run: bool = False,
    progress: Callable[[int], object] = lambda _: None,
    expect: Callable[[int], object] = lambda _: None,
) -> Moved:
    """Import another memory into that of a home, as its runtime role; see `Import`.

    Args:
        default_theme: Whose what has no agent's name becomes.
        subject_key: The key of the person or group to whom all of it is kept; personal data, of which nothing stays.
        model: Which model made the source's vectors. Those of the model in use here are taken over.
        progress: Told how many rows each batch had.
        expect: Told how many there are to read, where the source can tell.

    Raises:
        ConfigurationError: The source is none, or the home's state cannot be used.
        StoreUnavailable, SchemaNotApplied: One of the two does not serve.
    """
    async with _usable(settings) as (half, container), source as opened:
        subject = None if subject_key is None else subject_of_key(half.secret, subject_key)
        owners = Owners(policy=half.identities, secret=half.secret, default=default_theme, subject=subject)
        converter = Converter(
            opened.name, owners, half.acceptor.preparing, now=utc_now, turn_chars=settings.turn_max_chars
        )
        work = Import(
            opened,
            converter,
            owners,
            container.delivery(),
            PostgresWitness(container.pool()),
            vectors=(passage := await _passage(container, model)),
            dry_run=dry_run,
            progress=progress,
            expect=expect,
        )
        if model is not None and passage is None:
            work.done.notes.append("its vectors are of another model than the one in use here: new ones will be made")
        return await work.run()


async def _passage(container: Container, model: str | None) -> VectorPassage | None:
    generation = await container.queue().active()
    if generation is None or generation.model != model:
        return None
    return VectorPassage(container.queue(), generation)
