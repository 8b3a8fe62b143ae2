"""Counts what an erasure is about, before it and after it, each time at one moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from hermes_memory.adapters.postgres import erasure_statements as sql
from hermes_memory.adapters.postgres.erasure_scopes import Conditions, Values
from hermes_memory.domain.erasure import Proof

if TYPE_CHECKING:
    from hermes_memory.adapters.postgres.statements import Connection


async def count_all(connection: Connection, where: Conditions, values: Values) -> Mapping[str, int]:
    """Count what would be erased, by store. The transaction shows one moment."""
    counts: dict[str, int] = {
        name: await connection.fetchval(where.fill(statement), *values) for name, statement in sql.COUNTED.items()
    }
    if where.whole:
        for name, statement in sql.COUNTED_WHOLE.items():
            counts[name] = await connection.fetchval(where.fill(statement), *values)
        counts["vectors"] = await connection.fetchval(sql.VECTORS, *owner_of(values), None)
    else:
        counts.update(await _of_rows(connection, where, values))
    return counts


async def _of_rows(connection: Connection, where: Conditions, values: Values) -> Mapping[str, int]:
    """Count what hangs on single rows, and on the operations that made or changed them."""
    found = await connection.fetch(where.fill(sql.DOOMED), *values)
    counts: dict[str, int] = dict.fromkeys(("postings", "vectors", "jobs", "operations"), 0)
    for theme in sorted({record["agent_identity"] for record in found}):
        own = [record for record in found if record["agent_identity"] == theme]
        ids = [record["id"] for record in own if record["id"] is not None]
        counts["postings"] += await connection.fetchval(sql.POSTINGS_OF, theme, ids)
        counts["vectors"] += await connection.fetchval(sql.VECTORS, theme, None, ids)
        counts["jobs"] += await connection.fetchval(sql.JOBS_OF, theme, ids)
        operations = list({record["operation"] for record in own})
        counts["operations"] += await connection.fetchval(sql.OPERATIONS_OF, theme, operations)
    return counts


async def prove(connection: Connection, where: Conditions, values: Values) -> Sequence[Proof]:
    """Ask what is left. The transaction shows one moment."""
    questions = [*sql.COUNTED.items(), *(sql.COUNTED_WHOLE.items() if where.whole else ())]
    proofs = []
    for name, question in questions:
        query = where.fill(question)
        left: int = await connection.fetchval(query, *values)
        proofs.append(Proof(store=name, query=" ".join(query.split()), remaining=left))
    if where.whole:
        left = await connection.fetchval(sql.VECTORS, *owner_of(values), None)
        proofs.append(Proof(store="vectors", query=sql.VECTORS, remaining=left))
    return proofs


async def prove_statistics(connection: Connection) -> Proof:
    """Ask which columns that would tell are in the planner's statistics. Erasing again changes nothing about those."""
    kept: int = await connection.fetchval(sql.STATISTICS)
    return Proof(store="statistics", query=" ".join(sql.STATISTICS.split()), remaining=kept)


def owner_of(values: Values) -> tuple[str | None, list[bytes] | None]:
    """Return the theme, and the subjects, of what goes as a whole, one of them None."""
    named = values[0]
    return (named, None) if isinstance(named, str) else (None, cast("list[bytes]", named))
