"""Whatever dies, whenever: not one accepted write is lost, doubled or reordered.

`FAULTS_SEED` repeats a trial, `FAULTS_SECONDS` says how long one takes.
"""

from __future__ import annotations

from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Final

import pytest

from tests.support.crashable import CrashableServer
from tests.support.embedding_server import EmbeddingServer, EmbeddingServerThread
from tests.support.fault_proxy import FaultProxy, place_of
from tests.support.nemesis import WEIGHTS, Nemesis, Writers, chosen_seconds, chosen_seed, misfortunes
from tests.support.trial import DIMENSION, Trial, migrated_for_trials

HOMES: Final = ("east", "west")
PROCESSES: Final = 2
IMPATIENT: Final = {
    "connect_timeout": 2,
    "command_timeout": 3,
    "embed_write_timeout": 2,
    "embed_read_timeout": 1,
}
"""Settings with which a fault of seconds is one that is waited for too long."""


def test_a_seed_always_brings_the_same_misfortunes() -> None:
    first, again, other = (list(islice(misfortunes(seed), 200)) for seed in (7, 7, 8))

    assert first == again
    assert first != other
    assert {each.what for each in first} == {what.__name__ for what in WEIGHTS}


@pytest.mark.timeout(chosen_seconds() + 2_000)
async def test_nothing_accepted_is_lost_doubled_or_reordered_whatever_dies(tmp_path: Path) -> None:
    seed, seconds = chosen_seed(), chosen_seconds()
    print(f"\nFAULTS_SEED={seed} FAULTS_SECONDS={seconds:.0f}")
    with (
        CrashableServer() as server,
        EmbeddingServerThread(EmbeddingServer(dimension=DIMENSION)) as embeddings,
        FaultProxy(place_of(server.superuser_dsn)) as to_database,
        FaultProxy(("127.0.0.1", embeddings.port)) as to_embedder,
    ):
        async with migrated_for_trials(server) as database:
            trial = Trial(
                folder=tmp_path,
                proxy=to_database,
                database=database,
                embedder_url=f"http://127.0.0.1:{to_embedder.port}",
                settings=IMPATIENT,
            )
            with Writers(trial, HOMES, PROCESSES) as writers:
                nemesis = Nemesis(
                    seed,
                    server=server,
                    database=to_database,
                    embedder=to_embedder,
                    embeddings=embeddings,
                    writers=writers,
                )
                await nemesis.rage(seconds)
            verdict = await trial.verdict(*HOMES)
    print(f"{verdict}\n{Counter(each.what for each in nemesis.done)}")

    assert verdict.valid, str(verdict)
    assert verdict.accepted > 0
    assert nemesis.done
