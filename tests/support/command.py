"""Runs the `hermes-memory` command as people do: in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from hermes_memory.cli.main import main

COMMAND: Final = Path(sys.executable).with_name("hermes-memory")
_SECONDS: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What a command did: its exit code and what it printed."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The one JSON document on standard output."""
        return json.loads(self.out)


def command(*arguments: str, into: IO[str] | None = None, typed: str | None = None) -> Ran:
    """Run the command with the environment of the test; its standard output may go elsewhere, and input be typed."""
    done = subprocess.run(
        [str(COMMAND), *arguments],
        stdout=into or subprocess.PIPE,
        stderr=subprocess.PIPE,
        input=typed,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    return Ran(code=done.returncode, out=done.stdout or "", err=done.stderr)


def in_process(*arguments: str) -> int:
    """Run the command in this process and return its exit code, which is quicker by the start of one."""
    try:
        return main(arguments)
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else 1
