"""Seals history by the owner's narrow functions: the runtime role says when, and chooses nothing of what is sealed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final, LiteralString

from hermes_memory.adapters.postgres.pool import Pool
from hermes_memory.adapters.postgres.rows import columns, utc
from hermes_memory.domain.chain import Head
from hermes_memory.ports.seals import Sealed, SealLag

SEAL: Final[LiteralString] = "select theme, seal, changes, chained, at from hermes_memory.seal_history($1)"
EXPIRE: Final[LiteralString] = "select hermes_memory.expire_forgotten($1)"
HEADS: Final[LiteralString] = "select theme, seal, chained from hermes_memory.seal_heads($1::text[], $2::bigint[])"
LAG: Final[LiteralString] = "select waiting, oldest from hermes_memory.seal_lag()"


class PostgresSeals:
    """`Seals` on Postgres.

    Args:
        pool: Connections of the runtime role.
        timeout: Seconds a call may take.
    """

    def __init__(self, pool: Pool, *, timeout: float = 30.0) -> None:
        self._pool = pool
        self._timeout = timeout

    async def seal(self, most: int) -> Sequence[Sealed]:
        """Seal changes; see `Seals.seal`."""
        async with self._pool.transaction(None, timeout=self._timeout) as transaction:
            made = await transaction.fetch(SEAL, most)
        return [
            Sealed(
                head=Head(theme=record["theme"], seal=record["seal"], chained=record["chained"]),
                changes=record["changes"],
                at=utc(record["at"]),
            )
            for record in made
        ]

    async def expire(self, most: int) -> int:
        """Erase what was forgotten long enough ago; see `Seals.expire`."""
        async with self._pool.transaction(None, timeout=self._timeout) as transaction:
            erased: int = await transaction.fetch_value(EXPIRE, most)
        return erased

    async def standing(self, heads: Collection[Head]) -> Sequence[Head]:
        """Compare published heads with the chain; see `Seals.standing`."""
        if not heads:
            return []
        async with self._pool.transaction(None, timeout=self._timeout, read_only=True) as transaction:
            found = await transaction.fetch(HEADS, *columns((head.theme, head.seal) for head in heads))
        held = {(record["theme"], record["seal"]): record["chained"] for record in found}
        return [head for head in heads if held.get((head.theme, head.seal)) != head.chained]

    async def lag(self) -> SealLag:
        """Tell what waits; see `Seals.lag`."""
        async with self._pool.transaction(None, timeout=self._timeout, read_only=True) as transaction:
            (record,) = await transaction.fetch(LAG)
        return SealLag(waiting=record["waiting"], oldest=utc(record["oldest"]) if record["oldest"] else None)
