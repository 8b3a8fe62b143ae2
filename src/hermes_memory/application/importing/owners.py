"""Whose an imported row becomes: the theme and the subject under which live talk of the same names is kept."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Final

from hermes_memory.domain.contacts import recognise
from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.foreign import Whose
from hermes_memory.domain.identity import HostIdentity, IdentityPolicy, contact_keys, resolve
from hermes_memory.domain.model import SINKS, Caller, SessionId, Subject, Theme
from hermes_memory.domain.sessions import SessionNames
from hermes_memory.domain.subjects import subject_for
from hermes_memory.domain.themes import canonical_theme

A_CONTACT: Final = "[a contact]"
_KEYS: Final = frozenset(
    {
        "rawidentity",
        "gatewaysessionkey",
        "sessionkey",
        "userid",
        "useridalt",
        "username",
        "userphone",
        "useremail",
        "chatid",
        "groupid",
        "roomid",
        "contact",
        "contactid",
        "sender",
        "senderid",
        "senderjid",
        "senderphone",
        "recipient",
        "recipientid",
        "participant",
        "participantid",
        "phone",
        "phonenumber",
        "telephone",
        "msisdn",
        "jid",
        "remotejid",
        "email",
        "emailaddress",
        "telegramid",
        "discordid",
        "slackid",
    }
)
"""Names under which other memories keep whom a talk was with, folded."""
_NO_LETTERS: Final = re.compile(r"[\W_]+")
_DEPTH: Final = 8


@dataclass(slots=True, kw_only=True)
class Owners:
    """Finds owners. Contacts are hashed here, and their keys go no further.

    Attributes:
        policy: What the installation decides about names.
        secret: The installation's secret, with which contacts are hashed.
        default: The theme of what has no agent's name.
        subject: Whom all rows are with that tell no contact; None for what is the agent's own.
        renamed: Agents whose name is not usable here, and the theme their rows went to.
    """

    policy: IdentityPolicy
    secret: bytes = field(repr=False)
    default: str
    subject: Subject | None = None
    renamed: dict[str, Theme] = field(default_factory=dict)

    def caller(self, whose: Whose, session: str | None) -> Caller:
        """Return on whose behalf a row is stored.

        What is in a governed theme and tells no contact is with `subject`. Without, it gets one of its own session: it
        is kept, and nobody reads it until an operator says whose it is.

        Raises:
            InvalidInput: The names cannot be used.
        """
        agent, named = whose.agent or self.default, self.session(session, whose.contact)
        if agent not in SINKS:
            return self._named(agent, named)
        if whose.contact:
            found = resolve(HostIdentity(gateway_session_key=whose.contact), self.policy, self.secret)
            if found.subject is not None or recognise(whose.contact) is None:
                return found.caller(named)
        subject = self.subject or subject_for(self.secret, "import", agent, session or "")
        return Caller(theme=Theme(agent), subject=subject, session=named)

    def session(self, session: str | None, contact: str | None = None) -> SessionId | None:
        """Return the name of a session, which is hashed where it is the key of a contact, or holds that of its own."""
        contacts = contact_keys(HostIdentity(gateway_session_key=contact)) if contact else frozenset[str]()
        return SessionNames(secret=self.secret, contacts=contacts)(session)

    def theme(self, agent: str) -> Theme | None:
        """Return the ordinary theme of an agent, None when its rows are kept in a governed one."""
        caller = None if agent in SINKS else self._named(agent, None)
        return caller.theme if caller and caller.theme not in SINKS else None

    def _named(self, agent: str, session: SessionId | None) -> Caller:
        caller = resolve(HostIdentity(agent_identity=agent), self.policy, self.secret).caller(session)
        if caller.theme not in SINKS and caller.theme != self.policy.aliases.get(spelt := _spelt(agent), spelt):
            self.renamed[spelt] = caller.theme
        return caller if self.subject is None or caller.theme in SINKS else replace(caller, subject=self.subject)


def without_contacts(metadata: Mapping[str, object], depth: int = 0) -> dict[str, object]:
    """Return metadata without the keys of persons and groups, be they values or names, however a name is spelt.

    >>> without_contacts({"raw_identity": "sms:+15550100", "platform": "sms", "to": "sms:+15550100"})
    {'platform': 'sms', 'to': '[a contact]'}
    >>> without_contacts({"chatId": -100123, "seen": {"sms:+15550100": "Bob", "sms:+15550101": "Ana"}})
    {'seen': {'[a contact]': 'Bob', '[a contact] (2)': 'Ana'}}
    """
    kept: dict[str, object] = {}
    for key, value in metadata.items():
        if _NO_LETTERS.sub("", key).casefold() not in _KEYS:
            kept[_unlike(A_CONTACT if recognise(key) else key, kept)] = _without(value, depth)
    return kept


def _unlike(name: str, taken: Mapping[str, object]) -> str:
    """Return a name that is not taken: several contacts have one name without their keys."""
    return next(free for number in count(1) if (free := name if number == 1 else f"{name} ({number})") not in taken)


def _without(value: object, depth: int) -> object:
    if depth > _DEPTH:
        return value if isinstance(value, int | float | bool) else None
    if isinstance(value, str):
        return A_CONTACT if recognise(value) else value
    if isinstance(value, Mapping):
        return without_contacts({str(key): item for key, item in value.items()}, depth + 1)
    if isinstance(value, list | tuple):
        return [_without(item, depth + 1) for item in value]
    return value


def _spelt(agent: str) -> str:
    try:
        return canonical_theme(agent)
    except InvalidInput:
        return agent[:40]
