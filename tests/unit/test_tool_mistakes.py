"""What a model is told of a call that nobody could have meant: short, and in words about its own arguments."""

from __future__ import annotations

import json
from typing import Any

from hermes_memory.hermes.tools import ToolError, parse

HALF = "\ud800"
"""Half of a character, which no text may hold."""


def _refused(arguments: dict[str, Any]) -> ToolError:
    result = parse("recall_memory", {"query": "x", **arguments})
    assert isinstance(result, ToolError), result
    return result


def test_a_target_that_is_no_text_to_encode_is_refused_like_any_other() -> None:
    error = _refused({"target": HALF})

    assert (error.message, error.arguments) == ("target: must be 'memory' or 'user'", ("target",))


def test_a_name_that_is_no_text_to_encode_is_told_as_an_unknown_argument() -> None:
    error = _refused({f"limi{HALF}": 3})

    assert error.message == "unknown argument 'limi\ufffd': did you mean 'limit'?"
    assert json.loads(error.json())["arguments"] == ["limi\ufffd"]


def test_a_name_of_any_length_is_told_by_its_beginning() -> None:
    error = _refused({"n" * 1_000_000: 1})

    assert error.arguments == ("n" * 40,)
    assert len(error.json()) < 300


def test_of_many_mistakes_the_first_are_told_and_the_others_counted() -> None:
    error = _refused({"limit": -1, **{f"name {number}": 1 for number in range(5_000)}})

    assert error.message.startswith("limit: must be a whole number")
    assert error.message.endswith("; and 4,991 more")
    assert len(error.arguments) == 10
    assert len(error.json()) < 2_000
