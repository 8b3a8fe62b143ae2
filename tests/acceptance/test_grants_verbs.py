"""`grants` and `themes` as an operator types them, and what a grant lets an agent's contact read."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Callable
from typing import Any

import pytest

from hermes_memory.cli.exits import DONE, ERROR, USAGE
from hermes_memory.cli.main import main
from hermes_memory.domain.model import ReadPolicy
from tests.acceptance.conftest import NewAgent
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
        ("sales", "--to", "marketing", "--days", "0"),
        ("sales", "--to", "marketing", "--days", "-3"),
        ("sales", "--to-subject", "nobody"),
        ("sales", "--to-subject", "telegram:*"),
    ],
)
def test_what_must_not_be_granted_is_refused(operate: Operate, arguments: tuple[str, ...]) -> None:
    code, complaint = operate("grants", "add", *arguments)

    assert code == USAGE
    assert complaint.startswith("hermes-memory: ")


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
