"""How an answer came about, for whoever it was given to."""

from __future__ import annotations

from uuid import UUID

from hermes_memory.application.arguments import require_limit, row_named
from hermes_memory.application.explanation import Explanation, Verdict
from hermes_memory.application.view_standpoint import Standpoint
from hermes_memory.domain.model import RowId, TraceId


class Explaining(Standpoint):
    """Explains the answers of this process that are still remembered."""

    async def explain(self, trace: TraceId, *, rows: int = 20, timeout: float | None = None) -> Explanation:
        """Tell how a recent answer to this theme and subject came about.

        Nothing of a memory's content is remembered for it: what is shown is read anew, as `get` would.

        Args:
            trace: The answer's `trace_id`.
            rows: How many of the ranked candidates to tell of, best first, from 1 to 200.

        Raises:
            NotVisible: No such answer is remembered for this theme and subject.
            InvalidInput: `rows` is unusable.
            StoreUnavailable, DeadlineExceeded, SchemaNotApplied: As for `recall`.
        """
        require_limit(rows, most=200)
        caller, left = await self._reads.begin(self._reads.seconds(timeout))
        return await self._services.explainer.explain(caller, trace, rows=rows, timeout=left)

    async def why(self, trace: TraceId, row: RowId | UUID, *, timeout: float | None = None) -> Verdict:
        """Tell why a memory is in a recent answer to this theme and subject, or is not.

        A memory that the caller may not see is told of like one that never was.

        Raises:
            NotVisible: No such answer is remembered for this theme and subject.
            InvalidInput: The row's id is no UUID.
            StoreUnavailable, DeadlineExceeded, SchemaNotApplied: As for `recall`.
        """
        named, allowed = row_named(row), self._reads.seconds(timeout)
        caller, left = await self._reads.begin(allowed)
        return await self._services.explainer.why(caller, trace, named, timeout=left)

    def note_shown(self, trace: TraceId, shown: int) -> None:
        """Note, for the explanation of an answer, that only its first `shown` hits had room where they were shown."""
        self._services.recall.note_shown(trace, self.caller, shown)
