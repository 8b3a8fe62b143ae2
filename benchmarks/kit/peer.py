"""The peer: the published release of another memory provider, in a virtual environment of its own."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Final

PEER: Final = "hermes-memory-pgvector==1.0.0"
PACKAGE: Final = "hermes_pgvector"
PEER_PLACE: Final = Path(__file__).resolve().parents[2] / ".venv-peer"
INSTALL_SECONDS: Final = 120.0


async def install_peer(directory: Path, release: str = PEER) -> Path:
    """Make the environment in `directory`, unless it is there already, and return its Python.

    Args:
        directory: Of this release alone.
        release: As pip takes it.

    Raises:
        RuntimeError: It could not be made.
        TimeoutError: It took too long.
    """
    python = directory / "bin" / "python"
    ready = directory / release
    if not ready.exists():
        await _run(sys.executable, "-m", "venv", "--clear", "--without-pip", str(directory))
        await _pip(directory, "install", "--quiet", release)
        ready.touch()
    return python


async def installed(directory: Path) -> dict[str, str]:
    """Return the versions of what the environment in `directory` holds."""
    listed = json.loads(await _pip(directory, "list", "--format", "json"))
    return {package["name"]: package["version"] for package in listed}


async def migrate_peer(python: Path, admin_dsn: str, role: str | None, *, package: str = PACKAGE) -> None:
    """Make its tables in a database.

    Args:
        role: The runtime role; None for the one that the releases before 0.6 take for granted.
        package: What the release is imported by.

    Raises:
        RuntimeError: They could not be made.
        TimeoutError: It took too long.
    """
    named = () if role is None else ("--runtime-role", role)
    await _run(str(python), "-m", package, "migrate", "--admin-dsn", admin_dsn, *named)


async def _pip(directory: Path, *arguments: str) -> bytes:
    """Run the pip of this environment on that one, which so needs none."""
    return await _run(
        *(sys.executable, "-m", "pip", "--python", str(directory / "bin" / "python"), "--disable-pip-version-check"),
        *arguments,
    )


async def _run(*command: str) -> bytes:
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    try:
        printed, complaints = await asyncio.wait_for(process.communicate(), INSTALL_SECONDS)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise RuntimeError(f"{command[1:4]} failed: {complaints.decode(errors='replace')[-2000:]}")
    return printed
