"""Where the parts of a cluster lie.

Normally everything is inside the directory that was asked for. The exception is root: the account that runs Postgres
may be unable to enter that directory (anything under a home of mode 0700). Opening the parents up would expose what
else is in them, so the cluster goes to a state directory of root's instead, and a pointer stays behind.
"""

from __future__ import annotations

import hashlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from hermes_memory.adapters.embedded_postgres.account import Account, choose_account
from hermes_memory.adapters.embedded_postgres.files import make_directories, read_text, write_text
from hermes_memory.domain.errors import ConfigurationError

STATE_DIRECTORY = Path("/var/lib/hermes-memory")
"""Where root keeps clusters, and programs, that cannot stay where they were asked for."""

_POINTER = "moved-to"
_ORIGIN = "moved-from"
_START_LOCK = "start.lock"


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The paths of one cluster.

    Attributes:
        directory: What the caller asked for: locks, log, address.
        place: What holds the cluster; the same directory unless the account cannot enter it.
        account: Who owns and runs the cluster.
    """

    directory: Path
    place: Path
    account: Account

    @property
    def data(self) -> Path:
        """The data directory of Postgres. It exists only when it is complete."""
        return self.place / "pgdata"

    @property
    def sockets(self) -> Path:
        """The preferred directory of the socket."""
        return self.place / "run"

    @property
    def log(self) -> Path:
        """What the server prints. It stays ours: the server gets it as an open descriptor."""
        return self.directory / "server.log"

    @property
    def server_lock(self) -> Path:
        """Held by every process of the server, for as long as one of them lives."""
        return self.directory / "server.lock"

    @property
    def address(self) -> Path:
        """The record of the socket in use."""
        return address_path(self.directory)


def address_path(directory: Path) -> Path:
    """Return the record of the socket in use."""
    return directory / "server.json"


def start_lock_path(directory: Path) -> Path:
    """Return the lock under which the server is started, joined, left and stopped."""
    return directory / _START_LOCK


def users_lock_path(directory: Path) -> Path:
    """Return the lock that each user of the server holds in shared mode."""
    return directory / "users.lock"


def prepare_directory(directory: Path) -> None:
    """Create the directory, private to its owner; root's can be traversed by the account but not listed.

    Raises:
        ConfigurationError: The directory has other contents: it is not ours to change.
        OSError: It cannot be created.
    """
    make_directories(directory)
    lock = start_lock_path(directory)
    # Another process may be creating the very files at this moment, hence the second look at the lock.
    if not lock.exists() and any(directory.iterdir()) and not lock.exists():
        raise ConfigurationError(f"{directory} is not empty and holds no embedded Postgres; name another directory")
    root_keeps_it = os.geteuid() == 0 and directory.stat().st_uid == 0
    mode = 0o711 if root_keeps_it else 0o700
    if stat.S_IMODE(directory.stat().st_mode) != mode:
        directory.chmod(mode)


def locate(directory: Path, state_directory: Path) -> Layout:
    """Return where the cluster of a directory lies, deciding it at the first call.

    The caller holds the start lock.

    Args:
        directory: A directory that `prepare_directory` has made ready.
        state_directory: Where root puts what cannot stay in the directory.

    Raises:
        ConfigurationError: The pointer leads to nothing, or to the data of another directory; or the account can no
            longer reach the cluster, or enters neither directory.
        OSError: A path cannot be read or created.
    """
    place = _follow_pointer(directory)
    if place is None:
        account = choose_account(directory / "pgdata", directory)
        place = directory
        if account.switches and not account.can_enter(directory):
            place = _claim_place(directory, state_directory, account)
    return Layout(directory=directory, place=place, account=choose_account(place / "pgdata", directory))


def moved_place(directory: Path) -> Path | None:
    """Return what holds the cluster of a directory when that is another place, None when it lies there or nowhere yet.

    Raises:
        OSError: The pointer exists and cannot be read.
    """
    target = read_text(directory / _POINTER)
    return Path(target) if target else None


def prepare_state_directory(state_directory: Path) -> None:
    """Create the state directory of root, which everybody can traverse and nobody else can list or change.

    Raises:
        ConfigurationError: It belongs to somebody else, or others can write to it.
        OSError: It cannot be created.
    """
    make_directories(state_directory.parent)
    try:
        state_directory.mkdir(mode=0o711)
        state_directory.chmod(0o711)  # a narrow umask would shut the account out
    except FileExistsError:
        found = state_directory.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
            raise ConfigurationError(f"{state_directory} has to be a directory that only root can write to") from None


def _follow_pointer(directory: Path) -> Path | None:
    place = moved_place(directory)
    if place is None:
        return None
    # Root made the place. One that somebody else made would have root work on files of that somebody's choice.
    known = place.is_dir() and place.lstat().st_uid == os.geteuid()
    origin = read_text(place / _ORIGIN) if known else None
    if origin is None:
        raise ConfigurationError(
            f"{directory / _POINTER} says that the data is in {place}, where there is none. "
            "Restore it, or remove the pointer to begin with an empty memory"
        )
    if Path(origin) != directory:
        raise ConfigurationError(
            f"The data in {place} belongs to {origin}, not to {directory}. If that directory was moved here, write the "
            f"new path into {place / _ORIGIN}; if it was copied, remove {directory / _POINTER} to begin empty"
        )
    return place


def _claim_place(directory: Path, state_directory: Path, account: Account) -> Path:
    if (directory / "pgdata").exists():
        raise ConfigurationError(f"The account that runs Postgres cannot enter {directory}, where its data is")
    prepare_state_directory(state_directory)
    if not account.can_enter(state_directory):
        raise ConfigurationError(
            f"The account that runs Postgres can enter neither {directory} nor {state_directory}. Name another "
            "`state_directory`, in one that everybody can enter"
        )
    place = state_directory / hashlib.sha256(os.fsencode(directory)).hexdigest()[:16]
    if (place / "pgdata").exists():
        raise ConfigurationError(
            f"{place} still holds the data of an earlier {directory}. Write that path into {directory / _POINTER} to "
            "use it again, or remove it to begin with an empty memory"
        )
    place.mkdir(mode=0o711, exist_ok=True)
    place.chmod(0o711)
    write_text(place / _ORIGIN, os.fspath(directory))
    write_text(directory / _POINTER, os.fspath(place))
    return place
