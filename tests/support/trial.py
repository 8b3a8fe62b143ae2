"""A trial: homes whose processes write through spoilt connections, and the verdict on what is stored afterwards."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final
from uuid import UUID

from hermes_memory.domain.model import OperationId
from tests.support.checker import Verdict, judge
from tests.support.embedding_server import EmbeddingServer
from tests.support.evidence import gather
from tests.support.fault_proxy import FaultProxy, place_of
from tests.support.journal import read_journals
from tests.support.postgres import TestServer
from tests.support.postgres_store import Installation, migrated

ROOT: Final = Path(__file__).parents[2]
MODEL: Final = "hashing"
DIMENSION: Final = 16
SECONDS: Final = 100
LEFT_SECONDS: Final = 900
"""For what half an hour of misfortunes may leave; a process that gets nothing done for a minute gives up by itself."""
"""A guard against hanging, no measure of speed."""
RELEASE: Final = "update hermes_memory.embedding_jobs set not_before = now() where parked_reason is null"
"""What the embed stage of a killed process had claimed comes free with time; at the end nobody works on it."""


def migrated_for_trials(server: TestServer) -> AbstractAsyncContextManager[Installation]:
    """Give a database that is ready for the vectors of `EmbeddingServer`, dropped afterwards."""
    return migrated(server, (MODEL, DIMENSION))


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What the processes of a trial have in common.

    Attributes:
        folder: Below it lie the homes and the journals.
        proxy: The way to the database.
        embedder_url: The way to the embedder.
        python: What the processes run on.
        settings: Further settings of theirs, by name.
    """

    folder: Path
    proxy: FaultProxy
    database: Installation
    embedder_url: str
    python: Path = Path(sys.executable)
    settings: Mapping[str, object]

    @property
    def journals(self) -> Path:
        """Where the processes tell what they do."""
        place = self.folder / "journals"
        place.mkdir(exist_ok=True)
        return place

    def home(self, name: str) -> Path:
        """Return a Hermes home of the trial. Its agent has the same name."""
        return self.folder / name

    def start(self, program: str, *arguments: object, stderr: int | IO[str] = subprocess.PIPE) -> subprocess.Popen[str]:
        """Start a program of `tests.support`; the caller ends it."""
        return subprocess.Popen(
            [str(self.python), "-m", f"tests.support.{program}", *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            cwd=ROOT,
            env=self._environment(),
        )

    @contextmanager
    def process(self, how: str, home: str = "coder") -> Iterator[subprocess.Popen[str]]:
        """Run one of the programs of `life_process`; it is killed if it has not ended in the block."""
        with self.start("life_process", how, self.journals, self.home(home)) as started:
            try:
                yield started
            finally:
                started.kill()

    def run(self, how: str, home: str = "coder", *, status: int, seconds: float = SECONDS) -> str:
        """Run a program of `life_process` to its end, and return what it printed."""
        with self.process(how, home) as started:
            printed, complaints = started.communicate(timeout=seconds)
        assert started.returncode == status, complaints
        return printed

    async def verdict(self, *homes: str) -> Verdict:
        """Let later processes deliver what is left, and judge what is there then."""
        self.proxy.heal()
        await self.database.administer(RELEASE)
        dead: dict[OperationId, str] = {}
        for home in homes or ("coder",):
            letters = json.loads(self.run("settles", home, status=0, seconds=LEFT_SECONDS).splitlines()[-1])
            dead.update({OperationId(UUID(operation)): reason for operation, reason in letters})
        evidence = await gather(self.database.admin_dsn, embedded=True, dead=dead)
        return await judge(read_journals(self.journals), evidence)

    def variables(self) -> dict[str, str]:
        """Return the settings of the trial's processes, as variables of the environment."""
        settings = {
            "dsn": f"postgresql://{self.database.role}@127.0.0.1:{self.proxy.port}/{self.database.database}",
            "spool_sync": "NORMAL",
            "embedder": "openai",
            "embed_url": self.embedder_url,
            "embed_model": MODEL,
            "embed_dim": DIMENSION,
            **self.settings,
        }
        return {f"HERMES_MEMORY_{name.upper()}": str(value) for name, value in settings.items()}

    def _environment(self) -> dict[str, str]:
        return {
            **{name: value for name, value in os.environ.items() if not name.upper().startswith(("HERMES", "PG"))},
            "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}",
            "HOME": str(self.folder),
            **self.variables(),
        }


@asynccontextmanager
async def trial_of_a_copy(
    template: Installation,
    embeddings: EmbeddingServer,
    folder: Path,
    settings: Mapping[str, object],
    *,
    python: Path = Path(sys.executable),
) -> AsyncIterator[Trial]:
    """Give a trial over a copy of a database, behind a proxy of its own."""
    async with template.copy() as database:
        with FaultProxy(place_of(template.server.superuser_dsn)) as proxy:
            yield Trial(
                folder=folder,
                proxy=proxy,
                database=database,
                embedder_url=embeddings.url,
                settings=settings,
                python=python,
            )
