"""On which line of a file a setting stands. Looked for only when somebody asks."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from typing import Final

import yaml
from dotenv.parser import Binding, parse_stream

from hermes_memory.settings.names import CONFIG_SECTION

_BLANK: Final = re.compile(r"[\s:,]*")


def line_in_json(text: str, key: str) -> int | None:
    r"""Return the line of a key of a JSON object, counted from 1; of one that stands there twice, the one that counts.

    >>> line_in_json('{"a": {"b": 1},\n "b": 2}', "b")
    2
    """
    try:
        places = [place for name, place in _keys_of(text) if name == key]
    except ValueError:
        return None
    return text.count("\n", 0, places[-1]) + 1 if places else None


def line_in_yaml(text: str, key: str) -> int | None:
    r"""Return the line of a setting in the host's configuration, counted from 1; None where an anchor brings it in.

    >>> line_in_yaml("plugins:\n  hermes-memory:\n    pool_size: 3\n", "pool_size")
    3
    """
    try:
        node: yaml.Node | None = yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError):
        return None
    line = None
    for step in ("plugins", CONFIG_SECTION, key):
        found = _below(node, step)
        if found is None:
            return None
        named, node = found
        line = int(named.start_mark.line) + 1
    return line


def line_of_variable(text: str, name: str) -> int | None:
    r"""Return the line of a variable in a file of variables, counted from 1, whatever its case.

    >>> line_of_variable("\nOTHER=1\nexport pool=2", "POOL")
    3
    """
    lines = [line_of(each) for each in parse_stream(io.StringIO(text)) if (each.key or "").upper() == name.upper()]
    return lines[-1] if lines else None


def line_of(binding: Binding) -> int:
    """Return the line on which a statement of a file of variables begins, the empty ones before it apart."""
    statement = binding.original.string
    return binding.original.line + statement[: len(statement) - len(statement.lstrip())].count("\n")


def _keys_of(text: str) -> Iterator[tuple[str, int]]:
    """Yield the keys of the outermost object, and where each begins."""
    decoder = json.JSONDecoder()
    at = text.index("{") + 1
    while True:
        at = _skipped(text, at)
        if at >= len(text) or text[at] == "}":
            return
        key, end = decoder.raw_decode(text, at)
        yield key, at
        _, at = decoder.raw_decode(text, _skipped(text, end))


def _skipped(text: str, at: int) -> int:
    blank = _BLANK.match(text, at)
    return blank.end() if blank else at


def _below(node: yaml.Node | None, key: str) -> tuple[yaml.Node, yaml.Node] | None:
    if not isinstance(node, yaml.MappingNode):
        return None
    fitting = [pair for pair in node.value if isinstance(pair[0], yaml.ScalarNode) and pair[0].value == key]
    return fitting[-1] if fitting else None
