"""What the doctor says of an embedder that does not do, and what its command exits with then."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from hermes_memory.cli import checks
from hermes_memory.cli.exits import DEPENDENCY_DOWN, ERROR
from hermes_memory.cli.findings import exit_code
from hermes_memory.domain.errors import (
    ConfigurationError,
    DeadlineExceeded,
    EmbedderUnavailable,
    EmbeddingRejected,
    HermesMemoryError,
)
from hermes_memory.settings import Settings


def test_only_an_embedder_that_does_not_answer_is_a_dependency_that_is_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    codes: dict[HermesMemoryError, int] = {
        EmbedderUnavailable("http://localhost:11434 is not reachable"): DEPENDENCY_DOWN,
        DeadlineExceeded("the embedder did not answer in time"): DEPENDENCY_DOWN,
        EmbeddingRejected("the embedder answers with 768 dimensions, and embed_dim is 3"): ERROR,
        ConfigurationError("the embedder needs a package that is not installed"): ERROR,
    }

    for error, code in codes.items():

        def failing(_: object, error: HermesMemoryError = error) -> None:
            raise error

        monkeypatch.setattr(checks, "make_embedder", failing)
        finding = anyio.run(checks.embedder_finding, Settings(home=tmp_path))

        assert (finding.message, exit_code([finding])) == (str(error), code)
