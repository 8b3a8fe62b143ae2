"""What a caller finds: answers to a question, a memory by its id, and the list of the durable ones."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from hermes_memory.application.answers import RecallRequest, RecallResult
from hermes_memory.application.arguments import (
    parse_contents,
    parse_kinds,
    parse_target,
    require_floor,
    require_limit,
    row_named,
)
from hermes_memory.application.preparing import moment
from hermes_memory.application.view_standpoint import Standpoint
from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.model import Entry, Kind, Row, RowId, Scope, SessionId
from hermes_memory.domain.trust import AmbientTrust
from hermes_memory.ports.reading import SearchSpace

EVERY_KIND: Final = frozenset(Kind)


class Recalling(Standpoint):
    """Reads what the caller may see as it stands, or as it stood at a moment of the past."""

    async def recall(
        self,
        query: str,
        *,
        limit: int = 5,
        scope: str | Scope = "current",
        kinds: frozenset[Kind] = EVERY_KIND,
        target: str | None = None,
        floor: float = 0.0,
        exclude: frozenset[str] = frozenset(),
        window: tuple[SessionId, datetime] | None = None,
        as_of: datetime | None = None,
        unasked: AmbientTrust | None = None,
        timeout: float | None = None,
    ) -> RecallResult:
        """Find memories that answer a question, best first.

        Args:
            limit: Most hits, from 1 to 200.
            scope: `current`, `session`, `subject`, `all`, the name of a theme, or a scope object.
            kinds: Entries, turns, or both.
            target: Only entries of this target.
            floor: Fused score below which nothing is returned, from 0 to 1.
            exclude: Contents not to return.
            window: A session, and the time since when its turns are in view: those are not returned either. A naive
                time counts as UTC.
            as_of: Answer from the memory as it stood then, by the database's clock; a naive time counts as UTC. What
                was changed or forgotten since is found as it was, unless it was erased. Of other themes only turns are
                found: how their durable memories stood is theirs. Such an answer is found by words alone and cannot be
                explained.
            unasked: Which memories may be shown to an agent that has not asked for any; None when it has. The others
                have no part in the answer, not even as what corrects or repeats another.
            timeout: Seconds the answer is worth.

        Raises:
            InvalidInput: An argument is unusable; the message names it.
            NotVisible: The scope names a governed theme that the caller is not in. Any other theme that the caller may
                not read looks like an empty one.
            StoreUnavailable: The database is out of reach.
            DeadlineExceeded: No answer in time.
            SchemaNotApplied: The database has no schema, or an older one.
        """
        if not isinstance(query, str):
            raise InvalidInput("a query is text", field="query")
        require_limit(limit, most=200)
        require_floor(floor)
        allowed = self._reads.seconds(timeout)
        space = SearchSpace(
            scope=self._scope(scope),
            kinds=parse_kinds(kinds),
            target=parse_target(target) if target is not None else None,
        )
        then = None if as_of is None else moment(as_of)
        excluded, in_view = parse_contents(exclude), None if window is None else self._in_view(window)
        caller, left = await self._reads.begin(allowed)
        request = RecallRequest(
            caller=caller,
            query=query,
            space=space,
            limit=limit,
            timeout=left,
            floor=floor,
            exclude=excluded,
            window=in_view,
            unasked=unasked,
        )
        if then is not None:
            return await self._services.past.recall(request, then)
        return await self._services.recall.recall(request)

    def _in_view(self, window: object) -> tuple[frozenset[SessionId], datetime]:
        match window:
            case (str(session), datetime() as since) if session:
                # The host's side names a time that never comes where nothing is in view.
                return self._session(SessionId(session)).names, since if since.tzinfo else since.replace(tzinfo=UTC)
        raise InvalidInput("a window is a session's id and a time, such as (session, since)", field="window")

    async def get(self, row: RowId | UUID, *, timeout: float | None = None) -> Row:
        """Return a memory by id.

        Raises:
            NotVisible: There is none, or the caller may not see it: the two look alike.
            InvalidInput: The id is no UUID.
            StoreUnavailable, DeadlineExceeded, SchemaNotApplied: As for `recall`.
        """
        named, allowed = row_named(row), self._reads.seconds(timeout)
        caller, left = await self._reads.begin(allowed)
        return await self._reads.row(caller, named, timeout=left)

    async def profile(
        self,
        *,
        target: str | None = None,
        scope: str | Scope = "current",
        limit: int = 50,
        timeout: float | None = None,
    ) -> Sequence[Entry]:
        """List durable memories, most recently changed first.

        Raises:
            InvalidInput: An argument is unusable.
            NotVisible, StoreUnavailable, DeadlineExceeded, SchemaNotApplied: As for `recall`.
        """
        require_limit(limit, most=1000)
        where, wanted = self._scope(scope), parse_target(target) if target is not None else None
        caller, left = await self._reads.begin(self._reads.seconds(timeout))
        return await self._services.reader.entries(caller, where, target=wanted, limit=limit, timeout=left)
