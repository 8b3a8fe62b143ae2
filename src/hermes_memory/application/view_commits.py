"""What every writing call of a view has in common: it waits for the write that was accepted to have its effect."""

from __future__ import annotations

from functools import partial

from hermes_memory.application.arguments import seconds
from hermes_memory.application.services import Services
from hermes_memory.application.view_reads import Reads
from hermes_memory.domain.errors import Ambiguous, NotVisible
from hermes_memory.domain.model import Caller, Entry
from hermes_memory.domain.operations import Effect, Operation, Outcome


class Commits:
    """Waits for the commits of one caller's writes, and says what came of them.

    Attributes:
        seconds: Returns the seconds that a call waits, as `arguments.seconds`. A call asks before it accepts anything,
            so that wrong use writes nothing.
    """

    def __init__(self, services: Services, caller: Caller, reads: Reads, *, timeout: float, patient: bool) -> None:
        """Wait `timeout` seconds unless told otherwise.

        Args:
            reads: How the caller reads back what it wrote.
            patient: See `Memory.view_of`.
        """
        self._deliverer = services.deliverer
        self._caller = caller
        self._reads = reads
        self.seconds = partial(seconds, default=timeout)
        self._patient = patient

    async def outcome(self, operation: Operation, timeout: float | None) -> Outcome:
        """Wait for the commit of a write; return what it did.

        Raises:
            DeadlineExceeded, DeliveryRejected: As for `Deliverer.wait`.
        """
        return await self._deliverer.wait(operation, timeout=self.seconds(timeout), patient=self._patient)

    async def effect(self, operation: Operation, timeout: float | None) -> Outcome:
        """Wait for the commit of a write that is to find one memory; return what it did.

        Raises:
            NotVisible: It found none.
            Ambiguous: It found several.
            DeadlineExceeded, DeliveryRejected: As for `outcome`.
        """
        outcome = await self.outcome(operation, timeout)
        if outcome.effect is Effect.NOT_FOUND:
            raise NotVisible("there is no such memory, or it is not yours to change")
        if outcome.effect is Effect.AMBIGUOUS:
            raise Ambiguous("several memories fit and none was touched: select by id or by the whole content")
        return outcome

    async def stored(self, outcome: Outcome, timeout: float | None) -> Entry:
        """Return the memory that a write left.

        Raises:
            NotVisible: Somebody else changed or forgot it meanwhile.
            StoreUnavailable, DeadlineExceeded, SchemaNotApplied: As for `Reads.row`.
        """
        if outcome.row is not None:
            # What others wait to forget is no reason to call a write that is committed late.
            row = await self._reads.row(self._caller, outcome.row, timeout=self._reads.seconds(timeout))
            if isinstance(row, Entry):
                return row
        raise NotVisible("the memory was changed or forgotten by somebody else meanwhile")
