"""Files of other memories are read for what they hold, and what cannot be read is named."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.support.tables import for_each

from hermes_memory import ConfigurationError, InvalidInput, Settings
from hermes_memory.adapters.notebook_files import NotebookFiles
from hermes_memory.adapters.sources import holographic, listing, markdown
from hermes_memory.adapters.sources.addresses import connection_arguments
from hermes_memory.adapters.sources.holographic import read_facts
from hermes_memory.adapters.sources.listing import MEM0, TABLESTORE, read_listing
from hermes_memory.adapters.sources.markdown import read_notebooks
from hermes_memory.application.importing.owners import Owners, without_contacts
from hermes_memory.application.importing.pgvector_settings import DROPPED, RENAMED, converted
from hermes_memory.cli.import_config import print_settings, usable_settings
from hermes_memory.domain.foreign import ForeignEntry, Unreadable, Whose
from hermes_memory.domain.identity import HostIdentity, IdentityPolicy, resolve
from hermes_memory.domain.model import HomeId, Target
from hermes_memory.domain.sessions import SessionNames
from hermes_memory.settings import settings_with
from hermes_memory.settings.checking import check_file

AT = datetime(2024, 5, 3, 10, tzinfo=UTC)
SECRET = b"a secret of the installation"
CONTACT = "agent:main:whatsapp:dm:+4915550104711"


def written(path: Path, document: Any) -> Path:
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return path


def entries(found: list[Any]) -> list[ForeignEntry]:
    return [each for each in found if isinstance(each, ForeignEntry)]


def test_what_mem0_gives_is_read_with_times_agents_and_runs(tmp_path: Path) -> None:
    memory = {
        "id": "m1",
        "memory": "Likes tea",
        "hash": "h",
        "user_id": "ana",
        "agent_id": "marketing",
        "run_id": "r1",
        "metadata": {"category": "taste"},
        "created_at": "2024-05-01T00:00:00Z",
        "updated_at": "2024-05-03T03:00:00-07:00",
    }
    other = {"id": "m2", "memory": "Lives in Turin", "user_id": "bo"}
    whole = written(tmp_path / "all.json", {"results": [memory, {"id": "m3"}, "?"]})
    lines = written(tmp_path / "lines.jsonl", f"{json.dumps(memory)}\n\nno json\n")
    both = written(tmp_path / "both.json", [memory, other])
    found = read_listing(whole, MEM0)
    by_line = read_listing(lines, MEM0)
    (of_bo,) = entries(read_listing(both, MEM0, user="bo"))

    (read,) = entries(found)
    assert (read.content, read.whose.agent, read.session, read.at) == ("Likes tea", "marketing", "r1", AT)
    assert read.metadata["category"] == "taste"
    assert [each.place for each in found if isinstance(each, Unreadable)] == ["memory 2", "memory 3"]
    assert [each.place for each in by_line if isinstance(each, ForeignEntry | Unreadable)] == ["line 1", "line 3"]
    assert entries(by_line)[0].key == read.key
    assert of_bo.content == "Lives in Turin"
    with pytest.raises(InvalidInput, match="2 users"):
        read_listing(both, MEM0)


def test_a_listing_of_tablestore_is_read_and_a_further_page_is_asked_for(tmp_path: Path) -> None:
    scope = {"appId": "a", "tenantId": "t", "agentId": "support", "runId": "__default__"}
    unit = {"id": "u1", "text": "Prefers Rust", "scope": scope, "createdAt": 1_714_730_400_000, "metadata": {"k": "v"}}
    path = written(tmp_path / "list.json", {"memories": [unit, {"unit": unit, "score": 0.9}], "nextToken": "n"})
    page, first, second = read_listing(path, TABLESTORE)

    assert isinstance(page, Unreadable)
    assert isinstance(first, ForeignEntry)
    assert isinstance(second, ForeignEntry)
    assert (first.content, first.whose.agent, first.session, first.at) == ("Prefers Rust", "support", None, AT)
    assert first.key == second.key
    assert without_contacts(first.metadata)["imported"] == {
        "from": "tablestore",
        "id": "u1",
        "created_at": AT.isoformat(),
    }
    for text in ("7", "{}", '{"memories": 1}', "", "no"):
        with pytest.raises(InvalidInput):
            read_listing(written(path, text), TABLESTORE)


@pytest.mark.parametrize("time", ["\u00b2", "9" * 5000, "1e999", True, [1]])
def test_what_looks_like_a_time_and_is_none_leaves_the_item_without_one(tmp_path: Path, time: Any) -> None:
    (read,) = entries(read_listing(written(tmp_path / "all.json", [{"memory": "Likes tea", "created_at": time}]), MEM0))

    assert (read.content, read.at) == ("Likes tea", None)


def test_holographic_facts_are_read_from_a_home_that_goes_on_writing(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "memory_store.db")) as opened:
        opened.execute("pragma journal_mode = wal")
        opened.execute(
            "create table facts (fact_id integer primary key, content text, category text, tags text, trust_score real,"
            " created_at timestamp default current_timestamp, updated_at timestamp)"
        )
        opened.execute(
            "insert into facts values (1, 'Prefers vim', 'user_pref', 'editor, taste', 0.6, '2024-05-01 08:00:00', ?),"
            " (2, 'CI runs on Fridays', 'project', null, 0.5, '2024-05-01 08:00:00', null)",
            ("2024-05-03 10:00:00",),
        )
        opened.commit()
        other, preference = entries(read_facts(tmp_path))

    assert (preference.content, preference.target, preference.at) == ("Prefers vim", Target.USER, AT)
    assert (preference.metadata["tags"], preference.metadata["trust"]) == (["editor", "taste"], 0.6)
    assert (other.target, other.at) == (Target.MEMORY, datetime(2024, 5, 1, 8, tzinfo=UTC))
    for path in (tmp_path / "none", written(tmp_path / "text.db", "no database")):
        with pytest.raises(InvalidInput):
            read_facts(path)


def test_notebooks_of_any_home_are_read_with_the_time_of_their_file(tmp_path: Path) -> None:
    folder = tmp_path / "memories"
    folder.mkdir()
    written(folder / "MEMORY.md", "One\n§\nTwo\nlines\n§\n")
    written(folder / "USER.md", "Ana")
    found = entries(read_notebooks(tmp_path))
    alone = entries(read_notebooks(folder / "USER.md"))

    assert [(each.target, each.content) for each in found] == [
        ("memory", "One"),
        ("memory", "Two\nlines"),
        ("user", "Ana"),
    ]
    assert found[0].at == datetime.fromtimestamp((folder / "MEMORY.md").stat().st_mtime, UTC)
    assert [each.key for each in alone] == [found[2].key]
    with pytest.raises(InvalidInput, match="neither"):
        read_notebooks(tmp_path / "nowhere")


def test_a_line_of_a_notebook_that_may_be_a_contacts_is_named_and_not_read(tmp_path: Path) -> None:
    home = NotebookFiles(tmp_path, identity=HomeId("home"))
    (tmp_path / "memories").mkdir()
    notebook = written(tmp_path / "memories" / "USER.md", "Office opens at 8")
    home.subject_comes()
    home.told(["Alarm code 4711"], private=True)
    written(notebook, "Office opens at 8\n§\nAlarm code 4711\n§\nPrefers tea")
    home.subjects_leave()

    found = read_notebooks(tmp_path)

    assert [each.content for each in entries(found)] == ["Office opens at 8"]
    assert [each.place for each in found if isinstance(each, Unreadable)] == ["USER.md entry 2", "USER.md entry 3"]


def test_a_file_that_is_larger_than_a_reader_takes_is_refused_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "MAX_BYTES", 9)
    monkeypatch.setattr(markdown, "MAX_BYTES", 9)
    monkeypatch.setattr(holographic, "MAX_CHARS", 9)
    with closing(sqlite3.connect(tmp_path / "memory_store.db")) as opened:
        opened.execute("create table facts (fact_id, content, category, tags, trust_score, created_at, updated_at)")
        opened.execute("insert into facts (fact_id, content) values (1, 'ten letter')")
        opened.commit()
    readers: list[Callable[[], object]] = [
        lambda: read_listing(written(tmp_path / "all.json", '["ten le"]'), MEM0),
        lambda: read_notebooks(written(tmp_path / "MEMORY.md", "ten letter")),
        lambda: read_facts(tmp_path),
    ]
    for read in readers:
        with pytest.raises(InvalidInput, match=r"(larger|more) than 9 .*: import it in parts"):
            read()


def test_a_contacts_rows_get_the_subject_under_which_live_talk_is_kept_and_no_others() -> None:
    owners = Owners(policy=IdentityPolicy(), secret=SECRET, default="hermes")
    live = resolve(HostIdentity(gateway_session_key=CONTACT), IdentityPolicy(), SECRET)
    theirs = owners.caller(Whose(agent="whatsapp-dm", contact=CONTACT), "w1")
    unknown = owners.caller(Whose(agent="external-group"), "g1")
    again, elsewhere = (owners.caller(Whose(agent="external-group"), session) for session in ("g1", "g2"))
    mistaken = owners.caller(Whose(agent="whatsapp-dm", contact="team:dm:planning"), "p")
    hidden = owners.caller(Whose(agent="sms:+4915550104711"), None)
    named = owners.caller(Whose(agent="Marketing"), CONTACT)
    reserved = owners.caller(Whose(agent="all"), None)

    assert (theirs.theme, theirs.subject) == (live.theme, live.subject)
    assert unknown.subject == again.subject != elsewhere.subject
    assert unknown.subject is not None
    assert (mistaken.theme, mistaken.subject) == ("team:dm:planning", None)
    assert (hidden.theme, hidden.subject is None) == ("whatsapp-dm", False)
    assert (named.theme, named.subject) == ("marketing", None)
    assert "4711" not in str(named.session)
    assert (reserved.theme, owners.renamed) == ("default", {"all": "default"})
    assert without_contacts({"raw_identity": CONTACT, "a": [{"b": CONTACT}], "n": 1}) == {
        "a": [{"b": "[a contact]"}],
        "n": 1,
    }


@for_each(
    "metadata",
    [
        {"userId": "123456789"},
        {"chatId": -100123},
        {"User-ID": 7, "SENDER": "Bob", "phoneNumber": 15550100, "remote_jid": "x", "chat id": 1},
        {"deep": [{"userId": "1"}, {"Sender ID": {"any": "thing"}}]},
    ],
)
def test_metadata_lose_whom_a_talk_was_with_however_its_name_is_spelt(metadata: dict[str, Any]) -> None:
    kept = without_contacts({**metadata, "imported": {"from": "mem0", "id": "m1"}, "category": "taste"})

    assert kept.pop("deep", [{}, {}]) == [{}, {}]
    assert kept == {"imported": {"from": "mem0", "id": "m1"}, "category": "taste"}


def test_a_contact_that_is_a_name_in_metadata_is_taken_out_and_its_value_stays() -> None:
    kept = without_contacts({"+15550100": "x", "seen": {"sms:+15550100": "Bob", "sms:+15550101": ["ana@example.org"]}})

    assert kept == {"[a contact]": "x", "seen": {"[a contact]": "Bob", "[a contact] (2)": ["[a contact]"]}}


def test_a_session_named_by_the_host_keeps_its_name_though_it_has_digits_alone() -> None:
    owners = Owners(policy=IdentityPolicy(), secret=SECRET, default="hermes")

    assert owners.session("20260503_101500_12345678") == "20260503_101500_12345678"
    assert str(owners.session("4915550104711")).startswith("contact~")


def test_a_session_that_holds_the_key_of_its_contact_is_named_as_the_provider_names_it() -> None:
    owners = Owners(policy=IdentityPolicy(), secret=SECRET, default="hermes")
    caller = owners.caller(Whose(agent="whatsapp-dm", contact="telegram:dm:12345678"), "chat-12345678")

    assert caller.session == SessionNames(secret=SECRET, contacts=frozenset({"12345678"}))("chat-12345678")
    assert "12345678" not in str(caller.session)[:-32]


def test_every_setting_of_the_peer_has_a_counterpart_or_a_reason(tmp_path: Path) -> None:
    given: dict[str, Any] = {
        "dsn": "dbname=x user=y",
        "embed_url": "http://h:1",
        "embed_model": "m",
        "embed_dim": "768",
        "embed_api_key_env": "KEY",
        "embed_protocol": "Ollama",
        "prefetch_limit": 7,
        "min_similarity": 0.3,
        "embed_on_write": "true",
        "scope_default": "all",
        "hybrid_search": True,
        "write_queue_maxsize": 256,
        "bulk_sync_on_init": "no",
        "sync_turns": "0",
        "turn_min_chars": 40,
        "allowed_themes": "a, b",
        "identity_aliases": "x=a,y=b",
        "bench_mode": "reject",
        "conversation_embed_policy": "none",
        "ttl_days": 0,
        "embed_timeout": 5,
        "embed_write_timeout": "30",
        "embed_write_retries": 2,
        "embed_write_backoff": 0.1,
        "prefetch_budget": 5.0,
        "write_contexts": ["primary"],
        "shutdown_drain_timeout": 10,
    }
    found = converted(given)
    settings = settings_with(found.settings, home=tmp_path)
    wrong = converted(
        {"embed_dim": "many", "prefetch_budget": 9, "bench_mode": "x", "colour": 1, "embed_on_write": "?"}
    )

    assert sorted(given) == sorted({*RENAMED, *DROPPED, "dsn"})
    assert found.refused == {}
    assert (settings.embedder, settings.embed_dim, settings.prefetch_timeout) == ("ollama", 768, 5.0)
    assert (settings.capture_turns, settings.reconcile_files, settings.bench_mode) == (False, False, "reject")
    assert (settings.allowed_themes, settings.identity_aliases) == (("a", "b"), {"x": "a", "y": "b"})
    assert "postgresql://" in found.dropped["dsn"]
    assert sorted(wrong.refused) == ["bench_mode", "colour", "embed_dim", "embed_on_write", "prefetch_budget"]
    assert converted({"embed_on_write": False, "embed_url": "http://h"}).settings["embedder"] == "none"
    assert converted({"embed_url": "http://h"}).settings["embedder"] == "auto"
    assert Settings.model_fields.keys() >= found.settings.keys()


ODD_VALUES: list[Any] = [
    *("", "  ", ",", "x", "=", "a=", "all", "whatsapp-dm", "768.5", "nan", "http://8.8.8.8:1", "sk-ant-1", "x" * 200),
    *(None, True, 0, -1, 768.5, 10**400, float("nan"), float("inf"), [], [[]], [None], {}, {"a": 1}, {"a": []}),
    *({"sales": "all"}, {"": "b"}, ["sales", "all", "whatsapp-dm"], "sms:+15551234567"),
    *({"a": "b", "A": "c"}, ["a, b"], '["a", "b"]', "[" * 100_000),
]


@pytest.mark.parametrize("key", ["dsn", *RENAMED, *DROPPED])
def test_whatever_a_key_of_the_peer_holds_a_home_takes_what_comes_out_and_the_rest_is_told(
    tmp_path: Path, key: str
) -> None:
    for value in ODD_VALUES:
        found = usable_settings({key: value, "embed_model": "m"} if key != "embed_model" else {key: value})
        path = written(tmp_path / "hermes-memory.json", found.settings)
        check_file(path)

        empty = value is None or value in ([], {}, "", "  ")
        names = {"embedder"} if key == "embed_on_write" else {RENAMED[key][0]} if key in RENAMED else set()
        told = key in found.refused or key in found.dropped or bool(names & found.settings.keys())
        # A list of nothing but commas is empty too.
        assert told or empty or value == ",", (key, value)
        assert not (empty and key in found.refused), (key, value)
        assert key != "embed_api_key_env" or "sk-ant-1" not in f"{found}"


@for_each(
    ("given", "settings"),
    [
        ({"write_contexts": ""}, {}),
        ({"write_contexts": [" "]}, {}),
        ({"embed_api_key_env": ""}, {}),
        ({"sync_turns": " ", "embed_on_write": ""}, {}),
        ({"embed_url": "", "embed_model": None}, {}),
        ({"allowed_themes": "whatsapp-dm"}, {"allowed_themes": ["default"]}),
        ({"allowed_themes": [2024]}, {"allowed_themes": ["2024"]}),
    ],
)
def test_what_the_peer_takes_as_not_set_is_left_out_and_nothing_is_refused(
    given: dict[str, Any], settings: dict[str, Any]
) -> None:
    found = usable_settings(given)

    assert (found.settings, found.refused) == (settings, {})


@for_each(
    ("key", "value", "kept", "told"),
    [
        ("embed_dim", 768.5, None, "768.5 cannot be taken over: expected a whole number from 1 to 4,000"),
        ("embed_timeout", True, None, "true cannot be taken over: expected a number from 0.01 to 60. Set embed_read"),
        ("allowed_themes", 5, None, "5 cannot be taken over: expected a list of names"),
        ("allowed_themes", '["a", "b"]', None, "expected a list of names, or one text with commas"),
        ("allowed_themes", "whatsapp-dm,a,all", ["a"], "'whatsapp-dm,a,all' is taken over in part: name 3 is left out"),
        ("identity_aliases", {"a": "all", "b": "c"}, {"b": "c"}, "alias 1 is left out: the name 'all' is reserved"),
        ("embed_url", "http://8.8.8.8:1", None, "uses plain http to a public address: use https"),
        ("embed_url", "models.example", None, "must begin with http:// or https://"),
        ("embed_api_key_env", "hf_" + "s3cr3tAB" * 5, None, "expected the name of an environment variable"),
        ("embed_on_write", "perhaps", None, "'perhaps' cannot be taken over: expected true or false. Set embedder"),
        ("prefetch_limit", "many", None, "'many' cannot be taken over: expected a whole number from 1 to 50"),
    ],
)
def test_what_cannot_be_taken_over_is_told_with_its_value_and_what_to_do(
    key: str, value: Any, kept: object, told: str
) -> None:
    found = usable_settings({key: value})

    assert told in found.refused[key]
    assert "hermes-memory.json to what is meant" in found.refused[key]
    assert found.settings.get(key) == kept


def test_an_endpoint_of_which_a_part_is_refused_is_not_chosen_with_another_part() -> None:
    found = usable_settings({"embed_url": "https://models.example", "embed_model": "m", "embed_dim": "many"})

    assert found.settings == {"embed_url": "https://models.example", "embed_model": "m"}
    assert 'The model of this machine serves until embedder is "auto" as well' in found.refused["embed_dim"]


def test_a_word_of_which_nothing_is_taken_over_is_not_said_to_be_in_part() -> None:
    found = usable_settings({"embed_protocol": "grpc", "embed_model": "m"})

    assert found.refused["embed_protocol"].startswith("'grpc' cannot be taken over: ")


def test_what_no_rule_of_the_conversion_foresaw_is_refused_by_the_rules_of_the_settings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(RENAMED, "prefetch_limit", ("prefetch_limit", int))
    found = usable_settings({"prefetch_limit": 99, "sync_turns": "no"})

    assert found.settings == {"capture_turns": False}
    assert found.refused == {"prefetch_limit": "99 cannot be used: expected a whole number from 1 to 50"}


@for_each("address", ["nonsense", "dbname='open", "host=a =b", "port=x dbname=y", "port=70000"])
def test_an_address_that_cannot_be_read_is_refused_and_not_quoted(address: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        connection_arguments(address)

    assert address not in str(refused.value)


def test_keywords_of_an_address_are_read_with_their_quotes() -> None:
    found = connection_arguments(r"host = h port=5433 password='it\'s a \\ b' sslmode=require dbname=x\ y")

    assert found == {"host": "h", "port": 5433, "password": "it's a \\ b", "ssl": "require", "database": "x y"}


def test_a_setting_of_the_peer_that_would_drive_a_terminal_is_named_without_what_drives_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = written(
        tmp_path / "config.yaml", 'plugins:\n  pgvector:\n    "\\e]0;owned\\a\\e[2Jcolour\\nall is well": 1\n'
    )
    print_settings(config, as_json=False)

    told = capsys.readouterr().err
    assert "colour" in told
    assert told.count("\n") == 1
    assert told.strip().isprintable()
