"""Who said the user's half of an exchange: the person of the session, somebody else, or another agent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hermes_memory.domain.cleaning import clean_text
from hermes_memory.domain.speakers import sender_keys, speaker_name
from hermes_memory.hermes.host_values import text_or_none
from hermes_memory.hermes.sessions import Binding

NAME_READ_CHARS = 1_024


@dataclass(frozen=True, slots=True, kw_only=True)
class Author:
    """Who said something.

    Attributes:
        speaker: What the author is called, when there is more to that than the key of a contact.
        is_agent: It is another agent, whose words are no user's.
        senders: Keys by which the host may say in a text that the author sent it. Personal data, kept in memory alone.
    """

    speaker: str | None
    is_agent: bool = False
    senders: frozenset[str] = field(default=frozenset(), repr=False, compare=False)


def author_of(binding: Binding, told: object) -> Author:
    """Work out who spoke from what the host tells of the author, which is nothing on most hosts.

    Somebody of whom only a foreign id is told, or who is an agent without a name, does not get the person's name.
    """
    if not isinstance(told, Mapping):
        return Author(speaker=binding.speaker)
    name, is_agent = told.get("name"), bool(told.get("is_bot"))
    key = _key(told.get("id"))
    contacts = frozenset({key}) if key else frozenset[str]()
    senders = senders_of(name, contacts)
    if text_or_none(name) is not None:
        speaker = name_without_keys(name, binding.contacts | contacts)
        return Author(speaker=speaker, is_agent=is_agent, senders=senders)
    is_the_person = not is_agent and (key is None or key in binding.contacts)
    return Author(speaker=binding.speaker if is_the_person else None, is_agent=is_agent, senders=senders)


def name_in_front(sender: str, contacts: frozenset[str]) -> str | None:
    """Return what a host calls somebody in front of a text, where some write a name and a key; None for a key alone."""
    name, _, key = sender.rpartition("|")
    called = name_without_keys(name or key, contacts) or ""
    return called if any(map(str.isalpha, called)) else None


def name_without_keys(name: object, contacts: frozenset[str]) -> str | None:
    """Return what the host calls somebody, as far as it is no key of a contact; None for what is no text."""
    if text_or_none(name) is None:
        return None
    return speaker_name(clean_text(name, max_chars=NAME_READ_CHARS), contacts)


def senders_of(name: object, contacts: frozenset[str]) -> frozenset[str]:
    """Return the keys by which the host may say in a text who sent it: what it calls somebody, and the contacts."""
    called = [] if text_or_none(name) is None else [clean_text(name, max_chars=NAME_READ_CHARS)]
    return sender_keys(called, contacts)


def _key(given: object) -> str | None:
    return str(given) if isinstance(given, int) and not isinstance(given, bool) else text_or_none(given)
