"""Pruning on a real Postgres leaves the text index as if what was pruned had never been said."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import asyncpg
import pytest

from hermes_memory.adapters.postgres.administrator import administrator
from hermes_memory.adapters.postgres.store import PostgresStore
from hermes_memory.adapters.postgres.upkeep import PostgresUpkeep
from hermes_memory.adapters.postgres.upkeep_pruning import Pruning
from hermes_memory.domain.maintenance import Prune
from hermes_memory.domain.model import Caller, CurrentScope, Kind, SessionId, Theme
from hermes_memory.domain.operations import Operation, TurnDraft
from hermes_memory.ports.reading import SearchSpace
from hermes_memory.testing.making import ANA, add, record, said
from hermes_memory.testing.upkeep_contract import carry_out
from tests.support.index_and_rows import INDEX_AND_ROWS
from tests.support.postgres_store import ANALYZE, Installation

PRUNED: Final = Theme("pruned")
NEVER: Final = Theme("never had them")
LONG_AGO: Final = datetime(2020, 1, 1, tzinfo=UTC)
BETWEEN: Final = datetime(2022, 1, 1, tzinfo=UTC)
LATELY: Final = datetime(2024, 1, 1, tzinfo=UTC)
WORDS: Final = tuple(f"word{number}" for number in range(60))
SESSIONS: Final = 12
# What a search reads: in how many documents a word is, how many there are, and how long they are together.
STATISTICS: Final = """
select b.shelf, b.subject, b.lexeme, sum(b.n)::int, sum(case when b.lexeme = '' then b.packed[1] end)::int
  from hermes_memory.term_blocks b where b.agent_identity = $1 group by 1, 2, 3 having sum(b.n) <> 0 order by 1, 2, 3"""
FOLD: Final = "select state from hermes_memory.fold_term_blocks(500, 0)"


def talk(theme: Theme, *, early: bool) -> list[Operation]:
    """Return sessions with turns of lately, some of long ago before them, and notes in the same words."""
    drawn = random.Random(7)
    operations: list[Operation] = []
    for number in range(SESSIONS):
        caller = Caller(theme=theme, session=SessionId(f"s{number}"), subject=ANA if number % 3 == 0 else None)
        turns: list[TurnDraft] = [
            said(" ".join(drawn.choices(WORDS, range(len(WORDS), 0, -1), k=12)), at=at + timedelta(minutes=minute))
            for at in (LONG_AGO, LATELY)
            for minute in range(30)
        ]
        operations.append(record(*turns if early else turns[30:], caller=caller))
        operations.append(add(f"note {number} on {WORDS[number]} and {WORDS[0]}", caller, at=LONG_AGO))
    return operations


async def rows(database: Installation, statement: str, *values: object) -> list[tuple[Any, ...]]:
    connection = await asyncpg.connect(database.admin_dsn)
    try:
        return [tuple(record) for record in await connection.fetch(statement, *values)]
    finally:
        await connection.close()


async def scores(store: PostgresStore, theme: Theme) -> dict[str, dict[str, float]]:
    """Return what each word finds, with the scores."""
    caller, space = Caller(theme=theme, subject=ANA), SearchSpace(scope=CurrentScope(), kinds=frozenset(Kind))
    found = {}
    for word in WORDS:
        matches = await store.search.by_text(caller, space, ANALYZE(f"{word} {WORDS[0]}"), limit=1_000, timeout=60)
        found[word] = {hit.row.content: hit.bm25 for hit in matches.hits}
    return found


@pytest.mark.parametrize("folded", [True, False], ids=["folded", "as it was written"])
async def test_a_pruned_theme_counts_and_finds_as_one_that_never_had_the_rows(
    database: Installation, *, folded: bool
) -> None:
    async with database.store() as store:
        for theme, early in ((PRUNED, True), (NEVER, False)):
            for operation in talk(theme, early=early):
                await store.delivery.apply([operation])
        while folded and await database.administer(FOLD) != "idle":
            pass
        async with administrator(database.admin_dsn) as opened:
            done = await carry_out(PostgresUpkeep(opened, Pruning(Prune(before=BETWEEN, theme=PRUNED), rows=47)))
        found, never_had = await scores(store, PRUNED), await scores(store, NEVER)
        statistics = [await rows(database, STATISTICS, theme) for theme in (PRUNED, NEVER)]

    assert (done["turns"], done.get("sessions")) == (30 * SESSIONS, None)
    assert statistics[0] == statistics[1]
    assert len(statistics[0]) > 2 * len(WORDS)
    assert await database.administer(INDEX_AND_ROWS) == 0
    assert found.keys() == never_had.keys()
    for word, hits in never_had.items():
        assert found[word] == pytest.approx(hits)
    assert max(len(hits) for hits in found.values()) > 100
