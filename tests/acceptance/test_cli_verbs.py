"""The `hermes-memory` command: what its verbs do, print and exit with, as a process too where that is another thing."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_memory.bootstrap.home import open_local_half
from hermes_memory.cli.main import main
from hermes_memory.domain.model import Caller, Origin, SessionId, Target, Theme
from hermes_memory.domain.operations import ByContent
from hermes_memory.settings import Settings
from tests.acceptance.conftest import Command, NewAgent
from tests.support.command import Ran, command
from tests.support.gate import Gate
from tests.support.inspection import rows, value
from tests.support.postgres import TestServer
from tests.support.postgres_store import Installation

DONE, ERROR, DOWN, WORK_REMAINS, USAGE = 0, 1, 2, 3, 64


def require(ran: Ran, code: int) -> Ran:
    assert ran.code == code, f"{ran.code}: {ran.out}{ran.err}"
    assert "Traceback" not in ran.out + ran.err
    return ran


@pytest.mark.usefixtures("served")
async def test_what_is_added_is_found(database: Installation, typed: Command) -> None:
    text = ("--metadata", "source=mail", "--metadata", "turn = a=b")
    stored = require(
        typed("add", "The launch is on 3 May", "--sync", "--json", "--theme", " New\u200b Ｔheme", *text), DONE
    )
    said = require(typed("add", "Prefers short answers", "--target", "user", "--sync"), DONE)
    found = require(typed("search", "When is the launch?", "--theme", "NEW THEME", "--json"), DONE)
    elsewhere = require(typed("search", "launch", "--scope", "New Theme", "--top-k", "1"), DONE)
    nothing = require(typed("search", "launch"), DONE)

    assert stored.document["stored"] is True
    assert stored.document["entry"]["theme"] == "new theme"
    assert stored.document["entry"]["origin"] == "operator"
    assert "stored" in said.out
    (hit,) = found.document["hits"]
    assert (hit["content"], hit["metadata"]) == ("The launch is on 3 May", {"source": "mail", "turn": " a=b"})
    assert found.document["degraded"] == []
    assert "The launch is on 3 May" in elsewhere.out
    assert nothing.out.strip() == "nothing found"
    assert await rows(
        database.admin_dsn, "select agent_identity, target from hermes_memory.memory_entries order by 1"
    ) == [("hermes", "user"), ("new theme", "memory")]


@pytest.mark.usefixtures("served")
async def test_what_is_added_without_waiting_is_delivered_by_the_next_who_opens(
    new_agent: NewAgent, database: Installation
) -> None:
    accepted = require(command("add", "The launch is on 3 May", "--json"), DONE)
    before = await value(database.admin_dsn, "select count(*) from hermes_memory.memory_entries")
    agent = new_agent().start(agent_identity="default")
    agent.settle()

    assert accepted.document["accepted"] is True
    assert before == 0
    assert agent.facts("launch") == ["The launch is on 3 May"]


@pytest.mark.usefixtures("served")
def test_what_the_home_accepted_to_forget_is_not_found_any_more(typed: Command) -> None:
    require(typed("add", "The launch is on 3 May", "--sync", "--theme", "marketing"), DONE)
    # As an agent does that ends before the database has the removal.
    half = open_local_half(Settings())
    gone = ByContent(target=Target.MEMORY, content="The launch is on 3 May")
    half.acceptor.remove(Caller(theme=Theme("marketing")), gone, origin=Origin.USER)
    half.spool.close()
    found = require(typed("search", "launch", "--theme", "marketing"), DONE)

    assert found.out.strip() == "nothing found"


@pytest.mark.usefixtures("served")
def test_what_the_agent_remembers_the_operator_finds(new_agent: NewAgent, typed: Command) -> None:
    agent = new_agent().start()
    agent.provider.sync_turn("Who signed the Periwinkle contract?", "Ms Saffron signed it.", session_id="s1")
    agent.settle()
    turns = require(typed("search", "Periwinkle", "--theme", "coder", "--kinds", "turns"), DONE)
    entries = require(typed("search", "Periwinkle", "--theme", "coder", "--kinds", "entries"), DONE)

    assert "Who signed the Periwinkle contract?" in turns.out
    assert entries.out.strip() == "nothing found"


@pytest.mark.usefixtures("served")
async def test_stats_count_what_is_there(typed: Command) -> None:
    require(typed("add", "The launch is on 3 May", "--sync"), DONE)
    text = require(typed("stats"), DONE)
    document = require(typed("stats", "--json"), DONE).document

    assert "1 entries" in text.out
    assert document["rows"]["entries"] == 1
    assert document["spool"]["depth"] == 0
    assert (document["spool"]["accepted"], document["spool"]["delivered"], document["spool"]["refused"]) == (1, 1, 0)
    assert (document["store_breaker"], document["embed_breaker"], document["troubles"]) == ("closed", "closed", [])
    assert {"leader", "leads", "embedded", "parked", "buried"} <= set(document)
    assert document["store_problem"] is None
    for line in ("spool", "ever", "leader", "breakers"):
        assert f"\n{line} " in text.out


def test_stats_say_that_writes_wait_for_a_database_that_is_away(
    home: Path, configure: Callable[..., None], typed: Command
) -> None:
    with Gate() as gate:
        configure(dsn=f"postgresql://app:s3cr3t-Pw@127.0.0.1:{gate.port}/nowhere")
        require(typed("add", "The launch is on 3 May"), DONE)
        stats = require(typed("stats", "--json", "--wait", "0.5"), DOWN)
        search = require(typed("search", "launch"), DOWN)

    assert stats.document["spool"]["depth"] == 1
    assert stats.document["store_problem"]
    assert "s3cr3t-Pw" not in "".join((stats.out, stats.err, search.out, search.err))


async def test_dead_letters_are_work_that_remains(served: Path, new_agent: NewAgent, typed: Command) -> None:
    agent = new_agent().start()
    caller = Caller(theme=Theme("coder"), session=SessionId("s1"))
    operation = agent.runtime.local.acceptor.delegation(caller, task="t", result="r", child_session=None)
    agent.runtime.local.spool.bury(operation.stamp.operation, "22000 refused for the test")
    agent.provider.shutdown()
    stats = typed("stats", "--json")

    require(stats, WORK_REMAINS)
    assert stats.document["spool"]["dead"] == 1
    doctor = require(typed("doctor", "--json"), ERROR)
    (finding,) = [each for each in doctor.document["findings"] if each["check"] == "spool"]
    assert finding["level"] == "error"


@pytest.mark.usefixtures("served")
async def test_the_doctor_finds_a_healthy_memory_healthy(typed: Command) -> None:
    doctor = require(typed("doctor", "--json"), DONE)
    human = require(typed("doctor"), DONE)

    levels = {finding["check"]: finding["level"] for finding in doctor.document["findings"]}
    assert doctor.document["healthy"] is True
    assert {levels[check] for check in ("settings", "database", "wall", "spool", "package", "python")} == {"ok"}
    assert levels["embedder"] == levels["shim"] == "warning"
    assert "ERROR" not in human.out


def test_the_doctor_tells_what_is_down_wrong_and_missing(
    home: Path, server: TestServer, template: Installation, configure: Callable[..., None], typed: Command
) -> None:
    with Gate() as gate:
        configure(dsn=f"postgresql://app@127.0.0.1:{gate.port}/nowhere")
        down = typed("doctor", "--json", "--wait", "0.5")
    configure(dsn=server.dsn("postgres", user=template.role))
    no_schema = typed("doctor", "--json", "--wait", "10")
    configure(dsn="http://x")
    nowhere = [typed(*verb) for verb in (("doctor",), ("config", "check"), ("search", "launch"))]
    configure(colour="red")
    wrong = typed("doctor", "--json")

    require(down, DOWN)
    require(no_schema, ERROR)
    assert "hermes-memory migrate" in no_schema.out
    for ran in nowhere:
        require(ran, USAGE)
        assert "dsn: 'http://x' cannot be used" in ran.out + ran.err
        assert "(HERMES_MEMORY_DSN in the environment)" in ran.out + ran.err
    require(wrong, USAGE)
    assert "HERMES_MEMORY_COLOUR" in wrong.out


async def test_migrate_makes_a_database_that_serves(
    server: TestServer, home: Path, configure: Callable[..., None], typed: Command
) -> None:
    name, role = server.unique_name("cli"), server.unique_name("app")
    admin = await server.create_database(name)
    arguments = ("migrate", "--admin-dsn", admin, "--runtime-role", role, "--partitions", "4")
    try:
        first = require(typed(*arguments, "--read-policy", "own", "--json"), DONE)
        again = require(typed(*arguments), DONE)
        more = require(typed(*arguments[:-1], "8"), DONE)
        configure(dsn=server.dsn(name, user=role))
        require(typed("add", "The launch is on 3 May", "--sync"), DONE)
    finally:
        await server.drop_database(name)

    assert first.document["applied"]
    assert (first.document["partitions"], first.document["read_policy"]) == (4, "own")
    assert "up to date" in again.out
    assert "applied" not in again.out
    assert "warning" not in again.out
    assert "there are 4 partitions, fixed when the schema was made, and not the 8 asked for" in more.out


def test_migrate_tells_what_it_lacks(home: Path, template: Installation, typed: Command) -> None:
    with Gate() as gate:
        down = typed("migrate", "--admin-dsn", f"postgresql://admin:s3cr3t-Pw@127.0.0.1:{gate.port}/x")
    unprivileged = typed("migrate", "--admin-dsn", template.runtime_dsn)

    require(down, DOWN)
    assert "s3cr3t-Pw" not in down.out + down.err
    require(unprivileged, USAGE)
    require(typed("migrate"), USAGE)


@pytest.mark.usefixtures("served")
@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("nonsense",),
        ("add",),
        ("add", ""),
        ("add", "x", "--target", "notes"),
        ("add", "x", "--theme", "all"),
        ("add", "x", "--theme", "whatsapp-dm", "--sync"),
        ("add", "x", "--metadata", "novalue"),
        ("search", "x", "--top-k", "0"),
        ("search", "x", "--top-k", "many"),
        ("search", "x", "--theme", "\u200b"),
        ("search", "x", "--scope", ""),
        ("migrate", "--admin-dsn", "postgresql:///x", "--partitions", "0"),
    ],
    ids=" ".join,
)
def test_wrong_use_is_told_and_ends_with_64(arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code: object = main(arguments)
    except SystemExit as leaving:
        code = leaving.code
    printed = capsys.readouterr()

    assert code == USAGE
    assert "hermes-memory" in printed.err
    assert printed.out == ""


@pytest.mark.usefixtures("served")
def test_a_process_exits_with_the_code_of_its_verb() -> None:
    for arguments in (("nonsense",), ("search", "x", "--top-k", "0")):
        ran = require(command(*arguments), USAGE)

        assert "hermes-memory" in ran.err
        assert ran.out == ""


@pytest.mark.usefixtures("served")
def test_who_stops_reading_early_gets_no_complaint() -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    with os.fdopen(write_end) as unread:
        ran = command("stats", "--json", into=unread)

    assert (ran.code, ran.err) == (ERROR, "")


@pytest.mark.usefixtures("served")
def test_a_governed_theme_is_not_searched_by_name(typed: Command) -> None:
    ran = require(typed("search", "x", "--scope", "whatsapp-dm"), ERROR)

    assert ran.out == ""


def test_install_writes_and_removes_the_shim(home: Path, typed: Command) -> None:
    installed = require(typed("install", "--json"), DONE)
    again = require(typed("install"), DONE)
    shim = home / "plugins" / "hermes-memory"
    files = sorted(path.name for path in shim.iterdir() if path.is_file())
    removed = require(typed("install", "--remove"), DONE)
    nothing = require(typed("install", "--remove", "--json"), DONE)

    assert installed.document["verified"] is True
    assert f"{shim} is as it should be" in again.out
    assert "memory.provider hermes-memory" in again.out
    assert "__init__.py" in files
    assert "removed" in removed.out
    assert nothing.document["removed"] is False
    assert not shim.exists()


def test_install_refuses_a_directory_that_is_not_its_own(home: Path, typed: Command) -> None:
    foreign = home / "plugins" / "hermes-memory"
    foreign.mkdir(parents=True)
    (foreign / "__init__.py").write_text("# somebody else's")
    refused = require(typed("install"), USAGE)
    forced = require(typed("install", "--force"), DONE)

    assert "--force" in refused.err
    assert "wrote" in forced.out
    aside = list(foreign.parent.glob(".hermes-memory.replaced-*/__init__.py"))
    assert [path.read_text() for path in aside] == ["# somebody else's"]
    assert str(aside[0].parent) in forced.out


def test_the_version_is_told(home: Path, typed: Command) -> None:
    ran = require(typed("--version"), DONE)

    assert ran.out.startswith("hermes-memory ")
