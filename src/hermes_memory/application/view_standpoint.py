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
        if isinstance(scope, str):
            return parse_scope(scope, self.caller)
        if not isinstance(scope, Scope):
            raise InvalidInput("a scope is a name or a scope object", field="scope")
        if isinstance(scope, SessionScope):
            return SessionScope(session=self._session(scope.session))
        return scope

    def _session(self, named: SessionId) -> SessionId:
        """Return the name under which a session is kept."""
        return self._services.acceptor.preparing.session(named) or named
