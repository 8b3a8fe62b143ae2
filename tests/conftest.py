"""What all tests share."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import Final

import pytest

from tests.support.postgres import TestServer

# The contract suites are library modules: without this their assertions would not tell what they compared.
pytest.register_assert_rewrite("hermes_memory.testing")

# A shell's background job ignores Ctrl-C, and so would every process the tests start in order to interrupt it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

_FIRST: Final = (
    "tests/host/test_contract.py",  # the first of the host's tests builds its environment, for which others would wait
    "tests/faults/test_nemesis.py",
    "tests/faults/test_life.py",
    "tests/acceptance/test_reembed.py",
    "tests/host/",
    "tests/faults/",
    "tests/acceptance/",
    "tests/contract/",
    "tests/",
)
"""What takes long begins first, by the beginning of its name, so that at the end no worker waits for another.

The examples of the documentation come last: the memory they share stays open in the process, and would heed what tests
change for all of it, such as how long a deliverer sleeps.
"""


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Keep the order of the files where several workers share them: it would be by the number of their tests."""
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let the workers begin with what takes long."""
    if hasattr(config, "workerinput"):
        items.sort(key=_place)


def _place(item: pytest.Item) -> int:
    return next((place for place, begun in enumerate(_FIRST) if item.nodeid.startswith(begun)), len(_FIRST))


@pytest.fixture(scope="session")
def server() -> Iterator[TestServer]:
    """The server of this test process."""
    with TestServer() as started:
        yield started
