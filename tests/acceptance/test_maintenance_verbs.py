"""`prune`, `cleanup`, `remap` and `backfill` as an operator types them, each a process on a real Postgres."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import anyio
import asyncpg
import pytest

from hermes_memory.bootstrap.home import open_local_half
from hermes_memory.cli.main import main
from hermes_memory.domain.model import Caller, Origin, SessionId, Target, Theme
from hermes_memory.domain.operations import Operation
from hermes_memory.settings import Settings
from hermes_memory.testing.making import add, record, said
from tests.acceptance.conftest import Command
from tests.support.command import Ran
from tests.support.index_and_rows import GAPS, INDEX_AND_ROWS
from tests.support.inspection import rows, value
from tests.support.loaded_command import loaded_command
from tests.support.postgres_store import Installation

DONE, DOWN, WORK_REMAINS, USAGE = 0, 2, 3, 64
INTERRUPTED: Final = 130
NOW: Final = datetime.now(UTC)
NOWHERE: Final = "postgresql://nobody@127.0.0.1:9/nowhere"
ALONE: Final = "select pg_advisory_lock(hashtextextended('hermes_memory maintenance', 9))"
WAITS: Final = "select count(*) from pg_locks where locktype = 'advisory' and not granted"


def require(ran: Ran, code: int) -> Ran:
    assert ran.code == code, f"{ran.code}: {ran.out}{ran.err}"
    assert "Traceback" not in ran.out + ran.err
    return ran


def talk(theme: str, *, days: int, turns: int = 6, session: str = "s1") -> Sequence[Operation]:
    """Return what an agent wrote so many days ago: a memory, and turns of a session."""
    caller = Caller(theme=Theme(theme), session=SessionId(f"{session}-{days}"))
    at = NOW - timedelta(days=days)
    told = [said(f"{theme} turn {n} of {days} days", at=at + timedelta(minutes=n)) for n in range(turns)]
    return [add(f"{theme} notes {days} days", caller, at=at), record(*told, caller=caller)]


async def fill(database: Installation, *batches: Sequence[Operation]) -> None:
    async with database.store() as store:
        for operations in batches:
            await store.delivery.apply(operations)


def counts(ran: Ran) -> dict[str, int]:
    return {name: count for name, count in ran.document["counts"].items() if count}


@pytest.mark.usefixtures("served")
def test_old_turns_are_pruned_as_foretold_and_memories_stay(database: Installation, typed: Command) -> None:
    anyio.run(fill, database, talk("desk", days=100), talk("desk", days=3), talk("other", days=100))
    prune = ("prune", "--older-than", "90", "--theme", " DESK ", "--admin-dsn", database.admin_dsn)
    foretold = require(typed(*prune, "--json"), WORK_REMAINS)
    text = require(typed(*prune), WORK_REMAINS)
    untouched = anyio.run(value, database.admin_dsn, "select count(*) from hermes_memory.conversations")
    done = require(loaded_command(*prune, "--execute", "--json"), DONE)
    nothing = require(typed(*prune, "--execute"), DONE)
    unknown = require(typed(*prune[:4], "nobody", *prune[5:]), DONE)
    logged = anyio.run(
        rows,
        database.admin_dsn,
        """select detail ->> 'theme', detail -> 'counts' ->> 'turns', affected, detail ->> 'finished'
             from hermes_memory.memory_maintenance_log where verb = 'prune' and affected > 0""",
    )
    themes = require(typed("themes", "--json", "--admin-dsn", database.admin_dsn), DONE)

    assert counts(foretold) == counts(done)
    assert (counts(done)["turns"], counts(done)["sessions"]) == (6, 1)
    assert untouched == 18
    assert "would have pruned: 6 turns" in text.out
    assert "There is no way back" in text.out
    assert "pruned: nothing" in nothing.out
    assert "there is no theme 'nobody'" in unknown.out
    assert logged == [("desk", "6", sum(counts(done).values()), "true")]
    assert {each["theme"]: (each["entries"], each["turns"]) for each in themes.document["themes"]} == {
        "desk": (2, 6),
        "other": (1, 6),
    }
    assert anyio.run(value, database.admin_dsn, INDEX_AND_ROWS) == 0


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(
    "arguments",
    [
        ("prune",),
        ("prune", "--older-than", "-3"),
        ("prune", "--older-than", "0"),
        ("prune", "--older-than", ""),
        ("prune", "--older-than", "nan"),
        ("prune", "--older-than", "1e9"),
        ("prune", "--older-than", "ninety"),
        ("prune", "--older-than", "90", "--theme", " "),
        ("prune", "--older-than", "90", "--theme", "all"),
        ("prune", "--older-than", "90", "--origin", "somebody"),
        ("cleanup", "--inbox-days", "1"),
        ("cleanup", "--inbox-days", "-1"),
        ("cleanup", "--log-days", "0"),
        ("remap", "old"),
        ("remap", "old", " Old "),
        ("remap", "old", ""),
        ("remap", "old", "current"),
        ("remap", "whatsapp-dm", "new"),
        ("remap", "old", "external-group"),
        ("remap", "old", "sms:+15550104711"),
        ("remap", "old", "x" * 200),
    ],
)
def test_wrong_use_is_refused_before_a_database_is_asked(arguments: tuple[str, ...]) -> None:
    try:
        code = main([*arguments, "--execute", "--admin-dsn", NOWHERE])
    except SystemExit as left:
        code = int(str(left.code))

    assert code == USAGE


@pytest.mark.usefixtures("served")
def test_maintenance_takes_a_login_with_the_owners_rights_and_a_database(
    database: Installation, typed: Command
) -> None:
    unnamed = require(typed("cleanup"), USAGE)
    unfit = require(typed("backfill", "--admin-dsn", database.runtime_dsn), USAGE)
    down = require(typed("prune", "--older-than", "90", "--admin-dsn", NOWHERE), DOWN)

    assert "--admin-dsn" in unnamed.err
    assert "hermes_memory_owner" in unfit.err
    assert "cannot be reached" in down.err


@pytest.mark.usefixtures("served")
def test_a_theme_is_moved_under_any_spelling_and_found_by_its_new_name(database: Installation, typed: Command) -> None:
    note = add("The zebra crossing is closed", Caller(theme=Theme("old desk")))
    anyio.run(fill, database, [*talk("old desk", days=5), note], talk("new desk", days=4))
    remap = ("remap", " OLD\u200b Desk", "Ｎew   DESK", "--admin-dsn", database.admin_dsn)
    foretold = require(typed(*remap, "--json"), WORK_REMAINS)
    done = require(typed(*remap, "--execute", "--json"), DONE)
    again = require(typed(*remap, "--execute"), DONE)
    found = require(typed("search", "zebra crossing", "--theme", "New Desk", "--json"), DONE)
    verified = require(typed("history", "verify", "--admin-dsn", database.admin_dsn), DONE)

    assert "spelt 'old desk' and 'new desk'" in foretold.err
    assert counts(foretold) == counts(done)
    assert (done.document["from"], done.document["to"], done.document["complete"]) == ("old desk", "new desk", True)
    assert (counts(done)["entries"], counts(done)["turns"], counts(done)["themes"]) == (2, 6, 1)
    assert any("identity_aliases" in note for note in done.document["notes"])
    assert "moved: nothing" in again.out
    assert "there is no theme 'old desk'" in again.out
    assert "sealed" not in again.out
    assert found.document["hits"][0]["content"] == "The zebra crossing is closed"
    assert "all holds" in verified.out
    assert anyio.run(value, database.admin_dsn, INDEX_AND_ROWS) == 0


@pytest.mark.usefixtures("served")
def test_who_comes_to_read_what_moves_is_told_before_and_afterwards(database: Installation, typed: Command) -> None:
    anyio.run(fill, database, talk("old", days=5))
    admin = ("--admin-dsn", database.admin_dsn)
    for reader, source in (("sales", "new"), ("support", "new"), ("old", "sales")):
        require(typed("grants", "add", source, "--to", reader, *admin), DONE)
    require(typed("grants", "add", "new", "--to", "late", "--days", "1", *admin), DONE)
    anyio.run(
        value,
        database.admin_dsn,
        "update hermes_memory.theme_grants set expires_at = now() - interval '1 day' where reader = 'late' returning 1",
    )
    foretold = require(typed("remap", "old", "new", "--json", *admin), WORK_REMAINS)
    done = require(typed("remap", "old", "new", "--execute", "--json", *admin), DONE)
    said = require(typed("remap", "old", "new", *admin), DONE)

    for ran in (foretold, done):
        assert ran.document["grants_on_to"] == 2
        assert any("2 grants have 'new' as their source" in note for note in ran.document["notes"])
        assert any("1 grants name 'old' and stay" in note for note in ran.document["notes"])
        assert counts(ran).get("grants", 0) == 0
    assert "2 grants have 'new' as their source" in said.out


@pytest.mark.usefixtures("served")
def test_nothing_moves_while_a_change_of_it_waits_in_the_home(database: Installation, typed: Command) -> None:
    anyio.run(fill, database, talk("old", days=5))
    half = open_local_half(Settings())
    half.acceptor.add(Caller(theme=Theme("old")), "it waits", target=Target.MEMORY, origin=Origin.USER)
    half.spool.close()
    refused = require(
        typed("remap", "old", "new", "--execute", "--json", "--admin-dsn", database.admin_dsn), WORK_REMAINS
    )

    assert refused.document["executed"] is False
    assert "1 writes for 'old' wait" in refused.document["notes"][0]
    assert anyio.run(rows, database.admin_dsn, "select distinct agent_identity from hermes_memory.memory_rows") == [
        ("old",)
    ]


@pytest.mark.usefixtures("served")
def test_a_theme_that_no_agent_could_have_is_not_moved_to(
    database: Installation, configure: Any, typed: Command
) -> None:
    configure(identity_aliases='{"nickname": "desk"}', allowed_themes="desk,nickname")
    alias = require(typed("remap", "old", "Nickname", "--admin-dsn", database.admin_dsn), USAGE)
    stranger = require(typed("remap", "old", "elsewhere", "--admin-dsn", database.admin_dsn), USAGE)

    assert "'desk'" in alias.err
    assert "not_allowed" in stranger.err


@pytest.mark.usefixtures("served")
def test_rows_without_a_vector_are_queued_and_the_log_is_kept_short(database: Installation, typed: Command) -> None:
    anyio.run(fill, database, talk("desk", days=5))
    anyio.run(database.administer, "delete from hermes_memory.embedding_jobs")
    anyio.run(
        database.administer,
        """insert into hermes_memory.memory_maintenance_log (id, verb, at)
           values (gen_random_uuid(), 'erase', now() - interval '100 days')""",
    )
    admin = ("--admin-dsn", database.admin_dsn)
    foretold = require(typed("backfill", "--json", *admin), WORK_REMAINS)
    done = require(loaded_command("backfill", "--execute", "--json", *admin), DONE)
    again = require(typed("backfill", "--execute", "--retry-parked", *admin), DONE)
    keeps = require(typed("cleanup", "--execute", *admin), DONE)
    short = require(loaded_command("cleanup", "--log-days", "30", "--execute", "--json", *admin), DONE)

    assert counts(foretold) == counts(done) == {"queued": 7}
    assert "queued: nothing" in again.out
    assert "cleaned up: nothing" in keeps.out
    assert counts(short) == {"log": 1}
    assert anyio.run(value, database.admin_dsn, "select count(*) from hermes_memory.embedding_jobs") == 7


@pytest.mark.usefixtures("served")
async def test_two_operators_at_once_move_everything_once(database: Installation) -> None:
    await fill(database, talk("old", days=100, turns=40), talk("old", days=5, turns=40))
    admin = ("--execute", "--json", "--admin-dsn", database.admin_dsn)
    with ThreadPoolExecutor(2) as operators:
        both = operators.map(lambda _: loaded_command("remap", "old", "new", *admin), range(2))
        moved = await anyio.to_thread.run_sync(lambda: [require(ran, DONE) for ran in both])
    total = sum((Counter(counts(ran)) for ran in moved), Counter())

    assert (total["entries"], total["turns"], total["sessions"], total["themes"]) == (2, 80, 2, 1)
    assert await value(database.admin_dsn, GAPS) == 0
    assert await value(database.admin_dsn, INDEX_AND_ROWS) == 0


@pytest.mark.usefixtures("served")
async def test_an_interrupted_run_is_on_record_and_finished_by_the_next(database: Installation, typed: Command) -> None:
    await fill(database, talk("old", days=5, turns=20))
    remap = ("remap", "old", "new", "--execute", "--admin-dsn", database.admin_dsn)
    holder = await asyncpg.connect(database.admin_dsn)
    try:
        await holder.execute(ALONE)
        process = subprocess.Popen(
            [str(Path(sys.executable).with_name("hermes-memory")), *remap],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        with anyio.fail_after(60):
            while not await holder.fetchval(WAITS):
                await anyio.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, err = await anyio.to_thread.run_sync(lambda: process.communicate(timeout=60))
    finally:
        await holder.close()
    begun = await rows(
        database.admin_dsn, "select verb, detail ->> 'finished' from hermes_memory.memory_maintenance_log"
    )
    done = require(await anyio.to_thread.run_sync(lambda: typed(*remap, "--json")), DONE)

    assert (process.returncode, "Traceback" in out + err) == (INTERRUPTED, False)
    assert begun == [("remap", "false")]
    assert counts(done)["turns"] == 20
    assert await value(database.admin_dsn, GAPS) == 0
