"""`grants` and `themes` as an operator types them, and what a grant lets an agent's contact read."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hermes_memory.application.memory import Memory
from hermes_memory.cli.exits import DEPENDENCY_DOWN, DONE, ERROR, USAGE, WORK_REMAINS
from hermes_memory.cli.main import main
from hermes_memory.domain.model import ReadPolicy
from tests.acceptance.conftest import NewAgent
from tests.support.agents import Agent
from tests.support.command import command
from tests.support.inspection import dump, rows
from tests.support.postgres_store import Installation

PHONE = "15551230987"
PRICES = "The price list of spring is approved"
CONTACT = {"gateway_session_key": f"agent:main:whatsapp:dm:{PHONE}@s.whatsapp.net", "platform": "whatsapp"}
Operate = Callable[..., tuple[int, Any]]


@pytest.fixture
def operate(served: object, database: Installation, capsys: pytest.CaptureFixture[str]) -> Operate:
    """Runs a verb as the administrator; returns its exit code and its document, or its complaint."""

    def run(*arguments: str) -> tuple[int, Any]:
        capsys.readouterr()
        code = main([*arguments, "--admin-dsn", database.admin_dsn, "--json"])
        out, err = capsys.readouterr()
        return code, json.loads(out) if out else err

    return run


def test_a_grant_is_made_listed_and_taken_back_and_each_time_noted(operate: Operate, database: Installation) -> None:
    code, made = operate("grants", "add", "Sales", "--to", "marketing", "--days", "7")
    _, again = operate("grants", "add", "sales", "--to", "Marketing")
    _, listed = operate("grants", "list")
    revoked = operate("grants", "revoke", "sales", "--to", "marketing")
    absent = operate("grants", "revoke", "sales", "--to", "marketing")

    assert (code, made["new"], made["reader"], made["source"]) == (DONE, True, "marketing", "sales")
    assert made["expires_at"] is not None
    assert made["notes"] == [
        "there is no theme 'sales': `hermes-memory themes` lists them",
        "there is no theme 'marketing': `hermes-memory themes` lists them",
    ]
    assert again["new"] is False
    (only,) = listed["grants"]
    assert (only["source"], only["reader"], only["subject"], only["expires_at"]) == ("sales", "marketing", None, None)
    assert (revoked[0], revoked[1]["revoked"], absent[0], absent[1]["revoked"]) == (DONE, True, ERROR, False)
    noted = "select verb, affected, detail ->> 'source' from hermes_memory.memory_maintenance_log order by at"
    assert asyncio.run(rows(database.admin_dsn, noted)) == [
        ("grants add", 1, "sales"),
        ("grants add", 1, "sales"),
        ("grants revoke", 1, "sales"),
        ("grants revoke", 0, "sales"),
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        ("whatsapp-dm", "--to", "marketing"),
        ("sales", "--to", "External-Group"),
        ("sales", "--to", "sales"),
        ("all", "--to", "marketing"),
        ("sales", "--to-subject", "nobody"),
        ("sales", "--to-subject", "telegram:*"),
    ],
)
def test_what_must_not_be_granted_is_refused(operate: Operate, arguments: tuple[str, ...]) -> None:
    code, complaint = operate("grants", "add", *arguments)

    assert code == USAGE
    assert complaint.startswith("hermes-memory: ")


@pytest.mark.parametrize("days", ["0", "-3", "nan", "36501000", "soon"])
def test_a_grant_holds_for_a_number_of_days(days: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as leaving:
        main(["grants", "add", "sales", "--to", "marketing", "--days", days])

    assert leaving.value.code == USAGE
    assert "argument --days: must be a number of days above 0 and at most" in capsys.readouterr().err


def test_without_the_owners_rights_nothing_is_granted(
    operate: Operate, database: Installation, capsys: pytest.CaptureFixture[str]
) -> None:
    for address in ([], ["--admin-dsn", database.runtime_dsn]):
        assert main(["grants", "add", "sales", "--to", "marketing", *address]) == USAGE
        assert "--admin-dsn" in capsys.readouterr().err


def test_a_contact_reads_an_agent_only_while_it_is_granted_and_its_number_is_kept_nowhere(
    operate: Operate, new_agent: NewAgent, database: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = new_agent().start("s1", agent_identity="sales")
    desk.provider.on_memory_write("add", "memory", PRICES, {})
    desk.settle()
    contact = new_agent().start("s2", **CONTACT)

    def heard() -> list[str]:
        return [*contact.facts("price list", scope="all"), *contact.facts("price list", scope="sales")]

    before = heard()
    monkeypatch.setattr("sys.stdin", io.StringIO(f"whatsapp:+{PHONE}\n"))
    assert operate("grants", "add", "sales", "--to-subject", "-")[0] == DONE
    granted = heard()
    stored = asyncio.run(dump(database.admin_dsn))
    asyncio.run(database.set_policy(ReadPolicy.OWN))
    closed = heard()
    asyncio.run(database.set_policy(ReadPolicy.GRANTS))
    monkeypatch.setattr("sys.stdin", io.StringIO(str(CONTACT["gateway_session_key"])))
    assert operate("grants", "revoke", "sales", "--to-subject", "-")[0] == DONE

    assert (before, granted, closed, heard()) == ([], [PRICES, PRICES], [], [])
    assert PHONE not in stored


def test_the_themes_are_listed_with_their_sizes_and_other_names(
    operate: Operate, new_agent: NewAgent, configure: Callable[..., None]
) -> None:
    configure(identity_aliases='{"Mktg": "marketing"}')
    for number, facts in enumerate(({"agent_identity": "mktg"}, CONTACT)):
        agent = new_agent().start(f"s{number}", **facts)
        agent.provider.sync_turn("When is the launch?", "On 3 May.", session_id=f"s{number}")
        agent.provider.on_memory_write("add", "user", f"Likes tea number {number}", {"session_id": f"s{number}"})
        agent.settle()

    code, listed = operate("themes")

    assert code == DONE
    counts = {
        each["theme"]: (each["governed"], each["entries"], each["turns"], each["sessions"], each["subjects"])
        for each in listed["themes"]
    }
    assert counts == {"marketing": (False, 1, 2, 1, 0), "whatsapp-dm": (True, 1, 2, 1, 1)}
    assert {each["theme"]: each["aliases"] for each in listed["themes"]}["marketing"] == ["mktg"]


def test_one_person_on_two_platforms_reads_both_and_forgets_what_it_said_here(
    operate: Operate, new_agent: NewAgent, database: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    telegram = {"gateway_session_key": "agent:main:telegram:dm:900800700", "platform": "telegram"}
    first, second = new_agent().start("s1", **CONTACT), new_agent().start("s2", **telegram)
    for agent, session in ((first, "s1"), (second, "s2")):
        agent.provider.on_memory_write("add", "user", f"Allergic to nuts, said in {session}", {"session_id": session})
        agent.settle()
    keys = f"whatsapp:+{PHONE}\ntelegram:900800700\n"

    def piped(*arguments: str) -> tuple[int, Any]:
        monkeypatch.setattr("sys.stdin", io.StringIO(keys))
        return operate("subjects", *arguments, "-")

    previewed, preview = piped("merge")
    apart = first.profile()
    merging = ("subjects", "merge", "-", "--execute", "--json", "--admin-dsn", database.admin_dsn)
    merged = command(*merging, typed=keys).code
    _freshen(first, second)
    together = first.facts("allergic", scope="subject"), second.facts("allergic", scope="subject")
    hits = {hit["content"]: hit for hit in second.tool("recall_memory", query="allergic", scope="subject")["hits"]}
    foreign, own = hits["Allergic to nuts, said in s1"], hits["Allergic to nuts, said in s2"]
    refused = second.tool("memory_forget", id=foreign["id"])
    listed = operate("subjects", "list")[1]["subjects"]
    stored = asyncio.run(dump(database.admin_dsn))
    split, _ = piped("split")
    _freshen(first, second)

    assert (previewed, merged, split) == (WORK_REMAINS, DONE, DONE)
    assert [each["entries"] for each in preview["persons"][0]] == [1, 1]
    assert apart == ["Allergic to nuts, said in s1"]
    assert [len(found) for found in together] == [2, 2]
    assert (foreign["own"], own["own"], "error" in refused) == (False, True, True)
    assert {each["subject"]: each["also"] for each in listed} == {
        one["subject"]: [other["subject"]] for one, other in ((listed[0], listed[1]), (listed[1], listed[0]))
    }
    assert second.facts("allergic", scope="subject") == ["Allergic to nuts, said in s2"]
    assert [digits for digits in (PHONE, "900800700") if digits in stored] == []
    noted = "select verb, affected from hermes_memory.memory_maintenance_log order by at"
    assert asyncio.run(rows(database.admin_dsn, noted)) == [
        ("subjects merge", 2),
        ("subjects split", 1),
        ("subjects split", 0),
    ]


@pytest.mark.usefixtures("served")
def test_after_a_new_secret_a_person_is_let_back_in_by_key(
    database: Installation, new_agent: NewAgent, configure: Callable[..., None], tmp_path: Path
) -> None:
    (tmp_path / "before").write_text("an old secret of many letters")
    configure(subject_secret="an old secret of many letters")
    before = new_agent().start("s1", **CONTACT)
    before.provider.on_memory_write("add", "user", "Allergic to nuts", {"session_id": "s1"})
    before.settle()
    before.provider.shutdown()
    configure(subject_secret="a new secret of as many letters")
    after = new_agent().start("s2", **CONTACT)
    lost = after.facts("allergic")

    rekey = ("subjects", "rekey", "-", "--old-setting", str(tmp_path / "before"), "--execute")
    ran = command(*rekey, "--admin-dsn", database.admin_dsn, typed=str(CONTACT["gateway_session_key"]))
    _freshen(after)

    assert (lost, ran.code, after.facts("allergic")) == ([], DONE, ["Allergic to nuts"]), ran.err


def _freshen(*agents: Agent) -> None:
    """Let what is known of persons be asked for anew, as it is after some seconds."""
    for agent in agents:
        agent.runtime.call(_forget_persons, timeout=60)


async def _forget_persons(memory: Memory) -> None:
    memory.services.people._known.clear()


@pytest.mark.usefixtures("home")
def test_a_group_and_a_person_are_never_made_one(capsys: pytest.CaptureFixture[str]) -> None:
    def merge(*keys: str) -> tuple[int, str]:
        capsys.readouterr()
        code = main(["subjects", "merge", *keys, "--admin-dsn", "postgresql://nobody@127.0.0.1:9/nowhere"])
        return code, capsys.readouterr().err

    group, other = "agent:main:telegram:group:-10012345", "agent:main:telegram:group:-10067890"
    mixed, groups, digits = merge("telegram:12345", group), merge(group, other), merge("telegram:12345", "ab" * 32)

    assert mixed[0] == USAGE
    assert "a group and a person cannot be one" in mixed[1]
    # What may be one gets as far as the database, which is not there.
    assert groups[0] == digits[0] == DEPENDENCY_DOWN
    assert "warning: a subject's digits do not tell" in digits[1]
    assert "warning" not in groups[1]
