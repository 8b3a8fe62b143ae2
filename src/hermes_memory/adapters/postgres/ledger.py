"""The migrations that ship with this version, and the ledger of those a database has seen."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Final, LiteralString

from hermes_memory.adapters.postgres.statements import Composed, shipped_statements
from hermes_memory.domain.errors import ConfigurationError

CREATE_LEDGER: Final = """
create table if not exists hermes_memory.schema_migrations (
  name text collate "C" primary key,
  checksum text not null,
  applied_at timestamptz not null default now()
)"""
READ_LEDGER: Final[LiteralString] = "select name, checksum from hermes_memory.schema_migrations order by name"
NOTE_IN_LEDGER: Final[LiteralString] = "insert into hermes_memory.schema_migrations (name, checksum) values ($1, $2)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """One numbered file of statements, `NNNN_pre_*.sql` before a code upgrade or `NNNN_post_*.sql` after it."""

    name: str
    checksum: str
    statements: Composed = field(repr=False)


@cache
def shipped() -> tuple[Migration, ...]:
    """Return the migrations of this version, in the order they are applied."""
    folder = files("hermes_memory.adapters.postgres") / "migrations"
    return tuple(
        _migration(file.name.removesuffix(".sql"), file.read_text(encoding="utf-8"))
        for file in sorted(folder.iterdir(), key=lambda file: file.name)
        if file.name.endswith(".sql")
    )


def check_unchanged(migration: Migration, recorded: str) -> None:
    """Compare a migration with what the ledger recorded when it was applied.

    Raises:
        ConfigurationError: The file is not the one that was applied.
    """
    if migration.checksum != recorded:
        raise ConfigurationError(
            f"migration {migration.name} differs from the one this database has applied: install a released version "
            "of the library; a released migration never changes"
        )


def missing(recorded: set[str]) -> list[str]:
    """Return the names of shipped migrations that the ledger does not hold."""
    return [migration.name for migration in shipped() if migration.name not in recorded]


def _migration(name: str, text: str) -> Migration:
    # A checkout with other line ends is still the same migration.
    statements = shipped_statements(text.replace("\r\n", "\n"))
    return Migration(name=name, checksum=hashlib.sha256(statements.encode()).hexdigest(), statements=statements)
