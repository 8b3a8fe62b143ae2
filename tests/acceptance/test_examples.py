"""The programs under examples/ do what they say, against a real Postgres."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import httpx
import pytest
from fastapi import FastAPI

EXAMPLES: Final = Path(__file__).resolve().parents[2] / "examples"
GUARD: Final = 240.0
"""Seconds; a guard against hanging, no measure of speed."""


def run(program: str, *arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
    """Run an example as its reader would."""
    return subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / program), *arguments],
        input=given,
        capture_output=True,
        text=True,
        timeout=GUARD,
        check=False,
    )


def test_an_asyncio_agent_knows_in_one_conversation_what_it_learnt_in_another(served: Path) -> None:
    ran = run("asyncio_agent.py")

    assert ran.stderr == ""
    assert ran.stdout.splitlines() == [
        "The spring campaign launches on 3 May.",
        "The spring campaign launches on 3 May.",
        "stored: True",
    ]


def test_a_script_remembers_the_lines_that_say_something_and_answers(served: Path) -> None:
    notes = "The office closes at six.\n\nPort 5433 is the replica's.\nThe office closes at six.\n"
    ran = run("sync_script.py", "Which port has the replica?", given=notes)

    assert ran.stderr == ""
    heading, *hits = ran.stdout.splitlines()
    assert heading == "3 notes remembered"
    assert [hit.split("  ", 1)[1] for hit in hits][:1] == ["Port 5433 is the replica's."]


def test_a_script_whose_memory_cannot_be_opened_says_why(home: Path, configure: Callable[..., None]) -> None:
    configure(embedder="crystal")
    ran = run("sync_script.py", "Which port?", given="A note.\n")

    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.startswith("no memory: ")
    assert "embedder" in ran.stderr


def test_a_host_on_trio_serves_several_people_at_once_and_mixes_none_up(served: Path) -> None:
    ran = run("trio_host.py")

    assert ran.stderr == ""
    assert sorted(ran.stdout.splitlines()) == [
        "ana: I eat no nuts.",
        "ben: I only eat fish on Fridays.",
        "cleo: I never eat dessert.",
    ]


@asynccontextmanager
async def asking(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[httpx.AsyncClient]:
    """Ask the web service, which runs in this process for the length of the block."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    app: FastAPI = importlib.import_module("fastapi_app").app
    async with app.router.lifespan_context(app):
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://memory", timeout=GUARD) as client:
            yield client
    monkeypatch.delitem(sys.modules, "fastapi_app")


async def test_a_web_service_remembers_recalls_and_forgets(served: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memories = "/agents/marketing/memories"
    async with asking(monkeypatch) as client:
        kept = await client.post(memories, json={"content": "Launch moved to 3 May", "at": "2026-05-01T09:00:00Z"})
        found = await client.get(memories, params={"question": "launch", "limit": 1})
        elsewhere = await client.get("/agents/sales/memories", params={"question": "launch"})
        gone = await client.delete(f"{memories}/{kept.json()}")
        again = await client.delete(f"{memories}/{kept.json()}")
        left = await client.get(memories, params={"question": "launch"})
        blank = await client.post(memories, json={"content": "  "})
        reserved = await client.post("/agents/all/memories", json={"content": "Launch moved"})
        health = await client.get("/health")

    assert (kept.status_code, found.status_code, gone.status_code) == (201, 200, 204)
    assert [(hit["id"], hit["content"]) for hit in found.json()] == [(kept.json(), "Launch moved to 3 May")]
    assert elsewhere.json() == left.json() == []
    assert (again.status_code, again.json()["error"]) == (404, "NotVisible")
    assert (blank.status_code, blank.json()["error"], reserved.status_code) == (422, "InvalidInput", 422)
    assert health.json() == {"troubles": []}


def test_a_project_of_ones_own_tests_its_code_and_its_adapter_without_a_server(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=EXAMPLES / "own_tests",
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=GUARD,
        check=False,
    )

    assert ran.returncode == 0, ran.stdout
    assert "14 passed" in ran.stdout
    assert list(tmp_path.iterdir()) == []
