"""Where a view stands, which all that can be done from it shares."""

from __future__ import annotations

from hermes_memory.application.services import Services
from hermes_memory.application.view_commits import Commits
from hermes_memory.application.view_reads import Reads
from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.model import Caller, Scope, SessionId, SessionScope, Theme
from hermes_memory.domain.themes import parse_scope


class Standpoint:
    """One caller in front of the memory, and how long it waits there."""

    def __init__(
        self, services: Services, caller: Caller, *, write_timeout: float, read_timeout: float, patient: bool = True
    ) -> None:
        """Serve `caller`; unless told otherwise, writes and reads are worth so many seconds.

        Args:
            patient: See `Memory.view_of`.
        """
        self.caller = caller
        self._services = services
        self._reads = Reads(services, caller, timeout=read_timeout)
        self._commits = Commits(services, caller, self._reads, timeout=write_timeout, patient=patient)

    @property
    def theme(self) -> Theme:
        """Whose memory this is."""
        return self.caller.theme

    def _scope(self, scope: str | Scope) -> Scope:
        """Return where to look.

        Raises:
            InvalidInput, NotVisible: As for `parse_scope`; or it is neither a name nor a scope.
        """
        where = parse_scope(scope, self.caller) if isinstance(scope, str) else scope
        if not isinstance(where, Scope):
            raise InvalidInput("a scope is a name or a scope object", field="scope")
        return self._session(where.session) if isinstance(where, SessionScope) else where

    def _session(self, named: SessionId) -> SessionScope:
        """Return where the rows of a session are, whether or not who wrote them knew that its name tells of a contact.

        A host knows whom it talks with, and hides a name that holds their key. Who gives the name alone does not.
        """
        preparing = self._services.acceptor.preparing
        return SessionScope(session=preparing.session(named) or named, hidden=preparing.hidden_session(named))
