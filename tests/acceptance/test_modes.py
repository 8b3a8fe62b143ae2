"""What the command makes on the disk is closed to others, also where no umask helps: each verb as a process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.acceptance.test_every_verb import TABLE, stand
from tests.support.command import COMMAND
from tests.support.embedded import place
from tests.support.modes import too_open
from tests.support.verbs import MAKES_HOME

__all__ = ["stand"]

MAKERS: Final = sorted({*MAKES_HOME, "install"})
ONE_BY_ONE: Final = """
import shlex, sys
from hermes_memory.cli.main import main

for line in sys.stdin:
    try:
        main(shlex.split(line))
    except SystemExit:
        pass
"""


@pytest.fixture
def made(environment: pytest.MonkeyPatch) -> Iterator[Path]:
    """A place that every account may enter, where the home is to be made, and all else that the command makes."""
    with place() as directory:
        made = directory / "made"
        made.mkdir(mode=0o711)
        environment.setenv("HOME", str(made))
        environment.setenv("TMPDIR", str(made))
        environment.setenv("HERMES_HOME", str(made / "above" / "hermes"))
        yield made


def ran(*command: str, typed: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command that any file it makes may be written by everybody, if it does not see to it."""
    return subprocess.run(command, umask=0, input=typed, capture_output=True, text=True, timeout=200, check=False)


def test_a_home_that_a_verb_makes_is_closed_to_others_and_its_code_to_writers(
    stand: dict[str, str], made: Path, environment: pytest.MonkeyPatch
) -> None:
    (Path(stand["folder"]) / "all.jsonl").write_bytes(b"")
    for verb in MAKERS:
        environment.setenv("HERMES_HOME", str(made / verb.replace(" ", "-") / "above" / "hermes"))
        done = ran(str(COMMAND), *verb.split(), *TABLE[verb].arguments.format(**stand).split())
        assert done.stderr == "" or verb == "import jsonl"

    assert {path.parent.parent.name for path in made.glob("*/above/hermes")} >= {"setup", "add", "install"}
    assert too_open(made) == {}


def test_whatever_any_verb_makes_is_closed_to_others(stand: dict[str, str], made: Path) -> None:
    folder = Path(stand["folder"])
    for path in folder.iterdir():
        path.chmod(0o600)
    lines = [f"{name} {use.arguments.format(**stand)}" for name, use in TABLE.items()]
    done = ran(sys.executable, "-c", ONE_BY_ONE, typed="\n".join(lines))

    assert done.returncode == 0, done.stderr
    assert {path.name for path in folder.iterdir()} >= {"all.jsonl", "spool.jsonl"}
    assert too_open(folder) == too_open(made) == {}


@pytest.mark.timeout(200)
def test_a_home_with_its_own_database_is_closed_to_others(made: Path) -> None:
    done = ran(str(COMMAND), "setup", "--yes", "--embedded", "--set", "prefetch_limit=8", "--wait", "150")
    ran(str(COMMAND), "add", "the key is sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD", "--theme", "fruit")
    state = made / "above" / "hermes" / "hermes-memory"

    assert done.returncode == 0, done.stdout + done.stderr
    assert (state / "postgres" / "pgdata" / "PG_VERSION").exists()
    assert (state / "secrets.json").exists()
    assert too_open(made) == {}
