"""Finding and reading stored rows on behalf of a caller.

Every method returns only rows that `hermes_memory.domain.visibility.visible` allows the caller, of the scope asked
for. Every method takes `timeout`, the seconds the answer is worth waiting for.

Raises (all methods):
    StoreUnavailable: The database cannot be reached.
    DeadlineExceeded: The answer did not come in time.
    SchemaNotApplied: The database has no schema, or an older one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from hermes_memory.domain.model import Caller, Entry, HomeId, Kind, Row, RowId, Scope, Target, Theme


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSpace:
    """Where to look.

    Attributes:
        kinds: Entries, turns, or both.
        target: Only entries of this target; None means either. Turns have no target and are not affected.
    """

    scope: Scope
    kinds: frozenset[Kind] = frozenset(Kind)
    target: Target | None = None


class TextHit(NamedTuple):
    """A row that holds some of the query's lexemes, with its BM25 score, not below 0.

    A tuple, because every answer makes some hundreds.

    k1 = .9, b = .4, idf = ln(1 + (max(N, 50) - df + .5) / (df + .5)) (Robertson and Zaragoza, 2009), where N, df and
    the mean length are those of `TextMatches`, over the lexemes of `hermes_memory.domain.lexemes.indexed_row`.

    Attributes:
        held: Which of the distinct lexemes asked for it holds, in their order: bit i stands for the i-th.
    """

    row: Row
    bm25: float
    held: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TextMatches:
    """The answer of the text leg.

    The statistics are taken over the visible rows of the searched kinds whose theme and subject the scope covers.
    A target or a session narrows the hits and not the statistics.

    Attributes:
        hits: Best first.
        documents: Rows in the searched space (as far as the statistics know), 0 or more.
        mean_length: Their mean length in lexemes.
        document_frequencies: How many of them hold each query lexeme; a lexeme nobody holds may be absent.
    """

    hits: Sequence[TextHit]
    documents: int = 0
    mean_length: float = 0.0
    document_frequencies: Mapping[str, int] = field(default_factory=dict)


class VectorHit(NamedTuple):
    """A row whose embedding is near the query's; cosine from -1 to 1, that of its best part."""

    row: Row
    cosine: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How things stand, for who keeps what was read and must know later whether it still holds.

    Attributes:
        unchanged: Those of the rows asked about that the caller would read by id just as they are in hand: stored,
            visible, and neither changed nor moved.
        newest: Marks of the entries in the caller's own theme that were stored or changed last, as the caller sees
            them. Equal marks say that none came in between, whatever the clocks of their writers say. What is said,
            and what other themes and subjects store, leaves them alone. They can be compared and nothing else.
    """

    unchanged: frozenset[RowId]
    newest: tuple[int, ...]


class Look(Protocol):
    """Several questions of one caller to a search, asked one after the other. See `Search.look`.

    Each is answered as by the method of the same name of `Search`, raises what that one does, and is answered from what
    is stored when it is asked. After an error nothing more can be asked.
    """

    async def by_text(self, space: SearchSpace, lexemes: Sequence[str], *, limit: int) -> TextMatches:
        """Find rows that hold any of the lexemes, best BM25 first."""
        ...

    async def by_vector(
        self, space: SearchSpace, vector: Sequence[float], *, limit: int, generation: int | None = None
    ) -> Sequence[VectorHit]:
        """Find the rows nearest to a vector, nearest first."""
        ...

    async def cosines(
        self, rows: Collection[RowId], vector: Sequence[float], *, generation: int | None = None
    ) -> Mapping[RowId, float]:
        """Return the cosine to `vector` of those rows that are visible and embedded."""
        ...


class Search(Protocol):
    """The two legs of recall."""

    def look(self, caller: Caller, *, timeout: float) -> AbstractAsyncContextManager[Look]:
        """Open a look for a caller, for who has more than one question: the next one costs less than the first.

        It holds up to one connection from its first question to the end of its block, and waits for nobody meanwhile:
        do not wait within it for somebody who may need one.

        Args:
            timeout: Seconds for all its questions together.
        """
        ...

    async def by_text(
        self, caller: Caller, space: SearchSpace, lexemes: Sequence[str], *, limit: int, timeout: float
    ) -> TextMatches:
        """Find rows that hold any of the lexemes, best BM25 first.

        No lexeme finds nothing; one named twice counts once.
        """
        ...

    async def by_vector(
        self,
        caller: Caller,
        space: SearchSpace,
        vector: Sequence[float],
        *,
        limit: int,
        timeout: float,
        generation: int | None = None,
    ) -> Sequence[VectorHit]:
        """Find the rows nearest to a vector, nearest first.

        Rows that are not embedded yet are not found. A vector of another dimension finds nothing.

        Args:
            generation: The embedding generation whose model made the vector: it is compared with the vectors of that
                one alone, whichever is in use by now. None stands for the one in use.

        Raises:
            InvalidInput: There is no such generation any more.
        """
        ...

    async def cosines(
        self,
        caller: Caller,
        rows: Collection[RowId],
        vector: Sequence[float],
        *,
        timeout: float,
        generation: int | None = None,
    ) -> Mapping[RowId, float]:
        """Return the cosine to `vector` of those rows that are visible and embedded.

        Args:
            generation: As for `by_vector`.

        Raises:
            InvalidInput: There is no such generation any more.
        """
        ...


class Reader(Protocol):
    """Reading rows by id, by list and by source."""

    async def get(self, caller: Caller, row: RowId, *, timeout: float) -> Row | None:
        """Return a row, None when there is none or the caller may not see it: the two look alike."""
        ...

    async def standing(self, caller: Caller, rows: Collection[Row], *, timeout: float) -> Standing:
        """Tell how rows that were read before stand now, all at one moment. See `Standing`.

        A home that begins to mirror an entry does not change it.
        """
        ...

    async def entries(
        self, caller: Caller, scope: Scope, *, target: Target | None = None, limit: int, timeout: float
    ) -> Sequence[Entry]:
        """List entries, most recently changed first."""
        ...

    async def with_content(self, caller: Caller, content: str, *, timeout: float) -> Sequence[Entry]:
        """List the entries that scope current holds of exactly this content, most recently changed first.

        However much the theme holds, it is found at once.
        """
        ...

    async def mirrored(self, caller: Caller, source: HomeId, *, timeout: float) -> Sequence[Entry]:
        """List all entries of the caller's own theme and exact subject that mirror a home's files, in no order."""
        ...

    async def private_copies(
        self, source: HomeId, contents: Collection[tuple[Target, str]], *, timeout: float
    ) -> frozenset[tuple[Target, str]]:
        """Tell which of these contents mirror this home's files under some subject, whoever's it is.

        It reveals nothing but what the asker holds already: it lets a reconciliation keep a person's words out of
        the theme that others read.
        """
        ...

    async def erased_ago(self, *, timeout: float) -> float | None:
        """Return how many seconds ago something was erased last, whatever it was; None when nothing ever was."""
        ...

    async def themes(self, caller: Caller, *, timeout: float) -> Sequence[Theme]:
        """List the themes with something in them that the caller may read, sinks apart, in the order of code points."""
        ...
