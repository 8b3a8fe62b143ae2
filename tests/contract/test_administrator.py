"""The operator's connection: work that meets another transaction is done again, and not for ever."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hermes_memory.adapters.postgres import administrator as administering
from hermes_memory.adapters.postgres.administrator import ATTEMPTS, administrator
from hermes_memory.adapters.postgres.statements import composed, literal
from hermes_memory.domain.errors import StoreBusy
from tests.support.postgres_store import Installation

if TYPE_CHECKING:
    from hermes_memory.adapters.postgres.statements import Connection

NOTE = "insert into hermes_memory.memory_maintenance_log (id, verb) values (gen_random_uuid(), 'noted')"
NOTED = "select count(*) from hermes_memory.memory_maintenance_log where verb = 'noted'"


class Meeting:
    """Notes something, and then meets another transaction so many times."""

    def __init__(self, times: int, state: str = "40001") -> None:
        self.calls = 0
        self._times = times
        self._state = state

    async def work(self, connection: Connection) -> int:
        self.calls += 1
        await connection.execute(NOTE)
        if self.calls <= self._times:
            await connection.execute(composed("do $$ begin raise sqlstate {state}; end $$", state=literal(self._state)))
        return self.calls


@pytest.fixture(autouse=True)
def _hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(administering, "PAUSE_SECONDS", 0.001)


@pytest.mark.parametrize("state", ["40001", "40P01", "23505"])
async def test_work_that_meets_another_transaction_is_done_again_and_has_its_effect_once(
    database: Installation, state: str
) -> None:
    meeting = Meeting(2, state)
    async with administrator(database.admin_dsn) as opened:
        answer = await opened.repeatedly(meeting.work)

    assert answer == 3
    assert await database.administer(NOTED) == 1


async def test_work_that_meets_others_each_time_ends_as_busy_and_leaves_nothing(database: Installation) -> None:
    meeting = Meeting(ATTEMPTS)
    async with administrator(database.admin_dsn) as opened:
        with pytest.raises(StoreBusy, match="run it again later"):
            await opened.repeatedly(meeting.work)

    assert meeting.calls == ATTEMPTS
    assert await database.administer(NOTED) == 0
