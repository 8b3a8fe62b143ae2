"""The spools of a home, one for each database it was ever pointed at, opened without any connection."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hermes_memory.adapters.modes import PRIVATE_FILE
from hermes_memory.adapters.spool.files import sync_directory
from hermes_memory.adapters.spool.lock import FileLeadership
from hermes_memory.adapters.spool.sqlite_spool import SqliteSpool
from hermes_memory.bootstrap.destination import destination_of
from hermes_memory.domain.errors import ConfigurationError, HermesMemoryError, InvalidInput
from hermes_memory.ports.spool import SpoolStatus
from hermes_memory.settings import Settings
from hermes_memory.settings.homes import require_home

STATE_FOLDER: Final = "hermes-memory"


@dataclass(frozen=True, slots=True, kw_only=True)
class SpoolReport:
    """What an operator learns of one spool.

    Attributes:
        destination: The database that it is for: `embedded`, or a digest of the address without its password.
        current: Whether the settings of the home point at that database now. What waits elsewhere is not delivered.
        status: None when it cannot be read.
        leader: Process that delivers from it, 0 when one does that is not known, None when none does.
        set_aside: Names of the damaged files that are kept beside it.
        problem: Why it cannot be read.
    """

    destination: str
    current: bool
    status: SpoolStatus | None
    leader: int | None
    set_aside: Sequence[str]
    problem: str | None


def spool_folder(settings: Settings) -> Path:
    """Return the directory of a home's spools."""
    return settings.home / STATE_FOLDER / "spool"


def spool_of(settings: Settings, destination: str | None = None) -> SqliteSpool:
    """Return the spool for a database, by default the one that the settings point at; its first use opens it.

    Raises:
        ConfigurationError: It cannot be used safely.
    """
    return SqliteSpool(
        directory=spool_folder(settings),
        destination=destination or destination_of(settings),
        synchronous=settings.spool_sync,
        max_rows=settings.spool_max_rows,
        max_bytes=settings.spool_max_bytes,
        max_item_bytes=settings.item_max_bytes,
        open_early=False,
    )


def leadership_of(settings: Settings, destination: str | None = None) -> FileLeadership:
    """Return the seat of the process that delivers from a spool.

    Raises:
        ConfigurationError: Its file cannot be used safely.
    """
    return FileLeadership(spool_folder(settings) / f"drain-{destination or destination_of(settings)}.lock")


def existing_spool(settings: Settings, destination: str | None = None) -> SqliteSpool:
    """Return a spool of a home that exists, and with `destination` one that was made before.

    Raises:
        ConfigurationError: There is no such home.
        InvalidInput: It has no such spool.
    """
    _require(settings, destination)
    return spool_of(settings, destination)


def _require(settings: Settings, destination: str | None) -> None:
    require_home(settings.home)
    _require_owner(settings.home, spool_folder(settings))
    if destination is not None and destination not in destinations(settings):
        known = ", ".join(destinations(settings)) or "none"
        raise InvalidInput(f"this home has no spool for {destination!r}: there is {known}", field="destination")


def _require_owner(home: Path, folder: Path) -> None:
    """Make no spool in another user's home: its agents could not use one that is not theirs."""
    owner = home.stat().st_uid
    if owner != os.geteuid() and not folder.exists():
        raise ConfigurationError(
            f"there is no spool yet, and {home} belongs to user {owner} while this process runs as {os.geteuid()}: "
            "run as that user"
        )


def destinations(settings: Settings) -> list[str]:
    """Name the databases that this home keeps a spool for, the current one first."""
    current = destination_of(settings)
    folder = spool_folder(settings)
    names = {path.stem.removeprefix("spool-") for kind in ("db", "intake") for path in folder.glob(f"spool-*.{kind}")}
    return sorted(sorted(names), key=lambda name: name != current)


def report(settings: Settings, destination: str | None = None) -> SpoolReport:
    """Look at one spool. One that cannot be read is part of the report, not an error.

    Raises:
        ConfigurationError: There is no such home.
        InvalidInput: It has no such spool.
    """
    _require(settings, destination)
    name = destination or destination_of(settings)
    status: SpoolStatus | None = None
    leader: int | None = None
    aside: Sequence[str] = ()
    problem: str | None = None
    try:
        with closing(spool_of(settings, name)) as spool:
            status = spool.status()
            aside = [path.name for path in spool.set_aside()]
        leader = leadership_of(settings, name).leader()
    except HermesMemoryError as error:
        problem = str(error)
    return SpoolReport(
        destination=name,
        current=name == destination_of(settings),
        status=status,
        leader=leader,
        set_aside=aside,
        problem=problem,
    )


def other_reports(settings: Settings) -> list[SpoolReport]:
    """Look at the spools of a home for databases that it is not pointed at any more."""
    current = destination_of(settings)
    return [report(settings, name) for name in destinations(settings) if name != current]


def write_new(path: Path, lines: Iterable[str], *, replace: bool = False) -> int:
    """Write lines to a new file that nobody else can read, durably; return how many. A failure leaves no new file.

    Until all is written the file is empty, so that what a killed process leaves is not taken for the whole.

    Args:
        replace: Whether the file may take the place of one that is there, which stays until all is written.

    Raises:
        InvalidInput: There is such a file already.
        OSError: It cannot be written.
    """
    try:  # a file that is there belongs to somebody else, so not even its mode is touched
        os.close(_create(path))
        new = True
    except FileExistsError as error:
        new = False
        if not replace:
            raise InvalidInput(f"{path} exists: name a new file", field="file") from error
    part = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
    written = 0
    try:
        with os.fdopen(_create(part), "w", encoding="utf-8") as file:
            for written, line in enumerate(lines, start=1):  # noqa: B007 - the last number is the answer
                file.write(f"{line}\n")
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
        sync_directory(path.parent)
    except BaseException:
        part.unlink(missing_ok=True)
        if new:
            path.unlink(missing_ok=True)
        raise
    return written


def _create(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, PRIVATE_FILE)
