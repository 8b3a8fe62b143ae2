"""Creation of the data directory, in one step: it is complete or it does not exist."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from hermes_memory.adapters.embedded_postgres.account import Account
from hermes_memory.adapters.embedded_postgres.address import SUPERUSER
from hermes_memory.adapters.embedded_postgres.binaries import POSTGRES_MAJOR, Binaries
from hermes_memory.adapters.embedded_postgres.files import make_owned_directory, read_text, sync_directory
from hermes_memory.adapters.embedded_postgres.layout import Layout
from hermes_memory.domain.errors import ConfigurationError, StoreUnavailable


def ensure_cluster(layout: Layout, binaries: Binaries, *, output: IO[bytes], timeout: float) -> None:
    """Create the cluster unless it exists, and check that these binaries can open it.

    The caller holds the start lock.

    Args:
        layout: Where the cluster lies.
        binaries: The programs to use.
        output: Open file for what they print.
        timeout: Seconds allowed for the creation.

    Raises:
        ConfigurationError: The data directory is of another major version, is not a cluster, or is a link that root
            must not follow.
        StoreUnavailable: The creation failed.
        subprocess.TimeoutExpired: It took too long.
        OSError: The file system refuses.
    """
    for leftover in layout.place.glob(f"{layout.data.name}.new.*"):
        shutil.rmtree(leftover, ignore_errors=True)  # its creator died, or is dying: the next start looks again
    if layout.data.is_dir() and not any(layout.data.iterdir()):
        layout.data.rmdir()
    if not os.path.lexists(layout.data):
        _create(layout, binaries, output, timeout)
    _check(layout)


def _check(layout: Layout) -> None:
    if layout.account.switches and layout.data.is_symlink():
        raise ConfigurationError(f"{layout.data} is a link, which root does not follow; put the directory itself there")
    version = (read_text(layout.data / "PG_VERSION") or "").strip()
    if not version:
        raise ConfigurationError(f"{layout.data} is not a Postgres data directory; move it away and start again")
    if version != str(POSTGRES_MAJOR):
        raise ConfigurationError(
            f"{layout.data} was written by Postgres {version} and this version opens {POSTGRES_MAJOR}; "
            "dump it with the old version and load it here"
        )
    if layout.account.switches and layout.data.stat().st_uid == 0:
        _hand_over(layout.data, layout.account)  # a backup that root has copied back


def _create(layout: Layout, binaries: Binaries, output: IO[bytes], timeout: float) -> None:
    with _draft_beside(layout.data) as draft:
        make_owned_directory(draft, uid=layout.account.uid, gid=layout.account.gid)
        command: list[str | Path] = [
            binaries.program("initdb"),
            f"--pgdata={draft}",
            f"--username={SUPERUSER}",
            "--auth=trust",
            "--encoding=UTF8",
            # Code-point order and full Unicode case rules, whatever locales the machine has.
            "--locale-provider=builtin",
            "--builtin-locale=C.UTF-8",
            "--locale=C",
            "--data-checksums",
        ]
        code = layout.account.run(command, timeout=timeout, output=output)
        if code != 0:
            raise StoreUnavailable(f"Creating the embedded Postgres failed; the reason is at the end of {layout.log}")
        draft.rename(layout.data)  # initdb has synced the contents
    sync_directory(layout.place)


@contextmanager
def _draft_beside(data: Path) -> Iterator[Path]:
    draft = data.with_name(f"{data.name}.new.{secrets.token_hex(4)}")
    try:
        yield draft
    finally:
        shutil.rmtree(draft, ignore_errors=True)  # gone already when all went well


def _hand_over(data: Path, account: Account) -> None:
    for folder, _, files in os.walk(data):
        for name in ("", *files):
            os.chown(Path(folder, name), account.uid, account.gid, follow_symlinks=False)
