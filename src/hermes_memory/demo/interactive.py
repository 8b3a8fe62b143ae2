"""Afterwards: questions of the person at the terminal."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Final

import anyio

from hermes_memory.application.memory import Memory
from hermes_memory.demo.asking import ask
from hermes_memory.demo.cast import Figure
from hermes_memory.demo.script import Question
from hermes_memory.demo.story import Story
from hermes_memory.demo.terminal import Terminal
from hermes_memory.domain.errors import HermesMemoryError, InvalidInput
from hermes_memory.domain.ranking import DEFAULT_FLOOR

HELP: Final = (
    "Ask as one of them: `@sales what does the hotel pay?`, `@operations scope:marketing when is the launch?`. "
    "Without a name the last one asks again. `quit` ends."
)
_PROMPT: Final = "\nask> "
_REQUEST: Final = re.compile(r"(?:@(?P<who>\S{1,64})\s*)?(?:scope:(?P<scope>\S{1,128})\s*)?(?P<text>.*)", re.DOTALL)
_READ_BYTES: Final = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a person typed.

    Attributes:
        who: Name of the figure that asks.
        text: The question, "" when only the figure was chosen.
    """

    who: str
    scope: str
    text: str


def parse_request(line: str, *, names: Mapping[str, object], last: str) -> Request:
    """Understand a typed line.

    Raises:
        InvalidInput: It names a figure that there is not.

    >>> parse_request("@sales scope:all what is new?", names={"sales": 1}, last="operations")
    Request(who='sales', scope='all', text='what is new?')
    """
    found = _REQUEST.fullmatch(line.strip())
    who, scope, text = (found["who"], found["scope"], found["text"]) if found else (None, None, line)
    if who is not None and who not in names:
        raise InvalidInput(f"there is no @{who}: say {', '.join(f'@{name}' for name in names)}")
    return Request(who=who or last, scope=scope or "current", text=text.strip())


async def converse(memory: Memory, cast: Mapping[str, Figure], story: Story, terminal: Terminal) -> None:
    """Answer typed questions until `quit` or the end of the input."""
    story.chapter("Your own questions")
    story.remark(HELP)
    for figure in cast.values():
        story.fact(f"@{figure.name}", f"{figure.title}; theme {figure.theme}")
    last = next(iter(cast))
    terminal.prompt(_PROMPT)
    async for line in _typed():
        if line.strip().casefold() in {"quit", "exit"}:
            return
        try:
            request = parse_request(line, names=cast, last=last)
            last = request.who
            if request.text:
                question = Question(who=last, text=request.text, about="", expected="", scope=request.scope)
                story.answer(await ask(memory, cast[last], question, floor=DEFAULT_FLOOR), judged=False)
        except HermesMemoryError as error:
            terminal.line(f"  {error}")
        terminal.prompt(_PROMPT)
    terminal.line()


async def _typed() -> AsyncIterator[str]:
    """Yield what is typed, line by line.

    The descriptor is waited for and read directly: a thread that blocks in `readline` could not be interrupted, and
    would hold up the end of the process.
    """
    pending = b""
    while piece := await _read(0):
        *lines, pending = (pending + piece).split(b"\n")
        for line in lines:
            yield line.decode("utf-8", "replace")
    if pending:
        yield pending.decode("utf-8", "replace")


async def _read(descriptor: int) -> bytes:
    try:
        await anyio.wait_readable(descriptor)
    except PermissionError:  # a file is never waited for: it can always be read
        return os.read(descriptor, _READ_BYTES)
    return os.read(descriptor, _READ_BYTES)
