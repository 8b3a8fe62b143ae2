"""Folds the blocks of the text index, over all themes, step by step."""

from __future__ import annotations

from typing import Final, LiteralString

from hermes_memory.adapters.postgres.embedding_queue import UNHURRIED
from hermes_memory.adapters.postgres.pool import Pool
from hermes_memory.ports.text_index import Folded, Folding

FOLD: Final[LiteralString] = "select state, gone, made from hermes_memory.fold_term_blocks($1, $2)"

POSTINGS_A_STEP: Final = 5_000
"""Postings rewritten in a step, about: less than a tenth of a second, for which a theme's lock is held."""
REST_SECONDS: Final = 30.0
"""For so long nobody looks again, of all processes, once there was nothing to fold."""


class PostgresTextIndex:
    """`TextIndex` on Postgres. One process folds at a time, whichever comes first.

    Args:
        pool: Connections of the runtime role.
        postings: Postings that a step rewrites, about.
        rest: Seconds for which there is nothing to fold once there was nothing.
        timeout: Seconds a step may take.
    """

    def __init__(
        self, pool: Pool, *, postings: int = POSTINGS_A_STEP, rest: float = REST_SECONDS, timeout: float = 30.0
    ) -> None:
        self._pool = pool
        self._postings = postings
        self._rest = rest
        self._timeout = timeout

    async def fold(self) -> Folded:
        """Fold some blocks in one transaction; see `TextIndex.fold`."""
        async with self._pool.transaction(None, timeout=self._timeout, settings=UNHURRIED) as transaction:
            (record,) = await transaction.fetch(FOLD, self._postings, self._rest)
        return Folded(state=Folding(record["state"]), gone=record["gone"], made=record["made"])
