"""Importing another memory: read, convert, store in batches, and look whether it is all there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import anyio

from hermes_memory.application.importing.converting import Converted, Converter
from hermes_memory.application.importing.owners import Owners
from hermes_memory.application.importing.vectors import VectorPassage
from hermes_memory.domain.errors import DeliveryRejected, InvalidInput, StoreBusy
from hermes_memory.domain.foreign import Foreign, ForeignAgent, Unreadable
from hermes_memory.domain.model import Caller, OperationId
from hermes_memory.domain.operations import AddEntry, Effect, Operation, Outcome, RecordDelegation
from hermes_memory.ports.delivery import DeliveryStore
from hermes_memory.ports.sources import Source, Witness

BATCH: Final = 500
ATTEMPTS: Final = 8
PAUSE_SECONDS: Final = 0.5


@dataclass(slots=True, kw_only=True)
class Moved:
    """What an import did. What was `read` is `stored`, `known`, `unreadable` or, in a dry run, `would_store`.

    Attributes:
        source: How much the source itself says there is; None when it cannot tell.
        read: Entries, turns and delegations that were read, what could not be understood included.
        stored: Of them stored now, by kind; by this import, or by another one of the same source beside it.
        known: There already: from an import before, or because an equal one was there.
        equal: Of the known ones, those that equal another row.
        mended: Texts that were cleaned or cut, or lost a secret.
        vectors: Vectors that were taken over.
        verified: Rows that were read back and hold the text that they should.
        changed: Rows of an import before that were changed or forgotten here since.
        missing: Places of rows that were stored now and not found afterwards.
        renamed: Agents whose name is not usable here, and the theme their rows went to.
    """

    source: Mapping[str, int] | None = None
    read: int = 0
    stored: Counter[str] = field(default_factory=Counter)
    would_store: Counter[str] = field(default_factory=Counter)
    known: int = 0
    equal: int = 0
    mended: int = 0
    vectors: int = 0
    verified: int = 0
    changed: int = 0
    unreadable: list[Unreadable] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    renamed: Mapping[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Whether all that the source told of was read, and found afterwards."""
        told = None if self.source is None else sum(self.source.values())
        return not self.missing and (told is None or told == self.read)


class Import:
    """Imports one source. Stopped at any point it can be run again, and does only what is left."""

    def __init__(
        self,
        source: Source,
        converter: Converter,
        owners: Owners,
        store: DeliveryStore,
        witness: Witness,
        *,
        vectors: VectorPassage | None = None,
        dry_run: bool = False,
        progress: Callable[[int], object] = lambda _: None,
        expect: Callable[[int], object] = lambda _: None,
    ) -> None:
        """Import `source` into `store`; `vectors` are taken over by a passage, if there is one.

        `progress` is told how many rows each batch had, and `expect` before how many there are, if the source knows.
        """
        self._source = source
        self._converter = converter
        self._owners = owners
        self._store = store
        self._witness = witness
        self._vectors = vectors
        self._dry_run = dry_run
        self._progress = progress
        self._expect = expect
        self.done = Moved()

    async def run(self) -> Moved:
        """Import everything.

        Raises:
            StoreUnavailable, SchemaNotApplied: One of the two databases does not serve; run it again later.
        """
        self.done.source = await self._source.counts()
        if self.done.source is not None:
            self._expect(sum(self.done.source.values()))
        batch: list[Converted] = []
        async for item in self._source.items():
            if isinstance(item, ForeignAgent):
                await self._note(item)
            elif (converted := self._convert(item)) is not None:
                batch.append(converted)
            if len(batch) >= BATCH:
                await self._take(batch)
                batch = []
        await self._take(batch)
        self.done.renamed = {name: str(theme) for name, theme in self._owners.renamed.items()}
        return self.done

    def _convert(self, item: Foreign) -> Converted | None:
        if isinstance(item, Unreadable):
            self.done.read += 1
            self.done.unreadable.append(item)
            return None
        if isinstance(item, ForeignAgent):
            return None
        self.done.read += 1
        try:
            return self._converter.convert(item)
        except InvalidInput as error:
            self.done.unreadable.append(Unreadable(place=item.place, reason=str(error)))
            return None

    async def _note(self, agent: ForeignAgent) -> None:
        theme = self._owners.theme(agent.name)
        if theme is not None and not self._dry_run:
            await self._witness.note_theme(theme, agent.first_seen_at, agent.last_seen_at)

    async def _take(self, batch: Sequence[Converted]) -> None:
        before = await self._before(batch)
        fresh = [each for each in batch if _id(each) not in before]
        self.done.known += len(batch) - len(fresh)
        self.done.mended += sum(each.mended for each in fresh)
        if self._dry_run:
            self.done.would_store.update(_kind(each) for each in fresh)
        else:
            outcomes = await self._apply(fresh)
            await self._vector(fresh, outcomes)
            await self._verify(batch, {**before, **outcomes}, known=set(before))
        self._progress(len(batch))

    async def _before(self, batch: Sequence[Converted]) -> dict[OperationId, Outcome]:
        """Return what became of those that an import before this one has stored."""
        found: dict[OperationId, Outcome] = {}
        for caller, group in _by_owner(batch).items():
            found.update(await self._witness.delivered(caller, [_id(each) for each in group]))
        return found

    async def _apply(self, fresh: Sequence[Converted]) -> dict[OperationId, Outcome]:
        """Store operations; of a batch that the database refuses, all but those that it refuses singly."""
        if not fresh:
            return {}
        try:
            outcomes = await self._patiently([each.operation for each in fresh])
        except DeliveryRejected as error:
            if len(fresh) == 1:
                self.done.unreadable.append(Unreadable(place=fresh[0].place, reason=str(error)))
                return {}
            middle = len(fresh) // 2
            return {**await self._apply(fresh[:middle]), **await self._apply(fresh[middle:])}
        kinds = {_id(each): _kind(each) for each in fresh}
        for outcome in outcomes:
            if outcome.effect is Effect.UNCHANGED:
                self.done.known += 1
                self.done.equal += 1
            else:
                self.done.stored[kinds[outcome.operation]] += 1
        return {outcome.operation: outcome for outcome in outcomes}

    async def _patiently(self, operations: Sequence[Operation]) -> Sequence[Outcome]:
        """Store operations; while somebody else holds what they need, agents or another import, try again."""
        for _ in range(ATTEMPTS):
            try:
                return await self._store.apply(operations)
            except StoreBusy:
                await anyio.sleep(PAUSE_SECONDS)
        return await self._store.apply(operations)

    async def _vector(self, fresh: Sequence[Converted], outcomes: Mapping[OperationId, Outcome]) -> None:
        if self._vectors is not None:
            stored = [each for each in fresh if (o := outcomes.get(_id(each))) and o.effect is Effect.STORED]
            self.done.vectors += await self._vectors.take(stored)

    async def _verify(
        self, batch: Sequence[Converted], outcomes: Mapping[OperationId, Outcome], *, known: set[OperationId]
    ) -> None:
        """Read back what should be there, and compare."""
        for caller, group in _by_owner(batch).items():
            told = {_id(each): each for each in group if each.text is not None and _id(each) in outcomes}
            rows = {outcomes[key].row: each.text for key, each in told.items()}
            wanted = {row: text for row, text in rows.items() if row is not None and text is not None}
            present = await self._witness.present(caller, wanted)
            for key, each in told.items():
                if outcomes[key].row in present:
                    self.done.verified += 1
                elif key in known or outcomes[key].row is None:  # a turn that was forgotten is not stored again
                    self.done.changed += 1
                else:
                    self.done.missing.append(each.place)


def _by_owner(batch: Sequence[Converted]) -> dict[Caller, list[Converted]]:
    grouped: dict[Caller, list[Converted]] = {}
    for each in batch:
        whose = each.operation.stamp.caller
        grouped.setdefault(Caller(theme=whose.theme, subject=whose.subject), []).append(each)
    return grouped


def _id(converted: Converted) -> OperationId:
    return converted.operation.stamp.operation


def _kind(converted: Converted) -> str:
    if isinstance(converted.operation, RecordDelegation):
        return "delegation"
    return "entry" if isinstance(converted.operation, AddEntry) else "turn"
