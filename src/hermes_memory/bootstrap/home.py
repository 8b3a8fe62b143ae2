"""The local half of a memory: what a process can do for a home without any connection.

It is light to import and quick to build, because a host builds it on the thread that starts an agent.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from hermes_memory.adapters.modes import keep_writers_out
from hermes_memory.adapters.notebook_files import NotebookFiles
from hermes_memory.adapters.secret_file import load_or_create
from hermes_memory.adapters.secret_tally import FileSecretTally
from hermes_memory.adapters.spool.lock import FileLeadership
from hermes_memory.adapters.spool.sqlite_spool import SqliteSpool
from hermes_memory.application.accept import Acceptor, CapturePolicy
from hermes_memory.application.mirror import Mirror
from hermes_memory.application.telemetry import Telemetry
from hermes_memory.bootstrap.spools import STATE_FOLDER, leadership_of, spool_of
from hermes_memory.domain.contact_spelling import contact_name
from hermes_memory.domain.contacts import ContactKind
from hermes_memory.domain.errors import ConfigurationError, InvalidInput
from hermes_memory.domain.identity import BenchMode, IdentityPolicy
from hermes_memory.domain.model import Subject
from hermes_memory.domain.names import fold_name
from hermes_memory.domain.operations import Operation
from hermes_memory.domain.platforms import platform_name
from hermes_memory.domain.sessions import SessionNames
from hermes_memory.domain.subjects import MIN_SECRET_BYTES, home_id_for, subject_for
from hermes_memory.domain.themes import parse_names
from hermes_memory.ports.secrets import SecretTally
from hermes_memory.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalHalf:
    """Everything of a memory that lives in the home.

    Attributes:
        folder: Where the home's own state is kept.
        secret: Key of the subject hashes.
        telemetry: What is told to whoever watches; nobody does until a memory is opened.
    """

    folder: Path
    secret: bytes
    spool: SqliteSpool
    leadership: FileLeadership
    acceptor: Acceptor
    tally: SecretTally
    mirror: Mirror
    identities: IdentityPolicy
    telemetry: Telemetry

    def subject_for(self, platform: str, contact: str) -> Subject:
        """Derive the subject of a contact, the same one that the host's session keys lead to.

        Raises:
            InvalidInput: The platform or the contact has no name. All who have none would be one.
        """
        known = platform_name(_named(platform, "platform"))
        name = contact_name(known, _named(contact, "contact"))
        return subject_for(self.secret, ContactKind.PERSON, known, _named(name, "contact"))


def _named(value: object, what: str) -> str:
    if not isinstance(value, str) or not fold_name(value):
        raise InvalidInput(f"the {what} has no name: without one it is nobody's", field=what)
    return value


def open_local_half(settings: Settings, *, accepted: Callable[[Operation], None] = lambda _: None) -> LocalHalf:
    """Open the local half; `accepted` hears of each accepted write, in the thread that wrote.

    Raises:
        ConfigurationError: The home's state cannot be used safely. The message names the remedy.
    """
    folder = state_folder(settings)
    secret = installation_secret(settings)
    spool = spool_of(settings)
    _close(folder)
    tally = FileSecretTally(folder)
    telemetry = Telemetry()
    acceptor = Acceptor(
        spool,
        policy=capture_policy(settings),
        now=utc_now,
        accepted=accepted,
        tally=tally,
        telemetry=telemetry,
        sessions=SessionNames(secret=secret),
    )
    home = home_id_for(secret, str(settings.home.resolve()))
    return LocalHalf(
        folder=folder,
        secret=secret,
        spool=spool,
        leadership=leadership_of(settings),
        acceptor=acceptor,
        tally=tally,
        mirror=Mirror(acceptor, NotebookFiles(settings.home, identity=home)),
        identities=identity_policy(settings),
        telemetry=telemetry,
    )


def state_folder(settings: Settings) -> Path:
    """Return the folder of a home's own state."""
    return settings.home / STATE_FOLDER


def _close(folder: Path) -> None:
    """Keep others from putting files of theirs in the place of the home's."""
    try:
        keep_writers_out(folder)
    except OSError as error:
        raise ConfigurationError(
            f"others may write to {folder}, and its mode cannot be changed ({error.strerror}): use `chmod go-w`"
        ) from error


def published_heads_path(folder: Path, destination: str) -> Path:
    """Return the file where the heads of a database's history are published, in the folder of the home's own state."""
    return folder / f"history-heads-{destination}.jsonl"


def database_folder(home: Path) -> Path:
    """Return where the embedded database of a home belongs; root may have to keep it elsewhere, see `kept_outside`."""
    return home / STATE_FOLDER / "postgres"


def kept_outside(home: Path) -> Path | None:
    """Return what of a home's state lies outside of it: its embedded database, where root must keep that elsewhere."""
    from hermes_memory.adapters.embedded_postgres.layout import moved_place  # noqa: PLC0415 - an agent's start needs none

    return moved_place(database_folder(home).resolve())


def installation_secret(settings: Settings) -> bytes:
    """Return the key of the subject hashes: the configured one, else the home's own, made once.

    Raises:
        ConfigurationError: It is too short, or its file cannot be used.
    """
    if settings.subject_secret is None:
        return load_or_create(state_folder(settings) / "secret")
    return secret_of_setting(settings.subject_secret.get_secret_value())


def secret_of_setting(text: str) -> bytes:
    """Return the key that HERMES_MEMORY_SUBJECT_SECRET of this text stands for.

    Raises:
        ConfigurationError: It is too short.
    """
    given = text.encode()
    if len(given) < MIN_SECRET_BYTES:
        raise ConfigurationError(
            f"HERMES_MEMORY_SUBJECT_SECRET is too short: use {MIN_SECRET_BYTES} or more random bytes"
        )
    return hashlib.sha256(given).digest()


def capture_policy(settings: Settings) -> CapturePolicy:
    """Return what of a conversation is kept."""
    return CapturePolicy(
        turns=settings.capture_turns,
        min_width=settings.turn_min_width,
        max_chars=settings.turn_max_chars,
        embed=settings.embed_policy,
        secrets=settings.secret_policy,
    )


def identity_policy(settings: Settings) -> IdentityPolicy:
    """Return what the installation decides about names."""
    return IdentityPolicy(
        aliases=settings.identity_aliases,
        allowed_themes=parse_names(settings.allowed_themes),
        bench_patterns=settings.bench_patterns,
        bench_mode=BenchMode(settings.bench_mode),
    )


def utc_now() -> datetime:
    """Return the time, aware, in UTC."""
    return datetime.now(UTC)
