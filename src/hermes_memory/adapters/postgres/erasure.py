"""Erases in the database, in transactions of bounded size, each of which leaves rows and index fitting each other."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, LiteralString, TypeAlias
from uuid import UUID, uuid4

import anyio

from hermes_memory.adapters.postgres import erasure_log
from hermes_memory.adapters.postgres import erasure_statements as sql
from hermes_memory.adapters.postgres.administrator import Administrator, Isolation
from hermes_memory.adapters.postgres.erasure_counts import count_all, owner_of, prove, prove_statistics
from hermes_memory.adapters.postgres.erasure_scopes import Conditions, Values, conditions
from hermes_memory.adapters.postgres.rows import subject_of
from hermes_memory.domain.erasure import Erasure, OneEntry, Proof, Told, WholeSubject
from hermes_memory.domain.model import Subject, Target, Theme
from hermes_memory.ports.erasure import Erased

if TYPE_CHECKING:
    from hermes_memory.adapters.postgres.rows import Record
    from hermes_memory.adapters.postgres.statements import Connection

    Step: TypeAlias = Callable[[Connection], Awaitable[bool]]
    Place: TypeAlias = tuple[object, ...]
    """Theme, shelf and subject, as the text index is parted."""

ROWS_A_STEP: Final = 1_000
BLOCKS_A_STEP: Final = 20_000
ROUNDS: Final = 20
"""How often what came in meanwhile is gone after."""
PAUSE_SECONDS: Final = 0.1
"""Between two looks whether the writes under way have ended."""

START: Final = (0, 0)
"""Where the first block of a partition may lie."""

LOCK_TIMEOUT: Final[LiteralString] = "set local lock_timeout = 60000"
PLAN_ANEW: Final[LiteralString] = "set local plan_cache_mode = force_custom_plan"


async def _scope(connection: Connection, erasure: Erasure) -> tuple[Conditions, Values]:
    """Return which rows it is about; of one entry, with the other memories whose history tells its texts."""
    if not isinstance(erasure, OneEntry):
        return conditions(erasure)
    return conditions(erasure, [record["row_id"] for record in await connection.fetch(sql.TELLING, erasure.row)])


def _told(record: Record) -> Told:
    return Told(
        theme=Theme(record["agent_identity"]),
        subject=subject_of(record),
        target=Target(record["target"]),
        text=record["text"],
    )


class PostgresEraser:
    """`Eraser` on Postgres.

    Args:
        administrator: A connection with the owner's rights.
        rows: Rows, at most, of one transaction.
        blocks: Blocks of the text index, at most, of one transaction.
    """

    def __init__(self, administrator: Administrator, *, rows: int = ROWS_A_STEP, blocks: int = BLOCKS_A_STEP) -> None:
        self._administrator = administrator
        self._rows = rows
        self._blocks = blocks

    async def count(self, erasure: Erasure) -> Mapping[str, int]:
        """Count what would be erased; see `Eraser.count`."""
        async with self._administrator.transaction(isolation="repeatable_read", read_only=True) as connection:
            where, values = await _scope(connection, erasure)
            return await count_all(connection, where, values)

    async def mirrored(self, erasure: Erasure) -> int:
        """Count what mirrors a home; see `Eraser.mirrored`."""
        where, values = conditions(erasure)
        async with self._administrator.transaction(read_only=True) as connection:
            found: int = await connection.fetchval(where.fill(sql.MIRRORED), *values)
        return found

    async def companions(self, erasure: Erasure) -> frozenset[Subject]:
        """Return the other subjects of the same person; see `Eraser.companions`."""
        if not isinstance(erasure, WholeSubject):
            return frozenset()
        async with self._administrator.transaction(read_only=True) as connection:
            found = await connection.fetch(sql.COMPANIONS, bytes(erasure.subject))
        return frozenset(Subject(record["subject"]) for record in found)

    async def shared(self, erasure: Erasure) -> int:
        """Count what was noted for everybody in talk with the person; see `Eraser.shared`."""
        if not isinstance(erasure, WholeSubject):
            return 0
        async with self._administrator.transaction(read_only=True) as connection:
            found: int = await connection.fetchval(sql.SHARED, sorted(map(bytes, erasure.subjects)))
        return found

    async def texts(self, erasure: Erasure) -> frozenset[Told]:
        """Return what the one entry says and said; see `Eraser.texts`."""
        if not isinstance(erasure, OneEntry):
            return frozenset()
        async with self._administrator.transaction(read_only=True) as connection:
            return frozenset(map(_told, await connection.fetch(sql.TEXTS, erasure.row)))

    async def settle(self, timeout: float) -> bool:
        """Wait for the writes under way; see `Eraser.settle`."""
        async with self._administrator.transaction() as connection:
            mark = await connection.fetchval(sql.WRITING_NOW)
        with anyio.move_on_after(timeout):
            while True:
                async with self._administrator.transaction(read_only=True) as connection:
                    if await connection.fetchval(sql.NONE_OLDER, mark):
                        return True
                await anyio.sleep(PAUSE_SECONDS)
        return False

    async def erase(self, erasure: Erasure, progress: Callable[[int], object] = lambda _: None) -> Erased:
        """Erase, then ask what is left; see `Eraser.erase`."""
        async with self._administrator.transaction(read_only=True) as connection:
            where, values = await _scope(connection, erasure)
        counts = Counter(dict.fromkeys(sql.STORES, 0))
        log = uuid4()
        await self._step(lambda connection: erasure_log.begin(connection, log, erasure))
        proofs: Sequence[Proof] = ()
        for _ in range(ROUNDS):
            await self._round(where, values, counts, lambda: progress(counts.total()))
            async with self._administrator.transaction(isolation="repeatable_read", read_only=True) as connection:
                left = await prove(connection, where, values)
                proofs = (*left, await prove_statistics(connection))
            if not any(proof.remaining for proof in left):
                break
        asked = proofs
        await self._step(lambda connection: erasure_log.end(connection, log, counts, asked))
        return Erased(id=log, counts=counts, proofs=proofs)

    async def _round(self, where: Conditions, values: Values, counts: Counter[str], tell: Callable[[], object]) -> None:
        await self._repeat(lambda c: self._erase_rows(c, sql.TURNS, where, values, counts), tell)
        await self._repeat(lambda c: self._erase_rows(c, sql.ROWS, where, values, counts), tell)
        await self._repeat(lambda c: self._erase_changes(c, where, values, counts), tell)
        if where.whole:
            reached: dict[Place, tuple[int, int]] = {}
            await self._repeat(
                lambda c: self._erase_words(c, where, values, counts, reached), tell, isolation="repeatable_read"
            )
        await self._repeat(lambda c: self._erase_rest(c, where, values, counts), tell)

    async def _erase_rows(
        self, connection: Connection, rows: LiteralString, where: Conditions, values: Values, counts: Counter[str]
    ) -> bool:
        found = await connection.fetch(where.fill(rows), *values, self._rows)
        by_theme: defaultdict[str, list[UUID]] = defaultdict(list)
        for record in found:
            by_theme[record["agent_identity"]].append(record["id"])
        for theme, ids in by_theme.items():
            (erased,) = await connection.fetch(sql.ERASE_ROWS, theme, ids, not where.whole)
            counts.update(dict(erased.items()))
        return len(found) == self._rows

    async def _erase_changes(
        self, connection: Connection, where: Conditions, values: Values, counts: Counter[str]
    ) -> bool:
        found = await connection.fetch(where.fill(sql.CHANGES), *values, self._rows)
        for record in found:
            theme, ids, made_by = record["agent_identity"], record["ids"], record["operations"]
            counts["changes"] += await connection.fetchval(sql.ERASE_CHANGES, theme, ids)
            if not where.whole:
                counts["operations"] += await connection.fetchval(sql.FORGET_OPERATIONS, theme, made_by)
        return bool(found)

    async def _erase_words(
        self,
        connection: Connection,
        where: Conditions,
        values: Values,
        counts: Counter[str],
        reached: dict[Place, tuple[int, int]],
    ) -> bool:
        # How much a step takes and where it starts decides how it is done.
        await connection.execute(PLAN_ANEW)
        if await connection.fetchval(where.fill(sql.ROWS_LEFT), *values):
            return False  # rows came in: the next round takes them first
        for place in map(tuple, await connection.fetch(where.fill(sql.PLACES), *values)):
            # What came in behind that is found from the start, in the snapshot in which nothing is left.
            for start in dict.fromkeys((reached.get(place, START), START)):
                (erased,) = await connection.fetch(sql.ERASE_WORDS, *place, self._blocks, start)
                if erased["blocks"]:
                    counts["postings"] += erased["postings"]
                    reached[place] = erased["reached"]
                    return True
            await connection.execute(sql.ERASE_STATISTICS, *place)
        return False

    async def _erase_rest(
        self, connection: Connection, where: Conditions, values: Values, counts: Counter[str]
    ) -> bool:
        await connection.fetch(where.fill(sql.HOLD_SESSIONS), *values)
        for name, statement in (*sql.REST, *(sql.WHOLESALE if where.whole else ())):
            counts[name] += await connection.fetchval(where.fill(statement), *values)
        if where.whole:
            owner = owner_of(values)
            counts["vectors"] += await connection.fetchval(sql.ORPHANED_VECTORS, *owner)
            await connection.execute(sql.LEAVE_FOLDING, *owner)
            for subject in owner[1] or ():
                await connection.execute(sql.FORGET_IN_LOG, subject)
        return False

    async def _repeat(self, step: Step, tell: Callable[[], object], *, isolation: Isolation = "read_committed") -> None:
        while await self._step(step, isolation=isolation):
            tell()
        tell()

    async def _step(self, step: Step, *, isolation: Isolation = "read_committed") -> bool:
        """Run one step in a transaction of its own, again when it meets another one."""

        async def patiently(connection: Connection) -> bool:
            await connection.execute(LOCK_TIMEOUT)
            return await step(connection)

        return await self._administrator.repeatedly(patiently, isolation=isolation)
