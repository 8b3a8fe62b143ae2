"""What a reader must know of a machine to judge figures taken on it. Never names of hosts, users or paths."""

from __future__ import annotations

import os
import platform
import re
import sqlite3
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import asyncpg

TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """The machine and the software of a run."""

    system: str
    processor: str
    cores: int
    memory_gib: float
    file_system: str
    python: str
    sqlite: str
    postgres: str
    pgvector: str


async def describe(connection: asyncpg.Connection, directory: Path) -> dict[str, object]:
    """Describe the machine; `directory` is where the measured files lie."""
    version = re.match(r"[\d.]+", str(await connection.fetchval("show server_version")))
    vector = await connection.fetchval("select default_version from pg_available_extensions where name = 'vector'")
    machine = Machine(
        system=f"{platform.system()} {re.split(r'[-+]', platform.release())[0]} {platform.machine()}",
        processor=_processor(),
        cores=len(os.sched_getaffinity(0)),
        memory_gib=round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        file_system=_file_system(directory),
        python=platform.python_version(),
        sqlite=sqlite3.sqlite_version,
        postgres=version.group() if version else "unknown",
        pgvector=str(vector),
    )
    return asdict(machine)


def _processor() -> str:
    found = re.search(r"^model name\s*:\s*(.+)$", _text("/proc/cpuinfo"), re.MULTILINE)
    return found.group(1).strip() if found else platform.processor() or "unknown"


def _file_system(directory: Path) -> str:
    """Return the type of the file system: that of the longest mount point that leads to the directory."""
    mounts = [line.split()[1:3] for line in _text("/proc/mounts").splitlines()]
    leading = [(place, kind) for place, kind in mounts if directory.resolve().is_relative_to(place)]
    return max(leading, key=lambda mount: len(mount[0]), default=("", "unknown"))[1]


def _text(path: str) -> str:
    file = Path(path)
    return file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""


@dataclass(slots=True)
class Load:
    """How busy the machine was during a run, and how much of that was not the run's own doing."""

    _before: tuple[float, float, float, float]

    @classmethod
    def begin(cls) -> Load:
        """Watch from now on."""
        return cls(_times())

    def report(self) -> dict[str, object]:
        """Return the load since construction.

        `foreign_cores`: processor time beside this process and the children it waited for, in cores. The database
        server is no child of the run, so what it used is in there too.
        """
        wall, busy, own, stolen = (after - before for after, before in zip(_times(), self._before, strict=True))
        return {
            "seconds": round(wall, 1),
            "busy_cores": round(busy / wall, 2),
            "foreign_cores": round(max(0.0, busy - own) / wall, 2),
            "stolen_cores": round(stolen / wall, 2),
            "load_average": [round(value, 2) for value in os.getloadavg()],
        }


def _times() -> tuple[float, float, float, float]:
    fields = [int(value) / TICKS_A_SECOND for value in _text("/proc/stat").partition("\n")[0].split()[1:]] or [0.0] * 8
    mine = os.times()
    own = mine.user + mine.system + mine.children_user + mine.children_system
    return time.monotonic(), sum(fields[:3]) + sum(fields[5:7]), own, fields[7]
