"""Which identity each session of a provider is bound to."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final

from hermes_memory.domain.model import Caller, SessionId, Subject, Theme
from hermes_memory.domain.sessions import session_name

logger = logging.getLogger(__name__)

SESSIONS_KEPT: Final = 4_096


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """What a session is bound to for as long as it lives.

    Attributes:
        caller: On whose behalf the session reads and writes.
        files_caller: On whose behalf the home's own notebooks are kept.
        writes: Whether the agent's context may write.
        speaker: Name of the person, when the host knows it.
        contacts: Keys of whom the talk is with. Personal data, which is kept in memory alone.
        senders: Keys by which the host may say who sent a text. Personal data likewise.
        shared: Several people speak in it, and the host writes in front of a text who sent it.
        in_group: Several people are in its chat, and the host may write in front of a text what others said before.
        parent: The session this one came from.
        visible_since: Turns said from then on are still in the agent's window.
        named: Gives sessions the names under which they are kept.
    """

    caller: Caller
    files_caller: Caller
    writes: bool
    speaker: str | None = None
    contacts: frozenset[str] = field(default=frozenset(), repr=False)
    senders: frozenset[str] = field(default=frozenset(), repr=False)
    shared: bool = False
    in_group: bool = False
    parent: SessionId | None = None
    visible_since: datetime
    named: Callable[[object], SessionId | None] = session_name


class SessionBook:
    """The bindings of one provider. Any thread may call. A session never speaks with another one's identity.

    Sessions are named by whatever the host gives; `hermes_memory.domain.sessions.session_name` says what that means.
    What is kept of a session has the name that its binding gives it.

    A host may name a session before it tells of the change to it, and the oldest bindings are let go. A session that is
    not bound can only be the provider's as long as all there ever were have been one theme's and one subject's. After
    that, and while somebody is not told whose session it is, it is nobody's: it reads and writes nothing.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._bindings: OrderedDict[str, Binding] = OrderedDict()
        self._current = ""
        self._identity: tuple[Theme, Subject | None] | None = None
        self._several = False
        self._untold: set[str] = set()
        self._let_go = False
        self._said = False

    @property
    def current(self) -> str:
        """Id of the current session, "" before the first."""
        return self._current

    def bind(self, session: object, binding: Binding) -> None:
        """Bind a session and make it the current one."""
        with self._lock:
            self._bind(_name(session), binding)
            self._untold.discard(self._current)

    def _bind(self, name: str, binding: Binding) -> None:
        identity = binding.caller.theme, binding.caller.subject
        with self._lock:
            self._several = self._several or (self._identity or identity) != identity
            self._identity = identity
            self._bindings[name] = _of_session(binding, name)
            self._bindings.move_to_end(name)
            self._current = name
            while len(self._bindings) > SESSIONS_KEPT:
                self._bindings.popitem(last=False)
                self._let_go = True

    def leave(self, session: object) -> None:
        """Make a session the current one without binding it: until it is bound, it is nobody's."""
        name = _name(session)
        with self._lock:
            self._bindings.pop(name, None)
            self._current = name
            self._untold.add(name)
            if len(self._untold) > SESSIONS_KEPT:
                self._several = True
                self._untold.clear()

    @property
    def _shared(self) -> bool:
        return self._several or bool(self._untold)

    def find(self, session: object = None) -> Binding | None:
        """Return the binding of a session; of the current one when none is named.

        A session that is not bound speaks with the provider's only identity, in that session; None if there were more.
        """
        name = _name(session)
        with self._lock:
            known = self._bindings.get(name or self._current)
            if known is not None or not name:
                return known
            if self._shared:
                self._say_once()
                return None
            current = self._bindings.get(self._current)
            return _of_session(current, name) if current else None

    def switch(self, session: object, *, parent: object, fresh: bool) -> None:
        """Go on in another session: one that is bound keeps its identity, another gets its parent's.

        It is nobody's where there were several identities and it is not known whose the parent is, or where its own
        binding may have been let go.

        Args:
            parent: The session it goes on from; the current one when none is named.
            fresh: The agent's window begins anew, so that what was said before may be recalled.
        """
        name, origin = _name(session), _name(parent)
        with self._lock:
            current, known = self.find(), self._bindings.get(name)
            before = self._bindings.get(origin, None if origin and self._shared else current)
            whose = before or current or known
            if whose is None or not name:
                return
            if known is None and (before is None or (self._shared and self._let_go and not fresh)):
                self.leave(name)
                self._say_once()
                return
            base = known or replace(whose, parent=whose.named(origin) if origin != name else None)
            since = datetime.now(UTC) if fresh else whose.visible_since
            self._bind(name, replace(base, visible_since=since))

    def window_begins_anew(self) -> None:
        """Note that the current session's earlier turns left the agent's window."""
        with self._lock:
            binding = self.find()
            if binding is not None:
                self._bind(self._current, replace(binding, visible_since=datetime.now(UTC)))

    def _say_once(self) -> None:
        if not self._said:
            self._said = True
            logger.warning(
                "the host names a session without having said whose it is: it reads and writes nothing",
                extra={"action": "session.unknown"},
            )


def _name(session: object) -> str:
    return session_name(session) or ""


def _of_session(binding: Binding, session: str) -> Binding:
    return replace(binding, caller=replace(binding.caller, session=binding.named(session)))
