"""The account that owns the cluster and runs its processes.

Postgres refuses to run as root. A process of root therefore runs it as somebody else: as the owner of the data or of
the directory when that is an ordinary user (root at work in a user's home), otherwise as ``postgres``, otherwise as
``nobody``.
"""

from __future__ import annotations

import os
import pwd
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from hermes_memory.domain.errors import ConfigurationError

_CANDIDATES = ("postgres", "nobody")
_CHECK_SECONDS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Who runs the server.

    Attributes:
        uid: User id.
        gid: Primary group id; the processes get no other group.
        switches: True when this process is root and has to become the account for every program it runs.
    """

    uid: int
    gid: int
    switches: bool

    def run(
        self,
        command: Sequence[str | Path],
        *,
        timeout: float,
        output: IO[bytes] | int = subprocess.DEVNULL,
        environment: Mapping[str, str | Path] | None = None,
        pass_fds: Sequence[int] = (),
    ) -> int:
        """Run a program to its end as this account and return its exit code.

        The program sees none of our environment (it may hold keys), none of our descriptors but those passed, no
        terminal signals, and works in the root directory so that it pins no other.

        Raises:
            OSError: The program cannot be executed.
            subprocess.TimeoutExpired: It was still running after `timeout` seconds and was killed.
        """
        passed = {name: os.environ[name] for name in ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH") if name in os.environ}
        return subprocess.run(  # noqa: S603 - fixed programs, no shell
            command,
            check=False,
            timeout=timeout,
            cwd="/",
            env={"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC", **passed, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            pass_fds=pass_fds,
            start_new_session=True,
            umask=0o077,
            user=self.uid if self.switches else None,
            group=self.gid if self.switches else None,
            extra_groups=[] if self.switches else None,
        ).returncode

    def can_enter(self, directory: Path) -> bool:
        """Whether the account reaches the directory. The kernel is asked, so access lists count as well."""
        return self.run(["/bin/sh", "-c", 'cd "$0"', directory], timeout=_CHECK_SECONDS) == 0

    def can_run(self, program: Path) -> bool:
        """Whether the account can execute the program and everything it loads."""
        try:
            return self.run([program, "--version"], timeout=_CHECK_SECONDS) == 0
        except OSError:
            return False


def choose_account(*owned: Path) -> Account:
    """Return the account for a cluster.

    Args:
        owned: Paths whose owner decides when it is an ordinary user, the first that exists and does winning.

    Raises:
        ConfigurationError: This is root and no unprivileged account exists.
        OSError: A path cannot be looked at.
    """
    if os.geteuid() != 0:
        return Account(uid=os.geteuid(), gid=os.getegid(), switches=False)
    for path in owned:
        # A link counts by its own owner, or a user could have root act as whomever the link leads to.
        found = path.lstat() if os.path.lexists(path) else None
        if found and found.st_uid != 0:
            return Account(uid=found.st_uid, gid=found.st_gid, switches=True)
    for name in _CANDIDATES:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(uid=entry.pw_uid, gid=entry.pw_gid, switches=True)
    raise ConfigurationError(
        f"Postgres does not run as root and none of the accounts {', '.join(_CANDIDATES)} exists; "
        "create one, or give the directory to an ordinary user"
    )
