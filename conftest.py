"""Runs every example of the documentation: of README.md, of the pages under docs/ and of the docstrings in src.

In a Markdown page three kinds of fenced blocks are run. ``python`` is executed, all blocks of a page in one namespace;
``output`` after it is what it must have printed; ``console`` holds ``hermes-memory`` commands and what they print.
``...`` stands for any text. What cannot be run here is fenced as ``shell-session``.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sybil import Sybil
from sybil.integration.pytest import SybilItem
from sybil.parsers.doctest import DocTestParser
from sybil.parsers.markdown import CodeBlockParser
from sybil.sybil import SybilCollection
from tests.support.documentation import DocStrings, DocumentationHome, check_output, run_console, run_python

_BLOCKS = (
    CodeBlockParser("python", run_python),
    CodeBlockParser("output", check_output),
    CodeBlockParser("console", run_console),
)

_FIXTURES = ("documentation",)

pytest_collect_file = SybilCollection(
    [
        Sybil(parsers=_BLOCKS, path="docs", pattern="*.md", fixtures=_FIXTURES),
        Sybil(parsers=_BLOCKS, filenames=["README.md"], excludes=["*/*"], fixtures=_FIXTURES),
        Sybil(
            parsers=(DocTestParser(), CodeBlockParser("python", run_python)),
            path="src",
            pattern="*.py",
            document_types={".py": DocStrings},
            fixtures=_FIXTURES,
        ),
    ]
).pytest()


_evaluated: dict[str, set[int]] = {}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Run the examples of a page in their order, also when one is asked for alone or others run in another process."""
    if isinstance(item, SybilItem):
        done = _evaluated.setdefault(item.example.path, set())
        for earlier in item.example.document.examples():
            if earlier.start < item.example.start and earlier.start not in done:
                done.add(earlier.start)
                earlier.evaluate()
        done.add(item.example.start)
    return (yield)


@pytest.fixture(scope="session")
def documentation() -> Iterator[DocumentationHome]:
    """One home and one open memory for all examples, made when the first of them needs it."""
    with DocumentationHome() as home:
        yield home
