"""Models on this machine: loaded once, used by one thread each, shared by every embedder of the process."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from typing import Protocol

from hermes_memory.adapters.embedding.worker import Worker, WorkerClosed


class Encoder(Protocol):
    """A loaded model."""

    def encode(self, texts: Sequence[str], *, question: bool) -> list[list[float]]:
        """Return a vector for each text, in their order.

        Args:
            question: Whether these are questions; some models embed what is asked differently from what is stored.

        Raises:
            OSError: The model does not answer any more.
            ValueError: It is damaged.
        """
        ...

    def close(self) -> None:
        """Let go of what it holds, for good. Any thread may call, also while texts are embedded, and again."""
        ...


class SharedModel:
    """A model and its worker thread, given to everyone who acquires them and let go with the last.

    Weights take a hundred megabytes, so two embedders share them.

    Args:
        load: Loads the model; called by the thread, before the first text.
    """

    def __init__(self, name: str, load: Callable[[], Encoder]) -> None:
        self.name = name
        self.worker = Worker(f"hermes-memory-embedder-{name}")
        self.holders = 0
        self._load = load
        self._encoder: Encoder | None = None
        self._closed = False

    def encode(self, texts: Sequence[str], *, question: bool) -> list[list[float]]:
        """Return the vectors of texts, loading the model when it is not loaded. For the worker's thread only.

        Raises:
            ImportError: The package is broken.
            OSError: Its weights cannot be read, or it does not answer any more.
            ValueError: Its weights are damaged.
            WorkerClosed: Nobody uses it any more.
        """
        encoder = self._encoder
        if encoder is None:
            encoder = self._encoder = self._load()
        # Loading may take longer than closing waits for. Each of the two says what it did before it looks at the other,
        # so one of them closes what was loaded; that both do is no harm.
        if self._closed:
            self._encoder = None
            encoder.close()
            raise WorkerClosed(f"{self.name} is closed")
        return encoder.encode(texts, question=question)

    async def aclose(self) -> None:
        """End the thread and let the model go."""
        try:
            await self.worker.aclose()
        finally:
            self._closed = True
            encoder, self._encoder = self._encoder, None
            if encoder is not None:
                encoder.close()


class _Process:
    """What this process shares, and the lock in front of it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._models: dict[str, SharedModel] = {}

    def acquire(self, name: str, load: Callable[[], Encoder]) -> SharedModel:
        with self._lock:
            if name not in self._models:
                self._models[name] = SharedModel(name, load)
            self._models[name].holders += 1
            return self._models[name]

    def release(self, model: SharedModel) -> bool:
        """Return whether nobody uses the model any more."""
        with self._lock:
            model.holders -= 1
            if model.holders == 0 and self._models.get(model.name) is model:
                del self._models[model.name]
            return model.holders == 0


_process = _Process()


def _forget_parent() -> None:
    """Start afresh in a forked child: the parent's threads are not there, and its lock may be held for ever."""
    global _process  # noqa: PLW0603 - the one process-wide state there is
    _process = _Process()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_parent)


def acquire(name: str, load: Callable[[], Encoder]) -> SharedModel:
    """Take part in the model of this name. From any thread; every acquire is answered by one release."""
    return _process.acquire(name, load)


async def release(model: SharedModel) -> None:
    """Stop taking part; the last one ends the thread."""
    if _process.release(model):
        await model.aclose()
