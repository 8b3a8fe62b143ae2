"""Runs `hermes-memory` in a process of its own that need not load the library first.

Loading takes most of what a short verb costs, and is the same for all of them. So one process loads the library and
forks another for every call, which has the environment, the directory and the streams of whoever calls, and ends as any
process of the command does. How the command starts, `tests.support.command.command` tries.
"""

from __future__ import annotations

import atexit
import functools
import gc
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final, NoReturn

from hermes_memory.cli import main as _loaded  # noqa: F401
from hermes_memory.cli import start
from tests.support.command import COMMAND, Ran

_CHECKOUT: Final = Path(__file__).resolve().parents[2]
_SECONDS: Final = 200
_LARGEST: Final = 1 << 17


def loaded_command(*arguments: str) -> Ran:
    """Run the command with the environment of the test. Any thread may call."""
    asked = json.dumps({"arguments": arguments, "environment": dict(os.environ), "directory": str(Path.cwd())}).encode()
    answers, answering = socket.socketpair()
    with (
        answers,
        tempfile.TemporaryFile("w+", encoding="utf-8") as out,
        tempfile.TemporaryFile("w+", encoding="utf-8") as err,
        Path(os.devnull).open() as nothing,
    ):
        with answering:
            streams = [answering.fileno(), nothing.fileno(), out.fileno(), err.fileno()]
            socket.send_fds(_loader(), [asked], streams)
        answers.settimeout(_SECONDS)
        code = json.loads(answers.recv(_LARGEST))
        out.seek(0)
        err.seek(0)
        return Ran(code=code, out=out.read(), err=err.read())


@functools.cache
def _loader() -> socket.socket:
    """Return the line to the process that has everything loaded. It ends when this process does."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        line = theirs.fileno()
        command = [sys.executable, "-m", "tests.support.loaded_command", str(line)]
        process = subprocess.Popen(command, pass_fds=[line], cwd=_CHECKOUT, stdin=subprocess.DEVNULL)

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


def _fork_for_each_call(line: socket.socket) -> None:
    """Serve until nobody can ask any more. Returns in processes that are to be the command, and in no other."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    gc.freeze()
    while True:
        asked, streams, _, _ = socket.recv_fds(line, _LARGEST, 4)
        if not asked:
            os._exit(0)
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            line.close()
            if (child := os.fork()) == 0:
                _put_on(asked, streams)
                return
            _tell_how_it_ends(child, streams[0])
        for stream in streams:
            os.close(stream)


def _put_on(asked: bytes, streams: list[int]) -> None:
    given = json.loads(asked)
    os.chdir(given["directory"])
    os.environ.clear()
    os.environ.update(given["environment"])
    sys.argv = [str(COMMAND), *given["arguments"]]
    for standard, stream in enumerate(streams[1:]):
        os.dup2(stream, standard)
    for stream in streams:
        os.close(stream)


def _tell_how_it_ends(child: int, answering: int) -> NoReturn:
    _, status = os.waitpid(child, 0)
    os.write(answering, json.dumps(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


if __name__ == "__main__":
    _fork_for_each_call(socket.socket(fileno=int(sys.argv[1])))
    sys.exit(start.main())
