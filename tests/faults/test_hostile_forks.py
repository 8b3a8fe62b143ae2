"""Forks at the worst moment: what a thread of the parent holds does not exist in the child, which goes on."""

from __future__ import annotations

import importlib.abc
import os
import subprocess
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import pytest

from hermes_memory.hermes.host import recall_status, secret_reader

SCRIPT = """
import os, signal, sys, threading
from hermes_memory.hermes import host, runtime
from hermes_memory.hermes.provider import HermesMemoryProvider

held, done = threading.Event(), threading.Event()

def hold():
    with runtime._lock, host._reading:
        held.set()
        done.wait()

threading.Thread(target=hold, daemon=True).start()
held.wait()
child = os.fork()
if child == 0:
    signal.alarm(30)
    provider = HermesMemoryProvider()
    provider.initialize("s1", hermes_home=sys.argv[1], agent_identity="coder")
    provider.sync_turn("Where is the vault?", "In the cellar.", session_id="s1")
    os._exit(0 if "not available" not in provider.system_prompt_block() else 3)
status = os.waitpid(child, 0)[1]
done.set()
sys.exit(os.waitstatus_to_exitcode(status))
"""


class Listening(importlib.abc.MetaPathFinder):
    """Hears which modules are looked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        self.asked.append(fullname)
        return None


def test_a_child_forked_while_agents_are_being_started_starts_its_own(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HERMES")}
    ended = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path)],
        env={
            **environment,
            "HERMES_MEMORY_DSN": "postgresql://nobody@127.0.0.1:1/nothing",
            "HERMES_MEMORY_EMBEDDER": "none",
        },
        timeout=60,
        check=False,
    )

    assert ended.returncode == 0


def test_starting_an_agent_imports_nothing_of_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    listening = Listening()
    for name in ("agent", "agent.secret_scope", "agent.memory_provider"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(sys, "meta_path", [listening, *sys.meta_path])
    read = secret_reader()

    assert read("A_NAME_THAT_NOBODY_HAS") is None
    assert recall_status("memory", 3) is None
    assert listening.asked == []
