"""Moving a home's memory out and in, with an operator's rights on its database."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from hermes_memory.adapters.postgres.archive_reading import snapshot
from hermes_memory.adapters.postgres.archive_storing import PostgresArchive
from hermes_memory.adapters.secret_tally import FileSecretTally
from hermes_memory.adapters.stemming import snowball_stem
from hermes_memory.application.exporting.jsonl import Exported, export_jsonl
from hermes_memory.application.importing.jsonl import Imported, JsonlImport
from hermes_memory.application.preparing import Preparing
from hermes_memory.application.secret_guard import SecretGuard
from hermes_memory.bootstrap.administration import administered
from hermes_memory.bootstrap.home import state_folder
from hermes_memory.domain.lexemes import Analyzer
from hermes_memory.domain.model import Theme
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
    dry_run: bool,
    progress: Callable[[int], object],
) -> Imported:
    """Store JSON lines in the memory of a home; see `JsonlImport`.

    Raises:
        ConfigurationError: The login is not fit.
        InvalidInput: It is no export.
        StoreUnavailable, SchemaNotApplied: The database does not take it.
    """
    async with administered(settings, admin_dsn) as administrator:
        archive = PostgresArchive(administrator, analyze=Analyzer(stem=snowball_stem()).analyze)
        guard = SecretGuard(settings.secret_policy, FileSecretTally(state_folder(settings)))
        return await JsonlImport(archive, Preparing(guard), dry_run=dry_run, progress=progress).run(lines)
