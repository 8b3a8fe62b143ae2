"""A connection that is lost in the middle of an operator's work, as that of a killed process is."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg

from hermes_memory.adapters.postgres.administrator import Administrator


class Dying(Administrator):
    """Loses its connection in the transaction of this number before it commits."""

    def __init__(self, connection: asyncpg.Connection[asyncpg.Record], *, dies_in: int) -> None:
        super().__init__(connection)
        self._driver = connection
        self._left = dies_in

    @asynccontextmanager
    async def transaction(self, **options: Any) -> AsyncIterator[Any]:
        async with super().transaction(**options) as opened:
            yield opened
            self._left -= 1
            if self._left == 0:
                self._driver.terminate()
