"""Fixtures of the host tests: the real Hermes host and one clean home a test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_memory.hermes.install import install
from tests.support.hermes_host import HermesHost, clear
from tests.support.hermes_venv import host_python

_SECONDS_A_TEST = 900


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give these tests the time that building the host's environment takes the first time."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.timeout(_SECONDS_A_TEST))


@pytest.fixture(scope="session")
def interpreter() -> Path:
    """The host's interpreter, with this checkout's wheel beside it."""
    return host_python()


@pytest.fixture
def bare_hermes(interpreter: Path, tmp_path: Path) -> Iterator[HermesHost]:
    """A host with an empty home. Whatever it started must have ended by itself."""
    host = HermesHost(python=interpreter, home=tmp_path / "hermes")
    host.home.mkdir()
    yield host
    left = clear(tmp_path)
    assert left == {}


@pytest.fixture
def hermes(bare_hermes: HermesHost) -> HermesHost:
    """A host with our shim installed and active, and nothing else configured."""
    install(bare_hermes.home)
    bare_hermes.activate()
    return bare_hermes
