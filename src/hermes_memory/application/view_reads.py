"""What every reading call of a view has in common: what it waits for, on whose behalf it reads, and for how long."""

from __future__ import annotations

from functools import partial

import anyio

from hermes_memory.application.arguments import seconds
from hermes_memory.application.forgetting import await_forgetting
from hermes_memory.application.services import Services
from hermes_memory.domain.errors import DeadlineExceeded, NotVisible
from hermes_memory.domain.model import Caller, Row, RowId


class Reads:
    """Lets one caller read. What is on its way out is not shown: so reading waits until it is gone.

    Attributes:
        seconds: Returns the seconds that an answer is worth to a call, as `arguments.seconds`.
    """

    def __init__(self, services: Services, caller: Caller, *, timeout: float) -> None:
        """Read for `caller`; unless told otherwise, an answer is worth `timeout` seconds."""
        self._services = services
        self._caller = caller
        self.seconds = partial(seconds, default=timeout)

    async def clear(self, timeout: float) -> float:
        """Wait for what is on its way out; return the seconds left for reading what stays.

        Raises:
            StoreUnavailable, DeadlineExceeded: As for `await_forgetting`.
        """
        return await await_forgetting(self._services.spool, self._services.deliverer, timeout=timeout)

    async def begin(self, timeout: float) -> tuple[Caller, float]:
        """Return on whose behalf is read, once nothing is on its way out, and the seconds left for it.

        Raises:
            StoreUnavailable, DeadlineExceeded, SchemaNotApplied: As for `clear`, and for `PersonBook.reading`.
        """
        deadline = anyio.current_time() + timeout
        caller = await self._services.people.reading(self._caller, timeout=await self.clear(timeout))
        if (left := deadline - anyio.current_time()) <= 0:
            raise DeadlineExceeded("the database did not answer in time")
        return caller, left

    async def row(self, caller: Caller, row: RowId, *, timeout: float) -> Row:
        """Return a row that this caller may see.

        Raises:
            NotVisible: There is none.
            StoreUnavailable, DeadlineExceeded, SchemaNotApplied: As for `Reader.get`.
        """
        found = await self._services.reader.get(caller, row, timeout=timeout)
        if found is None:
            raise NotVisible("there is no such memory for this caller")
        return found
