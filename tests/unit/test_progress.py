"""How it is shown how far long work has come: on a terminal, and where nobody watches."""

from __future__ import annotations

import argparse
import io
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from hermes_memory.application.reembed_progress import Step
from hermes_memory.bootstrap import verification
from hermes_memory.cli import erase
from hermes_memory.cli.exits import INTERRUPTED
from hermes_memory.cli.main import main
from hermes_memory.cli.progress import Bars, Display, Lines, progress_line, shown


@pytest.fixture(autouse=True)
def able_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the terminal of these tests be one that can draw, wherever they run."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)


class Terminal(io.StringIO):
    """Standard error that somebody watches."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_sees_what_is_done_how_much_and_what_is_left() -> None:
    seen = io.StringIO()
    with Bars(Console(file=seen, force_terminal=True, width=120)) as bars:
        bars.reach(1)
        bars.begin(Step.QUEUE, None)
        bars.begin(Step.EMBED, 1_000)
        bars.reach(250)

    assert "embedding" in seen.getvalue()
    assert "250/1000" in seen.getvalue()
    assert "left:" in seen.getvalue()


def test_work_whose_extent_turns_out_later_gets_a_bar_all_the_same() -> None:
    seen = io.StringIO()
    with Bars(Console(file=seen, force_terminal=True, width=120)) as bars:
        bars.begin("pruned", None)
        bars.expect(400)
        for _ in range(100):
            bars.advance(3)

    assert "pruned" in seen.getvalue()
    assert "300/400" in seen.getvalue()


def test_whoever_asks_for_lines_gets_one_for_each_step_and_one_now_and_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    with Lines() as lines:
        lines.begin(Step.EMBED, 5_000)
        for second in range(25):
            now[0] = 100.0 + second
            lines.reach(second * 100)

    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "embedding: 5,000 to do",
        "embedding: 1,000 of 5,000, 100 a second, about 40 s left",
        "embedding: 2,000 of 5,000, 100 a second, about 30 s left",
    ]


def test_nothing_is_foretold_before_anything_is_done() -> None:
    assert progress_line(Step.INDEX, 0, 64, 12.0) == "building the index: 0 of 64"
    assert progress_line(Step.QUEUE, 7, None, 12.0) == "looking for rows without a vector: 7"


def test_a_pipe_gets_nothing_unless_lines_are_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    with shown(argparse.Namespace(), "exported", 5) as display:
        display.advance(5)

    assert type(display) is Display
    assert (display.done, display.total) == (5, 5)
    assert capsys.readouterr() == ("", "")
    assert isinstance(shown(argparse.Namespace(verbose=True)), Lines)


def test_a_terminal_gets_bars_whether_lines_are_asked_for_or_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())

    assert isinstance(shown(argparse.Namespace(verbose=False)), Bars)
    assert isinstance(shown(argparse.Namespace(verbose=True)), Bars)


@pytest.mark.parametrize(("execute", "step"), [(True, "erasing"), (False, "looking")])
def test_an_erasure_shows_that_it_is_under_way_and_when_broken_off_that_it_can_go_on(
    home: Path, monkeypatch: pytest.MonkeyPatch, execute: bool, step: str
) -> None:
    async def broken_off(*_: object) -> None:
        raise KeyboardInterrupt

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(erase, "_certify", broken_off)
    code = main(["erase", "--theme", "sales", *(["--execute"] if execute else [])])

    assert code == INTERRUPTED
    assert step in terminal.getvalue()
    assert ("the same command goes on with the rest" in terminal.getvalue()) is execute


def test_a_verification_shows_how_much_it_has_looked_at(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken_off(*given: Any) -> None:
        given[-1](500)
        raise KeyboardInterrupt

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(verification, "verify_history", broken_off)
    code = main(["history", "verify"])

    assert code == INTERRUPTED
    assert "verifying" in terminal.getvalue()
    assert "500/?" in terminal.getvalue()
    assert "left:" not in terminal.getvalue()
