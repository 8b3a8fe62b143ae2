"""Lets a person who has several subjects read what was said to each of them."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from hermes_memory.application.breaker import Breaker
from hermes_memory.domain.model import Caller, Subject
from hermes_memory.ports.people import People

FRESH_SECONDS: Final = 10.0
"""How long an answer is used. A person who is taken apart again is kept apart by the database at once."""
KEPT: Final = 4_096


class PersonBook:
    """Adds to a caller the other subjects of the same person. All methods belong to the event loop.

    Args:
        people: Who knows them.
        breaker: The store's: while it is known to be away, a question fails at once.
        clock: Tells seconds, from any start.
    """

    def __init__(self, people: People, breaker: Breaker, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._people = people
        self._breaker = breaker
        self._clock = clock
        self._known: OrderedDict[Subject, tuple[float, frozenset[Subject]]] = OrderedDict()

    async def reading(self, caller: Caller, *, timeout: float) -> Caller:
        """Return the caller as it reads; one without a subject is nobody else.

        Raises:
            StoreUnavailable, DeadlineExceeded, SchemaNotApplied: As for `People.others`.
        """
        if caller.subject is None:
            return caller
        return replace(caller, also=await self._others(caller.subject, timeout))

    async def _others(self, subject: Subject, timeout: float) -> frozenset[Subject]:
        learnt, others = self._known.get(subject, (float("-inf"), frozenset()))
        if self._clock() - learnt < FRESH_SECONDS:
            return others
        async with self._breaker.awaited(timeout=timeout) as left:
            others = await self._people.others(subject, timeout=left)
        self._known[subject] = (self._clock(), others)
        self._known.move_to_end(subject)
        while len(self._known) > KEPT:
            self._known.popitem(last=False)
        return others
