"""`stats`: how much there is, and is everything on its way."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from hermes_memory.application.memory import Memory
from hermes_memory.application.status import Status
from hermes_memory.cli.common import home_option, json_option, print_json, settings_for, wait_option, with_memory
from hermes_memory.cli.exits import DEPENDENCY_DOWN, DONE, WORK_REMAINS
from hermes_memory.cli.generation_lines import standing_line
from hermes_memory.cli.notebook_lines import held_line, unknown_line
from hermes_memory.cli.spool_lines import age_of, leader_line, totals_line
from hermes_memory.domain.errors import HermesMemoryError
from hermes_memory.ports.secrets import SecretTotals


def register(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser("stats", help="count what is stored and what still waits")
    home_option(parser)
    json_option(parser)
    wait_option(parser, default=10.0)
    parser.set_defaults(carry_out=carry_out)


def carry_out(given: argparse.Namespace) -> int:
    """Show the snapshot. 2: the database does not answer; 3: writes wait."""
    settings = settings_for(given)

    async def work(memory: Memory) -> Status:
        try:
            await memory.ready(timeout=given.wait)
        except HermesMemoryError as error:
            return await memory.status(unanswered=str(error))
        return await memory.status()

    status = with_memory(settings, work, wait=0)
    if given.as_json:
        print_json(status)
    else:
        for line in _lines(status):
            print(line)
    if status.store_problem:
        return DEPENDENCY_DOWN
    return WORK_REMAINS if status.spool.depth or status.spool.dead else DONE


def _lines(status: Status) -> Iterator[str]:
    spool = status.spool
    yield f"stored     {', '.join(f'{count:,} {name}' for name, count in status.rows.items()) or 'unknown'}"
    yield (
        f"spool      {spool.depth:,} waiting (oldest {age_of(spool):.0f} s), {spool.dead:,} dead, "
        f"{spool.fill:.1%} of its room taken"
    )
    yield totals_line(spool)
    yield from _secrets(status.secrets)
    if status.notebook_problem:
        yield f"notebooks  {unknown_line(status.notebook_problem)}"
    if status.held_lines:
        yield f"notebooks  {held_line(status.held_lines)}"
    yield f"leader     {leader_line(status.leader, leads=status.leads)}"
    yield f"database   {status.installation.server if status.installation else status.store_problem}"
    for standing in status.generations:
        yield f"vectors    {standing_line(standing)}"
    if status.embedder_note:
        yield f"vectors    {status.embedder_note}"
    if status.embedder_problem:
        yield f"embedder   {status.embedder_problem}"
    yield f"breakers   database {status.store_breaker}, embedder {status.embed_breaker}"
    if status.troubles:
        yield f"degraded   {', '.join(status.troubles)}"


def _secrets(totals: SecretTotals) -> Iterator[str]:
    """Say how many secrets were kept out, where any were."""
    for counts, what in ((totals.redacted, "taken out"), (totals.refused, "refused with their texts")):
        if counts:
            kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(counts.items()))
            yield f"secrets    {sum(counts.values()):,} {what}: {kinds}"
