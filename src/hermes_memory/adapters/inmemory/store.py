"""The in-memory store: all store ports over the same rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from hermes_memory.adapters.inmemory.cleaning import InMemoryCleanup
from hermes_memory.adapters.inmemory.delivery import InMemoryDelivery
from hermes_memory.adapters.inmemory.erasure import InMemoryEraser
from hermes_memory.adapters.inmemory.generations import InMemoryGenerations
from hermes_memory.adapters.inmemory.granting import OPERATOR, InMemoryGranting
from hermes_memory.adapters.inmemory.history import InMemoryHistory
from hermes_memory.adapters.inmemory.inspector import InMemoryInspector
from hermes_memory.adapters.inmemory.people import InMemoryPeople
from hermes_memory.adapters.inmemory.queue import InMemoryEmbeddingQueue
from hermes_memory.adapters.inmemory.reader import InMemoryReader
from hermes_memory.adapters.inmemory.records import Records
from hermes_memory.adapters.inmemory.remapping import InMemoryRemap
from hermes_memory.adapters.inmemory.seals import InMemorySeals
from hermes_memory.adapters.inmemory.search import InMemorySearch
from hermes_memory.adapters.inmemory.upkeep import InMemoryBackfill, InMemoryPrune
from hermes_memory.adapters.inmemory.witness import InMemoryWitness
from hermes_memory.domain.grants import Grant, StandingGrant
from hermes_memory.domain.maintenance import Backfill, Cleanup, Prune, Remap
from hermes_memory.domain.model import SINKS, ReadPolicy, RowId, SessionId, Subject, Theme
from hermes_memory.domain.operations import RecordDelegation
from hermes_memory.ports.embedding import EmbeddingQueue, Generation
from hermes_memory.ports.maintenance import Upkeep


def _now() -> datetime:
    return datetime.now(UTC)


class InMemoryStore:
    """A whole store in this process's memory, for unit tests and trials.

    It keeps every promise of the ports except that nothing outlives it. Searches look at every row, so it serves
    thousands of rows, not millions. Use it from one event loop.

    Args:
        analyze: Turns a text into its lexemes, repetitions kept. Queries must come through the same analyser.
        generation: The embedding model whose vectors are kept. Without one nothing waits to be embedded.
        policy: Which themes read each other.
        clock: Tells the time (aware) to leases, waits and grants.

    Example:
        >>> import asyncio
        >>> from uuid import uuid4
        >>> from hermes_memory.domain.lexemes import Analyzer
        >>> from hermes_memory.domain.model import Caller, CurrentScope, OperationId, Origin, Target, Theme
        >>> from hermes_memory.domain.operations import AddEntry, Stamp
        >>> from hermes_memory.ports.reading import SearchSpace
        >>> analyze = Analyzer(stem=lambda word: word).analyze
        >>> store = InMemoryStore(analyze=analyze)
        >>> me, when = Caller(theme=Theme("marketing")), datetime(2026, 5, 3, tzinfo=UTC)
        >>> stamp = Stamp(operation=OperationId(uuid4()), caller=me, origin=Origin.AGENT, accepted_at=when)
        >>> async def remember_and_find() -> str:
        ...     addition = AddEntry(stamp=stamp, target=Target.MEMORY, content="Launch moved to 3 May", at=when)
        ...     await store.delivery.apply([addition])
        ...     space = SearchSpace(scope=CurrentScope())
        ...     found = await store.search.by_text(me, space, analyze("launch"), limit=5, timeout=1.0)
        ...     return found.hits[0].row.content
        >>> asyncio.run(remember_and_find())
        'Launch moved to 3 May'
    """

    def __init__(
        self,
        *,
        analyze: Callable[[str], Sequence[str]],
        generation: Generation | None = None,
        policy: ReadPolicy = ReadPolicy.OPEN,
        clock: Callable[[], datetime] = _now,
    ) -> None:
        self._records = Records(analyze=analyze, now=clock, policy=policy)
        if generation is not None:
            self._records.keep(generation)
            self._records.use(generation.number)
            self._records.kept[generation.number].indexed = True
        self.delivery = InMemoryDelivery(self._records)
        self.search = InMemorySearch(self._records)
        self.reader = InMemoryReader(self._records)
        self.history = InMemoryHistory(self._records)
        self.seals = InMemorySeals(self._records)
        self.eraser = InMemoryEraser(self._records)
        self.queue = InMemoryEmbeddingQueue(self._records)
        self.generations = InMemoryGenerations(self._records)
        self.granting = InMemoryGranting(self._records)
        self.people = InMemoryPeople(self._records.persons)
        self.witness = InMemoryWitness(self._records)
        self.inspector = InMemoryInspector(self._records)

    @property
    def delegations(self) -> Sequence[RecordDelegation]:
        """What was handed to child agents, in the order of delivery."""
        return tuple(self._records.delegations)

    def parent_session(self, theme: Theme, subject: Subject | None, session: SessionId) -> SessionId | None:
        """Return the session that started a session, None when nobody said."""
        return self._records.parents.get((theme, subject, session))

    def erase_turn(self, row: RowId) -> None:
        """Remove a stored turn for good, and the vector of the turn after it, which holds words of it.

        Raises:
            KeyError: There is no such turn.
        """
        self._records.erase_turn(row)

    def prune(self, prune: Prune) -> Upkeep:
        """Return what removes turns said before a moment."""
        return InMemoryPrune(self._records, prune)

    def backfill(self, backfill: Backfill) -> Upkeep:
        """Return what lets rows without a vector wait for one again."""
        return InMemoryBackfill(self._records, backfill)

    def cleanup(self, cleanup: Cleanup) -> Upkeep:
        """Return what removes what nothing refers to any more."""
        return InMemoryCleanup(self._records, cleanup)

    def remap(self, remap: Remap) -> Upkeep:
        """Return what moves everything of a theme into another."""
        return InMemoryRemap(self._records, remap)

    def queue_of(self, generation: int) -> EmbeddingQueue:
        """Return the rows that wait for a vector of a generation, whichever is in use."""
        return InMemoryEmbeddingQueue(self._records, generation)

    def lose_jobs(self) -> None:
        """Forget all that waits for a vector, as a restore of a part of a database may."""
        for kept in self._records.kept.values():
            kept.jobs.clear()

    def set_policy(self, policy: ReadPolicy) -> None:
        """Set which themes read each other."""
        self._records.policy = policy

    def keep_forgotten(self, days: float) -> None:
        """Set how long what was forgotten keeps its texts."""
        self._records.forgotten_days = days

    def grant(self, reader: Theme | Subject, source: Theme, *, expires_at: datetime | None = None) -> None:
        """Let a theme, or somebody in whatever theme, read the subject-less rows of another, for ever or until a time.

        Raises:
            InvalidInput: The source is a governed theme, which nobody can be granted, or so is the reader.
        """
        if reader == source and source not in SINKS:
            return  # a theme reads itself without a grant
        grant = Grant(reader=reader, source=source, expires_at=expires_at)
        now = self._records.now()
        self._records.grants[reader, source] = StandingGrant(grant=grant, granted_at=now, granted_by=OPERATOR)

    def merge(self, *subjects: Subject) -> None:
        """Let subjects be one person, who reads what is each one's."""
        self._records.persons.merge(subjects)
