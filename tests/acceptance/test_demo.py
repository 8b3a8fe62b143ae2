"""The demonstration as a person runs it: the command, on a bare directory, in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.embedded import place
from tests.support.modes import too_open
from tests.support.pages import blocks, not_printed

COMMAND: Final = (sys.executable, "-m", "hermes_memory.cli.main")
SECONDS: Final = 200.0

pytestmark = pytest.mark.timeout(SECONDS + 40)


@pytest.fixture
def directory() -> Iterator[Path]:
    """Where temporary files go; every account may enter it, and what runs below it is ended afterwards."""
    with place() as found:
        (found / "tmp").mkdir(mode=0o755)
        yield found


@contextmanager
def started(directory: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    # The settings of a person's real memory, all of them unusable here: none may reach the demonstration's home.
    real = {
        "HERMES_HOME": str(directory / "real"),
        "HERMES_MEMORY_DSN": "postgresql://nobody@127.0.0.1:1/none",
        "HERMES_MEMORY_EMBEDDER": "none",
    }
    process = subprocess.Popen(
        [*COMMAND, "demo", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        env={**os.environ, **real, "TMPDIR": str(directory / "tmp"), "PYTHONIOENCODING": "utf-8"},
        start_new_session=True,
        umask=0,
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        with process:
            pass


def remains(directory: Path) -> list[str]:
    """Name the files in the place for temporary ones, and the processes that have to do with it."""
    found = [path.name for path in (directory / "tmp").iterdir()]
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit():
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
                found += [command] if str(directory) in command or _works_below(entry, directory) else []
    return found


def _works_below(process: Path, directory: Path) -> bool:
    return str((process / "cwd").readlink()).startswith(f"{directory}/")


def test_every_promise_is_kept_and_nothing_is_left(directory: Path) -> None:
    with started(directory, "--json") as process:
        output, complaints = process.communicate(timeout=SECONDS)

    assert process.returncode == 0, f"{complaints}\n{_broken(output)}"
    document = json.loads(output)
    assert document["kept"] is True
    _check_crash(document["crash"])
    assert (document["lost"], document["duplicates"]) == (0, 0)
    assert document["stored"]["vectors"] + document["stored"]["waiting"] == (
        document["stored"]["entries"] + document["stored"]["turns"]
    )
    assert document["median_recall_ms"] > 0
    _check_questions(document["questions"])
    assert len(document["walls"]) >= 8
    assert all(wall["held"] for wall in document["walls"])
    assert remains(directory) == []
    assert not (directory / "real").exists()


def _broken(output: str) -> object:
    with suppress(ValueError):
        return [promise for promise in json.loads(output)["promises"] if not promise["kept"]]
    return output


def _check_crash(crash: dict[str, Any]) -> None:
    assert crash["receipts"] >= 150
    assert crash["stored"] == crash["accepted"] >= crash["receipts"]


def _check_questions(questions: list[dict[str, Any]]) -> None:
    assert {question["who"] for question in questions} == {"marketing", "sales", "operations", "telegram", "whatsapp"}
    assert not [question for question in questions if question["degraded"] or not question["kept"]]
    for question in questions:
        best = question["hits"][0]
        assert best["source"]
        assert best["at"]
        assert 0 < best["score"] <= 1


def test_the_story_can_be_kept_and_asked_further(directory: Path) -> None:
    home = directory / "tmp" / "kept"
    typed = "@telegram what is the alarm code?\n@whatsapp what is the alarm code?\n@nobody hello\nquit\n"

    with started(directory, "--keep", str(home), "--interactive") as process:
        output, complaints = process.communicate(typed, timeout=SECONDS)

    assert process.returncode == 0, f"{complaints}\n{output}"
    story, _, asked = output.partition("Your own questions")
    assert "lost 0, duplicates 0" in story
    assert "promises above were verified" in story
    assert not_printed(blocks("../README.md", "shell-session")[0], story) == []
    mine, theirs = asked.split("@telegram  what is the alarm code?")[1].split("@whatsapp  what is the alarm code?")
    assert "7294" in mine
    assert "7294" not in theirs
    assert "there is no @nobody" in theirs
    assert "\x1b[" not in output
    assert remains(directory) == ["kept"]
    assert too_open(directory / "tmp") == {}
    assert _search(home, "launch of the Halo")


def _search(home: Path, query: str) -> list[object]:
    found = subprocess.run(
        [*COMMAND, "search", "--hermes-home", str(home), "--theme", "marketing", "--json", query],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=True,
    )
    hits: list[object] = json.loads(found.stdout)["hits"]
    return hits


def test_ctrl_c_pressed_twice_in_the_middle_leaves_nothing(directory: Path) -> None:
    with started(directory) as process:
        assert process.stdout
        seen = next(line for line in process.stdout if "Killed in the middle" in line)
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGINT)
        _, complaints = process.communicate(timeout=SECONDS)

    assert seen
    assert process.returncode != 0
    assert "Traceback" not in complaints
    assert remains(directory) == []


def test_a_directory_with_something_in_it_is_not_taken(directory: Path) -> None:
    (directory / "tmp" / "precious").write_text("mine", encoding="utf-8")

    with started(directory, "--keep", str(directory / "tmp")) as process:
        _, complaints = process.communicate(timeout=SECONDS)

    assert process.returncode == 64
    assert "not an empty directory" in complaints
    assert remains(directory) == ["precious"]
