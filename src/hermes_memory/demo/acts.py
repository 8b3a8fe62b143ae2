"""The acts of the story: a memory's first life, the worker that is killed, and the life after."""

from __future__ import annotations

import time
from typing import Final

import anyio

from hermes_memory.adapters.embedded_postgres import ServerAddress
from hermes_memory.application.memory import Memory
from hermes_memory.application.status import Status
from hermes_memory.bootstrap.home import open_local_half
from hermes_memory.bootstrap.opening import open_memory
from hermes_memory.demo.asking import KEPT_TURNS, ask, bring_in_notebooks, bring_in_sessions, keep_something
from hermes_memory.demo.burst import SESSION
from hermes_memory.demo.crash import Aftermath, Killed, aftermath, kill_in_the_middle
from hermes_memory.demo.home import heed_once
from hermes_memory.demo.interactive import converse
from hermes_memory.demo.scene import Scene
from hermes_memory.demo.script import KEPT_BY_SALES, QUESTIONS
from hermes_memory.demo.story import listed
from hermes_memory.demo.terminal import Terminal
from hermes_memory.demo.walls import Walls
from hermes_memory.demo.witness import Witness, witness
from hermes_memory.ports.spool import SpoolStatus
from hermes_memory.settings import Settings

SETTLE_SECONDS: Final = 60.0
PATIENCE_SECONDS: Final = 3.0
"""A killed worker keeps its claim on the rows it was embedding for a while; the story does not wait for its end."""


async def perform(scene: Scene, address: ServerAddress, started: float, asking: Terminal | None) -> None:
    """Play all acts.

    Args:
        address: The server that runs from before the first act until after the last.
        started: When the story began, by `time.perf_counter`.
        asking: Where a person asks questions of their own afterwards, None when nobody does.
    """
    with heed_once():
        before = await _first_life(scene)
        async with witness(address) as seen:
            killed, in_store = await _second_life(scene, seen)
            spool = _spool(scene.settings)
            scene.story.remark("A new process starts on the same home.")
            begun = time.perf_counter()
            async with open_memory(scene.settings) as memory:
                delivered = await memory.services.deliverer.drained(timeout=SETTLE_SECONDS)
                scene.report.crash = aftermath(
                    killed,
                    accepted=spool.accepted - before.accepted,
                    in_store=in_store,
                    in_spool=spool.depth,
                    stored=await seen.turns(SESSION),
                    seconds=time.perf_counter() - begun,
                )
                _judge_crash(scene, killed, scene.report.crash, delivered=delivered)
                await _afterwards(scene, memory, seen, scene.report.crash)
                scene.report.seconds["total"] = time.perf_counter() - started
                _end(scene)
                if asking is not None:
                    await converse(memory, scene.cast, scene.story, asking)


async def _afterwards(scene: Scene, memory: Memory, seen: Witness, crash: Aftermath) -> None:
    await _questions(scene, memory)
    await _walls(scene, memory, seen)
    await _sum_up(scene, memory, crash)


async def _first_life(scene: Scene) -> SpoolStatus:
    """Bring the example in; return the state of the spool afterwards."""
    begun = time.perf_counter()
    async with open_memory(scene.settings) as memory:
        scene.report.seconds["opening"] = time.perf_counter() - begun
        status = await memory.status()
        _show_parts(scene, status)
        scene.story.chapter("What there is to remember")
        _show_sources(scene)
        with scene.timed("import"):
            await bring_in_notebooks(memory, scene.cast)
            await bring_in_sessions(memory, scene.cast, scene.transcripts)
            settled = await memory.settled(timeout=SETTLE_SECONDS)
        status = await memory.status()
    entries, turns = status.rows.get("entries", 0), status.rows.get("turns", 0)
    scene.promise(
        f"{entries} notes and {turns} messages stored and embedded, in {scene.report.seconds['import']:.1f} s",
        settled and (entries, turns) == (scene.notes, scene.turns),
    )
    return status.spool


def _show_parts(scene: Scene, status: Status) -> None:
    story, seconds = scene.story, scene.report.seconds["opening"]
    if status.installation:
        story.fact("database", f"{status.installation.server}; {status.installation.partitions} partitions")
    if status.generation:
        story.fact("embedder", f"{status.generation.model}, {status.generation.dimension} dimensions")
    story.fact("schema and model", f"ready in {seconds:.1f} s; no network, no key, nothing configured")


def _show_sources(scene: Scene) -> None:
    scene.story.fact("MEMORY.md and USER.md", f"{scene.notes} notes of the home")
    for figure in scene.cast.values():
        held = [len(one.lines) for one in scene.transcripts if one.agent == figure.name]
        counts = listed([(sum(held), "message"), (len(held), "session")])
        scene.story.fact(f"@{figure.name}", f"{figure.memory_of}: {counts}")


async def _second_life(scene: Scene, seen: Witness) -> tuple[Killed, int]:
    """Let a worker be killed; return how it ended, and how many of its messages were in Postgres then."""
    scene.story.chapter("Killed in the middle")
    scene.story.remark(
        "A worker process records an order feed as fast as it can and hands out a receipt for each message once it is "
        "accepted. It gets SIGKILL, which nothing can catch, while it works."
    )
    with scene.timed("worker"):
        killed = await kill_in_the_middle(scene.settings.home, stored=lambda: seen.count(SESSION))
    return killed, await seen.count(SESSION)


def _judge_crash(scene: Scene, killed: Killed, crash: Aftermath, *, delivered: bool) -> None:
    scene.story.crash(crash)
    scene.promise("the worker was killed by SIGKILL in the middle of its burst", killed.by_kill)
    scene.promise(
        f"every accepted message is stored exactly once: lost {crash.lost}, duplicates {crash.duplicates}",
        delivered and crash.exactly_once and crash.receipts > 0,
    )


async def _questions(scene: Scene, memory: Memory) -> None:
    scene.story.chapter("Questions")
    scene.story.remark(f'First @sales keeps something: "{KEPT_BY_SALES}"')
    await keep_something(memory, scene.cast)
    await _first_vectors(memory)
    with scene.timed("questions"):
        for question in QUESTIONS:
            answer = await ask(memory, scene.cast[question.who], question)
            scene.report.answers.append(answer)
            scene.report.promise(f"@{question.who}: {question.text}", answer.kept)
            scene.story.answer(answer)


async def _walls(scene: Scene, memory: Memory, seen: Witness) -> None:
    scene.story.chapter("What was not shown to whom")
    async for guarded in Walls(memory=memory, cast=scene.cast, witness=seen).tried():
        scene.report.walls.append(guarded)
        scene.report.promise(f"{guarded.who} {guarded.attempt}", guarded.held)
        scene.story.wall(guarded)


async def _sum_up(scene: Scene, memory: Memory, crash: Aftermath) -> None:
    settled = await memory.settled(timeout=PATIENCE_SECONDS)
    status = await memory.status()
    rows = scene.report.stored = status.rows
    entries, turns, vectors, waiting = (rows.get(name, 0) for name in ("entries", "turns", "vectors", "waiting"))
    scene.story.chapter("In sum")
    scene.promise(
        f"{listed([(entries, 'note'), (turns, 'message')])} stored: all that was accepted, nothing twice; "
        f"lost {crash.lost}, duplicates {crash.duplicates}",
        not status.spool.depth
        and not status.spool.dead
        and (entries, turns) == (scene.notes + 1, scene.turns + crash.accepted + KEPT_TURNS),
    )
    rest = "one for each of them" if settled else f"{waiting} more in line, claimed by the worker that died"
    scene.promise(
        f"{vectors:,} vectors: {rest}",
        vectors + waiting == entries + turns and waiting <= crash.accepted and not rows.get("parked"),
    )


async def _first_vectors(memory: Memory) -> None:
    """Wait until this process has made vectors: its model is loaded then, as that of an agent that has been up."""
    with anyio.move_on_after(SETTLE_SECONDS):
        while not (await memory.status()).embedded:  # noqa: ASYNC110 - it has no event to wait for
            await anyio.sleep(0.05)


def _end(scene: Scene) -> None:
    report = scene.report
    scene.story.fact("median recall", f"{report.median_recall * 1000:.0f} ms of {len(report.answers)} questions")
    scene.story.fact("took", f"{report.seconds['total']:.1f} s, the making of the database included")
    scene.story.end(report)


def _spool(settings: Settings) -> SpoolStatus:
    """Look at the spool as the dead worker left it, before anything is delivered from it."""
    half = open_local_half(settings)
    try:
        return half.spool.status()
    finally:
        half.spool.close()
