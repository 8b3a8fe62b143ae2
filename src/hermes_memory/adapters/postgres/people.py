"""Which subjects are one person, as the wall has it."""

from __future__ import annotations

from typing import Final, LiteralString

from hermes_memory.adapters.postgres.pool import Pool
from hermes_memory.domain.model import DIRECT_MESSAGES, Caller, Subject

OTHERS: Final[LiteralString] = """
select s.subject from unnest(hermes_memory.ctx_subjects()) as s(subject) where s.subject <> $1"""


class PostgresPeople:
    """`People` on Postgres.

    Args:
        pool: Connections of the runtime role.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def others(self, subject: Subject, *, timeout: float) -> frozenset[Subject]:
        """Return the other subjects of the same person; see `People.others`."""
        # Whoever asks learns of itself alone; the theme has no part in it.
        asking = Caller(theme=DIRECT_MESSAGES, subject=subject)
        async with self._pool.transaction(asking, timeout=timeout, read_only=True) as transaction:
            found = await transaction.fetch(OTHERS, subject)
        return frozenset(Subject(record["subject"]) for record in found)
