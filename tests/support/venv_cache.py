"""Virtual environments that tests build once a machine and keep in the user's cache, outside the checkout."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
_COMPLETE = ".complete"
_INSTALL_SECONDS = 900


def cache_directory() -> Path:
    """Return the directory of this user's environments.

    Raises:
        RuntimeError: Somebody else made it.
    """
    root = os.environ.get("XDG_CACHE_HOME") or tempfile.gettempdir()
    directory = Path(root) / f"hermes-memory-tests-{os.getuid()}"
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    if directory.is_symlink() or directory.stat().st_uid != os.getuid():
        raise RuntimeError(f"{directory} belongs to somebody else")
    return directory


@contextmanager
def built(directory: Path) -> Iterator[bool]:
    """Hold the lock of a directory; yield whether it must be filled. It counts as filled when the block succeeds."""
    with directory.with_name(f"{directory.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        fresh = not (directory / _COMPLETE).exists()
        if fresh:
            shutil.rmtree(directory, ignore_errors=True)
        yield fresh
        if fresh:
            (directory / _COMPLETE).touch()


def digest(*texts: str) -> str:
    """Return a short name for what an environment is made of."""
    made = hashlib.sha256()
    for text in texts:
        made.update(text.encode())
        made.update(b"\0")
    return made.hexdigest()[:16]


def run(*command: str) -> None:
    """Run one step of building an environment.

    Raises:
        RuntimeError: It fails. The message ends with what it said.
    """
    done = subprocess.run(command, capture_output=True, text=True, timeout=_INSTALL_SECONDS, check=False)
    if done.returncode:
        # An index given by URL may carry a password.
        said = re.sub(r"//[^/@\s]+@", "//***@", done.stderr[-2000:])
        raise RuntimeError(f"the environment cannot be built: {' '.join(command[:4])} …\n{said}")
