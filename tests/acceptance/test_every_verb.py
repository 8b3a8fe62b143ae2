"""What holds for every verb of the command, those to come included: they need a line in `tests/support/verbs.py`."""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from hermes_memory.adapters.embedding.local import LOCAL_MODEL
from hermes_memory.cli.exits import DEPENDENCY_DOWN, INTERRUPTED, USAGE
from hermes_memory.cli.main import command_parser
from tests.support.agents import eventually
from tests.support.command import COMMAND, Ran, in_process
from tests.support.gate import Gate
from tests.support.loaded_command import loaded_command
from tests.support.postgres_store import Installation
from tests.support.tables import for_each
from tests.support.verbs import HOMELESS, MAKES_HOME, READS_NO_SETTINGS, USES, leaves

PARSER = command_parser()
VERBS = dict(leaves(PARSER))
TABLE = {name: use for name, use in USES.items() if not use.tried}
NUMBERS = {"N", "SECONDS", "DAYS", "SCORE"}
FACTS = (
    "create table facts (fact_id integer primary key, content text, category text, tags text, trust_score real, "
    "created_at text, updated_at text)"
)


def values_of(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield the arguments that take a value."""
    yield from (action for action in parser._actions if action.nargs != 0)


def refusal(*arguments: str) -> int:
    """Return what the parser alone ends with: nothing is carried out."""
    try:
        PARSER.parse_args(arguments)
    except SystemExit as leaving:
        return int(leaving.code or 0)
    return 0


def test_every_verb_stands_in_the_table_of_uses() -> None:
    assert set(VERBS) == set(USES), "a new verb needs its line in tests/support/verbs.py"
    assert all(Path(use.tried).exists() for use in USES.values() if use.tried)


@for_each("name", VERBS)
def test_every_verb_takes_what_all_take_and_says_what_each_argument_means(name: str) -> None:
    names = {action.dest for action in VERBS[name]._actions}

    assert "as_json" in names
    assert "hermes_home" in names or name in HOMELESS
    assert callable(VERBS[name].get_default("carry_out"))
    assert all(action.help for action in VERBS[name]._actions)


@for_each("name", VERBS)
def test_no_verb_takes_a_blank_or_a_name_that_it_does_not_know(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    blanks = [
        action.option_strings[-1]
        for action in values_of(VERBS[name])
        # An empty answer of the set-up takes a setting out.
        if action.option_strings and not action.dest.startswith("answer_")
    ]

    assert [refusal(*name.split(), option, " ") for option in blanks] == [USAGE] * len(blanks)
    assert refusal(*name.split(), "--no-such-option") == USAGE
    assert capsys.readouterr().out == ""


@for_each("name", VERBS)
def test_every_verb_that_gets_a_word_for_a_number_says_what_it_takes(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [action.option_strings[-1] for action in values_of(VERBS[name]) if action.option_strings]
    said = []
    for option in options:
        refusal(*name.split(), option, "many")
        said.append(capsys.readouterr().err)

    assert not [line for line in said if re.search(r"invalid \S+ value", line)], "say which numbers it takes"
    assert not [action.dest for action in values_of(VERBS[name]) if action.type in {int, float}]


@pytest.fixture
def stand(served: Path, database: Installation, tmp_path: Path) -> dict[str, str]:
    """What the uses of the table speak of: files of others, a login with the owner's rights."""
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "old.yaml").write_text("plugins: {pgvector: {sync_turns: false}}")
    (folder / "list.json").write_text('{"results": []}')
    (folder / "MEMORY.md").write_text("Likes tea")
    (folder / "setting").write_text("0" * 64)
    with sqlite3.connect(folder / "facts.db") as facts:
        facts.execute(FACTS)
    facts.close()
    return {"folder": str(folder), "admin": database.admin_dsn, "role": database.role, "entry": ""}


def test_every_verb_prints_one_document_whose_keys_stay(
    stand: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    found = {}
    for name, use in TABLE.items():
        capsys.readouterr()
        code = in_process(*name.split(), *use.arguments.format(**stand).split(), "--json")
        told = capsys.readouterr()
        document: dict[str, Any] = json.loads(told.out) if told.out else {"": told.err}
        found[name] = (code, " ".join(sorted(document)))
        if name == "add":
            stand["entry"] = document["entry"]["id"]

    assert found == {name: (use.code, use.keys) for name, use in TABLE.items()}


def test_every_verb_does_the_same_as_a_command_of_its_own(stand: dict[str, str]) -> None:
    first = ("install", "setup", "migrate", "add")
    last = ("import jsonl", "grants revoke")
    found = {name: _answered(name, stand) for name in first}
    stand["entry"] = json.loads(found["add"].out)["entry"]["id"]
    between = [name for name in TABLE if name not in {*first, *last}]
    with ThreadPoolExecutor(max_workers=4) as pool:
        for names in (between, last):
            found.update(zip(names, pool.map(lambda name: _answered(name, stand), names), strict=True))
    told = {name: (ran.code, " ".join(sorted(ran.document)) if ran.out else ran.err) for name, ran in found.items()}

    assert told == {name: (use.code, use.keys) for name, use in TABLE.items()}
    # Nobody watches, so nothing tells how far long work is.
    assert [name for name, ran in found.items() if ran.err] == ["remap"]


def _answered(name: str, stand: dict[str, str]) -> Ran:
    return loaded_command(*name.split(), *TABLE[name].arguments.format(**stand).split(), "--json")


def test_no_number_below_its_range_is_taken(stand: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    stand["entry"] = "00000000-0000-0000-0000-000000000000"
    wrong = [
        (*name.split(), *(use.numbered or use.arguments).format(**stand).split(), action.option_strings[-1], value)
        for name, use in TABLE.items()
        for action in values_of(VERBS[name])
        if action.option_strings and action.metavar in NUMBERS
        for value in ("-3", "nan")
    ]
    taken = {" ".join(arguments): code for arguments in wrong if (code := in_process(*arguments)) != USAGE}

    assert wrong
    assert not taken
    assert capsys.readouterr().out == ""


def test_no_verb_that_only_looks_or_takes_away_makes_a_home_where_a_name_was_mistyped(
    environment: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    environment.setenv("HERMES_HOME", str(tmp_path / "typo"))
    stand = {"folder": str(tmp_path), "entry": "00000000-0000-0000-0000-000000000000"}
    codes = {
        name: in_process(*name.split(), *use.arguments.format(**stand, admin="", role="").split())
        for name, use in TABLE.items()
        if name not in READS_NO_SETTINGS | MAKES_HOME and "{admin}" not in use.arguments
    }
    keys = "telegram:1", "telegram:2", "--admin-dsn", "postgresql://nobody@127.0.0.1:9/nowhere"
    codes["subjects merge"] = in_process("subjects", "merge", *keys)
    codes["remap"] = in_process("remap", "fruit", "vegetables", *keys[2:])
    codes["erase"] = in_process("erase", "--theme", "fruit", *keys[2:])
    codes["history of an operator's"] = in_process("history", *keys[2:])
    codes["history verify"] = in_process("history", "verify", *keys[2:])
    environment.delenv("HERMES_MEMORY_EMBEDDER")
    codes["reembed"] = in_process("reembed", *keys[2:])
    told = capsys.readouterr()

    assert len(codes) > 10
    assert {name: code for name, code in codes.items() if code != USAGE} == {}
    assert (told.out + told.err).count("there is no Hermes home") >= len(codes)
    assert not (tmp_path / "typo").exists()


def test_what_concerns_an_operators_database_alone_needs_no_home(
    environment: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    environment.setenv("HERMES_HOME", str(tmp_path / "none"))
    environment.delenv("HERMES_MEMORY_EMBEDDER")
    heads = tmp_path / "heads.jsonl"
    heads.touch()
    login = "--admin-dsn", "postgresql://nobody@127.0.0.1:9/nowhere"
    uses = (
        ("history", "verify", "--against", str(heads)),
        ("reembed", "--status"),
        ("reembed", "--switch-back"),
        ("reembed", "--model", LOCAL_MODEL),
    )
    codes = [in_process(*use, *login) for use in uses]
    environment.setenv("HERMES_MEMORY_EMBEDDER", "local")
    codes.append(in_process("reembed", *login))

    assert codes == [DEPENDENCY_DOWN] * (len(uses) + 1)
    assert not (tmp_path / "none").exists()


def test_wrong_settings_end_every_verb_with_their_own_code(
    home: Path, configure: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    configure(pool_size="many")
    stand = dict.fromkeys(("folder", "role", "entry"), "x") | {"admin": "postgresql://nobody@127.0.0.1:9/nowhere"}
    codes = {
        name: in_process(*name.split(), *use.arguments.format(**stand).split())
        for name, use in TABLE.items()
        if name not in READS_NO_SETTINGS
    }
    told = capsys.readouterr()

    assert {name for name, code in codes.items() if code != USAGE} == set()
    # One finds the file missing that it was given.
    assert (told.out + told.err).count("HERMES_MEMORY_POOL_SIZE in the environment") >= len(codes) - 1
    assert "Traceback" not in told.out + told.err


def test_who_interrupts_a_verb_that_waits_gets_one_line_and_the_code_for_it(
    home: Path, configure: Callable[..., None]
) -> None:
    with ExitStack() as opened:
        running = []
        for arguments in (("search", "x"), ("doctor", "--wait", "200"), ("prune", "--older-than", "3", "--admin-dsn")):
            gate = opened.enter_context(Gate())
            gate.hang()
            address = f"postgresql://app@127.0.0.1:{gate.port}/nowhere"
            configure(dsn=address)
            more = (address,) if arguments[-1] == "--admin-dsn" else ()
            running.append((gate, _started(*arguments, *more)))
        told = [_interrupted(gate, process) for gate, process in running]

    assert told == [("hermes-memory: interrupted\n", INTERRUPTED)] * len(running)


def test_who_interrupts_an_erasure_is_told_that_the_same_command_goes_on(
    home: Path, configure: Callable[..., None]
) -> None:
    with Gate() as gate:
        gate.hang()
        address = f"postgresql://app@127.0.0.1:{gate.port}/nowhere"
        configure(dsn=address)
        running = _started("erase", "--theme", "sales", "--execute", "--admin-dsn", address)
        told, code = _interrupted(gate, running)

    assert code == INTERRUPTED
    assert told.splitlines()[-1] == "hermes-memory: interrupted"
    assert "the same command goes on with the rest and prints the certificate" in told


INTERRUPTED_WHILE_LOADING = """
import sys

class Interrupting:
    def find_spec(self, name, path, target=None):
        if name == "pydantic":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupting())
(command,) = __import__("importlib.metadata").metadata.entry_points(group="console_scripts", name="hermes-memory")
sys.exit(command.load()())
"""


def test_who_interrupts_the_command_while_it_loads_gets_the_same_line_and_code(home: Path) -> None:
    ran = subprocess.run([sys.executable, "-c", INTERRUPTED_WHILE_LOADING], capture_output=True, text=True, check=False)

    assert (ran.returncode, ran.stderr) == (INTERRUPTED, "hermes-memory: interrupted\n")


def _started(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [str(COMMAND), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ
    )


def _interrupted(gate: Gate, process: subprocess.Popen[str]) -> tuple[str, int]:
    """Interrupt a command that waits for a database which does not answer; return what it says and ends with."""
    eventually(lambda: gate.connections)
    process.send_signal(signal.SIGINT)
    return process.communicate(timeout=100)[1], process.returncode
