"""What a caller decides to keep, to change and to forget: the durable memories of its own theme."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from hermes_memory.application.arguments import parse_target, row_named
from hermes_memory.application.view_standpoint import Standpoint
from hermes_memory.domain.errors import NotVisible
from hermes_memory.domain.model import Entry, Origin, RowId, Target
from hermes_memory.domain.operations import ByContent, ById, Effect, Operation, Outcome, Selector


class Writing(Standpoint):
    """Writes durable memories, and returns when Postgres has committed what was asked for.

    A write is accepted durably first. What goes wrong after that does not lose it.
    """

    async def remember(
        self,
        content: str,
        *,
        target: str = "memory",
        at: datetime | None = None,
        metadata: Mapping[str, object] | None = None,
        origin: Origin = Origin.USER,
        tool: str | None = None,
        timeout: float | None = None,
    ) -> Entry:
        """Store a durable memory and return it once Postgres has committed it.

        Storing what is stored already changes nothing and returns the stored one.

        Args:
            at: When it was said or became true; now by default. A naive time counts as UTC.
            timeout: Seconds to wait for the commit.

        Raises:
            InvalidInput: The content is empty or too large, or the target is neither `memory` nor `user`.
            SpoolFull: Too many writes wait for the database.
            DeadlineExceeded: The database did not answer in time; the write is accepted and not lost.
            DeliveryRejected: The database refuses the write for good.
            StoreUnavailable: The local spool cannot be used for now; or the database went away before the stored one
                could be read back.
            NotVisible: Somebody else forgot it before it could be read back.
        """
        self._commits.seconds(timeout)
        operation = await self._services.spool.call(
            lambda: self._services.acceptor.add(
                self.caller, content, target=parse_target(target), origin=origin, at=at, metadata=metadata, tool=tool
            )
        )
        return await self._commits.stored(await self._commits.effect(operation, timeout), timeout)

    async def replace(
        self,
        entry: RowId | UUID,
        content: str,
        *,
        origin: Origin = Origin.USER,
        tool: str | None = None,
        timeout: float | None = None,
    ) -> Entry:
        """Change the content of a memory of the caller's own theme; return it as stored.

        It keeps its id, unless the theme holds an entry of the new content already: then it becomes that one, and the
        id to go on with is that of the entry returned.

        Raises:
            NotVisible: There is no such memory, or it is not the caller's to change.
            InvalidInput, SpoolFull, DeadlineExceeded, DeliveryRejected, StoreUnavailable: As for `remember`.
        """
        self._commits.seconds(timeout)
        operation = await self._services.spool.call(
            lambda: self._services.acceptor.replace(
                self.caller, ById(id=row_named(entry)), content, origin=origin, tool=tool
            )
        )
        return await self._commits.stored(await self._commits.effect(operation, timeout), timeout)

    async def forget(
        self,
        entry: RowId | UUID,
        *,
        origin: Origin = Origin.USER,
        tool: str | None = None,
        timeout: float | None = None,
    ) -> None:
        """Forget a memory of the caller's own theme; after return no recall finds it.

        By the id of a turn, what was said in a conversation is forgotten. That is not undone: its text is gone at once,
        and the same transcript handed in again does not bring it back.

        Raises:
            NotVisible: There is no such memory, or it is not the caller's to forget.
            SpoolFull, DeadlineExceeded, DeliveryRejected, StoreUnavailable: As for `remember`.
        """
        await self.forget_selected(ById(id=row_named(entry)), origin=origin, tool=tool, timeout=timeout)

    async def forget_selected(
        self, selector: Selector, *, origin: Origin = Origin.USER, tool: str | None = None, timeout: float | None = None
    ) -> Outcome:
        """Forget the one memory of the caller's own theme that a selector finds.

        Raises:
            NotVisible: None fits, or it is not the caller's to forget.
            Ambiguous: Several fit; none was touched.
            SpoolFull, DeadlineExceeded, DeliveryRejected, StoreUnavailable: As for `remember`.
        """
        self._commits.seconds(timeout)
        return await self._commits.effect(await self._removal(selector, origin=origin, tool=tool), timeout)

    async def forget_content(
        self, content: str, *, origin: Origin = Origin.USER, tool: str | None = None, timeout: float | None = None
    ) -> Sequence[RowId]:
        """Forget what has exactly this content in the caller's own theme, whichever target it is of; return the ids.

        Raises:
            InvalidInput: The content is empty.
            NotVisible: Nothing has this content, or it is not the caller's to forget.
            SpoolFull, DeadlineExceeded, DeliveryRejected, StoreUnavailable: As for `remember`.
        """
        self._commits.seconds(timeout)
        # Both are accepted before either is waited for: what is forgotten later is forgotten whatever its target.
        removals = [
            await self._removal(ByContent(target=target, content=content), origin=origin, tool=tool)
            for target in Target
        ]
        outcomes = [await self._commits.outcome(removal, timeout) for removal in removals]
        forgotten = [outcome.row for outcome in outcomes if outcome.effect is Effect.REMOVED and outcome.row]
        if not forgotten:
            raise NotVisible("there is no memory with exactly this content, or it is not yours to change")
        return forgotten

    async def _removal(self, selector: Selector, *, origin: Origin, tool: str | None) -> Operation:
        return await self._services.spool.call(
            lambda: self._services.acceptor.remove(self.caller, selector, origin=origin, tool=tool)
        )
