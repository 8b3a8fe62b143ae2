"""What follows from what the host says of a session: its home, its identity, and whose the notebooks are."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hermes_memory.bootstrap.home import identity_policy, installation_secret
from hermes_memory.domain.identity import (
    HostIdentity,
    contact_keys,
    home_identity,
    is_group_chat,
    is_shared,
    may_write,
    resolve,
)
from hermes_memory.domain.model import Caller
from hermes_memory.domain.sessions import SessionNames
from hermes_memory.hermes.authors import name_without_keys, senders_of
from hermes_memory.hermes.host import read_settings, secret_reader
from hermes_memory.hermes.host_values import text_or_none
from hermes_memory.hermes.runtime import Runtime
from hermes_memory.hermes.sessions import Binding


def home_of(facts: Mapping[str, Any]) -> Path | None:
    """Return the home that a session is of, None when the host does not say."""
    given = text_or_none(facts.get("hermes_home"))
    return Path(given).expanduser() if given else None


def binding_of(runtime: Runtime, facts: Mapping[str, Any]) -> Binding:
    """Work out what a session is bound to."""
    host, local = HostIdentity.from_host(facts), runtime.local
    contacts = contact_keys(host)
    named = SessionNames(secret=local.secret, contacts=contacts)
    caller = resolve(host, local.identities, local.secret).caller()
    files = home_identity(host, local.identities, local.secret)
    return Binding(
        caller=caller,
        files_caller=_files_caller(caller, files.caller()),
        writes=may_write(text_or_none(facts.get("agent_context")), frozenset(runtime.settings.write_contexts)),
        speaker=name_without_keys(facts.get("user_name"), contacts),
        contacts=contacts,
        senders=senders_of(facts.get("user_name"), contacts),
        shared=is_shared(host),
        in_group=is_group_chat(host),
        parent=named(facts.get("parent_session_id")),
        visible_since=datetime.now(UTC),
        named=named,
    )


def signature_of(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the identity depends on, without naming anyone, and without a runtime.

    Raises:
        ConfigurationError: A setting is wrong, or the installation's secret cannot be read.
    """
    settings = read_settings(home_of(facts), secret_reader())
    identity = resolve(HostIdentity.from_host(facts), identity_policy(settings), installation_secret(settings))
    return {"theme": identity.theme, "subject": identity.subject.hex()[:16] if identity.subject else ""}


def _files_caller(caller: Caller, home: Caller) -> Caller:
    """Return whose the home's notebooks are: the session's theme, unless it speaks for a person or group."""
    return caller if caller.subject is None else home
