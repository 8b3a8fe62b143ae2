"""What the doctor looks at in the spools of a home."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hermes_memory.application.status import Status
from hermes_memory.bootstrap.spools import other_reports
from hermes_memory.cli.findings import Finding, Level
from hermes_memory.cli.spool_lines import age_of, leader_line, other_line
from hermes_memory.domain.errors import HermesMemoryError
from hermes_memory.ports.spool import SpoolStatus
from hermes_memory.settings import Settings

OLD_SECONDS: Final = 300.0
NEARLY_FULL: Final = 0.8


def spool_findings(status: Status) -> Iterator[Finding]:
    """Say how the spool in use stands: one line when it is well, else one for each thing that is not."""
    troubles = list(_troubles(status.spool))
    yield from troubles
    if not troubles:
        spool = status.spool
        totals = f"{spool.accepted} accepted ever, {spool.delivered} delivered, {spool.refused} refused"
        leader = leader_line(status.leader, leads=status.leads)
        yield _finding(Level.OK, f"{spool.depth} writes wait, {totals}; {leader}")


def other_spools(settings: Settings) -> Iterator[Finding]:
    """Warn of what waits for a database that the home is not pointed at any more."""
    try:
        reports = other_reports(settings)
    except HermesMemoryError:  # the check of the home tells what is wrong with its directory
        return
    for other in reports:
        if other.status is None or other.status.depth or other.status.dead:
            yield _finding(Level.WARNING, other_line(other))


def _troubles(spool: SpoolStatus) -> Iterator[Finding]:
    if spool.dead:
        yield _finding(
            Level.ERROR,
            f"{spool.dead} writes are dead letters: refused by the database for good, or damaged; they are kept with "
            "their reasons, see `hermes-memory spool list --state dead`",
        )
    if spool.fill >= NEARLY_FULL:
        level = Level.ERROR if spool.fill >= 1 else Level.WARNING
        yield _finding(level, f"{spool.fill:.0%} of its room is taken, and when it is full new writes are refused")
    if age_of(spool) > OLD_SECONDS:
        yield _finding(
            Level.WARNING,
            f"{spool.depth} writes wait, the oldest for {age_of(spool):.0f} s: is the database reachable?",
        )
    if spool.quarantined:
        yield _finding(
            Level.WARNING,
            f"{spool.quarantined} damaged files were set aside; `hermes-memory spool purge --set-aside` removes them",
        )
    if spool.network:
        yield _finding(
            Level.WARNING,
            f"it lies on a network file system ({spool.network}), where locks and shared memory do not protect it: "
            "move the home to a local disk",
        )


def _finding(level: Level, message: str) -> Finding:
    return Finding(check="spool", level=level, message=message)
