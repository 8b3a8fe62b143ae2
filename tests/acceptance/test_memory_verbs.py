"""`profile`, `forget`, `search --as-of`, `add --subject`, `config` and `completion` as somebody types them."""

from __future__ import annotations

import asyncio
import io
import json
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from hermes_memory import Caller, Entry, Settings, Theme, View, open_memory
from hermes_memory.cli.forget import forget_each
from tests.acceptance.conftest import NewAgent
from tests.support.agents import Agent, eventually
from tests.support.command import Ran, command, in_process
from tests.support.inspection import rows
from tests.support.postgres_store import Installation

DONE, ERROR, WORK_REMAINS, USAGE = 0, 1, 3, 64
PERSON = "telegram:777000111"


def require(ran: Ran, code: int) -> Ran:
    assert ran.code == code, f"{ran.code}: {ran.out}{ran.err}"
    assert "Traceback" not in ran.out + ran.err
    return ran


@pytest.fixture
def here(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """Runs the command in this process: what a process of its own costs is the same for every verb."""

    def run(*arguments: str, typed: str = "") -> Ran:
        capsys.readouterr()
        monkeypatch.setattr("sys.stdin", io.StringIO(typed))
        code = in_process(*arguments)
        out, err = capsys.readouterr()
        return Ran(code=code, out=out, err=err)

    return run


@pytest.mark.usefixtures("served")
def test_what_is_forgotten_is_shown_first_is_gone_afterwards_and_comes_back(
    database: Installation, here: Callable[..., Ran]
) -> None:
    van = require(command("add", "The van leaves at 7", "--sync", "--theme", "depot", "--json"), DONE).document["entry"]
    require(here("add", "The van leaves at 7", "--sync", "--theme", "depot", "--target", "user"), DONE)
    require(here("add", "The van leaves at 7 sharp", "--sync", "--theme", "depot"), DONE)
    shown = require(command("forget", "  The van leaves at 7\n", "--theme", "Depot"), WORK_REMAINS)
    still = require(here("profile", "--theme", "depot", "--json"), DONE).document["entries"]
    text = "The van leaves at 7\n"
    gone = require(command("forget", "-", "--theme", "depot", "--execute", "--json", typed=text), DONE)
    left = require(here("profile", "--theme", "depot"), DONE)
    again = require(here("forget", van["id"], "--theme", "depot", "--execute"), ERROR)
    back = require(command("undo", van["id"], "--theme", "depot", "--execute", "--json"), DONE)
    just_before = "select min(at) - interval '1 microsecond' from hermes_memory.history where change = 'removed'"
    ((moment,),) = asyncio.run(rows(database.admin_dsn, just_before))
    before = require(here("search", "van", "--theme", "depot", "--as-of", moment.isoformat(), "--json"), DONE)
    day = require(here("search", "van leaves", "--theme", "depot", "--as-of", "2020-01-01"), DONE)

    assert shown.out.count("would forget") == 2
    assert "sharp" not in shown.out
    assert len(still) == 3
    assert all(entry["own"] for entry in still)
    assert len(gone.document["forgotten"]) == 2
    assert "The van leaves at 7 sharp" in left.out
    assert left.out.count("\n") == 1
    assert "no such memory" in again.err
    assert back.document["entry"]["content"] == "The van leaves at 7"
    assert {hit["content"] for hit in before.document["hits"]} == {"The van leaves at 7", "The van leaves at 7 sharp"}
    assert day.out.endswith("\nnothing found\n")
    removed = "select origin, count(*) from hermes_memory.history where change = 'removed' group by 1"
    assert asyncio.run(rows(database.admin_dsn, removed)) == [("operator", 2)]


@pytest.mark.usefixtures("served")
def test_of_two_who_undo_the_same_change_at_once_the_second_is_told_and_brings_nothing_back(
    here: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    van = require(here("add", "The van leaves at 7", "--sync", "--theme", "depot", "--json"), DONE).document["entry"]
    undo = View.undo
    coming = [van["id"]]

    async def after_somebody_quicker(view: View, name: UUID, **named: Any) -> Entry | None:
        while coming:
            await undo(view, UUID(coming.pop()))
        return await undo(view, name, **named)

    monkeypatch.setattr(View, "undo", after_somebody_quicker)
    second = require(here("undo", van["id"], "--theme", "depot", "--execute"), ERROR)
    left = require(here("profile", "--theme", "depot", "--json"), DONE).document["entries"]
    on_purpose = require(here("undo", van["id"], "--theme", "depot", "--execute", "--json"), DONE).document

    assert "undone by somebody else meanwhile" in second.err
    assert left == []
    assert on_purpose["entry"]["content"] == "The van leaves at 7"


@pytest.mark.usefixtures("served")
def test_nobody_forgets_what_is_anothers_or_a_text_that_stands_nowhere(agent: Agent, here: Callable[..., Ran]) -> None:
    agent.provider.sync_turn("Who signed the Periwinkle contract?", "Ms Saffron signed it.", session_id="s1")
    agent.settle()
    turn = require(here("search", "Periwinkle", "--theme", "coder", "--json"), DONE).document["hits"][0]
    entry = require(here("add", "Ours", "--sync", "--theme", "ours", "--json"), DONE).document["entry"]
    private = require(
        here("add", "Ana is allergic", "--sync", "--theme", "ours", "--subject", PERSON, "--json"), DONE
    ).document["entry"]

    assert turn["kind"] == "turn"
    for name, theme in ((turn["id"], "theirs"), (entry["id"], "theirs"), (private["id"], "ours"), ("Our", "ours")):
        refused = require(here("forget", name, "--theme", theme, "--execute"), ERROR)
        assert "no such memory" in refused.err
    require(here("forget", entry["id"], "--text", "--theme", "ours"), ERROR)
    assert "Ours" in require(here("profile", "--theme", "ours"), DONE).out


@pytest.mark.usefixtures("served")
async def test_what_two_operators_forget_at_once_is_forgotten_once() -> None:
    caller = Caller(theme=Theme("depot"))
    async with open_memory(Settings(), wait=30) as memory:
        meant = [await memory.view_of(caller).remember(f"Van {number} leaves at 7") for number in range(5)]
        both = await asyncio.gather(*(forget_each(memory, caller, meant) for _ in range(2)))
        left = await memory.view_of(caller).profile()

    assert sorted([*both[0], *both[1]]) == sorted(entry.id for entry in meant)
    assert not left


@pytest.mark.usefixtures("served")
def test_what_is_added_to_a_person_is_found_in_talk_with_that_person_alone(here: Callable[..., Ran]) -> None:
    require(here("add", "Ana is allergic to nuts", "--theme", "kitchen", "--subject", PERSON, "--sync"), DONE)
    for verb in (("search", "allergic"), ("profile",)):
        theirs = require(here(*verb, "--theme", "kitchen", "--subject", "-", typed=PERSON + "\n"), DONE)
        others = require(here(*verb, "--theme", "kitchen"), DONE)

        assert "nuts" in theirs.out
        assert "nuts" not in others.out


@pytest.mark.usefixtures("served")
def test_what_mirrors_a_notebook_is_forgotten_with_a_warning(
    new_agent: NewAgent, home: Path, here: Callable[..., Ran]
) -> None:
    (home / "memories").mkdir()
    (home / "memories" / "MEMORY.md").write_text("Likes tea")
    agent = new_agent().start(agent_identity="coder")
    agent.settle()
    eventually(lambda: here("forget", "Likes tea", "--theme", "coder").code == WORK_REMAINS)
    shown = require(here("forget", "Likes tea", "--theme", "coder"), WORK_REMAINS)

    assert "take it out of that file too" in shown.out


def test_what_no_verb_can_do_is_told_before_a_database_is_asked(
    home: Path, configure: Callable[..., None], tmp_path: Path, here: Callable[..., Ran]
) -> None:
    configure(dsn="postgresql://nobody@127.0.0.1:9/nowhere")
    (tmp_path / "list.json").write_text('{"results": []}')
    imported = ("import", "mem0", str(tmp_path / "list.json"))
    admin = ("--admin-dsn", "postgresql://nobody@127.0.0.1:9/nowhere")
    refused: Mapping[tuple[str, ...], str] = {
        ("search", "x", "--target", "bogus"): "memory or user",
        ("profile", "--target", "bogus"): "memory or user",
        ("explain", "x", "--target", "bogus"): "memory or user",
        ("add", "x", "--sync", "--target", "bogus"): "memory or user",
        ("profile", "--scope", "session"): "no session",
        ("add", "x", "--theme", "all", "--subject", PERSON): "reserved",
        (*imported, "--theme", "all"): "reserved",
        (*imported, "--theme", "all", "--subject", PERSON): "reserved",
        (*imported, "--theme", "whatsapp-dm"): "reserved",
        ("forget", " "): "must not be blank",
        ("forget", "-"): "no text",
        ("history", "--against", "heads.jsonl"): "only `history verify` takes --against",
        ("history", *admin): "only `history verify` takes --admin-dsn",
        ("history", "verify", "--theme", "desk", *admin): "takes no --theme",
        ("history", "verify", "--theme", "default", *admin): "takes no --theme",
        ("history", "verify", "--subject", PERSON, *admin): "takes no --subject",
        ("history", "verify", "--limit", "50", *admin): "takes no --limit",
    }

    for words, told in refused.items():
        assert told in require(here(*words), USAGE).err, words
    for words in (("search", "x"), ("profile",), ("explain", "x")):
        assert "no such theme" in require(here(*words, "--scope", "whatsapp-dm"), ERROR).err


@pytest.mark.usefixtures("served")
def test_a_time_that_is_none_is_refused(here: Callable[..., Ran]) -> None:
    for time in ("yesterday", "2026-13-01", " "):
        assert "--as-of" in require(here("search", "x", "--as-of", time), USAGE).err


def test_the_settings_that_hold_are_shown_with_their_places_and_without_secrets(
    home: Path, configure: Callable[..., None], here: Callable[..., Ran]
) -> None:
    configure(dsn="postgresql://app:s3cr3t-Pw@db.example/memory?password=s3cr3t-Pw", subject_secret="s3cr3t-Pw" * 8)
    (home / "hermes-memory.json").write_text('{\n  "pool_size": 9,\n  "identity_aliases": {"a": "b"}\n}')
    (home / "config.yaml").write_text("plugins:\n  hermes-memory:\n    identity_aliases: {c: d}\n")
    shown = require(here("config", "show"), DONE)
    document = require(here("config", "show", "--json"), DONE).document
    few = require(here("config", "show", "pool_size", "prefetch"), DONE)
    unknown = require(here("config", "show", "pool_sise"), USAGE)
    doctor = here("doctor", "--wait", "0.1", "--json")
    human = here("doctor", "--wait", "0.1")

    by_key = {each["key"]: each for each in document["settings"]}
    native = str(home / "hermes-memory.json")
    assert by_key["pool_size"] == {
        "key": "pool_size",
        "value": 9,
        "source": "hermes-memory.json",
        "name": "pool_size",
        "file": native,
        "line": 2,
        "place": f"pool_size in {native}, line 2",
    }
    assert by_key["dsn"]["value"] == "postgresql://app:********@db.example/memory?password=********"
    assert by_key["subject_secret"]["value"] == "********"
    assert by_key["identity_aliases"]["value"] == {"a": "b", "c": "d"}
    assert by_key["identity_aliases"]["place"].endswith("config.yaml, line 3")
    assert (by_key["recall_floor"]["source"], by_key["recall_floor"]["place"]) == ("default", "default")
    assert few.out.splitlines()[0].split() == ["pool_size", "=", "9", "pool_size", "in", f"{native},", "line", "2"]
    assert "did you mean 'pool_size'" in unknown.err
    assert doctor.document["settings"] == document["settings"]
    told = [line.split() for line in human.out.splitlines()]
    assert ["set", "pool_size", "=", "9"] in [words[:4] for words in told]
    assert {each["key"] for each in document["settings"]} == {
        word.partition("=")[0]
        for words in told
        for word in (words[1:2] if words[0] == "set" else words[1:] if words[0] == "default" else ())
    }
    assert "s3cr3t" not in shown.out + json.dumps(document) + doctor.out + human.out + doctor.err + human.err


def test_a_file_of_settings_is_checked_by_itself_and_every_problem_is_told(
    home: Path, tmp_path: Path, configure: Callable[..., None], here: Callable[..., Ran]
) -> None:
    good, bad, other = tmp_path / "good.json", tmp_path / "bad.yaml", tmp_path / "my.env"
    good.write_text('{"$schema": "x", "pool_size": 3, "allowed_themes": "a,b"}')
    bad.write_text("plugins:\n  hermes-memory:\n    pool_size: 99\n    prefetchh: true\n")
    other.write_text("PATH=x\nHERMES_MEMORY_POOL_SIZE=0\nHERMES_MEMORY_TOOL_TIMEOUT=never\n")
    reserved = tmp_path / "reserved.json"
    reserved.write_text('{"allowed_themes": ["all"]}')
    # What else is set does not matter.
    configure(pool_size="many")
    fine = require(here("config", "check", str(good)), DONE)
    wrong = require(here("config", "check", str(bad), "--json"), USAGE).document
    variables = require(here("config", "check", str(other), "--json"), USAGE).document
    names = require(here("config", "check", str(reserved), "--json"), USAGE).document
    whole = require(here("config", "check"), USAGE)

    assert "all can be used" in fine.out
    assert [(one["message"], one["line"]) for one in wrong["problems"]] == [
        ("unknown key 'prefetchh': did you mean 'prefetch'?", 4),
        ("99 cannot be used: expected a whole number from 1 to 64", 3),
    ]
    assert [(one["key"], one["value"], one["name"], one["line"]) for one in variables["problems"]] == [
        ("pool_size", "'0'", "HERMES_MEMORY_POOL_SIZE", 2),
        ("tool_timeout", "'never'", "HERMES_MEMORY_TOOL_TIMEOUT", 3),
    ]
    assert variables["problems"][0]["expected"] == "a whole number from 1 to 64"
    assert [(one["key"], one["value"], one["file"], one["line"]) for one in names["problems"]] == [
        ("allowed_themes", '["all"]', str(reserved), 1)
    ]
    assert "HERMES_MEMORY_POOL_SIZE in the environment" in whole.out
    for unfit in (tmp_path / "settings.toml", tmp_path / "none.json"):
        require(here("config", "check", str(unfit)), USAGE)


COMPLETE = """
source "$1"
COMP_WORDS=({words})
COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
COMP_LINE="${{COMP_WORDS[*]}}"
COMP_POINT=${{#COMP_LINE}}
COMP_TYPE=9
"$(complete -p hermes-memory | sed 's/.*-F \\([^ ]*\\).*/\\1/')" hermes-memory "${{COMP_WORDS[COMP_CWORD]}}" ''
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def test_bash_completes_verbs_options_choices_and_files(home: Path, tmp_path: Path, here: Callable[..., Ran]) -> None:
    script = tmp_path / "completion.bash"
    script.write_text(require(here("completion", "bash"), DONE).out)
    (tmp_path / "settings.json").touch()

    def offered(*words: str) -> set[str]:
        spelt = " ".join(f"'{word}'" for word in ("hermes-memory", *words))
        done = subprocess.run(
            ["bash", "-c", COMPLETE.format(words=spelt), "bash", str(script)],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return set(done.stdout.split())

    assert offered("fo") == {"forget"}
    assert {"show", "check", "schema"} <= offered("config", "")
    assert offered("search", "--as") == {"--as-of"}
    assert {"bash", "zsh", "fish"} <= offered("completion", "")
    assert {"both", "entries", "turns"} <= offered("search", "--kinds", "")
    assert {"local", "quality", "ollama"} <= offered("setup", "--embedder", "")
    (tmp_path / "seat").mkdir()
    for verb in (("config", "check"), ("import", "jsonl"), ("import", "mem0"), ("import", "markdown")):
        assert "settings.json" in offered(*verb, "set")
    assert {"seat"} <= offered("import", "markdown", "sea")
    assert offered("stats", "--hermes-home", "se") == {"seat"}


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_get_a_script_that_names_every_verb_and_that_they_can_read(
    home: Path, tmp_path: Path, shell: str, here: Callable[..., Ran]
) -> None:
    script = require(here("completion", shell, "--json"), DONE).document["script"]

    assert all(verb in script for verb in ("forget", "config", "spool", "--as-of", "reembed"))
    if reader := shutil.which(shell):
        path = tmp_path / "completion"
        path.write_text(script)
        read = subprocess.run([reader, "-n", str(path)], capture_output=True, text=True, timeout=60, check=False)
        assert (read.returncode, read.stderr) == (0, "")
