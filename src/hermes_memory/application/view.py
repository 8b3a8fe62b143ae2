"""A memory as one caller has it: whose it is, in which conversation, with whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

import anyio

from hermes_memory.application.accept import Said
from hermes_memory.application.answers import RecallRequest, RecallResult
from hermes_memory.application.arguments import (
    parse_role,
    parse_target,
    require_floor,
    require_limit,
    row_named,
    seconds,
)
from hermes_memory.application.explanation import Explanation, Verdict
from hermes_memory.application.forgetting import await_forgetting
from hermes_memory.application.preparing import moment
from hermes_memory.application.services import Services
from hermes_memory.application.undo import last_change, take_back
from hermes_memory.domain.errors import Ambiguous, DeadlineExceeded, InvalidInput, NotVisible, Outdated
from hermes_memory.domain.history import Change, ChangeKind
from hermes_memory.domain.model import (
    Caller,
    Entry,
    Kind,
    OperationId,
    Origin,
    Role,
    Row,
    RowId,
    Scope,
    SessionId,
    SessionScope,
    Target,
    Theme,
    TraceId,
)
from hermes_memory.domain.operations import ByContent, ById, Effect, Operation, Outcome, Selector
from hermes_memory.domain.themes import parse_scope
from hermes_memory.domain.trust import AmbientTrust
from hermes_memory.ports.reading import SearchSpace

EVERY_KIND = frozenset(Kind)


class View:
    """The memory as one caller has it. Cheap: make as many as needed.

    Whatever is read waits until all that this home has accepted to change or to forget is done, and raises when that
    takes too long: what is on its way out is not shown.
    """

    def __init__(
        self, services: Services, caller: Caller, *, write_timeout: float, read_timeout: float, patient: bool = True
    ) -> None:
        """Serve `caller`; unless told otherwise, writes and reads are worth so many seconds.

        Args:
            patient: See `Memory.view_of`.
        """
        self._patient = patient
        self._services = services
        self.caller = caller
        self._write_timeout = write_timeout
        self._read_timeout = read_timeout

    @property
    def theme(self) -> Theme:
        """Whose memory this is."""
        return self.caller.theme

    async def remember(
        self,
        content: str,
        *,
        target: str = "memory",
        at: datetime | None = None,
        metadata: Mapping[str, object] | None = None,
        origin: Origin = Origin.USER,
        tool: str | None = None,
        timeout: float | None = None,
    ) -> Entry:
        """Store a durable memory and return it once Postgres has committed it.

        Storing what is stored already changes nothing and returns the stored one.

        Args:
            at: When it was said or became true; now by default. A naive time counts as UTC.
            timeout: Seconds to wait for the commit.

        Raises:
            InvalidInput: The content is empty or too large, or the target is neither `memory` nor `user`.
            SpoolFull: Too many writes wait for the database.
            DeadlineExceeded: The database did not answer in time; the write is accepted and not lost.
            DeliveryRejected: The database refuses the write for good.
            StoreUnavailable: The local spool cannot be used for now; or the database went away before the stored one
                could be read back.
            NotVisible: Somebody else forgot it before it could be read back.
        """
        seconds(timeout, self._write_timeout)
        operation = await self._services.spool.call(
            lambda: self._services.acceptor.add(
                self.caller, content, target=parse_target(target), origin=origin, at=at, metadata=metadata, tool=tool
            )
        )
        return await self._stored(await self._effect(operation, timeout), timeout)

    async def replace(
        self,
        entry: RowId | UUID,
        content: str,
        *,
        origin: Origin = Origin.USER,
        tool: str | None = None,
        timeout: float | None = None,
    ) -> Entry:
        """Change the content of a memory of the caller's own theme; return it as stored.

        It keeps its id, unless the theme holds an entry of the new content already: then it becomes that one, and the
        id to go on with is that of the entry returned.

        Raises:
            NotVisible: There is no such memory, or it is not the caller's to change.
            InvalidInput, SpoolFull, DeadlineExceeded, DeliveryRejected, StoreUnavailable: As for `remember`.
        """
        seconds(timeout, self._write_timeout)
        operation = await self._services.spool.call(
            lambda: self._services.acceptor.replace(
                self.caller, ById(id=row_named(entry)), content, origin=origin, tool=tool
            )
        )
        return await self._stored(await self._effect(operation, timeout), timeout)

    async def forget(
        self,
        entry: RowId | UUID,
        *,
        origin: Origin = Origin.USER,
        tool: str | None = None,
        timeout: float | None = None,
    ) -> None:
        """Forget a memory of the caller's own theme; after return no recall finds it.

        Raises:
            NotVisible: There is no such memory, or it is not the caller's to forget.
            SpoolFull, DeadlineExceeded, DeliveryRejected, StoreUnavailable: As for `remember`.
        """
        await self.forget_selected(ById(id=row_named(entry)), origin=origin, tool=tool, timeout=timeout)

    async def forget_selected(
        self, selector: Selector, *, origin: Origin = Origin.USER, tool: str | None = None, timeout: float | None = None
    ) -> Outcome:
        """Forget the one memory of the caller's own theme that a selector finds.

        Raises:
            NotVisible: None fits, or it is not the caller's to forget.
            Ambiguous: Several fit; none was touched.
            SpoolFull, DeadlineExceeded, DeliveryRejected, StoreUnavailable: As for `remember`.
        """
        seconds(timeout, self._write_timeout)
        return await self._effect(await self._removal(selector, origin=origin, tool=tool), timeout)

    async def forget_content(
        self, content: str, *, origin: Origin = Origin.USER, tool: str | None = None, timeout: float | None = None
    ) -> Sequence[RowId]:
        """Forget what has exactly this content in the caller's own theme, whichever target it is of; return the ids.

        Raises:
            InvalidInput: The content is empty.
            NotVisible: Nothing has this content, or it is not the caller's to forget.
            SpoolFull, DeadlineExceeded, DeliveryRejected, StoreUnavailable: As for `remember`.
        """
        seconds(timeout, self._write_timeout)
        # Both are accepted before either is waited for: what is forgotten later is forgotten whatever its target.
        removals = [
            await self._removal(ByContent(target=target, content=content), origin=origin, tool=tool)
            for target in Target
        ]
        outcomes = [await self._outcome(removal, timeout) for removal in removals]
        forgotten = [outcome.row for outcome in outcomes if outcome.effect is Effect.REMOVED and outcome.row]
        if not forgotten:
            raise NotVisible("there is no memory with exactly this content, or it is not yours to change")
        return forgotten

    async def capture(
        self, *, user: str, assistant: str, metadata: Mapping[str, object] | None = None
    ) -> OperationId | None:
        """Accept one exchange durably and return at once; it is stored in the background.

        Returns:
            The id of the accepted write, None when neither half is worth keeping.

        Raises:
            InvalidInput: The view has no session, or a half is too large.
            SpoolFull: Too many writes wait for the database.
            StoreUnavailable: The local spool cannot be used for now.
        """
        said = [
            Said(role=Role.USER, content=user, metadata=metadata),
            Said(role=Role.ASSISTANT, content=assistant, metadata=metadata),
        ]
        return await self._capture(said, filtered=True)

    async def capture_turn(
        self,
        content: str,
        *,
        role: str = "user",
        speaker: str | None = None,
        at: datetime | None = None,
        occurrence: int = 0,
        metadata: Mapping[str, object] | None = None,
    ) -> OperationId | None:
        """Accept one message durably and return at once; nothing but empty text is left out.

        Args:
            role: `user`, `assistant`, `system` or `tool`.
            speaker: Name of who said it.
            at: When it was said; now by default. A naive time counts as UTC.
            occurrence: Which one it is of several equal messages of this role in the session, from 0. Handing in the
                same message with the same number again stores nothing.

        Raises:
            InvalidInput: The view has no session, the role is unknown or the message is too large.
            SpoolFull: Too many writes wait for the database.
            StoreUnavailable: The local spool cannot be used for now.
        """
        said = Said(
            role=parse_role(role), content=content, speaker=speaker, at=at, occurrence=occurrence, metadata=metadata
        )
        return await self._capture([said], filtered=False)

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
            window: A session, and the time since when its turns are in view: those are not returned either.
            as_of: Answer from the memory as it stood then, by the database's clock; a naive time counts as UTC. What
                was changed or forgotten since is found as it was, unless it was erased. Of other themes only turns are
                found: how their durable memories stood is theirs. Such an answer is found by words alone and cannot be
                explained.
            unasked: Which memories may be shown to an agent that has not asked for any; None when it has. The others
                have no part in the answer, not even as what corrects or repeats another.
            timeout: Seconds the answer is worth.

        Raises:
            InvalidInput: The limit, the floor or the scope is unusable.
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
        allowed = seconds(timeout, self._read_timeout)
        space = SearchSpace(
            scope=self._scope(scope), kinds=kinds, target=parse_target(target) if target is not None else None
        )
        then = None if as_of is None else moment(as_of)
        caller, left = await self._reading(allowed)
        request = RecallRequest(
            caller=caller,
            query=query,
            space=space,
            limit=limit,
            timeout=left,
            floor=floor,
            exclude=exclude,
            window=None if window is None else (self._session(window[0]), window[1]),
            unasked=unasked,
        )
        if then is not None:
            return await self._services.past.recall(request, then)
        return await self._services.recall.recall(request)

    async def get(self, row: RowId | UUID, *, timeout: float | None = None) -> Row:
        """Return a memory by id.

        Raises:
            NotVisible: There is none, or the caller may not see it: the two look alike.
            InvalidInput: The id is no UUID.
            StoreUnavailable, DeadlineExceeded, SchemaNotApplied: As for `recall`.
        """
        named, allowed = row_named(row), seconds(timeout, self._read_timeout)
        caller, left = await self._reading(allowed)
        return await self._get(named, left, caller)

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
        caller, left = await self._reading(seconds(timeout, self._read_timeout))
        return await self._services.reader.entries(caller, where, target=wanted, limit=limit, timeout=left)

    async def history(
        self,
        row: RowId | UUID | None = None,
        *,
        scope: str | Scope = "current",
        limit: int = 50,
        timeout: float | None = None,
    ) -> Sequence[Change]:
        """Tell what became of a memory, or of all of a scope, newest change first.

        A memory that was forgotten has its history still, until that is erased. Turns never change and have none.
        What another theme has changed or forgotten is not told, also where its memories may be read.

        Args:
            row: The memory; without one all changes of the scope are told.

        Raises:
            NotVisible: There never was such a memory, or the caller may not see its past: the two look alike.
            InvalidInput: An argument is unusable.
            StoreUnavailable, DeadlineExceeded, SchemaNotApplied: As for `recall`.
        """
        require_limit(limit, most=1000)
        named = None if row is None else row_named(row)
        where = self._scope(scope)
        caller, left = await self._reading(seconds(timeout, self._read_timeout))
        if named is None:
            return await self._services.past.recent(caller, where, limit=limit, timeout=left)
        return await self._services.past.of_row(caller, named, limit=limit, timeout=left)

    async def undo(
        self,
        name: RowId | OperationId | UUID,
        *,
        reason: str | None = None,
        origin: Origin = Origin.USER,
        timeout: float | None = None,
    ) -> Entry | None:
        """Take the last change of a memory of the caller's own theme back.

        It is a change of its own and can be undone again. What was forgotten comes back under a new id.

        Args:
            name: The memory, or the write that changed it last.
            reason: Why, for the history.

        Returns:
            The memory as it stands now, None when what was undone had added it.

        Raises:
            NotVisible: There is no such memory or write, it is not the caller's to change, or its text was erased.
            Outdated: The memory was changed again since; the message says what to undo first.
            InvalidInput, SpoolFull, DeadlineExceeded, DeliveryRejected, StoreUnavailable: As for `remember`.
        """
        seconds(timeout, self._write_timeout)
        left = await self._forgotten(seconds(timeout, self._read_timeout))
        change, changes = await last_change(self._services.past, self.caller, row_named(name), timeout=left)
        operation = await self._services.spool.call(
            lambda: take_back(
                self._services.acceptor,
                self.caller,
                changes,
                origin=origin,
                reason=f"undoes {change.operation}" + (f": {reason}" if reason else ""),
            )
        )
        outcome = await self._outcome(operation, timeout)
        if outcome.effect is Effect.NOT_FOUND:
            raise Outdated("the memory was changed by somebody else meanwhile: look at it again")
        return None if change.kind is ChangeKind.ADDED else await self._stored(outcome, timeout)

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
        caller, left = await self._reading(seconds(timeout, self._read_timeout))
        return await self._services.explainer.explain(caller, trace, rows=rows, timeout=left)

    async def why(self, trace: TraceId, row: RowId | UUID, *, timeout: float | None = None) -> Verdict:
        """Tell why a memory is in a recent answer to this theme and subject, or is not.

        A memory that the caller may not see is told of like one that never was.

        Raises:
            NotVisible: No such answer is remembered for this theme and subject.
            InvalidInput: The row's id is no UUID.
            StoreUnavailable, DeadlineExceeded, SchemaNotApplied: As for `recall`.
        """
        named, allowed = row_named(row), seconds(timeout, self._read_timeout)
        caller, left = await self._reading(allowed)
        return await self._services.explainer.why(caller, trace, named, timeout=left)

    def note_shown(self, trace: TraceId, shown: int) -> None:
        """Note, for the explanation of an answer, that only its first `shown` hits had room where they were shown."""
        self._services.recall.note_shown(trace, self.caller, shown)

    async def _forgotten(self, timeout: float) -> float:
        """Wait for what is on its way out; return the seconds left for reading what stays."""
        return await await_forgetting(self._services.spool, self._services.deliverer, timeout=timeout)

    async def _reading(self, timeout: float) -> tuple[Caller, float]:
        """Return on whose behalf is read, once nothing is on its way out, and the seconds left for it."""
        deadline = anyio.current_time() + timeout
        caller = await self._services.people.reading(self.caller, timeout=await self._forgotten(timeout))
        if (left := deadline - anyio.current_time()) <= 0:
            raise DeadlineExceeded("the database did not answer in time")
        return caller, left

    async def _get(self, row: RowId, timeout: float, caller: Caller | None = None) -> Row:
        found = await self._services.reader.get(caller or self.caller, row, timeout=timeout)
        if found is None:
            raise NotVisible("there is no such memory for this caller")
        return found

    async def _capture(self, said: Sequence[Said], *, filtered: bool) -> OperationId | None:
        operation = await self._services.spool.call(
            lambda: self._services.acceptor.turns(self.caller, said, filtered=filtered)
        )
        return operation.stamp.operation if operation else None

    async def _removal(self, selector: Selector, *, origin: Origin, tool: str | None) -> Operation:
        return await self._services.spool.call(
            lambda: self._services.acceptor.remove(self.caller, selector, origin=origin, tool=tool)
        )

    async def _outcome(self, operation: Operation, timeout: float | None) -> Outcome:
        return await self._services.deliverer.wait(
            operation, timeout=seconds(timeout, self._write_timeout), patient=self._patient
        )

    async def _effect(self, operation: Operation, timeout: float | None) -> Outcome:
        outcome = await self._outcome(operation, timeout)
        if outcome.effect is Effect.NOT_FOUND:
            raise NotVisible("there is no such memory, or it is not yours to change")
        if outcome.effect is Effect.AMBIGUOUS:
            raise Ambiguous("several memories fit and none was touched: select by id or by the whole content")
        return outcome

    async def _stored(self, outcome: Outcome, timeout: float | None) -> Entry:
        if outcome.row is not None:
            # What others wait to forget is no reason to call a write that is committed late.
            row = await self._get(outcome.row, seconds(timeout, self._read_timeout))
            if isinstance(row, Entry):
                return row
        raise NotVisible("the memory was changed or forgotten by somebody else meanwhile")

    def _session(self, named: SessionId) -> SessionId:
        """Return the name under which a session is kept."""
        return self._services.acceptor.preparing.session(named) or named

    def _scope(self, scope: str | Scope) -> Scope:
        if isinstance(scope, str):
            return parse_scope(scope, self.caller)
        if not isinstance(scope, Scope):
            raise InvalidInput("a scope is a name or a scope object", field="scope")
        if isinstance(scope, SessionScope):
            return SessionScope(session=self._session(scope.session))
        return scope
