"""The fixtures for tests of the embedded Postgres: a cluster made once a module, and a copy of it a test."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.embedded import new_cluster, place


@pytest.fixture(scope="module")
def cluster() -> Iterator[Path]:
    """A cluster that never runs, to be copied."""
    with place() as directory:
        new_cluster(directory / "postgres")
        yield directory / "postgres"


@pytest.fixture
def root(cluster: Path) -> Iterator[Path]:
    """A directory that every account can enter, with a stopped cluster in ``postgres``."""
    with place() as directory:
        shutil.copytree(cluster, directory / "postgres", ignore=shutil.ignore_patterns("server.log"))
        yield directory
