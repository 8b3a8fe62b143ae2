"""Migrating an operator's database with the settings of this installation."""

from __future__ import annotations

from dataclasses import replace

from hermes_memory.adapters.postgres.migrator import FLEET_PARTITIONS, MigrationReport
from hermes_memory.adapters.postgres.migrator import migrate as migrate_database
from hermes_memory.bootstrap.embedder import make_embedder
from hermes_memory.bootstrap.parts import part_policy
from hermes_memory.domain.model import ReadPolicy
from hermes_memory.settings import Settings

__all__ = ["MigrationReport", "migrate"]


async def migrate(
    admin_dsn: str,
    *,
    settings: Settings | None = None,
    runtime_role: str | None = None,
    runtime_password: str | None = None,
    partitions: int | None = None,
    read_policy: ReadPolicy | None = None,
) -> MigrationReport:
    """Bring a database to the schema of this version, and make the first tables for vectors, the configured embedder's.

    Those that are there stay in use whatever the embedder, unless nothing is lost by making them anew: they hold no
    vector, and none is under way.

    Args:
        admin_dsn: Connection URL of a role that may create roles, extensions and schemas.
        settings: The installation's settings; read from their sources by default. What is forgotten keeps its texts
            for their `forgotten_days` from now on, and as long as before where none are configured.
        runtime_role: Role that the memory logs in as; the configured one by default.
        runtime_password: Password to give it; None leaves what it has.
        partitions: Hash partitions, heeded by the first migration only. 32 by default.
        read_policy: Which themes read each other from now on. None takes the configured one, and keeps what holds
            where none is configured.

    Raises:
        ConfigurationError: The server, the extension, the login or a setting is not fit; names the remedy.
        StoreUnavailable: The database cannot be reached.
        InvalidInput: An argument is out of range.
    """
    settings = settings or Settings()
    embedder = make_embedder(settings)
    asked = settings.partitions if partitions is None else partitions
    try:
        report = await migrate_database(
            admin_dsn,
            runtime_role=runtime_role or settings.runtime_role,
            runtime_password=runtime_password,
            partitions=FLEET_PARTITIONS if asked is None else asked,
            read_policy=read_policy or _configured_policy(settings),
            forgotten_days=_configured_days(settings),
            generation=(embedder.model, embedder.dimension) if embedder else None,
            part_tokens=part_policy(settings).tokens,
        )
    finally:
        if embedder is not None:
            await embedder.aclose()
    if asked in {None, report.partitions}:
        return report
    kept = f"there are {report.partitions} partitions, fixed when the schema was made, and not the {asked} asked for"
    return replace(report, warnings=(*report.warnings, kept))


def _configured_policy(settings: Settings) -> ReadPolicy | None:
    """Return the read policy that somebody set, None for the default: migrating again must not undo a choice."""
    return settings.read_policy if "read_policy" in settings.model_fields_set else None


def _configured_days(settings: Settings) -> float | None:
    """Return for how long somebody set that forgotten texts are kept, None for the default; see above."""
    return settings.forgotten_days if "forgotten_days" in settings.model_fields_set else None
