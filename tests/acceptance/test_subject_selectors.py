"""Whom an operator's key selects: one person or group, never a pattern and never all who have no id."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_memory.cli.exits import USAGE
from tests.acceptance.conftest import NewAgent
from tests.support.command import in_process
from tests.support.inspection import rows
from tests.support.postgres_store import Installation

pytestmark = pytest.mark.usefixtures("served")

COUNT = "select count(*) from hermes_memory.conversations where subject is not null"


@pytest.mark.parametrize(
    "key",
    [
        *("agent:main:telegram:dm:*", "agent:main:telegram:group:%", "telegram:[0-9]+", "sms:+1555%"),
        *("agent:main:telegram:dm:", "agent:main:telegram:dm"),
    ],
)
async def test_a_key_that_is_a_pattern_or_has_no_id_is_refused_by_every_verb_and_takes_nothing(
    new_agent: NewAgent, database: Installation, home: Path, capsys: pytest.CaptureFixture[str], key: str
) -> None:
    agent = new_agent().start("s1", platform="telegram", gateway_session_key="agent:main:telegram:dm")
    agent.provider.sync_turn("Whose dog is it?", "It is the baker's.", session_id="s1")
    agent.settle()
    agent.provider.shutdown()
    capsys.readouterr()
    verbs = (
        ["erase", "--subject", key, "--execute", "--admin-dsn", database.admin_dsn],
        ["subjects", "merge", key, "telegram:1", "--execute", "--admin-dsn", database.admin_dsn],
        ["subjects", "split", key, "--admin-dsn", database.admin_dsn],
        ["grants", "add", "sales", "--to-subject", key, "--admin-dsn", database.admin_dsn],
    )
    codes = [in_process(*verb) for verb in verbs]
    told = capsys.readouterr()

    assert codes == [USAGE] * len(verbs)
    assert told.err.count("no character of a pattern") == len(verbs)
    assert key not in told.out + told.err.replace("PLATFORM:CONTACT as in telegram:12345", "")
    assert await rows(database.admin_dsn, COUNT) == [(2,)]
