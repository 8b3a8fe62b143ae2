"""The run: fill both databases, ask in turn, sum up."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from benchmarks.filtered.processor import used_ms
from benchmarks.kit.databases import Databases
from benchmarks.kit.machine import Load, describe
from benchmarks.kit.peer import PEER, PEER_PLACE, install_peer, installed
from benchmarks.kit.report import circumstances, table
from benchmarks.kit.workplace import embedded_server, workplace
from benchmarks.latency.loading import PATIENCE, THEME
from benchmarks.latency.model_endpoint import model_endpoint
from benchmarks.latency.plan import SERVER_SETTINGS, Plan
from benchmarks.latency.sides import Ours, Peer
from benchmarks.latency.summary import lines, summed_up
from benchmarks.latency.texts import Corpus, Vectors
from hermes_memory import Settings, open_memory
from hermes_memory.adapters.embedding.local import LocalEmbedder

ANSWER_SECONDS: Final = 1_200.0
Say = Callable[[str], None]
Ask = Callable[[Sequence[str]], Awaitable[dict[str, Any]]]
"""Has questions answered, and tells the waits in milliseconds and how many got an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """What all sizes share."""

    databases: Databases
    directory: Path
    python: Path | None
    corpus: Corpus
    vectors: Vectors
    say: Say


async def run(plan: Plan, *, admin_dsn: str | None = None, with_peer: bool = True, say: Say = print) -> dict[str, Any]:
    """Measure and return all results.

    Args:
        admin_dsn: A superuser's connection URL; an embedded Postgres is run when there is none.
        with_peer: Install the peer and measure it too.
        say: Is told of each step.
    """
    load = Load.begin()
    async with AsyncExitStack() as stack:
        directory = stack.enter_context(workplace())
        dsn = admin_dsn or stack.enter_context(embedded_server(directory, SERVER_SETTINGS))
        databases = await stack.enter_async_context(Databases(dsn, lasting=admin_dsn is not None))
        python = await install_peer(PEER_PLACE) if with_peer else None
        corpus = Corpus()
        place = _Place(
            databases=databases,
            directory=directory,
            python=python,
            corpus=corpus,
            vectors=Vectors(await _embedded(corpus.sentences)),
            say=say,
        )
        results: dict[str, Any] = {
            "taken_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": await describe(databases.connection, directory),
            "peer": await installed(PEER_PLACE) if with_peer else None,
            "sizes": [await _size(place, plan, rows) for rows in plan.sizes],
        }
    results["load"] = load.report()
    return results


async def _embedded(sentences: Sequence[str]) -> list[list[float]]:
    embedder = LocalEmbedder()
    try:
        return await embedder.embed_documents(sentences, timeout=ANSWER_SECONDS)
    finally:
        await embedder.aclose()


async def _size(place: _Place, plan: Plan, rows: int) -> dict[str, Any]:
    """Measure with so many rows."""
    texts = list(place.corpus.rows(rows))
    async with AsyncExitStack() as stack:
        place.say(f"{rows:,} rows: filling ours")
        ours = Ours(place.databases, _home(place, f"ours-{rows}"))
        await ours.fill(texts, place.vectors)
        asks = await _ask_ours(stack, ours, plan)
        if place.python is not None:
            place.say(f"{rows:,} rows: filling the peer's")
            url = await stack.enter_async_context(model_endpoint())
            peer = Peer(place.databases, _home(place, f"peer-{rows}"), place.python, url)
            await peer.fill(texts, place.vectors)
            asks |= await _ask_peer(stack, peer, plan)
        found = await _rounds(place, plan, asks)
    return {"rows": rows, "found": {name: summed_up(answers) for name, answers in found.items()}}


def _home(place: _Place, name: str) -> Path:
    home = place.directory / name
    home.mkdir()
    return home


async def _ask_ours(stack: AsyncExitStack, ours: Ours, plan: Plan) -> dict[str, Ask]:
    agent = await stack.enter_async_context(ours.agent())
    return {
        "ours, recall": await _library(stack, ours.settings("local"), plan.limit),
        "ours, tool": lambda asked: agent.tell("tool", questions=asked, limit=plan.limit, timeout=ANSWER_SECONDS),
        "ours, prefetch": lambda asked: agent.tell("prefetch", questions=asked, timeout=ANSWER_SECONDS),
    }


async def _ask_peer(stack: AsyncExitStack, peer: Peer, plan: Plan) -> dict[str, Ask]:
    agent = await stack.enter_async_context(peer.agent())
    return {
        "peer, tool": lambda asked: agent.tell("tool", questions=asked, limit=plan.limit, timeout=ANSWER_SECONDS),
        "peer, prefetch": lambda asked: agent.tell("prefetch", questions=asked, timeout=ANSWER_SECONDS),
    }


async def _library(stack: AsyncExitStack, settings: Settings, limit: int) -> Ask:
    """Return how the public API is asked, in this process."""
    memory = await stack.enter_async_context(open_memory(settings))
    await memory.ready(timeout=PATIENCE)
    view = memory.view(THEME)

    async def ask(asked: Sequence[str]) -> dict[str, Any]:
        waits, answered, cpu = [], 0, time.process_time()
        for question in asked:
            before = time.perf_counter()
            result = await view.recall(question, limit=limit)
            waits.append((time.perf_counter() - before) * 1_000)
            answered += bool(result.hits)
            if result.degraded:
                raise RuntimeError(f"a degraded answer says nothing of recall: {result.degraded}")
        return {
            "waits_ms": waits,
            "answered": answered,
            "own_cpu_ms": (time.process_time() - cpu) * 1_000 / len(asked),
        }

    return ask


async def _rounds(place: _Place, plan: Plan, asks: dict[str, Ask]) -> dict[str, list[dict[str, Any]]]:
    """Ask everybody in turn, each question once of each."""
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in asks}
    for number in range(plan.rounds + 1):
        place.say(f"  round {number}" if number else "  warming up")
        questions = place.corpus.asked(plan.questions if number else plan.warm_up, number)
        for name, ask in asks.items() if number % 2 else reversed(asks.items()):
            side = name.split(",", maxsplit=1)[0]
            before = await _server_used(place, side)
            answer = await ask(questions)
            after = await _server_used(place, side)
            used = sum(ms - before.get(pid, 0.0) for pid, ms in after.items())
            if number:
                found[name].append({**answer, "server_cpu_ms": used / len(questions) if after else None})
    return found


async def _server_used(place: _Place, side: str) -> Mapping[int, float]:
    """Return the milliseconds of processor that the server's processes for a side have used, as far as can be told."""
    role, _ = place.databases.role(side)
    serving = await place.databases.connection.fetch("select pid from pg_stat_activity where usename = $1", role)
    return {pid: ms for (pid,) in serving if (ms := used_ms(pid)) is not None}


def page(results: dict[str, Any]) -> str:
    """Render what readers see."""
    said = (
        f"{circumstances(results['machine'], results['load'])} All rows are of the theme that is asked. "
        f"The peer is `{PEER}`, on the same server."
    )
    return "\n\n".join([said, table(lines(results), other="Peer")])
