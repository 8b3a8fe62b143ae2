"""Every embedder keeps the contract."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from hermes_memory.adapters.embedding.http import HttpEmbedder
from hermes_memory.adapters.embedding.local import LocalEmbedder
from hermes_memory.adapters.embedding.quality import QualityEmbedder
from hermes_memory.adapters.inmemory.embedder import HashingEmbedder, hashed_vector
from hermes_memory.testing.embedder_contract import EmbedderContract


class TestHashing(EmbedderContract):
    @pytest.fixture(params=[64, 256])
    def embedder(self, request: pytest.FixtureRequest) -> HashingEmbedder:
        return HashingEmbedder(request.param)

    async def test_every_process_computes_the_same_vector(self) -> None:
        program = (
            "from hermes_memory.adapters.inmemory.embedder import hashed_vector; "
            "print(repr(hashed_vector('Launch on 3 May 你好', 32)))"
        )
        environment = {**os.environ, "PYTHONHASHSEED": "7"}

        output = subprocess.run(
            [sys.executable, "-c", program], env=environment, check=True, capture_output=True, text=True, timeout=200
        ).stdout

        assert output.strip() == repr(hashed_vector("Launch on 3 May 你好", 32))


class TestHashedVector:
    @pytest.mark.parametrize("dimension", [1, 2, 3])
    def test_even_a_tiny_dimension_yields_no_zero_vector(self, dimension: int) -> None:
        vectors = [hashed_vector(f"word{number} other", dimension) for number in range(200)]

        assert all(any(vector) for vector in vectors)


class TestLocal(EmbedderContract):
    @pytest.fixture
    def embedder(self, in_process: LocalEmbedder) -> LocalEmbedder:
        return in_process


class TestQuality(EmbedderContract):
    @pytest.fixture
    def embedder(self, beside: QualityEmbedder) -> QualityEmbedder:
        return beside


class TestOverHttp(EmbedderContract):
    @pytest.fixture
    def embedder(self, http: HttpEmbedder) -> HttpEmbedder:
        return http
