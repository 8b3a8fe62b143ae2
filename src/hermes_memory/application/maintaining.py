"""Carrying out a piece of maintenance: what it would do, or step by step until there is nothing left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from hermes_memory.domain.maintenance import Report
from hermes_memory.domain.model import Json
from hermes_memory.ports.maintenance import Upkeep

ROUNDS: Final = 5
"""How often what came in meanwhile is gone after."""


class Maintaining:
    """Runs a piece of maintenance and reports on it.

    Args:
        upkeep: What does it.
        verb: Its name.
        detail: What it was told to do, as it may be shown and kept.
        progress: Told how much each step did.
        expect: Told how much there is to do, before it is done.
    """

    def __init__(
        self,
        upkeep: Upkeep,
        *,
        verb: str,
        detail: Mapping[str, Json],
        progress: Callable[[int], object] = lambda _: None,
        expect: Callable[[int], object] = lambda _: None,
    ) -> None:
        self._upkeep = upkeep
        self._verb = verb
        self._detail = detail
        self._progress = progress
        self._expect = expect

    async def preview(self, notes: Sequence[str] = ()) -> Report:
        """Tell what would be done. Nothing is changed.

        Raises:
            StoreUnavailable, SchemaNotApplied, ConfigurationError: The database cannot be looked at.
        """
        counts = await self._upkeep.count()
        return Report(verb=self._verb, detail=self._detail, executed=False, counts=counts, notes=tuple(notes))

    async def execute(self, notes: Sequence[str] = ()) -> Report:
        """Do it, and tell what was done.

        Raises:
            StoreUnavailable, SchemaNotApplied, ConfigurationError: It could not be done, or only in part. Run it again.
        """
        due = await self._upkeep.count()
        self._expect(sum(due.values()))
        done = Counter(dict.fromkeys(due, 0))
        log = await self._upkeep.begin()
        remaining: Mapping[str, int] = {}
        for _ in range(ROUNDS):
            await self._steps(done)
            remaining = await self._upkeep.count()
            if not any(remaining.values()):
                break
        await self._upkeep.end(remaining)
        left = {name: count for name, count in remaining.items() if count}
        return Report(
            verb=self._verb,
            detail=self._detail,
            executed=True,
            counts=dict(done),
            remaining=left,
            notes=tuple(notes),
            id=log,
        )

    async def _steps(self, done: Counter[str]) -> None:
        more = True
        while more:
            step = await self._upkeep.step()
            done.update(step.counts)
            self._progress(sum(step.counts.values()))
            more = step.more
