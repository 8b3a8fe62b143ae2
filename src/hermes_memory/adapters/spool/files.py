"""Private files: a directory and files that nobody else can read, replace or redirect."""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import re
import stat
import sys
from pathlib import Path
from typing import Final

from hermes_memory.adapters.modes import PRIVATE_FILE, make_private
from hermes_memory.domain.errors import ConfigurationError

logger = logging.getLogger(__name__)

NO_SPACE: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
"""What the system says when a disk, or a user's share of it, is full."""
PRIVATE_DIRECTORY: Final = 0o700
_NETWORK: Final = frozenset(
    {
        *("nfs", "nfs4", "cifs", "smb3", "smbfs", "ncpfs", "afs", "coda", "9p", "ceph", "glusterfs", "lustre", "gpfs"),
        *("beegfs", "orangefs", "pvfs2", "gfs2", "ocfs2", "davfs", "fuse.davfs2", "fuse.sshfs", "fuse.glusterfs"),
        *("fuse.ceph", "fuse.ceph-fuse", "fuse.s3fs", "fuse.rclone", "fuse.gcsfuse", "fuse.moosefs", "fuse.juicefs"),
    }
)
_MOUNTS: Final = Path("/proc/mounts")
_OCTAL: Final = re.compile(r"\\([0-7]{3})")
_warned: set[Path] = set()


def prepare_directory(directory: Path) -> None:
    """Make sure that the directory exists, is a real one, ours, and closed to everyone else.

    Raises:
        ConfigurationError: It is a symbolic link, another user's, or cannot be made.
    """
    try:
        make_private(directory.parent)
        directory.mkdir(mode=PRIVATE_DIRECTORY, exist_ok=True)
        found = directory.lstat()
    except OSError as error:
        raise ConfigurationError("the spool directory cannot be made: give a path that can be written") from error
    if not stat.S_ISDIR(found.st_mode):
        raise ConfigurationError("the spool directory is a symbolic link: give the path of the directory itself")
    _require_owner(found, "directory")
    if stat.S_IMODE(found.st_mode) != PRIVATE_DIRECTORY:
        directory.chmod(PRIVATE_DIRECTORY)
    _warn_of_network(directory)


def check_file(path: Path) -> os.stat_result | None:
    """Look at a file without opening it, and close it to everyone else; None when there is none.

    Opening is avoided because closing any descriptor of a database file drops every lock this process has on it.

    Raises:
        ConfigurationError: It is not a plain file of ours.
    """
    try:
        found = path.lstat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):
        raise ConfigurationError(f"{path.name} in the spool directory is no plain file: remove it or the link")
    _require_owner(found, "file")
    if stat.S_IMODE(found.st_mode) != PRIVATE_FILE:
        path.chmod(PRIVATE_FILE)
    return found


def open_private(path: Path, *, exclusive: bool = False) -> int:
    """Open a file for reading and writing, made for us alone when it is missing; return its descriptor.

    Raises:
        ConfigurationError: It is a link or another user's.
        OSError: It cannot be made, or it exists and `exclusive` was asked.
    """
    check_file(path)
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | (os.O_EXCL if exclusive else 0)
    return os.open(path, flags, PRIVATE_FILE)


def sync_directory(directory: Path) -> None:
    """Make renames in the directory survive a power cut."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_content(descriptor: int) -> None:
    """Make what was written over in a file survive a power cut, which is less than its times and its length."""
    if sys.platform == "darwin":
        try:
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)  # fsync leaves it in the cache of the disk there
        except OSError:  # a volume that knows no such call, as of a network or of a program
            os.fsync(descriptor)
    else:
        os.fdatasync(descriptor)


def lengthen(descriptor: int, size: int, *, lasting: bool = True) -> None:
    """Write zeros behind what a file holds until it is so long, or leave it as it is.

    Args:
        lasting: A power cut must not undo it, so wait for the disk.

    Raises:
        OSError: It cannot be written. Half of the room would only be taken from others.
    """
    length = os.fstat(descriptor).st_size
    if length >= size:
        return
    try:
        while (found := os.fstat(descriptor).st_size) < size:
            os.pwrite(descriptor, bytes(size - found), found)
        if lasting:
            os.fsync(descriptor)
    except OSError:
        os.ftruncate(descriptor, length)
        raise


def has_room(directory: str | Path, size: int) -> bool:
    """Tell whether the disk that holds a directory has so many bytes for us.

    Raises:
        OSError: It cannot be asked.
    """
    room = os.statvfs(directory)
    return room.f_bavail * room.f_frsize >= size


def identity_under(name: str) -> tuple[int, int] | None:
    """Return what tells the file that stands under a name from any other on this machine; None when there is none.

    It takes text, which is quicker than a path: each put asks for it.
    """
    try:
        found = os.lstat(name)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def filesystem_of(path: Path, mounts: str) -> str:
    """Name the type of the file system that holds an absolute path, "" when unknown.

    Args:
        path: Absolute, without symbolic links.
        mounts: The text of /proc/mounts.
    """
    longest, kind = -1, ""
    for line in mounts.splitlines():
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        place = Path(_OCTAL.sub(lambda match: chr(int(match[1], 8)), fields[1]))
        depth = len(place.parts)
        if depth >= longest and path.is_relative_to(place):
            longest, kind = depth, fields[2]
    return kind


def network_of(directory: Path) -> str:
    """Name the kind of the network file system that holds an existing directory.

    Returns:
        "" when it lies on none, or where there is no /proc/mounts to tell.
    """
    try:
        mounts = _MOUNTS.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""
    kind = filesystem_of(directory.resolve(), mounts)
    return kind if kind in _NETWORK else ""


def _require_owner(found: os.stat_result, what: str) -> None:
    if found.st_uid != os.geteuid():
        raise ConfigurationError(
            f"the spool {what} belongs to user {found.st_uid} and this process runs as {os.geteuid()}: "
            "run as that user, or give this one a home of its own"
        )


def _warn_of_network(directory: Path) -> None:
    if directory in _warned:
        return
    _warned.add(directory)
    kind = network_of(directory)
    if kind:
        logger.warning(
            "the spool lies on a network file system, where file locks and shared memory do not protect it: move it",
            extra={"action": "spool.network", "filesystem": kind},
        )
