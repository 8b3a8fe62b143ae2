"""The installation's secret, made once and kept in the home."""

from __future__ import annotations

import logging
import os
import secrets
import stat
from pathlib import Path
from typing import Final

from hermes_memory.adapters.made_once import make_once
from hermes_memory.adapters.modes import close_to_others
from hermes_memory.domain.errors import ConfigurationError

logger = logging.getLogger(__name__)

SECRET_BYTES: Final = 32


def load_or_create(path: Path) -> bytes:
    """Return the secret kept in a file, making it (0600) when there is none. Several processes may call at once.

    Raises:
        ConfigurationError: As `read_secret` raises it; or its directory cannot be written.
    """
    try:
        make_once(path, secrets.token_hex(SECRET_BYTES))
    except OSError as error:
        raise ConfigurationError(f"the secret {path} cannot be made: {error.strerror}") from error
    return read_secret(path)


def read_secret(path: Path) -> bytes:
    """Return the secret kept in a file. One that is open to others is closed to them, and told of.

    Raises:
        ConfigurationError: There is none, or the file is a link, somebody else's, open to others for good, or holds no
            usable secret.
    """
    try:
        # Without waiting: somebody may have put a pipe there.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise ConfigurationError(f"the secret {path} cannot be read: {error.strerror}") from error
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise ConfigurationError(f"the secret {path} is no plain file: remove it")
        if found.st_uid != os.geteuid():
            raise ConfigurationError(f"the secret {path} belongs to another user: remove it or run as its owner")
        _close(path, descriptor)
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


def _close(path: Path, descriptor: int) -> None:
    """Close the file to others. What they may have read stays known to them, so that is told."""
    try:
        closed = close_to_others(descriptor)
    except OSError as error:
        raise ConfigurationError(
            f"others may read the secret {path}, and its mode cannot be changed ({error.strerror}): "
            "make it 0600, as by `chmod 600`"
        ) from error
    if closed:
        logger.warning(
            "the secret of this home was open to other users of the machine and is closed now: "
            "if one may have read it, replace it and use `hermes-memory subjects rekey`",
            extra={"action": "secret.closed"},
        )
