"""Generations on Postgres when dropping one is given up half-way, and when the database breaks off."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import asyncpg
import pytest

from hermes_memory.adapters.postgres import generations as module
from hermes_memory.adapters.postgres.administrator import administrator
from hermes_memory.adapters.postgres.generations import PostgresGenerations
from hermes_memory.domain.errors import StoreBusy, StoreUnavailable
from tests.support.postgres_store import Installation

CUT_OFF = """
select pg_terminate_backend(pid) from pg_stat_activity
 where datname = current_database() and application_name = 'hermes_memory operator'"""


async def test_a_generation_whose_drop_was_given_up_is_fed_again_once_it_is_registered(
    database: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOCK_TRIES", 1)
    async with administrator(database.admin_dsn) as opened:
        generations = PostgresGenerations(opened)
        number = await generations.register("another", 8, 64)
        dump = await asyncpg.connect(database.admin_dsn, timeout=30.0)
        try:
            async with dump.transaction():
                await dump.execute(f"lock table hermes_memory.turn_vectors_g{number} in access share mode")
                with pytest.raises(StoreBusy):
                    await generations.drop(number)
        finally:
            await dump.close()
        kept = [await generations.kept(number)]
        fed = [each.fed for each in await generations.standing() if each.generation == number]
        again = await generations.register("another", 8, 64)
        fed += [each.fed for each in await generations.standing() if each.generation == number]
        kept.append(await generations.kept(number))

    assert kept == [False, True]
    assert (fed, again) == ([False, True], number)


ACTS: dict[str, Callable[[PostgresGenerations], Awaitable[object]]] = {
    "kept": lambda generations: generations.kept(1),
    "waiting": lambda generations: generations.waiting(1),
    "standing": lambda generations: generations.standing(),
    "switch": lambda generations: generations.switch(1),
    "drop": lambda generations: generations.drop(1),
    "register": lambda generations: generations.register("another", 8, 64),
}


@pytest.mark.parametrize("act", ACTS)
async def test_a_connection_that_is_cut_off_is_told_as_a_database_that_is_away(
    database: Installation, act: str
) -> None:
    async with administrator(database.admin_dsn) as opened:
        generations = PostgresGenerations(opened)
        await database.administer(CUT_OFF)
        with pytest.raises(StoreUnavailable):
            await ACTS[act](generations)
