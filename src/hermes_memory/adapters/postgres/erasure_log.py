"""Notes an erasure in the maintenance log: what kind, how much and whether it was finished, and never whose words.

When there was one last stands apart from the log, where processes that keep questions in memory may read it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, LiteralString
from uuid import UUID

from hermes_memory.domain.erasure import Erasure, Proof, title

if TYPE_CHECKING:
    from hermes_memory.adapters.postgres.statements import Connection

BEGIN: Final[LiteralString] = """
insert into hermes_memory.memory_maintenance_log (id, verb, detail) values ($1, 'erase', $2::text::jsonb)"""
END: Final[LiteralString] = """
update hermes_memory.memory_maintenance_log set detail = detail || $2::text::jsonb, affected = $3 where id = $1"""

# As it begins and as it ends: what is kept in memory may tell of what goes until the last of it is gone.
NOTE: Final[LiteralString] = "update hermes_memory.installation set erased_at = clock_timestamp()"


async def begin(connection: Connection, log: UUID, erasure: Erasure) -> bool:
    """Note that an erasure begins. One that was broken off stays in the log as it began."""
    kind, name = title(erasure)
    await connection.execute(BEGIN, log, json.dumps({"kind": kind, "name": name, "finished": False}))
    await connection.execute(NOTE)
    return False


async def end(connection: Connection, log: UUID, counts: Mapping[str, int], proofs: Sequence[Proof]) -> bool:
    """Note what it did, and how much its proofs still found."""
    left = sum(proof.remaining for proof in proofs)
    detail = {"counts": dict(counts), "remaining": left, "finished": True}
    await connection.execute(END, log, json.dumps(detail), sum(counts.values()))
    await connection.execute(NOTE)
    return False
