"""The local half of a memory: what the settings of a home become, without any connection."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest

from hermes_memory.application.accept import CapturePolicy
from hermes_memory.bootstrap.destination import destination_of
from hermes_memory.bootstrap.home import (
    capture_policy,
    identity_policy,
    installation_secret,
    open_local_half,
    state_folder,
)
from hermes_memory.domain.errors import ConfigurationError
from hermes_memory.domain.identity import BenchMode, HostIdentity, resolve
from hermes_memory.domain.model import Origin, Target
from hermes_memory.domain.operations import AddEntry, Operation
from hermes_memory.domain.redaction import SecretPolicy
from hermes_memory.settings import Settings
from hermes_memory.testing.making import DESK

LONG = "k" * 48


def of(home: Path, **values: Any) -> Settings:
    return Settings(home=home, spool_sync="NORMAL", **values)


def test_opening_writes_nothing_but_the_secret_and_makes_no_connection(home: Path) -> None:
    half = open_local_half(of(home))

    assert half.folder == state_folder(of(home)) == home / "hermes-memory"
    written = [path.relative_to(half.folder) for path in half.folder.rglob("*") if path.is_file()]
    assert [str(path) for path in written] == ["secret"]
    assert stat.S_IMODE((half.folder / "secret").stat().st_mode) == 0o600


def test_what_is_accepted_waits_in_the_homes_own_spool_and_is_told_of(home: Path) -> None:
    told: list[Operation] = []
    half = open_local_half(of(home), accepted=told.append)
    operation = half.acceptor.add(DESK, "Launch on 3 May", target=Target.MEMORY, origin=Origin.USER)
    half.spool.close()
    again = open_local_half(of(home))
    waiting = [item.operation for item in again.spool.due(5)]
    again.spool.close()

    assert waiting == told == [operation]


def test_the_notebooks_are_those_of_the_home_and_their_copies_say_so(home: Path) -> None:
    (home / "memories").mkdir()
    (home / "memories" / "MEMORY.md").write_text("One\n§\nTwo")
    half = open_local_half(of(home))
    half.mirror.accept_differences(DESK, [], frozenset())
    sources = {item.operation.source for item in half.spool.due(5) if isinstance(item.operation, AddEntry)}
    half.spool.close()

    assert half.mirror.prompt_contents() == {"One", "Two"}
    assert sources == {half.mirror.home}


def test_two_homes_are_two_and_one_by_another_path_is_the_same(home: Path, tmp_path: Path) -> None:
    link, other = tmp_path / "link", tmp_path / "other"
    link.symlink_to(home)
    other.mkdir()
    names = [open_local_half(of(folder, subject_secret=LONG)).mirror.home for folder in (home, link, other)]

    assert names[0] == names[1] != names[2]
    assert str(home) not in names[0]


def test_the_secret_is_made_once_and_another_home_has_another(home: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()

    assert installation_secret(of(home)) == installation_secret(of(home)) != installation_secret(of(other))


def test_a_configured_secret_is_the_same_in_every_home_and_has_a_least_length(home: Path, tmp_path: Path) -> None:
    assert installation_secret(of(home, subject_secret=LONG)) == installation_secret(of(tmp_path, subject_secret=LONG))
    assert not (home / "hermes-memory").exists()
    with pytest.raises(ConfigurationError, match="HERMES_MEMORY_SUBJECT_SECRET is too short") as caught:
        installation_secret(of(home, subject_secret="s3cret"))

    assert "s3cret" not in str(caught.value)


def test_a_subject_is_the_one_that_the_hosts_session_keys_lead_to(home: Path) -> None:
    half = open_local_half(of(home))
    host = HostIdentity.from_host({"gateway_session_key": "agent:main:whatsapp:dm:+15551234567"})
    identity = resolve(host, half.identities, half.secret)

    assert identity.subject == half.subject_for("WhatsApp", "+1 555 123 4567")


ADDRESS = "postgresql://someone:first@db.example:5432/memory"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (ADDRESS, ADDRESS.replace("first", "second")),
        (ADDRESS, ADDRESS.replace("first", "with:colon")),
        (ADDRESS, ADDRESS.replace("first", "with@sign")),
        ("postgresql:///memory?password=first&host=a", "postgresql:///memory?password=second&host=a"),
        (ADDRESS, f"{ADDRESS}?sslmode=require&application_name=agent"),
        (ADDRESS, ADDRESS.replace(":5432", "").replace("db.example", "DB.example")),
        ("postgresql://u@a:1,b:2/memory", "postgresql://u@/memory?host=a,b&port=1,2"),
    ],
)
def test_a_new_password_does_not_make_another_destination(home: Path, one: str, other: str) -> None:
    assert destination_of(of(home, dsn=one)) == destination_of(of(home, dsn=other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (ADDRESS, ADDRESS.replace("db.example", "db2.example")),
        (ADDRESS, ADDRESS.replace("5432", "5433")),
        (ADDRESS, ADDRESS.replace("memory", "other")),
        (ADDRESS, ADDRESS.replace("someone", "other")),
        ("postgresql://u@a,b/memory", "postgresql://u@a,c/memory"),
        ("postgresql://u@[::1]/memory", "postgresql://u@[::2]/memory"),
        ("postgresql:///memory?password=same&host=a", "postgresql:///memory?password=same&host=b"),
        ("postgresql://u@a:5432/memory?application_name=x@y", "postgresql://u@a:5433/memory?application_name=x@y"),
    ],
)
def test_another_database_is_another_destination(home: Path, one: str, other: str) -> None:
    names = {destination_of(of(home, dsn=one)), destination_of(of(home, dsn=other)), destination_of(of(home))}

    assert len(names) == 3
    assert "embedded" in names
    assert not any("example" in name or "memory" in name for name in names)


@pytest.mark.parametrize("name", ["PGHOST", "PGPORT", "PGUSER", "PGDATABASE", "PGSERVICE"])
def test_what_an_address_leaves_to_the_environment_belongs_to_the_destination(home: Path, name: str) -> None:
    vague, exact = of(home, dsn="postgresql://"), of(home, dsn=ADDRESS)

    assert len({destination_of(vague, environment={name: value}) for value in ("1", "2")}) == 2
    if name != "PGSERVICE":
        assert len({destination_of(exact, environment={name: value}) for value in ("1", "2")}) == 1


def test_writes_for_one_database_are_never_delivered_to_another(home: Path) -> None:
    first = open_local_half(of(home, dsn=ADDRESS))
    first.acceptor.add(DESK, "Launch on 3 May", target=Target.MEMORY, origin=Origin.USER)
    first.spool.close()
    second = open_local_half(of(home, dsn=ADDRESS.replace("db.", "db2.")))
    waiting = second.spool.pending_before()
    second.spool.close()

    assert waiting == 0
    assert first.leadership is not second.leadership


def test_the_bounds_of_the_spool_are_the_settings(home: Path) -> None:
    half = open_local_half(of(home, spool_max_rows=100))
    for number in range(100):
        half.acceptor.add(DESK, f"note {number}", target=Target.MEMORY, origin=Origin.USER)
    with pytest.raises(Exception, match="full"):
        half.acceptor.add(DESK, "one more", target=Target.MEMORY, origin=Origin.USER)
    half.spool.close()

    assert half.spool is not None


def test_the_policies_are_the_settings(home: Path) -> None:
    settings = of(
        home,
        capture_turns=False,
        turn_min_width=3,
        turn_max_chars=300,
        embed_policy="none",
        secret_policy="allow",
        identity_aliases={"Old": "New"},
        allowed_themes="New, Other",
        bench_patterns=("bench-*",),
        bench_mode="reject",
    )
    policy = identity_policy(settings)

    assert capture_policy(settings) == CapturePolicy(
        turns=False, min_width=3, max_chars=300, embed="none", secrets=SecretPolicy.ALLOW
    )
    assert policy.allowed_themes == {"new", "other"}
    assert (policy.bench_patterns, policy.bench_mode) == (("bench-*",), BenchMode.REJECT)
    assert resolve(HostIdentity.from_host({"agent_identity": "old"}), policy, b"s" * 32).theme == "new"


@pytest.mark.parametrize("wrong", [{"allowed_themes": "all"}, {"allowed_themes": "x" * 200}])
def test_an_unusable_theme_in_the_settings_is_told_with_its_key(home: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="allowed_themes: name 1: "):
        of(home, **wrong)
