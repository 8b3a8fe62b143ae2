"""How the spool is shown to people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from hermes_memory.cli.common import counted
from hermes_memory.ports.spool import SpoolStatus

if TYPE_CHECKING:
    from hermes_memory.bootstrap.spools import SpoolReport


def age_of(status: SpoolStatus) -> float:
    """Return for how many seconds the oldest write has waited by now, 0 when none waits."""
    return status.longest_wait(datetime.now(UTC))


def totals_line(status: SpoolStatus) -> str:
    """Count what became of all that was ever handed in."""
    return (
        f"ever       {status.accepted:,} accepted, {status.delivered:,} delivered, {status.buried:,} buried, "
        f"{status.discarded:,} purged, {status.refused:,} refused"
    )


def leader_line(leader: int | None, *, leads: bool = False) -> str:
    """Say who delivers; `leads` when it is this command, for as long as it runs."""
    if leads:
        return "no agent of this home delivers: this command does, while it runs"
    if leader is None:
        return "nobody delivers: no agent of this home runs"
    return f"process {leader} delivers" if leader else "a process of this home delivers"


def status_lines(report: SpoolReport, others: Sequence[SpoolReport]) -> Iterator[str]:
    """Describe a spool, and in short those of the home for other databases."""
    use = "in use" if report.current else "for another database"
    yield f"spool      {report.destination} ({use})"
    if report.status is None:
        yield f"problem    {report.problem}"
    else:
        yield from _counts(report.status)
        yield f"leader     {leader_line(report.leader)}"
        if report.status.network:
            yield f"warning    it lies on a network file system ({report.status.network}), which does not protect it"
    if report.set_aside:
        yield f"damaged    {counted(len(report.set_aside), 'file')} set aside: {', '.join(report.set_aside)}"
    for other in others:
        yield f"other      {other_line(other)}"


def other_line(other: SpoolReport) -> str:
    """Describe in short a spool that nothing delivers from while the home points elsewhere."""
    if other.status is None:
        return f"{other.destination}: {other.problem}"
    return (
        f"{other.destination}: {other.status.depth:,} waiting, {other.status.dead:,} dead, for another database; "
        "they stay here until the home points there again"
    )


def item_line(item: Mapping[str, Any]) -> str:
    """Describe an operation on a line, and its content on lines below."""
    accepted = f"{item['accepted_at']:%Y-%m-%d %H:%M:%S}" if item["accepted_at"] else "-"
    words = [
        f"{item['sequence']:>6}",
        f"{item['state']:<7}",
        f"{item['kind']:<10}",
        accepted,
        str(item["id"]),
        str(item["theme"] or "-"),
        *(["private"] if item["private"] else []),
        *([f"{item['attempts']} attempts"] if item["attempts"] else []),
        *([str(item["reason"])] if item["reason"] else []),
    ]
    return "\n".join(["  ".join(words), *(f"        {text}" for text in item.get("content", ()))])


def _counts(status: SpoolStatus) -> Iterator[str]:
    yield (
        f"waiting    {status.depth:,} ({status.stored_bytes:,} bytes), the oldest for {age_of(status):.0f} s"
        if status.depth
        else "waiting    0"
    )
    yield f"dead       {status.dead:,}"
    yield f"full       {status.fill:.1%} of {status.max_rows:,} writes or {status.max_bytes:,} bytes"
    yield totals_line(status)
