"""What the doctor says of the spool: well in one line, and otherwise a line for each thing to do."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.support.inprocess import InProcess
from tests.support.tables import for_each

from hermes_memory.cli.findings import Finding
from hermes_memory.cli.spool_checks import spool_findings


async def found(leader: int | None = None, *, leads: bool = False, **changes: Any) -> list[Finding]:
    """Examine a spool that is well but for these changes."""
    status = await InProcess().memory.status()
    changed = replace(status, leader=leader, leads=leads, spool=replace(status.spool, **changes))
    return list(spool_findings(changed))


async def test_a_spool_that_is_well_gets_one_line_with_its_totals() -> None:
    (finding,) = await found(leader=4711, depth=2, accepted=10, delivered=7, refused=1)

    assert finding.level == "ok"
    for part in ("2 writes wait", "10 accepted", "7 delivered", "1 refused", "process 4711"):
        assert part in finding.message


async def test_a_command_that_delivers_itself_is_not_told_of_as_a_process_of_the_home() -> None:
    (finding,) = await found(leader=4711, leads=True)

    assert "this command does" in finding.message
    assert "4711" not in finding.message


@for_each(
    ("changes", "level", "words"),
    [
        ({"dead": 3}, "error", "spool list --state dead"),
        ({"fill": 0.85}, "warning", "85%"),
        ({"fill": 1.0}, "error", "refused"),
        ({"depth": 4, "oldest_accepted_at": datetime.now(UTC) - timedelta(hours=1)}, "warning", "reachable"),
        ({"quarantined": 1}, "warning", "purge --set-aside"),
        ({"network": "nfs4"}, "warning", "nfs4"),
    ],
)
async def test_each_thing_that_is_not_well_is_told_with_what_to_do(
    changes: dict[str, Any], level: str, words: str
) -> None:
    (finding,) = await found(**changes)

    assert (finding.check, finding.level) == ("spool", level)
    assert words in finding.message


async def test_several_things_are_several_lines() -> None:
    assert [finding.level for finding in await found(dead=1, quarantined=1)] == ["error", "warning"]
