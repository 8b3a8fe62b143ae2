"""The preload in a Hermes home: the plugin is complete before anybody can see it, and nothing is imported for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hermes_memory.hermes.install import install, preload_directory
from hermes_memory.hermes.preload import MODULE, publish


@pytest.fixture(autouse=True)
def unpublished(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the module away before and after."""
    monkeypatch.setitem(sys.modules, MODULE, sys)
    del sys.modules[MODULE]


def _plugin(directory: Path, text: str) -> Path:
    init = directory / "hermes-memory" / "__init__.py"
    init.parent.mkdir()
    init.write_text(text)
    return init


def test_a_plugin_is_seen_only_when_it_is_complete(tmp_path: Path) -> None:
    init = _plugin(tmp_path, f"import sys\nSEEN = {MODULE!r} in sys.modules\ndef register(ctx): ...\n")

    publish(init)

    module = sys.modules[MODULE]
    assert module.SEEN is False
    assert callable(module.register)
    assert module.__file__ == str(init)
    assert list(module.__path__) == [str(init.parent)]


def test_a_plugin_that_fails_is_not_seen_at_all(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        publish(_plugin(tmp_path, "1 / 0\n"))

    assert MODULE not in sys.modules


def test_without_a_plugin_nothing_happens(tmp_path: Path) -> None:
    publish(tmp_path / "hermes-memory" / "__init__.py")

    assert MODULE not in sys.modules


def test_what_the_host_has_loaded_already_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, MODULE, pytest)

    publish(_plugin(tmp_path, "def register(ctx): ...\n"))

    assert sys.modules[MODULE] is pytest


def test_the_preload_of_a_home_imports_nothing_of_the_library(tmp_path: Path) -> None:
    install(tmp_path)
    code = (
        "import runpy, sys\n"
        f"runpy.run_path({str(preload_directory(tmp_path) / '__init__.py')!r})\n"
        f"assert hasattr(sys.modules[{MODULE!r}], 'register')\n"
        "print([name for name in sys.modules if name.startswith('hermes_memory')])\n"
    )

    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
