"""What the doctor looks at. Each check returns findings and raises nothing."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Final

from hermes_memory.application.memory import Memory
from hermes_memory.application.status import NO_GENERATION, Status
from hermes_memory.bootstrap.embedder import make_embedder
from hermes_memory.bootstrap.opening import open_memory
from hermes_memory.cli.embedder_lines import configuring_model
from hermes_memory.cli.exits import DEPENDENCY_DOWN, exit_for
from hermes_memory.cli.findings import Finding, Level
from hermes_memory.cli.generation_lines import advice_on, standing_line
from hermes_memory.cli.history_checks import history_finding
from hermes_memory.cli.mode_checks import mode_findings
from hermes_memory.cli.notebook_lines import held_line, unknown_line
from hermes_memory.cli.shim_checks import shim_finding
from hermes_memory.cli.spool_checks import other_spools, spool_findings
from hermes_memory.domain.errors import HermesMemoryError, StoreUnavailable
from hermes_memory.hermes.interpreters import detect_name_clash, interpreter_of_hermes
from hermes_memory.settings import Settings
from hermes_memory.settings.homes import require_home

PROBE: Final = "The meeting is on Tuesday."


async def examine(home: Path, wait: float) -> Sequence[Finding]:
    """Look at everything of a home; the database gets `wait` seconds."""
    findings = [*_installation(home)]
    try:
        settings = Settings(home=home)
        require_home(settings.home)
    except HermesMemoryError as error:
        return [*findings, Finding(check="settings", level=Level.ERROR, message=str(error))]
    findings.append(_ok("settings", f"{_store(settings)}; embedder {settings.embedder}; home {settings.home}"))
    findings.append(await embedder_finding(settings))
    findings += other_spools(settings)
    try:
        async with open_memory(settings, wait=0) as memory:
            findings += [finding async for finding in _memory(memory, settings, wait)]
            if finding := await history_finding(settings, memory):
                findings.append(finding)
    except HermesMemoryError as error:
        findings.append(Finding(check="home", level=Level.ERROR, message=str(error)))
    return findings


def _installation(home: Path) -> Iterator[Finding]:
    yield _ok("python", f"{sys.version.split()[0]} at {sys.executable}")
    clash = detect_name_clash()
    if clash is None:
        yield _ok("package", "hermes_memory is this library's")
    else:
        yield Finding(check="package", level=Level.ERROR, message=str(clash))
    yield shim_finding(home)
    yield from mode_findings(home)
    host = interpreter_of_hermes()
    if host is None:
        yield _warning("host", "no `hermes` command on the PATH")
    elif host.problem:
        yield Finding(check="host", level=Level.ERROR, message=host.problem)
    else:
        yield _ok("host", f"hermes runs {host.python}, which has this library")


async def embedder_finding(settings: Settings) -> Finding:
    """Let the embedder answer once. What does not answer is down; what answers wrongly, or is not there, is wrong."""
    try:
        embedder = make_embedder(settings)
        if embedder is None:
            return _warning("embedder", "none configured: recall works by text alone")
        try:
            await embedder.embed_documents([PROBE], timeout=settings.embed_write_timeout)
            return _ok("embedder", f"{embedder.model} answers with {embedder.dimension} dimensions")
        finally:
            await embedder.aclose()
    except HermesMemoryError as error:
        down = exit_for(error) == DEPENDENCY_DOWN
        return Finding(check="embedder", level=Level.ERROR, message=str(error), down=down)


async def _memory(memory: Memory, settings: Settings, wait: float) -> AsyncIterator[Finding]:
    problem: HermesMemoryError | None = None
    try:
        await memory.ready(timeout=wait)
    except HermesMemoryError as error:
        problem = error
    status = await memory.status(unanswered=str(problem) if problem else None)
    for finding in spool_findings(status):
        yield finding
    for finding in _notebooks(status):
        yield finding
    if problem is not None:
        down = isinstance(problem, StoreUnavailable)
        yield Finding(check="database", level=Level.ERROR, message=str(problem), down=down)
        return
    installation = status.installation
    if installation is None:
        yield Finding(check="database", level=Level.ERROR, message=status.store_problem or "no answer", down=True)
        return
    yield _ok(
        "database", f"{installation.server}, {installation.partitions} partitions, read {installation.read_policy}"
    )
    for sentence in installation.problems:
        yield Finding(check="wall", level=Level.ERROR, message=sentence)
    if not installation.problems:
        yield _ok("wall", "the runtime role is unprivileged and row-level security holds")
    yield _vectors(status, settings)
    for finding in _other_vectors(status):
        yield finding


def _notebooks(status: Status) -> Iterator[Finding]:
    if status.notebook_problem:
        yield Finding(check="notebooks", level=Level.ERROR, message=unknown_line(status.notebook_problem))
    elif status.held_lines:
        yield _warning("notebooks", held_line(status.held_lines))


def _vectors(status: Status, settings: Settings) -> Finding:
    if status.embedder_problem:
        message = status.embedder_problem
        stored = status.generation
        if stored and (command := configuring_model(settings, stored.model, stored.dimension, stored.part_tokens)):
            message = f"{message}. The stored one is configured by `{command}`"
        return Finding(check="vectors", level=Level.ERROR, message=message)
    if status.generation is None:
        return _warning("vectors", NO_GENERATION)
    model = f"{status.generation.model} with {status.generation.dimension} dimensions"
    if not status.rows:
        return _ok("vectors", f"{model}; there are too many rows to count how many have one")
    waiting, parked = status.rows.get("waiting", 0), status.rows.get("parked", 0)
    active = next((each for each in status.generations if each.active), None)
    covers = f", for {active.coverage:.1%} of the rows" if active else ""
    text = f"{model}{covers}; {waiting} rows wait, {parked} parked"
    return _warning("vectors", text) if parked else _ok("vectors", text)


def _other_vectors(status: Status) -> Iterator[Finding]:
    """Tell what is kept or being made beside the vectors in use, and what is not as it was configured."""
    if status.embedder_note:
        yield _warning("vectors", status.embedder_note)
    for each in status.generations:
        if not each.active:
            yield _ok("vectors", f"{standing_line(each)}; {advice_on(each)}")


def _store(settings: Settings) -> str:
    return "database by HERMES_MEMORY_DSN" if settings.dsn else "embedded database of the home"


def _ok(check: str, message: str) -> Finding:
    return Finding(check=check, level=Level.OK, message=message)


def _warning(check: str, message: str) -> Finding:
    return Finding(check=check, level=Level.WARNING, message=message)
