"""Fuzz target: whatever a model passes to a tool is read or refused, and a refusal repeats none of it."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hermes_memory.hermes.tools import MAX_CONTENT_CHARS, MAX_LIMIT, MAX_QUERY_CHARS, TOOL_NAMES, ToolError, parse
from tests.fuzz.effort import fuzz
from tests.fuzz.texts import texts

PLANTED = "sk-ant-Planted0Planted0Planted0"
_ARGUMENTS = ("query", "scope", "target", "limit", "content", "sync", "id", "Query", "limits", "old_text")
_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | texts
    | st.uuids().map(str)
    | st.sampled_from(["memory", "USER", "5", "-1", "1e309", "nan", "true", " current ", PLANTED, "x" * 9_000]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
_arguments = st.dictionaries(st.sampled_from(_ARGUMENTS) | texts, _values, max_size=6)
_names = st.sampled_from(sorted(TOOL_NAMES)) | _values


@fuzz
@given(_names, _arguments | _values)
def test_any_call_is_read_or_refused(name: object, arguments: object) -> None:
    result = parse(name, arguments)

    if isinstance(result, ToolError):
        assert json.loads(result.json())["error"] == result.message
        assert result.message
    else:
        _require_bounds(result)


@fuzz
@given(st.sampled_from(sorted(TOOL_NAMES)), st.dictionaries(st.sampled_from(_ARGUMENTS), _values, max_size=5))
def test_a_refusal_repeats_no_value(name: str, arguments: dict[str, Any]) -> None:
    planted = {key: PLANTED if value == PLANTED else value for key, value in arguments.items()} | {"limit": PLANTED}
    result = parse(name, planted)

    assert isinstance(result, ToolError)
    assert PLANTED not in result.json()


def _require_bounds(call: object) -> None:
    assert 1 <= getattr(call, "limit", 1) <= MAX_LIMIT
    assert 1 <= len(getattr(call, "query", "x")) <= MAX_QUERY_CHARS
    content = getattr(call, "content", None)
    assert content is None or (content.strip() and len(content) <= MAX_CONTENT_CHARS)
    getattr(call, "scope", None)
    for value in (getattr(call, "query", ""), content or "", getattr(call, "scope", "") or ""):
        value.encode("utf-8")
