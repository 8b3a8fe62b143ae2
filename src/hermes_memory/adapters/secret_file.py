"""The installation's secret, made once and kept in the home."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Final

from hermes_memory.domain.errors import ConfigurationError

SECRET_BYTES: Final = 32


def load_or_create(path: Path) -> bytes:
    """Return the secret kept in a file, making it (0600) when there is none. Several processes may call at once.

    Raises:
        ConfigurationError: The file is a link, somebody else's, or holds no usable secret; or its directory cannot be
            written.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.exists():
            _make(path)
    except OSError as error:
        raise ConfigurationError(f"the secret {path} cannot be made: {error.strerror}") from error
    return read_secret(path)


def _make(path: Path) -> None:
    draft = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        text = secrets.token_hex(SECRET_BYTES).encode("ascii")
        while text:  # a disk that fills up takes a part, then says so
            text = text[os.write(descriptor, text) :]
        os.fsync(descriptor)
        # A hard link is made by one of several rivals only, and never shows a half-written file.
        with suppress(FileExistsError):
            path.hardlink_to(draft)
    finally:
        os.close(descriptor)
        draft.unlink()


def read_secret(path: Path) -> bytes:
    """Return the secret kept in a file.

    Raises:
        ConfigurationError: There is none, or the file is a link, somebody else's, or holds no usable secret.
    """
    try:
        # Without waiting: somebody may have put a pipe there.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise ConfigurationError(f"the secret {path} cannot be read: {error.strerror}") from error
    try:
        if os.fstat(descriptor).st_uid != os.geteuid():
            raise ConfigurationError(f"the secret {path} belongs to another user: remove it or run as its owner")
        text = os.read(descriptor, 4096).decode("ascii", "replace").strip()
    finally:
        os.close(descriptor)
    try:
        secret = bytes.fromhex(text)
    except ValueError:
        secret = b""
    if len(secret) < SECRET_BYTES:
        raise ConfigurationError(f"{path} holds no usable secret: restore it, or remove it to start with new subjects")
    return secret
