"""The demonstration from its first line to its last."""

from __future__ import annotations

import time
from pathlib import Path

import anyio

from hermes_memory.demo.acts import perform
from hermes_memory.demo.home import example_home, orderly_end, own_environment, own_server
from hermes_memory.demo.report import Report
from hermes_memory.demo.scene import read_scene
from hermes_memory.demo.story import Story
from hermes_memory.demo.terminal import Terminal


def play(terminal: Terminal, *, keep: Path | None = None, interactive: bool = False) -> Report:
    """Tell the whole story and return what was found. Nothing is left of it but the directory to keep.

    Call it from the main thread, where Ctrl-C arrives.

    Raises:
        InvalidInput: The directory to keep holds something already.
        ConfigurationError, StoreUnavailable: The database or the embedder cannot be started.
        KeyboardInterrupt: The person had seen enough.
    """
    started = time.perf_counter()
    story = Story(terminal)
    story.title(
        "hermes-memory demo",
        "Three agents and two contacts of a small company remember, through the hard death of a process.",
    )
    with orderly_end(), own_environment(), example_home(keep) as home:
        scene = read_scene(home, story)
        story.chapter("A home of its own")
        story.fact("home", f"{home} ({'kept' if keep else 'removed at the end'})")
        with own_server(home) as address:
            scene.report.seconds["server"] = time.perf_counter() - started
            story.fact("embedded Postgres", f"made and started in {scene.report.seconds['server']:.1f} s")
            anyio.run(perform, scene, address, started, terminal if interactive else None)
    return scene.report
