"""Maintenance of an in-memory store: its log, pruning, and letting rows wait for their vectors again."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from uuid import UUID

from hermes_memory.adapters.inmemory.records import NotedUpkeep, Records, SessionKey, session_key
from hermes_memory.domain.maintenance import Backfill, Prune
from hermes_memory.domain.model import Kind, RowId, Turn
from hermes_memory.ports.maintenance import Step


class Noting:
    """Keeps the log of one run."""

    def __init__(self, records: Records, verb: str) -> None:
        self._records = records
        self._verb = verb
        self._noted = NotedUpkeep(verb=verb, at=records.now())

    async def begin(self) -> UUID:
        """Note that it begins; see `Upkeep.begin`."""
        log = self._records.note(self._verb, ended=False)
        self._noted = self._records.maintenance[log]
        return log

    async def end(self, remaining: Mapping[str, int]) -> None:
        """Note that it was carried through; see `Upkeep.end`."""
        self._noted.remaining = {name: count for name, count in remaining.items() if count}

    def _note(self, counts: Mapping[str, int], *, more: bool) -> Step:
        self._noted.counts.update(counts)
        return Step(counts=counts, more=more)


class InMemoryPrune(Noting):
    """`Upkeep` that removes turns said before a moment.

    Args:
        rows: Turns, at most, of one step.
    """

    def __init__(self, records: Records, prune: Prune, *, rows: int = 1_000) -> None:
        super().__init__(records, "prune")
        self._prune = prune
        self._rows = rows

    async def count(self) -> Mapping[str, int]:
        """Count what goes; see `Upkeep.count`."""
        doomed = self._doomed()
        return {**self._attached(doomed), "sessions": len(self._idle({turn.id for turn in doomed}))}

    async def step(self) -> Step:
        """Remove some turns, the last of a session first, or at last the empty sessions; see `Upkeep.step`."""
        if doomed := self._doomed()[: self._rows]:
            counts = self._attached(doomed)
            for turn in doomed:
                self._records.erase_turn(turn.id)
            return self._note(counts, more=True)
        idle = self._idle(frozenset())
        for key in idle:
            del self._records.turn_counts[key]
        return self._note({"sessions": len(idle)}, more=False)

    def _doomed(self) -> list[Turn]:
        prune = self._prune
        turns = [
            turn
            for turn in self._records.turns.values()
            if turn.at < prune.before and prune.theme in {None, turn.theme} and prune.origin in {None, turn.origin}
        ]
        return sorted(turns, key=lambda turn: -turn.position)

    def _attached(self, turns: Collection[Turn]) -> Mapping[str, int]:
        """Count turns with what hangs on them, and those that wait for a new vector when they go."""
        records, ids = self._records, {turn.id for turn in turns}
        places = ((session_key(turn), turn.position + 1) for turn in turns)
        followers = {records.turn_places.get(place) for place in places} - ids - records.unembedded - {None}
        return {
            "turns": len(ids),
            "postings": sum(len(records.lexemes[row]) for row in ids),
            "vectors": sum(records.vectors_of(row) for row in ids),
            "jobs": sum(records.jobs_of(row) for row in ids),
            "reembedded": len(followers) if records.kept else 0,
        }

    def _idle(self, doomed: Collection[RowId]) -> list[SessionKey]:
        """Return the sessions of which nothing is left without these turns, and in which nothing was forgotten."""
        kept = {session_key(turn) for turn in self._records.turns.values() if turn.id not in doomed}
        kept |= self._records.forgotten_turns.keys()
        return [key for key in self._records.turn_counts if key not in kept and self._prune.theme in {None, key[0]}]


class InMemoryBackfill(Noting):
    """`Upkeep` that lets rows without a vector wait for one again.

    Args:
        rows: Rows, at most, of one step.
    """

    def __init__(self, records: Records, backfill: Backfill, *, rows: int = 1_000) -> None:
        super().__init__(records, "backfill")
        self._backfill = backfill
        self._rows = rows

    async def count(self) -> Mapping[str, int]:
        """Count the rows that lack a vector and wait for none, and those to be tried again; see `Upkeep.count`."""
        return {"queued": len(self._lacking()), "retried": len(self._parked())}

    async def step(self) -> Step:
        """Let some of them wait; see `Upkeep.step`."""
        lacking, parked = self._lacking()[: self._rows], self._parked()[: self._rows]
        for generation, row in [*lacking, *parked]:
            self._records.enqueue(row, generation)
        return self._note(
            {"queued": len(lacking), "retried": len(parked)}, more=self._rows in {len(lacking), len(parked)}
        )

    def _lacking(self) -> list[tuple[int, RowId]]:
        """Return rows with the number of the generation of which they have nothing."""
        records = self._records
        return [
            (number, row)
            for number, kept in records.kept.items()
            for kind in Kind
            for row in records.lacking(kept, kind)
        ]

    def _parked(self) -> list[tuple[int, RowId]]:
        if not self._backfill.retry_parked:
            return []
        return [
            (number, row)
            for number, kept in self._records.kept.items()
            for row, job in kept.jobs.items()
            if job.parked_reason is not None
        ]
