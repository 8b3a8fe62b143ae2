"""Removals and changes that are accepted and not delivered yet: until then, what they take away is not shown."""

from __future__ import annotations

import anyio

from hermes_memory.application.deliver import Deliverer
from hermes_memory.application.spool_access import SpoolAccess
from hermes_memory.domain.errors import DeadlineExceeded, StoreUnavailable


async def await_forgetting(spool: SpoolAccess, deliverer: Deliverer, *, timeout: float) -> float:
    """Wait until all that the home has accepted to forget or to change is done; return the seconds left of `timeout`.

    The spool is asked, so it does not matter which process of the home accepted it, or delivers it.

    Raises:
        DeadlineExceeded: It is not done in time. Nothing that may hold it should be shown.
        StoreUnavailable: The database is out of reach, and holds it still; or the spool cannot be asked for now.
    """
    deadline = anyio.current_time() + timeout
    waiting = await spool.retractions()
    done = not waiting or await deliverer.delivered(waiting, timeout=deadline - anyio.current_time())
    left = deadline - anyio.current_time()
    if left <= 0:
        raise DeadlineExceeded("a memory is being changed or forgotten right now: ask again in a moment")
    if not done:
        # Not left to the question itself: the database may be back before it is asked.
        raise StoreUnavailable("the database is out of reach, and holds a memory that is to be changed or forgotten")
    return left
