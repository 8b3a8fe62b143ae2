"""What the verbs share that maintain the memory: how they run, and what they print."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping

import anyio

from hermes_memory.cli.common import administering_options, print_json, settings_for
from hermes_memory.cli.exits import DONE, WORK_REMAINS
from hermes_memory.domain.maintenance import Chore, Report


def maintaining_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that all of them have."""
    administering_options(parser)
    parser.add_argument("--execute", action="store_true", help="do it")


def maintained(given: argparse.Namespace, chore: Chore, did: str, *, back: str) -> int:
    """Carry out a piece of maintenance and print what came of it. 3: there is something to do, or left to be done.

    Args:
        did: What becomes of the rows, such as `pruned`.
        back: Whether there is a way back, a sentence.
    """
    report = anyio.run(_run, given, chore, did)
    if given.as_json:
        print_json(_document(report))
    else:
        for line in report_lines(report, did, back):
            print(line)
    return DONE if report.complete else WORK_REMAINS


def report_lines(report: Report, did: str, back: str) -> Iterator[str]:
    """Yield a report as a person reads it."""
    yield f"{did if report.executed else f'would have {did}'}: {_told(report.counts)}"
    if report.executed:
        if report.remaining:
            yield f"left to be done: {_told(report.remaining)}; run it again"
        yield f"noted as {report.id}"
    elif any(report.counts.values()):
        yield f"To do it: the same with --execute. {back}"
    yield from (f"note: {note}" for note in report.notes)


def _document(report: Report) -> Mapping[str, object]:
    return {
        "verb": report.verb,
        **report.detail,
        "executed": report.executed,
        "complete": report.complete,
        "counts": report.counts,
        "remaining": report.remaining,
        "notes": report.notes,
        "id": report.id,
    }


def _told(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in counts.items() if count) or "nothing"


async def _run(given: argparse.Namespace, chore: Chore, did: str) -> Report:
    # The drivers take a while to load, and the host imports this module at every start.
    from hermes_memory.bootstrap.maintaining import maintain  # noqa: PLC0415
    from hermes_memory.cli.progress import shown  # noqa: PLC0415

    with shown(given, did) as progress:
        return await maintain(
            settings_for(given),
            given.admin_dsn,
            chore,
            execute=given.execute,
            progress=progress.advance,
            expect=progress.expect,
        )
