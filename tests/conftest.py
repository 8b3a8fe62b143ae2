"""What all tests share."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from tests.support.postgres import TestServer

# The contract suites are library modules: without this their assertions would not tell what they compared.
pytest.register_assert_rewrite("hermes_memory.testing")

# A shell's background job ignores Ctrl-C, and so would every process the tests start in order to interrupt it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def server() -> Iterator[TestServer]:
    """The server of this test process."""
    with TestServer() as started:
        yield started
