"""What the doctor says of history: whether its chain is the published one, and whether it is kept up."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from hermes_memory.adapters.published_heads import latest, set_aside, told
from hermes_memory.application.memory import Memory
from hermes_memory.bootstrap.destination import destination_of
from hermes_memory.bootstrap.home import published_heads_path, state_folder
from hermes_memory.cli.common import counted
from hermes_memory.cli.findings import Finding, Level
from hermes_memory.domain.errors import ConfigurationError, HermesMemoryError
from hermes_memory.settings import Settings

CHECK: Final = "history"
LATE: Final = timedelta(hours=1)
VERIFY: Final = "run `hermes-memory history verify`"


async def history_finding(settings: Settings, memory: Memory) -> Finding | None:
    """Compare the newest published head of each theme with the chain; None when the database does not answer."""
    path = published_heads_path(state_folder(settings), destination_of(settings))
    try:
        heads = latest(told(path))
        broken = await memory.services.seals.standing(heads)
        lag = await memory.services.seals.lag()
    except ConfigurationError as error:
        return Finding(check=CHECK, level=Level.ERROR, message=str(error))
    except HermesMemoryError:
        return None
    if broken:
        themes = ", ".join(sorted(head.theme for head in broken))
        message = f"the chain of seals is not the published one, of {themes}: somebody changed history; {VERIFY}"
        return Finding(check=CHECK, level=Level.ERROR, message=message)
    if lag.oldest is not None and datetime.now(UTC) - lag.oldest > LATE:
        message = (
            f"{counted(lag.waiting, 'change')} wait for a seal since {lag.oldest:%Y-%m-%d %H:%M}: no process seals"
        )
        return Finding(check=CHECK, level=Level.WARNING, message=message)
    if damaged := set_aside(path):
        message = (
            f"heads that waited were damaged, so some may be missing: look through {', '.join(map(str, damaged))}, and"
            " remove what you need no more"
        )
        return Finding(check=CHECK, level=Level.WARNING, message=message)
    held = f"the chain of seals holds {counted(len(heads), 'published head')}"
    return Finding(check=CHECK, level=Level.OK, message=f"{held}; {counted(lag.waiting, 'change')} not sealed yet")
