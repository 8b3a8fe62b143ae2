"""Erasing for good: what waits in the home, what the database has, what waits again, and what shows that it is gone."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from operator import itemgetter
from typing import Final, TypeAlias

from hermes_memory.application.spool_desk import drop, walk
from hermes_memory.application.worker import Worker
from hermes_memory.domain.erasure import (
    Certificate,
    Erasure,
    Proof,
    Told,
    WholeSubject,
    concerns,
    links,
    reaches,
    title,
    told_by,
    unforgets,
)
from hermes_memory.domain.errors import ConfigurationError, StoreUnavailable
from hermes_memory.domain.model import OperationId
from hermes_memory.ports.erasure import Eraser
from hermes_memory.ports.spool import Spool

Telling: TypeAlias = Sequence[tuple[int, frozenset[Told]]]
"""Texts of the one entry with the place in the spool from behind which they are its own, in the order of these."""

START: Final = -1
"""Before all that a spool keeps."""
SETTLE_SECONDS: Final = 30.0
"""For writes that had left the spool when it was looked through."""
SCRUB_SECONDS: Final = 5.0
"""For those who read in a spool when its files are cleaned of what was dropped."""
MIRRORED: Final = (
    "{} of the entries mirror MEMORY.md or USER.md of a home, which the host shows to everybody: remove the lines there"
    " too, or those that are everybody's come back"
)
COMPANIONS: Final = (
    "the person has {} more subjects, which go with the one named, and with all that is theirs (`hermes-memory subjects"
    " list` names them; `subjects split` would keep one)"
)
SHARED: Final = (
    "{} memories of nobody in particular were written or changed in conversations with the person, whose words may"
    " stand in them and stay: `hermes-memory erase --session` or `--entry` erases them"
)
LINKED: Final = (
    "{} writes that wait come from conversations that the erased one started, and write its id back when they are"
    " delivered: run it again when nothing waits"
)
REACHING: Final = (
    "{} writes that wait in talk with somebody select a memory by a text of this one: it may be one of their own, so"
    " they are delivered, and find this one no more"
)
UNFORGOTTEN: Final = (
    "{} of the writes that wait were to forget a memory, and go undelivered: what they named and is not erased itself"
    " is shown again, so forget it anew"
)
UNREADABLE: Final = (
    "{} writes in the spool cannot be read, so nobody can tell whose they are: see `hermes-memory spool`"
)
SET_ASIDE: Final = "{} damaged files lie beside the spool: `hermes-memory spool purge --set-aside` removes them"
UNSETTLED: Final = "the database was still storing a write that was under way when it began: run it again"
ELSEWHERE: Final = "what waits in the spools of other homes is not known here: run it there too"
CLEANED: Final = "every spool of the home whose files may hold what was delivered or dropped"
BACKUPS: Final = "backups, replicas behind and the server's own log keep what they have until they are renewed"
READ: Final = (
    "{} spools could not be cleaned, for another process was reading in them all the time, the disk is full, their"
    " files cannot be used, or they hold too much: what was delivered or dropped may stand in their files until the"
    " process that delivers from them has finished it; run it again to see that it has"
)
LOOKED: Final = "every spool of the home that could not be looked through again after the database"
UNLOOKED: Final = (
    "{} spools could not be looked through again, so what was accepted meanwhile may wait there: run it again"
)
UNUSABLE: Final = "of a spool that could not be used: {}"


@dataclass(slots=True, kw_only=True)
class _Found:
    """What the spools keep of it, and how many writes stay: unreadable, of its origin, or naming a text of it."""

    kept: Mapping[str, list[OperationId]] = field(default_factory=lambda: {"waiting": [], "dead": []})
    unreadable: int = 0
    linked: int = 0
    reaching: int = 0
    unforgotten: int = 0

    @property
    def notes(self) -> tuple[tuple[str, int], ...]:
        return (LINKED, self.linked), (REACHING, self.reaching), (UNREADABLE, self.unreadable)


@dataclass(slots=True, kw_only=True)
class _After:
    """What the spools show once the database has erased, and how many were not looked through or not cleaned."""

    dropped: Counter[str] = field(default_factory=Counter)
    left: _Found = field(default_factory=_Found)
    unlooked: int = 0
    unclean: int = 0
    troubles: list[str] = field(default_factory=list)

    @property
    def proofs(self) -> tuple[Proof, ...]:
        return (
            *(_proof(name, found) for name, found in _numbers(self.left.kept).items()),
            Proof(store="spools", query=LOOKED, remaining=self.unlooked),
            Proof(store="spool files", query=CLEANED, remaining=self.unclean),
        )

    @property
    def notes(self) -> tuple[tuple[str, int], ...]:
        return *self.left.notes, (UNLOOKED, self.unlooked), (READ, self.unclean)

    @property
    def told(self) -> tuple[str, ...]:
        return tuple(UNUSABLE.format(trouble) for trouble in dict.fromkeys(self.troubles))


class Erasing:
    """Erases in a home and its database.

    Args:
        eraser: The database.
        spools: Those of the home, for whatever database they are.
        set_aside: Counts the damaged files beside them.
        now: The time, aware.
        progress: Told how much the database has erased so far.
    """

    def __init__(
        self,
        eraser: Eraser,
        spools: Sequence[Spool],
        *,
        set_aside: Callable[[], int],
        now: Callable[[], datetime],
        progress: Callable[[int], object] = lambda _: None,
    ) -> None:
        self._eraser = eraser
        self._spools = spools
        self._set_aside = set_aside
        self._now = now
        self._progress = progress
        self._worker = Worker()

    async def preview(self, erasure: Erasure) -> Certificate:
        """Tell what would be erased. Nothing is changed.

        Raises:
            StoreUnavailable, SchemaNotApplied, ConfigurationError: The database, or a spool, cannot be looked at.
        """
        started_at, started = self._now(), time.monotonic()
        erasure = await self._whole(erasure)
        texts = await self._eraser.texts(erasure)
        found = await self._worker.call(lambda: self._found(erasure, texts))
        counts = {**await self._eraser.count(erasure), **_numbers(found.kept)}
        kind, name = title(erasure)
        return Certificate(
            kind=kind,
            name=name,
            executed=False,
            started_at=started_at,
            seconds=time.monotonic() - started,
            counts=counts,
            notes=self._notes(*await self._besides(erasure), *found.notes, (UNFORGOTTEN, found.unforgotten)),
        )

    async def execute(self, erasure: Erasure) -> Certificate:
        """Erase, and tell what was erased.

        The spools are looked through before the database and after it: what is accepted meanwhile goes as well, and
        what the database is storing by then is waited for. No write lies between the two: whoever has read it from a
        spool asks once more whether it waits there, when the database is storing it already (`DeliveryStore.apply`).
        Last, the files of the spools are cleaned of what was dropped, and of what was delivered before.

        Raises:
            StoreUnavailable, SchemaNotApplied, ConfigurationError: It could not be done, or only in part. Run it again.
                Once the database has erased there is a certificate, whatever the spools do: it is not complete then.
        """
        started_at, started = self._now(), time.monotonic()
        erasure = await self._whole(erasure)
        texts = await self._eraser.texts(erasure)
        besides = await self._besides(erasure)
        dropped, told = await self._worker.call(lambda: self._dropped(erasure, texts))
        settled = await self._eraser.settle(SETTLE_SECONDS)
        erased = await self._eraser.erase(erasure, self._progress)
        after = await self._worker.call(lambda: self._after(erasure, told))
        dropped += after.dropped
        proofs = (*erased.proofs, *after.proofs)
        kind, name = title(erasure)
        return Certificate(
            kind=kind,
            name=name,
            executed=True,
            started_at=started_at,
            seconds=time.monotonic() - started,
            counts={**erased.counts, **{name: dropped[name] for name in ("waiting", "dead")}},
            proofs=proofs,
            complete=settled and not any(proof.remaining for proof in proofs),
            notes=(
                *(() if settled else (UNSETTLED,)),
                *self._notes(*besides, *after.notes, (UNFORGOTTEN, dropped["unforgotten"])),
                *after.told,
            ),
            erasure=erased.id,
        )

    async def _whole(self, erasure: Erasure) -> Erasure:
        """Let all subjects go that are one person with the one named: after a rekeying the rows are another one's."""
        if not isinstance(erasure, WholeSubject):
            return erasure
        return replace(erasure, also=await self._eraser.companions(erasure))

    async def _besides(self, erasure: Erasure) -> tuple[tuple[str, int], ...]:
        """Ask for what is not erased and has to do with it, before nothing tells of it any more."""
        return (
            (MIRRORED, await self._eraser.mirrored(erasure)),
            (COMPANIONS, len(erasure.also) if isinstance(erasure, WholeSubject) else 0),
            (SHARED, await self._eraser.shared(erasure)),
        )

    def _found(self, erasure: Erasure, texts: frozenset[Told]) -> _Found:
        """Look through the spools."""
        found = _Found()
        for spool in self._spools:
            _look(spool, erasure, [(START, texts)], found)
        return found

    def _dropped(self, erasure: Erasure, texts: frozenset[Told]) -> tuple[Counter[str], Sequence[Telling]]:
        """Drop what waits, and tell for each spool what the one entry would have said by it: the next may follow on."""
        of_each = [_drop(spool, erasure, [(START, texts)]) for spool in self._spools]
        return sum((dropped for dropped, _ in of_each), Counter()), [telling for _, telling in of_each]

    def _after(self, erasure: Erasure, told: Sequence[Telling]) -> _After:
        """Drop what came meanwhile, look for what is left, and leave nothing of what was dropped in the files."""
        after = _After()
        for spool, before in zip(self._spools, told, strict=True):
            try:
                dropped, telling = _drop(spool, erasure, before)
                after.dropped += dropped
                _look(spool, erasure, telling, after.left)
            except (StoreUnavailable, ConfigurationError) as error:
                after.unlooked += 1
                after.troubles.append(str(error))
            try:
                after.unclean += not spool.scrub(SCRUB_SECONDS)
            except (StoreUnavailable, ConfigurationError) as error:
                after.unclean += 1
                after.troubles.append(str(error))
        return after

    def _notes(self, *numbers: tuple[str, int]) -> tuple[str, ...]:
        counted = (*numbers, (SET_ASIDE, self._set_aside()))
        return (*(note.format(number) for note, number in counted if number), ELSEWHERE, BACKUPS)


def _look(spool: Spool, erasure: Erasure, telling: Telling, found: _Found) -> Telling:
    """Add what a spool keeps to what was found, and return the texts with what the one entry would have said.

    In the order of acceptance: what the one entry would have said next is known by the write that would have said it.
    """
    texts: frozenset[Told] = frozenset()
    known, more = deque(telling), list(telling)
    for kept in walk(spool):
        while known and known[0][0] < kept.sequence:
            texts |= known.popleft()[1]
        if kept.operation is None:
            found.unreadable += 1
        elif concerns(erasure, kept.operation, texts):
            found.kept["waiting" if kept.buried_at is None else "dead"].append(kept.id)
            found.unforgotten += kept.buried_at is None and unforgets(erasure, kept.operation)
            if said := told_by(erasure, kept.operation, texts):
                texts |= said
                more.append((kept.sequence, said))
        else:
            found.linked += links(erasure, kept.operation)
            found.reaching += reaches(erasure, kept.operation, texts)
    return sorted(more, key=itemgetter(0))


def _drop(spool: Spool, erasure: Erasure, telling: Telling) -> tuple[Counter[str], Telling]:
    """Drop what a spool keeps of it; return how much, how much of it was to forget what may stay, and what it told."""
    found = _Found()
    telling = _look(spool, erasure, telling, found)
    dropped = {name: drop(spool, doomed, dead_only=False) for name, doomed in found.kept.items()}
    return Counter(dropped | {"unforgotten": found.unforgotten}), telling


def _numbers(found: Mapping[str, Sequence[object]]) -> Mapping[str, int]:
    return {name: len(kept) for name, kept in found.items()}


def _proof(name: str, remaining: int) -> Proof:
    return Proof(store=name, query=f"every operation of the home's spools that is {name}", remaining=remaining)
