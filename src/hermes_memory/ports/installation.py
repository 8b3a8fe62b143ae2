"""What the store says about itself: is it usable, and how is it set up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from hermes_memory.domain.model import ReadPolicy
from hermes_memory.ports.generations import GenerationStanding


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """The facts of an installed store.

    Attributes:
        migrations: Names of the migrations applied, in order.
        partitions: Hash partitions of each row-bearing table.
        server: Version of the server and of its vector extension, for humans.
        problems: What is wrong though it works, each a sentence that names the remedy; empty when all is well.
    """

    migrations: Sequence[str]
    partitions: int
    read_policy: ReadPolicy
    server: str
    problems: Sequence[str] = ()


class StoreInspector(Protocol):
    """Verifies the store without changing it."""

    async def verify(self) -> Installation:
        """Check schema, role and walls.

        Raises:
            StoreUnavailable: The database cannot be reached.
            DeadlineExceeded: It did not answer in time.
            SchemaNotApplied: The schema is missing or older than this version needs; names the command to run.
        """
        ...

    async def counts(self) -> Mapping[str, int]:
        """Count rows by kind over all themes, for operators: themes, entries, turns, vectors, waiting, parked.

        Raises:
            StoreUnavailable, DeadlineExceeded, SchemaNotApplied: As for `verify`.
        """
        ...

    async def generations(self) -> Sequence[GenerationStanding]:
        """Tell how things stand with each embedding generation, in their order.

        Raises:
            StoreUnavailable, DeadlineExceeded, SchemaNotApplied: As for `verify`.
        """
        ...
