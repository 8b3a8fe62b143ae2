"""The memory for code that does not await: the same calls, each waiting for its answer."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from hermes_memory.application.health import Trouble
from hermes_memory.application.memory import Memory
from hermes_memory.application.status import Status
from hermes_memory.application.view import View
from hermes_memory.domain.model import Caller, Subject, Theme, TraceId

P = ParamSpec("P")
Answer = TypeVar("Answer")


class Bridge(Protocol):
    """The way to the event loop that an open memory belongs to, for threads that are not its own."""

    def __call__(self, work: Callable[[], Awaitable[Answer]]) -> Answer:
        """Call `work` on the loop, wait for what it returns and return that, or raise what it raises.

        Raises:
            RuntimeError: Called on the loop's own thread, which would wait for itself; in a process that was forked
                from the one with the loop; or after the memory was closed.
        """
        ...


def _waiting(
    method: Callable[Concatenate[View, P], Coroutine[Any, Any, Answer]],
) -> Callable[Concatenate[SyncView, P], Answer]:
    """Make a method that waits for one of `View`; signature and docstring stay that one's."""

    @functools.wraps(method)
    def waiting(self: SyncView, /, *args: P.args, **kwargs: P.kwargs) -> Answer:
        return self.bridge(lambda: method(self.view, *args, **kwargs))

    waiting.__qualname__ = f"SyncView.{method.__name__}"
    waiting.__module__ = __name__
    return waiting


class SyncView:
    """A `View` whose methods wait for their answer. Any thread may use it, several at once as well."""

    def __init__(self, view: View, bridge: Bridge) -> None:
        """Wait for `view` by way of `bridge`."""
        self.view = view
        self.bridge = bridge

    @property
    def caller(self) -> Caller:
        """On whose behalf is read and written."""
        return self.view.caller

    @property
    def theme(self) -> Theme:
        """Whose memory this is."""
        return self.view.theme

    def note_shown(self, trace: TraceId, shown: int) -> None:
        """Note, for the explanation of an answer, that only its first `shown` hits had room where they were shown."""

        async def note() -> None:
            self.view.note_shown(trace, shown)

        self.bridge(note)

    remember = _waiting(View.remember)
    replace = _waiting(View.replace)
    forget = _waiting(View.forget)
    forget_selected = _waiting(View.forget_selected)
    forget_content = _waiting(View.forget_content)
    capture = _waiting(View.capture)
    capture_turn = _waiting(View.capture_turn)
    recall = _waiting(View.recall)
    get = _waiting(View.get)
    profile = _waiting(View.profile)
    history = _waiting(View.history)
    undo = _waiting(View.undo)
    explain = _waiting(View.explain)
    why = _waiting(View.why)


class SyncMemory:
    """An open memory whose methods wait. Made by `hermes_memory.open_memory_sync`; any thread may use it."""

    def __init__(self, memory: Memory, bridge: Bridge) -> None:
        """Wait for `memory` by way of `bridge`."""
        self._memory = memory
        self._bridge = bridge

    def view(self, theme: str, *, session: str | None = None, subject: Subject | None = None) -> SyncView:
        """Return a view for one agent, and perhaps one conversation and one person.

        Args:
            theme: Whose memory; folded to its canonical form.
            session: The conversation that turns belong to.
            subject: Whom it is with, as `subject_for` returns it. Rows written under a subject are its own.

        Raises:
            InvalidInput: The theme is empty, too long or reserved, or the key of a person or group.
        """
        return SyncView(self._memory.view(theme, session=session, subject=subject), self._bridge)

    def view_of(self, caller: Caller, *, patient: bool = True) -> SyncView:
        """Return a view for a caller that is resolved already.

        Args:
            patient: Let writes that wait for their commit wait for a database that is out of reach, too. Otherwise
                they raise `DeadlineExceeded` as soon as it is known to be; they are accepted even so.

        Raises:
            InvalidInput: The caller's theme is the key of a person or group.
        """
        return SyncView(self._memory.view_of(caller, patient=patient), self._bridge)

    def subject_for(self, platform: str, contact: str) -> Subject:
        """Derive the subject of a contact: a keyed hash that does not tell who it is.

        Args:
            platform: Where the contact is known, such as `telegram`.
            contact: Its key there, such as a user id or a phone number.

        Raises:
            InvalidInput: One of them is empty: all contacts without a key would share one memory.
        """
        return self._memory.subject_for(platform, contact)

    def settled(self, *, timeout: float) -> bool:
        """Wait until all writes accepted so far are stored and, where an embedder works, embedded.

        Returns:
            False when `timeout` seconds passed first. Nothing is lost then: what waits is delivered later.

        Raises:
            InvalidInput: The timeout is no positive number of seconds.
            SchemaNotApplied: The database has no schema, or an older one.
            StoreUnavailable: The local spool cannot be asked for now.
        """
        return self._bridge(lambda: self._memory.settled(timeout=timeout))

    def ready(self, *, timeout: float) -> None:
        """Wait until the database serves.

        Raises:
            StoreUnavailable: It did not in `timeout` seconds; it is still tried for in the background.
            SchemaNotApplied: It has no schema, or an older one. The message names the command to run.
            ConfigurationError: Its address, or the embedded server's place, cannot be used.
            InvalidInput: The timeout is no positive number of seconds.
        """
        self._bridge(lambda: self._memory.ready(timeout=timeout))

    def reconcile(self, caller: Caller, *, timeout: float) -> int:
        """Bring a caller's copies of the home's notebooks in step with the files; return how many writes that took.

        Raises:
            StoreUnavailable, DeadlineExceeded, SchemaNotApplied: The copies cannot be read; nothing was accepted.
            SpoolFull: Too many writes wait for the database; what came before was accepted.
            InvalidInput: The caller's theme is the key of a person or group, or the timeout is no positive number of
                seconds.
        """
        return self._bridge(lambda: self._memory.reconcile(caller, timeout=timeout))

    @property
    def troubles(self) -> tuple[Trouble, ...]:
        """What is wrong now, as this process knows it; nothing is asked."""
        return self._memory.troubles

    def status(self, *, unanswered: str | None = None) -> Status:
        """Return the state of spool, delivery, store and embedder, for operators.

        Args:
            unanswered: Why the database is known not to answer; it is not asked then.
        """
        return self._bridge(lambda: self._memory.status(unanswered=unanswered))
