"""Runs the examples of the documentation in a home of their own, on the embedded Postgres, with one open memory."""

from __future__ import annotations

import ast
import asyncio
import doctest
import inspect
import io
import os
import re
import shlex
import shutil
import tempfile
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, TypeVar

import pytest
from sybil import Example
from sybil.document import PythonDocStringDocument

from hermes_memory.adapters.embedded_postgres import EmbeddedPostgres
from hermes_memory.cli.exits import DONE, WORK_REMAINS
from tests.support.embedded import end_processes, query
from tests.support.waits import tell_waits

if TYPE_CHECKING:
    from hermes_memory import Memory

EXAMPLE_SECONDS: Final = 120.0
PATIENT: Final = {"CONNECT_TIMEOUT": 30, "COMMAND_TIMEOUT": 30, "TOOL_TIMEOUT": 60, "EMBED_READ_TIMEOUT": 20}
"""Deadlines that a busy machine keeps, in seconds. A write gives up after three commands: before its example does."""
COMMAND: Final = "hermes-memory"
PREFIX: Final = "HERMES_MEMORY_"
SETTINGS: Final = ("hermes-memory.json", ".env")
_COMPARISON: Final = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
_PRINTED: Final = "__printed__"
_FINE: Final = frozenset({DONE, WORK_REMAINS})
_REFUSAL: Final = re.compile(rf"^{COMMAND}[\w -]*: ", re.MULTILINE)

Answer = TypeVar("Answer")


class DocStrings(PythonDocStringDocument):
    """The docstrings of a module. Modules without an example, as most are, are not taken to pieces."""

    @staticmethod
    def extract_docstrings(python_source_code: str) -> Iterator[tuple[int, int, str]]:
        if ">>>" in python_source_code or "```" in python_source_code:
            yield from PythonDocStringDocument.extract_docstrings(python_source_code)


class DocumentationHome:
    """A Hermes home for examples. The server starts with the first example that needs it and ends with the session.

    What is stored goes on from page to page; settings that a page keeps hold for that page alone.

    Python examples find `memory`, open, and `home`, where its state is kept. Commands find an empty database of an
    operator's in the variable `ADMIN_DSN`.
    """

    def __init__(self) -> None:
        self._directory: Path | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._closing: asyncio.Event | None = None
        self._memory: Memory | None = None
        self._admin_dsn = ""

    def __enter__(self) -> DocumentationHome:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._loop and self._closing and self._thread:
            self._loop.call_soon_threadsafe(self._closing.set)
            self._thread.join(EXAMPLE_SECONDS)
        if self._directory is not None:
            end_processes(self._directory)
            shutil.rmtree(self._directory)

    @contextmanager
    def serving(self, namespace: dict[str, Any]) -> Iterator[None]:
        """Let examples of this namespace find the home, in the environment as well, for the length of the block."""
        if self._directory is None:
            self._directory = Path(tempfile.mkdtemp(prefix="hermes-memory-docs-"))
            self._directory.chmod(0o755)  # the account that runs Postgres must come in
        if "memory" not in namespace:
            for name in SETTINGS:
                (self._directory / name).unlink(missing_ok=True)
        with pytest.MonkeyPatch.context() as patch:
            for name in [*os.environ]:
                if name.startswith(PREFIX):
                    patch.delenv(name)
            patch.setenv("HERMES_HOME", str(self._directory))
            patch.setenv(f"{PREFIX}STATE_DIRECTORY", str(self._directory / "state"))
            for name, seconds in PATIENT.items():
                patch.setenv(f"{PREFIX}{name}", str(seconds))
            if self._memory is None:
                self._start()
            namespace.setdefault("memory", self._memory)
            namespace.setdefault("home", self._directory / "hermes-memory")
            patch.setenv("ADMIN_DSN", self._admin_dsn)
            yield

    def run(self, work: Coroutine[Any, Any, Answer]) -> Answer:
        """Run a coroutine on the loop that the memory belongs to."""
        assert self._loop
        example = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return example.result(EXAMPLE_SECONDS)
        except TimeoutError:
            if example.done():  # the example's own
                raise
            pytest.fail(f"after {EXAMPLE_SECONDS:.0f} s the example still waits:\n{tell_waits(self._loop)}")

    def _start(self) -> None:
        opened = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._hold(opened)), name="docs", daemon=True)
        self._thread.start()
        assert opened.wait(EXAMPLE_SECONDS), "the embedded Postgres did not start"

    async def _hold(self, opened: threading.Event) -> None:
        """Keep a memory open: a context manager is entered and left by the same task."""
        from hermes_memory import Settings, open_memory

        self._loop = asyncio.get_running_loop()
        self._closing = asyncio.Event()
        async with open_memory(Settings()) as memory:
            self._memory = memory
            self._admin_dsn = await self._new_database()
            # Later answers must not depend on how fast this machine loads the weights.
            await memory.view("warm-up").remember("The first entry loads the local model.")
            await memory.settled(timeout=EXAMPLE_SECONDS)
            opened.set()
            await self._closing.wait()

    async def _new_database(self) -> str:
        assert self._directory
        folder = self._directory / "hermes-memory" / "postgres"
        server = EmbeddedPostgres(folder, state_directory=self._directory / "state")
        address = await asyncio.to_thread(server.acquire)
        try:
            await query(address.dsn(), 'create database "fleet"', "select 1")
        finally:
            await asyncio.to_thread(server.release)
        return address.dsn(database="fleet")


def run_python(example: Example) -> None:
    """Run a block; `await` may stand at its top, as within an `async with` block."""
    home: DocumentationHome = example.namespace["documentation"]
    source = "\n" * (example.line + example.parsed.line_offset) + str(example.parsed)
    code = compile(source, example.path, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    printed = io.StringIO()
    with home.serving(example.namespace), redirect_stdout(printed):
        if code.co_flags & inspect.CO_COROUTINE:
            home.run(eval(code, example.namespace))
        else:
            exec(code, example.namespace)
    example.namespace.pop("__builtins__", None)
    example.namespace[_PRINTED] = printed.getvalue()


def check_output(example: Example) -> str | None:
    """Compare what the block before has printed."""
    return _difference(str(example.parsed), example.namespace.pop(_PRINTED, "(no block before has printed anything)\n"))


def run_console(example: Example) -> str | None:
    """Run the commands of a block and compare what they print, in the order on the page."""
    home: DocumentationHome = example.namespace["documentation"]
    with home.serving(example.namespace):
        problems = [_problem(command, expected) for command, expected in _commands(str(example.parsed))]
    return "\n".join(problem for problem in problems if problem) or None


def _commands(block: str) -> Iterator[tuple[str, str]]:
    for part in ("\n" + block).split("\n$ ")[1:]:
        command, _, expected = part.partition("\n")
        yield command, expected


def _problem(command: str, expected: str) -> str | None:
    """Say in what a command differs from its page; one that fails must say so in what the page shows of it."""
    code, printed = _carried_out(command)
    if code not in _FINE and not _REFUSAL.search(expected):
        return f"`{command}` ends with {code}, and the page does not show why:\n{printed}"
    return _difference(expected, printed)


def _carried_out(command: str) -> tuple[int, str]:
    """Run a command; return its exit code and what it printed."""
    from hermes_memory.cli.main import main

    program, *arguments = (os.path.expandvars(part) for part in shlex.split(command, comments=True))
    assert program == COMMAND, f"only {COMMAND} is run here: fence other commands as shell-session"
    with _captured() as printed:
        try:
            code = main(arguments)
        except SystemExit as end:  # so the parser ends, after a refusal and after --help
            code = int(end.code or DONE)
    return code, printed.getvalue()


@contextmanager
def _captured() -> Iterator[io.StringIO]:
    printed = io.StringIO()
    with redirect_stdout(printed), redirect_stderr(printed):
        yield printed


def _difference(expected: str, got: str) -> str | None:
    checker = doctest.OutputChecker()
    wanted = expected if not expected or expected.endswith("\n") else expected + "\n"
    if checker.check_output(wanted, got, _COMPARISON):
        return None
    return checker.output_difference(doctest.Example("", wanted), got, _COMPARISON)
