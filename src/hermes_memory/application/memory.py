"""The public face of the library: a memory, and views of it for one caller."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import anyio

from hermes_memory.application.accept import Acceptor, Said
from hermes_memory.application.deliver import Deliverer
from hermes_memory.application.link import StoreLink
from hermes_memory.application.recall import Recall, RecallRequest, RecallResult, Trace
from hermes_memory.application.reconcile import Reconciler
from hermes_memory.application.spool_access import SpoolAccess
from hermes_memory.application.status import Status, StatusReporter
from hermes_memory.domain.errors import Ambiguous, InvalidInput, NotVisible, StoreUnavailable
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
    Subject,
    Target,
    Theme,
    TraceId,
)
from hermes_memory.domain.operations import ByContent, ById, Effect, Operation, Outcome, Selector
from hermes_memory.domain.sessions import session_name
from hermes_memory.domain.themes import claim_theme, parse_scope
from hermes_memory.ports.embedding import EmbeddingQueue
from hermes_memory.ports.reading import Reader, SearchSpace

EVERY_KIND = frozenset(Kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The use cases that a memory is made of."""

    acceptor: Acceptor
    deliverer: Deliverer
    recall: Recall
    reader: Reader
    queue: EmbeddingQueue
    reconciler: Reconciler
    link: StoreLink
    spool: SpoolAccess
    status: StatusReporter


class Memory:
    """An open memory. Made by `hermes_memory.open_memory`; its methods belong to the event loop that opened it."""

    def __init__(
        self,
        services: Services,
        *,
        subject_for: Callable[[str, str], Subject],
        embeds: bool,
        write_timeout: float = 30.0,
        read_timeout: float = 5.0,
    ) -> None:
        """Serve with `services`; calls that wait for the database give up after the two timeouts, in seconds."""
        self.services = services
        self._subject_for = subject_for
        self._embeds = embeds
        self._write_timeout = write_timeout
        self._read_timeout = read_timeout

    def view(self, theme: str, *, session: str | None = None, subject: Subject | None = None) -> View:
        """Return a view for one agent, and perhaps one conversation and one person.

        Args:
            theme: Whose memory; folded to its canonical form.
            session: The conversation that turns belong to.
            subject: Whom it is with, as `subject_for` returns it. Rows written under a subject are its own.

        Raises:
            InvalidInput: The theme is empty, too long or reserved.
        """
        caller = Caller(theme=claim_theme(theme), subject=subject, session=session_name(session))
        return self.view_of(caller)

    def view_of(self, caller: Caller, *, patient: bool = True) -> View:
        """Return a view for a caller that is resolved already.

        Args:
            patient: Let writes that wait for their commit wait for a database that is out of reach, too. Otherwise
                they raise `DeadlineExceeded` as soon as it is known to be; they are accepted even so.
        """
        return View(
            self.services,
            caller,
            write_timeout=self._write_timeout,
            read_timeout=self._read_timeout,
            patient=patient,
        )

    def subject_for(self, platform: str, contact: str) -> Subject:
        """Derive the subject of a contact: a keyed hash that does not tell who it is.

        Args:
            platform: Where the contact is known, such as `telegram`.
            contact: Its key there, such as a user id or a phone number.
        """
        return self._subject_for(platform, contact)

    async def settled(self, *, timeout: float) -> bool:
        """Wait until all writes accepted so far are stored and, where an embedder works, embedded.

        Returns:
            False when `timeout` seconds passed first. Nothing is lost then: what waits is delivered later.
        """
        with anyio.move_on_after(timeout) as scope:
            if not await self.services.deliverer.drained(timeout=timeout):
                return False
            while self._embeds and await self._waiting():  # noqa: ASYNC110 - the queue is in the database
                await anyio.sleep(0.02)
        return not scope.cancelled_caught

    async def ready(self, *, timeout: float) -> None:
        """Wait until the database serves.

        Raises:
            StoreUnavailable: It did not in `timeout` seconds; it is still tried for in the background.
            SchemaNotApplied: It has no schema, or an older one. The message names the command to run.
        """
        await self.services.link.ready(timeout=timeout)

    async def reconcile(self, caller: Caller, *, timeout: float) -> int:
        """Bring a caller's copies of the home's notebooks in step with the files. See `Reconciler.reconcile`."""
        return await self.services.reconciler.reconcile(caller, timeout=timeout)

    async def status(self, *, unanswered: str | None = None) -> Status:
        """Return the state of spool, delivery, store and embedder, for operators.

        Args:
            unanswered: Why the database is known not to answer; it is not asked then.
        """
        return await self.services.status.report(unanswered=unanswered)

    async def _waiting(self) -> int:
        try:
            return (await self.services.queue.backlog()).waiting
        except StoreUnavailable:
            return 1


class View:
    """The memory as one caller has it. Cheap: make as many as needed."""

    def __init__(
        self, services: Services, caller: Caller, *, write_timeout: float, read_timeout: float, patient: bool = True
    ) -> None:
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
        """
        _seconds(timeout, self._write_timeout)
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
            InvalidInput, SpoolFull, DeadlineExceeded, DeliveryRejected: As for `remember`.
        """
        _seconds(timeout, self._write_timeout)
        operation = await self._services.spool.call(
            lambda: self._services.acceptor.replace(
                self.caller, ById(id=_row_id(entry)), content, origin=origin, tool=tool
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
            SpoolFull, DeadlineExceeded, DeliveryRejected: As for `remember`.
        """
        await self.forget_selected(ById(id=_row_id(entry)), origin=origin, tool=tool, timeout=timeout)

    async def forget_selected(
        self, selector: Selector, *, origin: Origin = Origin.USER, tool: str | None = None, timeout: float | None = None
    ) -> Outcome:
        """Forget the one memory of the caller's own theme that a selector finds.

        Raises:
            NotVisible: None fits, or it is not the caller's to forget.
            Ambiguous: Several fit; none was touched.
            SpoolFull, DeadlineExceeded, DeliveryRejected: As for `remember`.
        """
        _seconds(timeout, self._write_timeout)
        return await self._effect(await self._removal(selector, origin=origin, tool=tool), timeout)

    async def forget_content(
        self, content: str, *, origin: Origin = Origin.USER, tool: str | None = None, timeout: float | None = None
    ) -> Sequence[RowId]:
        """Forget what has exactly this content in the caller's own theme, whichever target it is of; return the ids.

        Raises:
            InvalidInput: The content is empty.
            NotVisible: Nothing has this content, or it is not the caller's to forget.
            SpoolFull, DeadlineExceeded, DeliveryRejected: As for `remember`.
        """
        _seconds(timeout, self._write_timeout)
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
        timeout: float | None = None,
    ) -> RecallResult:
        """Find memories that answer a question, best first.

        Args:
            limit: Most hits, from 1 to 200.
            scope: `current`, `session`, `subject`, `all`, the name of a theme, or a scope object.
            kinds: Entries, turns, or both.
            target: Only entries of this target.
            floor: Fused score below which nothing is returned.
            exclude: Contents not to return.
            window: A session, and the time since when its turns are in view: those are not returned either.
            timeout: Seconds the answer is worth.

        Raises:
            InvalidInput: The limit or the scope is unusable.
            NotVisible: The scope names a theme the caller may not read.
            StoreUnavailable: The database is out of reach.
            DeadlineExceeded: No answer in time.
        """
        if not isinstance(query, str):
            raise InvalidInput("a query is text", field="query")
        _require_limit(limit, most=200)
        space = SearchSpace(
            scope=self._scope(scope), kinds=kinds, target=parse_target(target) if target is not None else None
        )
        return await self._services.recall.recall(
            RecallRequest(
                caller=self.caller,
                query=query,
                space=space,
                limit=limit,
                timeout=_seconds(timeout, self._read_timeout),
                floor=floor,
                exclude=exclude,
                window=window,
            )
        )

    async def get(self, row: RowId | UUID, *, timeout: float | None = None) -> Row:
        """Return a memory by id.

        Raises:
            NotVisible: There is none, or the caller may not see it: the two look alike.
        """
        found = await self._services.reader.get(
            self.caller, _row_id(row), timeout=_seconds(timeout, self._read_timeout)
        )
        if found is None:
            raise NotVisible("there is no such memory for this caller")
        return found

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
        """
        _require_limit(limit, most=1000)
        return await self._services.reader.entries(
            self.caller,
            self._scope(scope),
            target=parse_target(target) if target is not None else None,
            limit=limit,
            timeout=_seconds(timeout, self._read_timeout),
        )

    def explain(self, trace: TraceId) -> Trace:
        """Return how a recent answer to this caller came about.

        Raises:
            NotVisible: No such answer is remembered for this caller.
        """
        found = self._services.recall.trace(trace)
        if found is None or found.caller != self.caller:
            raise NotVisible("no such answer is remembered")
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
            operation, timeout=_seconds(timeout, self._write_timeout), patient=self._patient
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
            row = await self.get(outcome.row, timeout=timeout)
            if isinstance(row, Entry):
                return row
        raise NotVisible("the memory was changed or forgotten by somebody else meanwhile")

    def _scope(self, scope: str | Scope) -> Scope:
        if isinstance(scope, str):
            return parse_scope(scope, self.caller)
        if not isinstance(scope, Scope):
            raise InvalidInput("a scope is a name or a scope object", field="scope")
        return scope


def _seconds(timeout: object, default: float) -> float:
    """Return the seconds to wait. Writes ask before they accept anything, so that wrong use leaves no write behind.

    Raises:
        InvalidInput: It is no positive number of seconds.
    """
    if timeout is None:
        return default
    if not isinstance(timeout, int | float) or not 0 < timeout < math.inf:
        raise InvalidInput("a timeout is a positive number of seconds", field="timeout")
    return timeout


def _row_id(row: object) -> RowId:
    if not isinstance(row, UUID):
        raise InvalidInput("a memory is named by its id, a UUID", field="id")
    return RowId(row)


def _require_limit(limit: object, *, most: int) -> None:
    if not isinstance(limit, int) or not 1 <= limit <= most:
        raise InvalidInput(f"limit must be from 1 to {most}", field="limit")


def parse_target(value: str) -> Target:
    """Return the target of this name.

    Raises:
        InvalidInput: It is neither `memory` nor `user`.
    """
    try:
        return Target(value.strip().casefold())
    except (ValueError, AttributeError):
        raise InvalidInput("target must be 'memory' or 'user'", field="target") from None


def parse_role(value: str) -> Role:
    """Return the role of this name.

    Raises:
        InvalidInput: It is none of `user`, `assistant`, `system` and `tool`.
    """
    try:
        return Role(value.strip().casefold())
    except (ValueError, AttributeError):
        raise InvalidInput("role must be 'user', 'assistant', 'system' or 'tool'", field="role") from None
