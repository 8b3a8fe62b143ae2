"""Who takes part: agents and contacts, each known by what a host says about the conversation with them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from hermes_memory.domain.identity import HostIdentity, IdentityPolicy, resolve
from hermes_memory.domain.model import Caller, SessionId, Subject, Theme


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One agent or contact.

    Attributes:
        name: Short name, as in `@sales`.
        title: Who it is, for humans.
        theme: Whose memory it speaks with.
        subject: Keyed hash of the contact, None for an agent at its own desk.
    """

    name: str
    title: str
    theme: Theme
    subject: Subject | None

    @property
    def is_contact(self) -> bool:
        """Whether it is a person who writes from outside."""
        return self.subject is not None

    @property
    def memory_of(self) -> str:
        """With whose memory it speaks, for humans."""
        return f"private, {self.title}" if self.is_contact else f"theme {self.theme}"

    def caller(self, session: str | None = None) -> Caller:
        """Speak as this figure, in a session."""
        return Caller(theme=self.theme, subject=self.subject, session=SessionId(session) if session else None)


def read_cast(text: str, *, policy: IdentityPolicy, secret: bytes) -> Mapping[str, Figure]:
    """Read the figures and resolve each as the host's provider would.

    Args:
        text: The example home's `cast.json`: a list of objects with `name`, `title` and `host`.
        policy: What the home's settings decide about names.
        secret: The home's secret, with which contacts are hashed.

    Raises:
        InvalidInput: The secret is too short.
    """
    figures = []
    for given in json.loads(text):
        identity = resolve(HostIdentity.from_host(given["host"]), policy, secret)
        figures.append(Figure(name=given["name"], title=given["title"], theme=identity.theme, subject=identity.subject))
    return {figure.name: figure for figure in figures}
