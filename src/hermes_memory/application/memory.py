"""The public face of the library: an open memory, which gives each caller a view of its own."""

from __future__ import annotations

from collections.abc import Callable

import anyio

from hermes_memory.application.arguments import named_seconds
from hermes_memory.application.health import Trouble
from hermes_memory.application.services import Services
from hermes_memory.application.status import Status
from hermes_memory.application.view import View
from hermes_memory.domain.errors import StoreUnavailable
from hermes_memory.domain.model import Caller, Subject
from hermes_memory.domain.themes import claim_theme

__all__ = ["Memory", "Services", "View"]


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
            session: The conversation that turns belong to. An id that names a person or group is kept as a keyed hash.
            subject: Whom it is with, as `subject_for` returns it. Rows written under a subject are its own.

        Raises:
            InvalidInput: The theme is empty, too long or reserved, or the key of a person or group.
        """
        named = self.services.acceptor.preparing.session(session)
        return self.view_of(Caller(theme=claim_theme(theme), subject=subject, session=named))

    def view_of(self, caller: Caller, *, patient: bool = True) -> View:
        """Return a view for a caller that is resolved already.

        Args:
            patient: Let writes that wait for their commit wait for a database that is out of reach, too. Otherwise
                they raise `DeadlineExceeded` as soon as it is known to be; they are accepted even so.

        Raises:
            InvalidInput: The caller's theme is the key of a person or group.
        """
        return View(
            self.services,
            self.services.acceptor.preparing.caller(caller),
            write_timeout=self._write_timeout,
            read_timeout=self._read_timeout,
            patient=patient,
        )

    def subject_for(self, platform: str, contact: str) -> Subject:
        """Derive the subject of a contact: a keyed hash that does not tell who it is.

        Args:
            platform: Where the contact is known, such as `telegram`.
            contact: Its key there, such as a user id or a phone number.

        Raises:
            InvalidInput: One of them is empty: all contacts without a key would share one memory.
        """
        return self._subject_for(platform, contact)

    async def settled(self, *, timeout: float) -> bool:
        """Wait until all writes accepted so far are stored and, where an embedder works, embedded.

        Returns:
            False when `timeout` seconds passed first, as they do where the embedder does not answer or is not the
            stored one. Nothing is lost then: what waits is delivered later.

        Raises:
            InvalidInput: The timeout is no positive number of seconds.
            SchemaNotApplied: The database has no schema, or an older one.
            StoreUnavailable: The local spool cannot be asked for now.
        """
        allowed = named_seconds(timeout)
        with anyio.move_on_after(allowed) as scope:
            if not await self.services.deliverer.drained(timeout=allowed):
                return False
            while self._embeds and await self._waiting():  # noqa: ASYNC110 - the queue is in the database
                await anyio.sleep(0.02)
        return not scope.cancelled_caught

    async def ready(self, *, timeout: float) -> None:
        """Wait until the database serves.

        Raises:
            StoreUnavailable: It did not in `timeout` seconds; it is still tried for in the background.
            SchemaNotApplied: It has no schema, or an older one. The message names the command to run.
            ConfigurationError: Its address, or the embedded server's place, cannot be used.
            InvalidInput: The timeout is no positive number of seconds.
        """
        await self.services.link.ready(timeout=named_seconds(timeout))

    async def reconcile(self, caller: Caller, *, timeout: float) -> int:
        """Bring a caller's copies of the home's notebooks in step with the files; return how many writes that took.

        Raises:
            StoreUnavailable, DeadlineExceeded, SchemaNotApplied: The copies cannot be read; nothing was accepted.
            SpoolFull: Too many writes wait for the database; what came before was accepted.
            InvalidInput: The caller's theme is the key of a person or group, or the timeout is no positive number of
                seconds.
        """
        known = self.services.acceptor.preparing.caller(caller)
        return await self.services.reconciler.reconcile(known, timeout=named_seconds(timeout))

    @property
    def troubles(self) -> tuple[Trouble, ...]:
        """What is wrong now, as this process knows it; nothing is asked. Any thread may read it."""
        return self.services.status.troubles()

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
