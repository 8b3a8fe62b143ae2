"""How the unit tests run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

from hermes_memory.application import (
    deliver,
    embed,
    embed_generation,
    embed_measuring,
    embed_storing,
    handover,
    lasting,
    link,
)

# An example that takes long on a busy machine is no defect: growth is tested by ratios, hangs by the test's timeout.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

MOMENT = 0.01


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Background work that looks again after a moment where it otherwise waits for parts of a second or more."""
    for module in (deliver, embed, embed_generation, embed_measuring, handover, lasting, link):
        for name in vars(module).copy():
            if name.endswith("_SECONDS"):
                monkeypatch.setattr(module, name, MOMENT)
    for module, name in ((embed, "PROBE_PAUSES"), (embed_storing, "STORE_PAUSES"), (embed_storing, "BACKOFF")):
        monkeypatch.setattr(module, name, (MOMENT,) * len(getattr(module, name)))


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty Hermes home, in an environment that says nothing else of Hermes."""
    for name in list(os.environ):
        if name.upper().startswith("HERMES"):
            monkeypatch.delenv(name)
    folder = tmp_path / "hermes"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("HERMES_HOME", str(folder))
    return folder
