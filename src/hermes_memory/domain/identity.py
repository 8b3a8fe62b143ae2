"""Whose memory a conversation belongs to, worked out from what the host says about it.

The first usable name wins: the gateway's session key, then the agent's identity (unless it is "default"), then the
workspace, then "default". A name that is the key of a person, a group or a benchmark never becomes a theme: it leads
to a governed sink, where its keyed hash keeps each conversation to itself. So does a session key of no known shape in
which the host's own id of the user or the chat stands.

The host fills in a workspace even when nobody chose one (`HOST_WORKSPACE`), so an agent without a profile has that name
for its theme, and "default" is left to callers who give no workspace.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from hermes_memory.domain.contact_spelling import contact_name, flatten
from hermes_memory.domain.contacts import ChatHints, Contact, ContactKind, recognise
from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.mentions import counts_glued
from hermes_memory.domain.model import (
    BENCHMARKS,
    DEFAULT_THEME,
    DIRECT_MESSAGES,
    GROUPS,
    Caller,
    SessionId,
    Subject,
    Theme,
)
from hermes_memory.domain.names import fold_name
from hermes_memory.domain.patterns import fits
from hermes_memory.domain.platforms import GROUP_CHATS, PRIVATE_CHATS, platform_name
from hermes_memory.domain.speakers import sender_spellings
from hermes_memory.domain.subjects import subject_for
from hermes_memory.domain.themes import canonical_theme, claim_theme, is_reserved, spelt_theme

HOST_WORKSPACE: Final = "hermes"
"""The workspace that the host names when none was chosen."""
PRIMARY_CONTEXT: Final = "primary"
DEFAULT_BENCH_PATTERNS: Final = ("skill-bench", "skill-bench-*", "skill-bench:*", "skill-bench_*", "skill-bench/*")


class Reason(StrEnum):
    """Why an identity came out as it did: which name won, or why the first one did not."""

    SESSION_KEY = "session_key"
    AGENT = "agent_identity"
    WORKSPACE = "agent_workspace"
    DEFAULT = "default"
    DIRECT_MESSAGE = "direct_message"
    GROUP_CHAT = "group_chat"
    BENCHMARK = "benchmark"
    BENCHMARK_REJECTED = "benchmark_rejected"
    RESERVED_NAME = "reserved_name"
    NOT_ALLOWED = "not_allowed"
    UNUSABLE_NAME = "unusable_name"


class BenchMode(StrEnum):
    """What becomes of benchmark traffic: kept in a sink of its own, or treated as the default theme's."""

    BUCKET = "bucket"
    REJECT = "reject"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class HostIdentity:
    """What the host says about a conversation. It holds personal data and therefore shows nothing in `repr`."""

    gateway_session_key: str | None = None
    agent_identity: str | None = None
    agent_workspace: str | None = None
    user_id: str | None = None
    user_id_alt: str | None = None
    platform: str | None = None
    chat_id: str | None = None
    chat_type: str | None = None
    thread_id: str | None = None

    @classmethod
    def from_host(cls, facts: Mapping[str, object]) -> HostIdentity:
        """Pick the identity out of the host's keyword arguments. A number is taken as text, other types as missing."""
        return cls(**{name: _text_or_none(facts.get(name)) for name in cls.__slots__})


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityPolicy:
    """What an installation decides about names.

    Attributes:
        aliases: Other names of themes, to the theme each stands for. They rename claims; a contact stays a contact.
        allowed_themes: The only themes that may come from outside, beside "default". Empty allows every theme.
        bench_patterns: Names of benchmark runs; `*` stands for any text.
        bench_mode: What becomes of benchmark runs.

    Raises:
        InvalidInput: An alias is empty, or stands for a reserved name or for the key of a person or group; or two
            spellings of one alias stand for different themes.
    """

    aliases: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    allowed_themes: frozenset[Theme] = frozenset()
    bench_patterns: tuple[str, ...] = DEFAULT_BENCH_PATTERNS
    bench_mode: BenchMode = BenchMode.BUCKET

    def __post_init__(self) -> None:
        object.__setattr__(self, "aliases", MappingProxyType(_spelt(self.aliases)))
        object.__setattr__(self, "bench_patterns", tuple(fold_name(pattern) for pattern in self.bench_patterns))


def _spelt(aliases: Mapping[str, str]) -> dict[str, Theme]:
    spelt: dict[str, Theme] = {}
    for alias, name in aliases.items():
        theme = _aliased(name)
        first = spelt.setdefault(spelt_theme(alias), theme)
        if first != theme:
            # The alias itself may be the key of a person and is not shown.
            raise InvalidInput(
                f"two spellings of one alias stand for '{first}' and for '{theme}': keep one of them", field="aliases"
            )
    return spelt


def _aliased(name: str) -> Theme:
    # Said here, as whoever writes a setting names no subject beside it, which is what a theme's refusal advises.
    if recognise(spelt_theme(name)) is not None:
        raise InvalidInput("an alias stands for the key of a person or group: name a theme instead", field="aliases")
    return claim_theme(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Whose memory it is and whom the talk is with. A sink always comes with a subject."""

    theme: Theme
    subject: Subject | None
    reason: Reason

    def caller(self, session: SessionId | None = None) -> Caller:
        """Speak as this identity within a session."""
        return Caller(theme=self.theme, subject=self.subject, session=session)


def resolve(host: HostIdentity, policy: IdentityPolicy, secret: bytes) -> Identity:
    """Work out whose memory a conversation belongs to.

    A name that is reserved or unusable gives way to the next one; a theme that is not on the list of allowed ones, and
    a benchmark that is rejected, lead to "default" at once, so that they do not end up among another agent's memories.

    Args:
        host: What the host says.
        policy: What the installation decides.
        secret: The installation's secret, at least 16 bytes, with which contacts are hashed.

    Raises:
        InvalidInput: The secret is too short.
    """
    refused: Reason | None = None
    for source, name in _names(host):
        verdict = _judge(name, source, host, policy, secret)
        if isinstance(verdict, Identity):
            return replace(verdict, reason=refused or verdict.reason)
        refused = refused or verdict
        if verdict in _LAST_WORDS:
            break
    return _ordinary(DEFAULT_THEME, refused or Reason.DEFAULT, host, secret)


def home_identity(host: HostIdentity, policy: IdentityPolicy, secret: bytes) -> Identity:
    """Work out whose the home's own files are, MEMORY.md and USER.md: the agent's, whoever is talking with it.

    An ordinary theme comes without a subject. The files of a benchmark's own profile stay in the benchmarks' sink.

    Raises:
        InvalidInput: The secret is too short.
    """
    own = HostIdentity(agent_identity=host.agent_identity, agent_workspace=host.agent_workspace)
    return resolve(own, policy, secret)


def contact_keys(host: HostIdentity) -> frozenset[str]:
    """Return the keys of whom the talk is with, as the host says them. They are personal data."""
    named = recognise(host.gateway_session_key or "", _hints(host))
    keys = (host.user_id, host.user_id_alt, host.chat_id, named.key if named else None)
    return frozenset(key for key in keys if key)


def is_shared(host: HostIdentity) -> bool:
    """Tell whether a conversation is one for everybody in a chat.

    The key of such a one ends with the chat's or the thread's id, where the host says them. The key of a person's own
    ends with the person's, in whatever spelling.

    >>> is_shared(HostIdentity(gateway_session_key="agent:main:signal:group:g1:+15550100", user_id="+15550100"))
    False
    """
    key = flatten(host.gateway_session_key or "")
    own = {f":{each}" for user in (host.user_id, host.user_id_alt) if user for each in sender_spellings(user)}
    places = tuple(f":{flatten(place)}" for place in (host.chat_id, host.thread_id) if place and key)
    return is_group_chat(host) and not key.endswith(tuple(own)) and (not places or key.endswith(places))


def is_group_chat(host: HostIdentity) -> bool:
    """Tell whether several people are in the chat of a conversation, though it may be with one of them alone."""
    if host.chat_type:
        return fold_name(host.chat_type) not in PRIVATE_CHATS
    named = recognise(host.gateway_session_key or "", _hints(host))
    return named is not None and named.kind is ContactKind.GROUP


def may_write(agent_context: str | None, write_contexts: frozenset[str]) -> bool:
    """Tell whether an agent in this context may write; a host that names no context means the primary one.

    >>> may_write("subagent", frozenset({"primary", "cron"}))
    False
    """
    context = fold_name(agent_context or "") or PRIMARY_CONTEXT
    return context in {fold_name(allowed) for allowed in write_contexts}


_LAST_WORDS: Final = frozenset({Reason.NOT_ALLOWED, Reason.BENCHMARK_REJECTED})


def _names(host: HostIdentity) -> Iterator[tuple[Reason, str]]:
    if host.gateway_session_key:
        yield Reason.SESSION_KEY, host.gateway_session_key
    if host.agent_identity and fold_name(host.agent_identity) != DEFAULT_THEME:
        yield Reason.AGENT, host.agent_identity
    if host.agent_workspace:
        yield Reason.WORKSPACE, host.agent_workspace


def _judge(name: str, source: Reason, host: HostIdentity, policy: IdentityPolicy, secret: bytes) -> Identity | Reason:
    """Say what one name makes of the conversation, or why it makes nothing."""
    contact = recognise(name, _hints(host))
    if contact is None and source is Reason.SESSION_KEY:
        contact = _named_by_id(name, host)
    if contact is not None:
        return _sink(contact, secret)
    try:
        theme = canonical_theme(name)
    except InvalidInput:
        return Reason.UNUSABLE_NAME
    if is_reserved(theme):
        return Reason.RESERVED_NAME
    if _is_benchmark(theme, policy):
        return _benchmark(theme, policy, secret)
    theme = Theme(policy.aliases.get(theme, theme))
    if policy.allowed_themes and theme != DEFAULT_THEME and theme not in policy.allowed_themes:
        return Reason.NOT_ALLOWED
    return _ordinary(theme, source, host, secret)


def _sink(contact: Contact, secret: bytes) -> Identity:
    direct = contact.kind is ContactKind.PERSON
    return Identity(
        theme=DIRECT_MESSAGES if direct else GROUPS,
        subject=subject_for(secret, contact.kind, contact.platform, contact.key),
        reason=Reason.DIRECT_MESSAGE if direct else Reason.GROUP_CHAT,
    )


def _is_benchmark(theme: Theme, policy: IdentityPolicy) -> bool:
    return any(fits(pattern, theme) for pattern in policy.bench_patterns)


def _benchmark(theme: Theme, policy: IdentityPolicy, secret: bytes) -> Identity | Reason:
    if policy.bench_mode is BenchMode.REJECT:
        return Reason.BENCHMARK_REJECTED
    return Identity(theme=BENCHMARKS, subject=subject_for(secret, "bench", theme), reason=Reason.BENCHMARK)


def _ordinary(theme: Theme, reason: Reason, host: HostIdentity, secret: bytes) -> Identity:
    return Identity(theme=theme, subject=_counterpart(host, secret), reason=reason)


def _counterpart(host: HostIdentity, secret: bytes) -> Subject | None:
    """Hash whom an ordinary theme talks with: the user, or else the chat."""
    for _, contact in _told(host):
        return subject_for(secret, contact.kind, contact.platform, contact.key)
    return None


def _named_by_id(key: str, host: HostIdentity) -> Contact | None:
    """Find whom a key names by an id that the host tells beside it: the whole key, or all between two colons.

    A short id, or one that is a plain word, may be the name of an agent too.
    """
    parts = f":{flatten(key)}:"
    return next((contact for spelt, contact in _told(host) if counts_glued(spelt) and f":{spelt}:" in parts), None)


def _told(host: HostIdentity) -> Iterator[tuple[str, Contact]]:
    """Yield whom the host tells of, the user before the chat, each with its id as it may stand in a key."""
    platform = platform_name(host.platform or "")
    chat_kind = ContactKind.GROUP if fold_name(host.chat_type or "") in GROUP_CHATS else ContactKind.PERSON
    person = ContactKind.PERSON
    for kind, given in ((person, host.user_id), (person, host.user_id_alt), (chat_kind, host.chat_id)):
        if spelt := flatten(given or ""):
            yield spelt, Contact(kind=kind, platform=platform, key=contact_name(platform, spelt))


def _hints(host: HostIdentity) -> ChatHints:
    return ChatHints(
        platform=host.platform or "",
        chat_id=host.chat_id or "",
        participant=host.user_id_alt or host.user_id or "",
    )


def _text_or_none(given: object) -> str | None:
    if isinstance(given, int) and not isinstance(given, bool):
        return str(given)
    return given if isinstance(given, str) and given.strip() else None
