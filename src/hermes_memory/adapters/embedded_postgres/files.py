"""Files and directories that belong to whoever owns the directory they are in, also when root makes them.

A process of root may work in the home of a user; what it leaves there has to stay usable by that user.
"""

from __future__ import annotations

import os
import secrets
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hermes_memory.adapters.modes import PRIVATE_FILE, private_mode
from hermes_memory.domain.errors import ConfigurationError, StoreUnavailable


@contextmanager
def translated_errors(action: str) -> Iterator[None]:
    """Turn errors of the operating system into the library's own.

    Args:
        action: What was being done, for the message.

    Raises:
        ConfigurationError: A path is refused, read-only or not what it should be; waiting will not help.
        StoreUnavailable: Anything else, such as a full disk, or a program that does not end.
    """
    try:
        yield
    except (PermissionError, NotADirectoryError, IsADirectoryError, FileExistsError) as error:
        raise ConfigurationError(f"The embedded Postgres cannot {action}: {error}") from error
    except OSError as error:
        raise StoreUnavailable(f"The embedded Postgres cannot {action}: {error}") from error
    except subprocess.TimeoutExpired as error:
        raise StoreUnavailable(f"The embedded Postgres cannot {action} in {error.timeout:.0f} s") from error


def open_private(path: Path, flags: int) -> int:
    """Open a file of mode 0600 without following a link at its name, and return the descriptor.

    Raises:
        OSError: The file cannot be opened.
    """
    descriptor = os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, PRIVATE_FILE)
    if os.geteuid() == 0:
        parent = path.parent.stat()
        os.fchown(descriptor, parent.st_uid, parent.st_gid)
    return descriptor


def write_text(path: Path, text: str) -> None:
    """Replace the file in one step, so that no reader and no crash sees half of it.

    Raises:
        OSError: The file cannot be written.
    """
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = open_private(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(os.fsencode(text))
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def read_text(path: Path) -> str | None:
    """Return the text of a small file, or None when it does not exist.

    Raises:
        OSError: The file exists and cannot be read.
    """
    try:
        return os.fsdecode(path.read_bytes())
    except FileNotFoundError:
        return None


def make_directories(path: Path) -> None:
    """Create a private directory and what is missing above it; each belongs to the owner of the one that holds it.

    Existing directories keep their mode and owner.

    Raises:
        OSError: A directory cannot be created.
    """
    if path.is_dir():
        return
    make_directories(path.parent)
    try:
        path.mkdir(mode=private_mode())
        path.chmod(private_mode())  # a narrow umask would shut the account out
    except FileExistsError:
        if path.is_dir():
            return  # another process was quicker
        raise
    if os.geteuid() == 0:
        parent = path.parent.stat()
        os.chown(path, parent.st_uid, parent.st_gid)


def make_owned_directory(path: Path, *, uid: int, gid: int) -> None:
    """Create a directory of mode 0700 for an account, or check that the one that exists is safe to use.

    Raises:
        ConfigurationError: The name is taken by a link, by a file, or by a directory of somebody else.
        OSError: The directory cannot be created.
    """
    with suppress(FileExistsError):
        path.mkdir(mode=0o700)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise ConfigurationError(f"{path} is in the way: {error.strerror}. Remove it and start again") from error
    try:
        if os.fstat(descriptor).st_uid not in {uid, os.geteuid()}:
            raise ConfigurationError(f"{path} belongs to somebody else; remove it and start again")
        if os.geteuid() == 0:
            os.fchown(descriptor, uid, gid)
        os.fchmod(descriptor, 0o700)
    finally:
        os.close(descriptor)


def sync_directory(path: Path) -> None:
    """Make renames in a directory survive a power cut.

    Raises:
        OSError: The directory cannot be opened.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
