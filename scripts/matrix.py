"""Run the tests on other versions of PostgreSQL and of Python, and tell how each went.

    python scripts/matrix.py postgres 15 16 17
    python scripts/matrix.py python 3.12 3.13

What follows `--` goes to pytest; by default it runs the layers that meet a server, or all but the fault tests.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from scripts.postgres_versions import NotToBeHad, served  # noqa: E402 - the checkout is no package
from tests.support.pythons import find_python  # noqa: E402
from tests.support.venv_cache import run  # noqa: E402

LAYERS: Final = {
    "postgres": ("tests/contract", "tests/acceptance"),
    "python": ("tests/unit", "tests/contract", "tests/acceptance"),
}
DEFAULT: Final = {"postgres": ("15", "16", "17"), "python": ("3.11", "3.12", "3.13")}
DSN_VARIABLE: Final = "HERMES_MEMORY_TEST_DSN"
CLIENTS_VARIABLE: Final = "HERMES_MEMORY_TEST_CLIENTS"
"""Where the client programs of the server's version are."""
_COUNTS: Final = re.compile(r"^=* ?((?:\d+ \w+(?:, )?)+) in .*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one version went; `failed` is None when it is not to be had here."""

    name: str
    told: str
    failed: bool | None


@dataclass(frozen=True, slots=True)
class Bench:
    """Where the tests run: a Python, and the variables that are set for it."""

    name: str
    python: Path
    variables: dict[str, str]


@contextmanager
def on_postgres(version: str) -> Iterator[Bench]:
    """Give this Python a server of a major version."""
    with served(int(version)) as server:
        yield Bench(
            server.name, Path(sys.executable), {DSN_VARIABLE: server.dsn, CLIENTS_VARIABLE: str(server.clients)}
        )


def on_python(version: str) -> AbstractContextManager[Bench]:
    """Give a Python of a version, with everything that the tests need."""
    venv = ROOT / f".venv-{version}"
    python = venv / "bin" / "python"
    try:
        if not python.exists():
            run(str(find_python(version)), "-m", "venv", str(venv))
        pip = (str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        run(*pip, "-c", str(ROOT / "constraints" / "dev.txt"), "-e", f"{ROOT}[embedded,quality,dev]")
    except RuntimeError as error:
        raise NotToBeHad(str(error)) from error
    return nullcontext(Bench(f"Python {version}", python, {}))


BENCHES: Final[dict[str, Callable[[str], AbstractContextManager[Bench]]]] = {
    "postgres": on_postgres,
    "python": on_python,
}


def tried(kind: str, version: str, arguments: Sequence[str]) -> Outcome:
    """Run the tests on one version."""
    try:
        with BENCHES[kind](version) as bench:
            print(f"-- {bench.name}", flush=True)
            command = [str(bench.python), "-m", "pytest", "-q", *(arguments or LAYERS[kind])]
            failed, printed = _ran(command, {**os.environ, **bench.variables})
            counts = _COUNTS.findall(printed)
            return Outcome(bench.name, counts[-1] if counts else "nothing counted", failed)
    except NotToBeHad as error:
        return Outcome(f"{kind} {version}", f"not to be had here: {error}", None)


def _ran(command: Sequence[str], variables: dict[str, str]) -> tuple[bool, str]:
    """Run a command and show what it prints as it comes; return whether it failed, and all of that."""
    printed: list[str] = []
    with subprocess.Popen(command, cwd=ROOT, env=variables, stdout=subprocess.PIPE, text=True) as running:
        for line in running.stdout or ():
            print(line, end="", flush=True)
            printed.append(line)
    return running.returncode != 0, "".join(printed)


def main() -> int:
    """Run what is asked for; 1 when a test failed, 3 when a version is not to be had."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=sorted(BENCHES))
    parser.add_argument("versions", nargs="*")
    arguments = sys.argv[1:]
    own = arguments.index("--") if "--" in arguments else len(arguments)
    given = parser.parse_args(arguments[:own])
    versions = given.versions or DEFAULT[given.kind]
    outcomes = [tried(given.kind, version, arguments[own + 1 :]) for version in versions]
    for outcome in outcomes:
        print(f"{outcome.name}: {outcome.told}")
    if any(outcome.failed for outcome in outcomes):
        return 1
    return 3 if any(outcome.failed is None for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
