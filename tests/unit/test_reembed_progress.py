"""How the change of an embedding model is shown."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from hermes_memory.application.reembed_progress import Step
from hermes_memory.cli.reembed_progress import ShownBars, ShownLines, progress_line, shown


def test_a_terminal_sees_what_is_done_how_much_and_what_is_left() -> None:
    seen = io.StringIO()
    with ShownBars(Console(file=seen, force_terminal=True, width=120)) as bars:
        bars.reach(1)
        bars.begin(Step.QUEUE, None)
        bars.begin(Step.EMBED, 1_000)
        bars.reach(250)

    assert "embedding" in seen.getvalue()
    assert "250/1000" in seen.getvalue()
    assert "left:" in seen.getvalue()


def test_whoever_does_not_watch_gets_a_line_for_each_step_and_one_now_and_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    with ShownLines() as lines:
        lines.begin(Step.EMBED, 5_000)
        for second in range(25):
            now[0] = 100.0 + second
            lines.reach(second * 100)

    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "embedding: 5,000 rows wait",
        "embedding: 1,000 of 5,000, 100 a second, about 40 s left",
        "embedding: 2,000 of 5,000, 100 a second, about 30 s left",
    ]


def test_nothing_is_foretold_before_anything_is_done() -> None:
    assert progress_line(Step.INDEX, 0, 64, 12.0) == "building the index: 0 of 64"
    assert progress_line(Step.QUEUE, 7, None, 12.0) == "looking for rows without a vector: 7"


def test_a_pipe_gets_lines() -> None:
    assert isinstance(shown(), ShownLines)
