"""Verifies an installed store without changing it, as the runtime role sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, LiteralString

from hermes_memory.adapters.postgres.checks import CHECKS
from hermes_memory.adapters.postgres.errors import SCHEMA_MESSAGE
from hermes_memory.adapters.postgres.generation_standing import STANDING, standing_of
from hermes_memory.adapters.postgres.ledger import READ_LEDGER, missing, shipped
from hermes_memory.adapters.postgres.pool import Pool, Transaction
from hermes_memory.adapters.postgres.shipped_functions import FUNCTIONS, SENTENCE, altered, made
from hermes_memory.domain.errors import SchemaNotApplied
from hermes_memory.domain.model import ReadPolicy
from hermes_memory.ports.generations import GenerationStanding
from hermes_memory.ports.installation import Installation

FACTS: Final[LiteralString] = """
select i.partitions, i.read_policy, i.active_generation, current_setting('server_version') as server,
       (select e.extversion from pg_extension e where e.extname = 'vector') as vector
  from hermes_memory.installation i"""

COUNTS: Final[LiteralString] = """
select themes, entries, turns, vectors, waiting, parked from hermes_memory.store_counts()"""

NO_GENERATION: Final = (
    "there is no embedding generation, so rows are found by their words alone: run `hermes-memory migrate` with an "
    "embedder configured"
)


class PostgresInspector:
    """`StoreInspector` on Postgres.

    Args:
        pool: Connections of the runtime role.
        embeds: Whether an embedder is configured. Without one, no generation is missed.
        timeout: Seconds a call may take.
        counting: Seconds that a count of all rows may take at most: it reads them all, however many there are.
    """

    def __init__(self, pool: Pool, *, embeds: bool = True, timeout: float = 30.0, counting: float = 10.0) -> None:
        self._pool = pool
        self._embeds = embeds
        self._timeout = timeout
        self._counting = min(counting, timeout)

    async def verify(self) -> Installation:
        """Check schema, role and walls; see `StoreInspector.verify`."""
        async with self._pool.transaction(None, timeout=self._timeout, read_only=True) as transaction:
            ledger = {row["name"]: row["checksum"] for row in await transaction.fetch(READ_LEDGER)}
            if absent := missing(set(ledger)):
                raise SchemaNotApplied(f"{SCHEMA_MESSAGE} (missing: {', '.join(absent)})")
            facts = await transaction.fetch_row(FACTS)
            if facts is None:
                raise SchemaNotApplied(SCHEMA_MESSAGE)
            problems = [*_edited(ledger), *await problems_found(transaction)]
        if self._embeds and facts["active_generation"] is None:
            problems.append(NO_GENERATION)
        return Installation(
            migrations=tuple(sorted(ledger)),
            partitions=facts["partitions"],
            read_policy=ReadPolicy(facts["read_policy"]),
            server=f"PostgreSQL {facts['server']}, vector {facts['vector']}",
            problems=tuple(problems),
        )

    async def counts(self) -> Mapping[str, int]:
        """Count rows over all themes; see `StoreInspector.counts`."""
        async with self._pool.transaction(None, timeout=self._counting, read_only=True) as transaction:
            counted = await transaction.fetch_row(COUNTS)
        return dict(counted.items()) if counted else {}

    async def generations(self) -> Sequence[GenerationStanding]:
        """Tell how things stand with each generation; see `StoreInspector.generations`."""
        async with self._pool.transaction(None, timeout=self._counting, read_only=True) as transaction:
            return [standing_of(record) for record in await transaction.fetch(STANDING)]


def _edited(ledger: Mapping[str, str]) -> list[str]:
    return [
        f"migration {migration.name} is not the one that was applied to this database: install a released version"
        for migration in shipped()
        if ledger[migration.name] != migration.checksum
    ]


async def problems_found(transaction: Transaction) -> list[str]:
    """Return a sentence for each check that finds anything, and one for functions that are not as they were shipped."""
    found = [(c.sentence, [row["name"] for row in await transaction.fetch(c.statement)]) for c in CHECKS]
    functions = [(row["name"], made(dict(row))) for row in await transaction.fetch(FUNCTIONS)]
    found.append((SENTENCE, altered(functions)))
    return [sentence.replace("{}", ", ".join(names)) for sentence, names in found if names]
