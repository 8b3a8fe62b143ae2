"""Runs scenarios inside the real Hermes host: in its own virtual environment, with a clean home and environment."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from hermes_memory.hermes.install import PLUGIN_NAME
from tests.support.typist import Typist
from tests.support.venv_cache import CHECKOUT

_LEAVE_SECONDS = 90.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioRun:
    """What a scenario reported and how its process ended.

    Attributes:
        facts: What the scenario noted down.
        failures: Failures of the memory that the host swallowed, as it logged them.
        error: Traceback of the scenario itself, or "".
        exit_code: Of the process; negative for a signal.
        exit_seconds: From the end of the scenario to the end of the process.
        output: Standard output and error together.
    """

    facts: Mapping[str, Any]
    failures: tuple[str, ...]
    error: str
    exit_code: int
    exit_seconds: float
    output: str

    def require_clean(self) -> Mapping[str, Any]:
        """Return the facts of a scenario in which nothing failed, visibly or silently."""
        assert not self.error, f"{self.error}\n{self.output[-4000:]}"
        assert self.failures == (), "\n".join(self.failures)
        assert self.exit_code == 0, self.output[-4000:]
        return self.facts


@dataclass(slots=True, kw_only=True)
class HermesHost:
    """One Hermes home and the interpreter to run the host with."""

    python: Path
    home: Path
    environment: dict[str, str] = field(default_factory=dict)

    def activate(self, provider: str = PLUGIN_NAME, **config: Any) -> None:
        """Name the memory provider in the home's `config.yaml`, beside other sections."""
        self.home.mkdir(parents=True, exist_ok=True)
        document = {"memory": {"provider": provider}, **config}
        (self.home / "config.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")

    def configure(self, **settings: Any) -> None:
        """Write the memory's own settings file."""
        self.home.mkdir(parents=True, exist_ok=True)
        (self.home / "hermes-memory.json").write_text(json.dumps(settings), encoding="utf-8")

    def run(
        self,
        scenario: str,
        *,
        meanwhile: Callable[[], None] | None = None,
        timeout: float = 180.0,
        **arguments: Any,
    ) -> ScenarioRun:
        """Run `tests/host/scenarios/<module>.py`'s function in a process of its own.

        Args:
            scenario: `module:function`.
            meanwhile: Called once while the process runs.
            timeout: Seconds after which the process is killed; the test then fails.
            arguments: Passed to the function, as JSON.
        """
        report = self.home.parent / f"report-{time.monotonic_ns()}.json"
        command = [str(self.python), "-m", "tests.host.scenarios.runner", scenario, json.dumps(arguments), str(report)]
        process = self._start(command, PYTHONPATH=str(CHECKOUT))
        try:
            if meanwhile is not None:
                meanwhile()
            output, _ = process.communicate(timeout=timeout)
        finally:
            _end(process)
        ended = time.monotonic()
        told = json.loads(report.read_text(encoding="utf-8")) if report.exists() else {}
        return ScenarioRun(
            facts=told.get("facts", {}),
            failures=tuple(told.get("failures", ())),
            error=told.get("error", "the scenario made no report"),
            exit_code=process.returncode,
            exit_seconds=ended - told.get("ended", ended),
            output=output,
        )

    def hermes(self, *arguments: str, timeout: float = 120.0) -> subprocess.CompletedProcess[str]:
        """Run the `hermes` command."""
        return self._finish([str(self.python.with_name("hermes")), *arguments], timeout)

    def at_terminal(self, *arguments: str) -> Typist:
        """Run the `hermes` command with somebody at the terminal."""
        command = [str(self.python.with_name("hermes")), *arguments]
        return Typist(command, environment=self._environment(), place=self.home.parent)

    def memory(self, *arguments: str, timeout: float = 120.0) -> subprocess.CompletedProcess[str]:
        """Run our own `hermes-memory` command, as installed beside the host."""
        return self._finish([str(self.python.with_name("hermes-memory")), *arguments], timeout)

    def _finish(self, command: list[str], timeout: float) -> subprocess.CompletedProcess[str]:
        process = self._start(command)
        try:
            output, _ = process.communicate(timeout=timeout)
        finally:
            _end(process)
        return subprocess.CompletedProcess(command, process.returncode, output)

    def _environment(self, **more: str) -> dict[str, str]:
        # Nothing of the developer's own environment: no keys, no home, no settings.
        return {
            "PATH": f"{self.python.parent}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.home.parent),
            "HERMES_HOME": str(self.home),
            "LANG": "C.UTF-8",
            "COLUMNS": "200",
            **self.environment,
            **more,
        }

    def _start(self, command: list[str], **more: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            command,
            cwd=self.home.parent,
            env=self._environment(**more),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )


def _end(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def processes_of(directory: Path) -> dict[int, str]:
    """Return the living processes whose command line names a directory, by process id."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            except OSError:
                continue  # it ended while we looked
            if str(directory) in words:
                found[int(entry.name)] = words.strip()
    return found


def wait_until_gone(directory: Path) -> dict[int, str]:
    """Wait until no process of a directory is left; return, after a generous time, those that are, killed."""
    deadline = time.monotonic() + _LEAVE_SECONDS
    while (left := processes_of(directory)) and time.monotonic() < deadline:
        time.sleep(0.1)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    return left


def clear(directory: Path) -> dict[int, str]:
    """Wait as `wait_until_gone`, and remove the databases that root keeps elsewhere for the homes of a directory."""
    left = wait_until_gone(directory)
    for pointer in directory.rglob("hermes-memory/postgres/moved-to"):
        place = Path(pointer.read_text(encoding="utf-8").strip())
        left |= wait_until_gone(place)
        _remove(place)
    return left


def _remove(place: Path) -> None:
    # A server that is just ending takes files away itself.
    while place.exists():
        with suppress(FileNotFoundError):
            shutil.rmtree(place)
