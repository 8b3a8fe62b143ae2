"""The one reading transaction of a look, in which a caller asks several things."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Final

from hermes_memory.adapters.postgres.context import READING
from hermes_memory.adapters.postgres.pool import Pool, Transaction
from hermes_memory.adapters.postgres.statements import Statement
from hermes_memory.domain.model import Caller

_SORTED: Final = "enable_sort = on"


class Looking:
    """Opens its transaction with the first question; without one it takes no connection.

    Args:
        pool: Connections of the runtime role.
        caller: Whose context the wall sees.
        timeout: Seconds for everything, from now on.
    """

    def __init__(self, pool: Pool, caller: Caller, *, timeout: float) -> None:
        self.caller = caller
        self._pool = pool
        self._deadline = asyncio.get_running_loop().time() + timeout
        self._stack = AsyncExitStack()
        self._open: Transaction | None = None
        self._otherwise = False

    async def __aenter__(self) -> Looking:
        """Begin; nothing is asked of the database yet."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the transaction, if there is one; see `Pool.transaction` for what is raised."""
        await self._stack.__aexit__(kind, error, trace)

    async def transaction(self) -> Transaction:
        """Return the transaction, in which statements are planned once for all values.

        Raises:
            StoreUnavailable, DeadlineExceeded: As for `Pool.transaction`. Once it is open, what the driver raises.
        """
        if self._open is None:
            self._open = await self._stack.enter_async_context(
                self._pool.transaction(
                    self.caller,
                    timeout=self._deadline - asyncio.get_running_loop().time(),
                    read_only=True,
                    settings=self._pool.planned_once,
                )
            )
        elif self._otherwise:
            await self._open.set_local(_SORTED, *(self._pool.planned_once or READING))
            self._otherwise = False
        return self._open

    async def planned_otherwise(self, *settings: Statement) -> Transaction:
        """Return the transaction with settings (`name = value`) for how the next statement is planned.

        Raises:
            StoreUnavailable, DeadlineExceeded: As for `Pool.transaction`. Once it is open, what the driver raises.
        """
        opened = self._open or await self.transaction()
        self._otherwise = True
        await opened.set_local(*settings)
        return opened
