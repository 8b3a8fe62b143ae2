"""What a host may ask of a provider that was never initialised."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

from hermes_memory.adapters.notebook_files import LINES, NotebookFiles
from hermes_memory.domain.model import HomeId
from hermes_memory.domain.notebook_lines import Standing
from hermes_memory.hermes import host, notebook_watch
from hermes_memory.hermes.provider import HermesMemoryProvider


@pytest.fixture
def provider(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HermesMemoryProvider:
    monkeypatch.setenv("HERMES_HOME", str(tmp_path))
    return HermesMemoryProvider()


def test_every_hook_may_be_called_and_answers_with_nothing(provider: HermesMemoryProvider, tmp_path: Path) -> None:
    answers: list[object] = [
        provider.on_turn_start(1, "hello", author_id="x", author_is_bot=False),
        provider.sync_turn("u", "a", session_id="s", messages=[{"role": "user"}], turn_author={"name": "Ana"}),
        provider.queue_prefetch("q", session_id="s"),
        provider.on_session_end([]),
        provider.on_session_switch("new", parent_session_id="old", reset=True, reason="resume", unknown=1),
        provider.on_delegation("task", "result", child_session_id="c"),
        provider.on_memory_write("add", "memory", "t", {"old_text": "x"}),
        provider.recall_status(),
        provider.initialize_for_inspection("s", hermes_home=str(tmp_path)),
        provider.shutdown(),
        provider.shutdown(),
    ]

    assert answers == [None] * len(answers)
    assert provider.prefetch("q") == provider.on_pre_compress([]) == ""
    assert provider.backup_paths() == []
    assert list(tmp_path.iterdir()) == []


def test_a_person_whose_session_cannot_start_is_there_all_the_same_as_the_host_writes_the_notebooks(
    provider: HermesMemoryProvider, tmp_path: Path
) -> None:
    notebook, note = tmp_path / "memories" / "USER.md", tmp_path / LINES
    notebook.parent.mkdir()
    note.parent.mkdir()
    (note.parent / "secret").write_text("damaged")
    available = provider.is_available()
    provider.initialize("desk", hermes_home=str(tmp_path))
    desk = note.exists()
    provider.initialize("ana", hermes_home=str(tmp_path), platform="telegram", user_id="777000111")
    notebook.write_text("The alarm code is Zwiebelkuchen")
    came = NotebookFiles(tmp_path, identity=HomeId("home")).standing()
    note.unlink()
    provider.on_turn_start(1, "hello")
    again = NotebookFiles(tmp_path, identity=HomeId("home")).standing()
    notebook_watch._unserved.pop(tmp_path).subjects_leave()

    assert (available, desk) == (True, False)
    assert came == again == Standing(held=frozenset({"The alarm code is Zwiebelkuchen"}))


def test_a_tool_answers_with_an_error_in_json(provider: HermesMemoryProvider) -> None:
    answer = json.loads(provider.handle_tool_call("recall_memory", {"query": "launch"}))

    assert answer["error"]


def test_what_a_recall_brought_is_told_in_the_type_of_a_host_that_has_one(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclass(frozen=True, kw_only=True)
    class RecallStatus:
        provider_label: str
        count: int
        glyph: str

    module = ModuleType("agent.memory_provider")
    monkeypatch.setitem(sys.modules, "agent", ModuleType("agent"))
    monkeypatch.setitem(sys.modules, "agent.memory_provider", module)

    assert host.recall_status("hermes-memory", 2) is None
    module.RecallStatus = RecallStatus  # type: ignore[attr-defined]
    assert host.recall_status("hermes-memory", 2) == RecallStatus(provider_label="hermes-memory", count=2, glyph="◇")
