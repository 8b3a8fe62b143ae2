"""The demonstration's own home: made from the shipped example, with its own server, and gone without a trace."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from types import FrameType
from typing import Final

from hermes_memory.adapters.embedded_postgres import EmbeddedPostgres, ServerAddress
from hermes_memory.adapters.embedded_postgres.layout import STATE_DIRECTORY, locate
from hermes_memory.adapters.modes import PRIVATE_FILE, make_private, private_mode
from hermes_memory.bootstrap.home import database_folder
from hermes_memory.bootstrap.spools import STATE_FOLDER
from hermes_memory.domain.errors import InvalidInput
from hermes_memory.settings import ENV_PREFIX

PREFIX: Final = "hermes-memory-demo-"
_ENDING: Final = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def example_home(keep: Path | None) -> Iterator[Path]:
    """Give a home with the example's notebooks and sessions in it.

    Args:
        keep: A directory to use and leave behind; without one a temporary directory serves and is removed.

    Raises:
        InvalidInput: The directory to keep holds something already.
    """
    if keep is not None:
        if keep.exists() and (not keep.is_dir() or any(keep.iterdir())):
            raise InvalidInput(f"{keep} is not an empty directory: name a new one to keep", field="keep")
        home = keep.absolute()
        make_private(home)
        _furnish(home)
        yield home
        return
    home = Path(tempfile.mkdtemp(prefix=PREFIX))
    try:
        _furnish(home)
        yield home
    finally:
        with _undisturbed():
            _remove(home)


@contextmanager
def own_server(home: Path) -> Iterator[ServerAddress]:
    """Keep the home's server running for the whole story, whichever process dies meanwhile, and stop it at the end.

    Raises:
        ConfigurationError, StoreUnavailable: It cannot be started.
    """
    server = EmbeddedPostgres(_server_folder(home))
    try:
        yield server.acquire()
    finally:
        with _undisturbed():
            server.release()


@contextmanager
def own_environment() -> Iterator[None]:
    """Put aside what the environment says about the person's real memory: none of it may reach the example's home."""
    aside = {name: value for name, value in os.environ.items() if name.upper().startswith(ENV_PREFIX)}
    for name in aside:
        del os.environ[name]
    try:
        yield
    finally:
        os.environ.update(aside)


@contextmanager
def orderly_end() -> Iterator[None]:
    """Let a polite request to end, or a terminal that closes, end the story as Ctrl-C does: all is put away."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, _interrupt) for number in _ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def heed_once() -> Iterator[None]:
    """Heed the first Ctrl-C and no further: a second one would cut short what the first one has put away.

    Use it inside the event loop, whose own handling of the first one is kept.
    """
    heed = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(heed):
        yield
        return

    def first(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        heed(number, frame)

    signal.signal(signal.SIGINT, first)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, heed)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    signal.raise_signal(signal.SIGINT)


def _furnish(home: Path) -> None:
    _copy(files("hermes_memory.demo") / "home", home)
    state = home / STATE_FOLDER
    make_private(state)
    home.chmod(private_mode())  # a cluster that its account cannot reach would lie elsewhere, and stay there


def _copy(source: Traversable, target: Path) -> None:
    """Copy contents alone: an installed package may be write-protected, its copy must not be."""
    make_private(target)
    for item in source.iterdir():
        if item.is_dir():
            _copy(item, target / item.name)
        else:
            copy = target / item.name
            copy.touch(PRIVATE_FILE, exist_ok=False)
            copy.write_bytes(item.read_bytes())


def _remove(home: Path) -> None:
    folder = _server_folder(home)
    if folder.is_dir():
        place = locate(folder, STATE_DIRECTORY).place
        if place != folder:
            shutil.rmtree(place)
    shutil.rmtree(home)


def _server_folder(home: Path) -> Path:
    return database_folder(Path(os.path.realpath(home)))


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Put away to the end: whoever presses Ctrl-C twice must not be left with a server."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
