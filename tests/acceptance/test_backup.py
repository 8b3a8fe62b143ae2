"""The page about backing up is followed word by word, from one server to another, with Postgres's own programs."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Final

import asyncpg
import pytest

from hermes_memory import Settings, open_memory
from hermes_memory.adapters.embedded_postgres.binaries import find_binaries
from hermes_memory.cli.exits import DONE
from hermes_memory.cli.main import main
from tests.support.pages import blocks, typed
from tests.support.postgres import TestServer
from tests.support.postgres_store import Installation

PAGE: Final = "how-to/back-up-and-restore.md"
SECONDS: Final = 200
CLIENTS: Final = Path(os.environ.get("HERMES_MEMORY_TEST_CLIENTS", ""))
"""The matrix of versions names the client programs of its server. Tests themselves find none of these variables set."""
COLUMNS: Final = """
select c.relname as table from pg_class c
 where c.relnamespace = 'hermes_memory'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition order by 1"""
VERSION: Final = re.compile(r"\b(\d+)\.\d+")


def programs_for(major: int) -> Path:
    """Return the directory of a pg_dump of the server's version: what is named, the embedded server's, the system's."""
    ours = find_binaries().root / "bin"
    theirs = Path(shutil.which("pg_dump") or "/usr/bin/pg_dump").resolve().parent
    for folder in (CLIENTS, ours, theirs, Path(f"/usr/lib/postgresql/{major}/bin")):
        if (folder / "pg_dump").exists():
            told = subprocess.run([folder / "pg_dump", "--version"], capture_output=True, text=True, check=True).stdout
            if (found := VERSION.search(told)) and int(found[1]) == major:
                return folder
    raise AssertionError(f"there is no pg_dump of version {major}: take it from the system's packages")


async def everything(dsn: str) -> dict[str, str]:
    """Return a digest of all rows of each table."""
    connection = await asyncpg.connect(dsn)
    try:
        tables = [row["table"] for row in await connection.fetch(COLUMNS)]
        digest = "select md5(coalesce(string_agg(t::text, ' ' order by t::text), '')) from hermes_memory.{} t"
        return {table: await connection.fetchval(digest.format(table)) for table in tables}
    finally:
        await connection.close()


@pytest.fixture
async def other() -> AsyncIterator[TestServer]:
    """Another server, on which nothing is."""
    with TestServer() as started:
        yield started


async def fill(settings: Settings) -> None:
    async with open_memory(settings) as memory:
        desk = memory.view("launch desk", session="monday")
        entry = await desk.remember("The launch of Cinnabar is on 3 May")
        await desk.replace(entry.id, "The launch of Cinnabar moved to 9 May")
        gone = await desk.remember("Dana writes the announcement")
        await desk.forget(gone.id)
        await desk.capture(user="Who signs off the budget?", assistant="Dana signs off everything above 5,000 euros.")
        ana = memory.view("launch desk", session="dm", subject=memory.subject_for("telegram", "1001"))
        await ana.remember("My alarm code is 2291")
        assert await memory.settled(timeout=120)


async def test_what_was_dumped_and_restored_by_the_page_is_the_same_memory_on_another_server(
    server: TestServer,
    other: TestServer,
    database: Installation,
    served: Path,
    configure: Callable[..., None],
    environment: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    configure(embedder="local", runtime_role=database.role)
    await fill(Settings())
    before = await everything(database.admin_dsn)
    major = int(await database.administer("select current_setting('server_version_num')::int / 10000"))
    target = other.unique_name("memory")
    environment.setenv("ADMIN_DSN", database.admin_dsn)
    environment.setenv("NEW_SERVER", other.superuser_dsn)
    environment.setenv("NEW_DSN", other.dsn(target))
    environment.setenv(
        "PATH", f"{programs_for(major)}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    )
    steps = [line for block in blocks(PAGE, "shell-session")[:2] for line in typed(block)]
    script = "set -e\n" + "\n".join(step.replace(" memory", f" {target}") for step in steps if step)
    ran = subprocess.run(
        ["bash", "-c", script.replace(f" {target}.dump", " memory.dump")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )

    assert ran.returncode == 0, ran.stderr
    assert [step.split()[0] for step in steps] == [
        "pg_dumpall",
        "pg_dump",
        "psql",
        "createdb",
        "pg_restore",
        "hermes-memory",
    ]
    restored = Installation(other, target, database.role)
    try:
        assert "the schema is up to date" in ran.stdout
        assert await everything(restored.admin_dsn) == before
        configure(dsn=restored.runtime_dsn)
        doctor = await asyncio.to_thread(main, ["doctor"])
        async with open_memory(Settings()) as memory:
            desk = memory.view("launch desk", session="tuesday")
            answer = [hit.row.content for hit in (await desk.recall("who approves the budget", limit=1)).hits]
            ana = memory.view("launch desk", session="dm 2", subject=memory.subject_for("telegram", "1001"))
            own = [hit.row.content for hit in (await ana.recall("alarm code")).hits]
            again = await desk.remember("Written after the restoration")
    finally:
        await other.drop_database(target)

    assert doctor == DONE, capsys.readouterr().out
    assert answer == ["Dana signs off everything above 5,000 euros."]
    assert own[0] == "My alarm code is 2291"
    assert again.content == "Written after the restoration"
