"""The tools' schemas, the reading of what a model passes, and the JSON it gets back."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel
from tests.support.tables import for_each

from hermes_memory.domain.model import Target
from hermes_memory.hermes.tool_json import error_json, result_json
from hermes_memory.hermes.tool_schemas import bare_schema
from hermes_memory.hermes.tools import (
    MAX_CONTENT_CHARS,
    MAX_QUERY_CHARS,
    TOOL_NAMES,
    MemoryForget,
    MemoryProfile,
    MemoryRemember,
    RecallConversation,
    RecallMemory,
    ToolError,
    parse,
    tool_schemas,
)

HOST_CORE_TOOLS = {"memory", "session_search", "todo", "clarify", "delegate_task", "cronjob", "terminal", "process"}
ENTRY = "b6a7c0a4-0000-4000-8000-000000000000"


def _refused(name: str, arguments: Any) -> ToolError:
    result = parse(name, arguments)
    assert isinstance(result, ToolError), result
    return result


def test_the_schemas_are_bare_functions_without_references_unions_or_nulls() -> None:
    text = json.dumps(tool_schemas())

    assert not any(noise in text for noise in ("$ref", "$defs", "anyOf", "allOf", '"title"', "null"))
    for schema in tool_schemas():
        assert set(schema) == {"name", "description", "parameters"}
        assert schema["parameters"]["additionalProperties"] is False
        assert all("type" in each and "description" in each for each in schema["parameters"]["properties"].values())


def test_the_schemas_are_small_and_the_same_at_every_call() -> None:
    assert tool_schemas() == tool_schemas()
    assert len(json.dumps(tool_schemas())) < 6000


def test_a_host_that_changes_its_copy_of_a_schema_does_not_change_ours() -> None:
    tool_schemas()[0]["parameters"]["properties"].clear()

    assert tool_schemas()[0]["parameters"]["properties"]


def test_no_tool_takes_a_name_of_the_host() -> None:
    assert {schema["name"] for schema in tool_schemas()} == TOOL_NAMES
    assert not TOOL_NAMES & HOST_CORE_TOOLS


def test_what_is_required_is_what_has_no_default() -> None:
    required = {schema["name"]: schema["parameters"].get("required", []) for schema in tool_schemas()}

    assert required == {
        "recall_memory": ["query"],
        "recall_conversation": ["query"],
        "memory_profile": [],
        "memory_remember": ["content"],
        "memory_forget": [],
    }


def test_a_model_with_a_true_union_has_no_bare_schema() -> None:
    class Odd(BaseModel):
        value: int | str

    with pytest.raises(TypeError, match="union"):
        bare_schema("odd", "d", Odd)


def test_a_model_with_a_nested_object_has_no_bare_schema() -> None:
    class Inner(BaseModel):
        value: int

    class Odd(BaseModel):
        inner: Inner

    with pytest.raises(TypeError, match="no plain type"):
        bare_schema("odd", "d", Odd)


@for_each("limit", [5, "5", 5.0, " 5 ", "5.0"])
def test_a_limit_may_be_spelt_as_text_or_as_a_float(limit: object) -> None:
    call = parse("recall_memory", {"query": "x", "limit": limit})

    assert isinstance(call, RecallMemory)
    assert call.limit == 5
    assert type(call.limit) is int


@for_each(
    "limit",
    [
        float("inf"),
        float("-inf"),
        float("nan"),
        "inf",
        "nan",
        "1e999",
        True,
        False,
        -1,
        0,
        51,
        2.5,
        "many",
        [],
        {},
        10**400,
    ],
)
def test_a_limit_that_is_no_whole_number_in_range_is_refused_by_name(limit: object) -> None:
    error = _refused("recall_memory", {"query": "x", "limit": limit})

    assert error.message == "limit: must be a whole number from 1 to 50"
    assert error.arguments == ("limit",)


def test_null_means_absent() -> None:
    call = parse("recall_memory", {"query": "x", "scope": None, "target": None, "limit": None})

    assert call == RecallMemory(query="x")


def test_empty_text_means_absent_where_an_argument_is_optional() -> None:
    assert parse("recall_memory", {"query": "x", "scope": "", "target": ""}) == RecallMemory(query="x")
    assert parse("memory_forget", {"id": ENTRY, "content": ""}) == MemoryForget(id=ENTRY)


@for_each("arguments", [None, [], "query", 5, True, b"query", object()])
def test_arguments_that_are_no_object_are_refused_with_an_example(arguments: object) -> None:
    error = _refused("recall_memory", arguments)

    assert error.message == 'the arguments of recall_memory must be a JSON object, such as {"query": "..."}'


@for_each("name", ["recall", "", None, 5, [], "memory"])
def test_an_unknown_tool_is_refused_with_the_known_ones(name: object) -> None:
    result = parse(name, {})

    assert isinstance(result, ToolError)
    assert all(known in result.message for known in TOOL_NAMES)


@pytest.mark.parametrize("query", [None, "", "   "])
def test_a_query_is_required(query: object) -> None:
    assert _refused("recall_conversation", {"query": query}).arguments == ("query",)


@for_each("query", [5, [], {}, True, b"x"])
def test_a_query_must_be_text(query: object) -> None:
    assert _refused("recall_conversation", {"query": query}).message == "query: must be text"


def test_a_long_query_is_cut_because_its_beginning_still_finds_something() -> None:
    call = parse("recall_conversation", {"query": "x" * 1_000_000})

    assert isinstance(call, RecallConversation)
    assert len(call.query) == MAX_QUERY_CHARS


def test_a_misspelt_argument_is_refused_with_the_nearest_one() -> None:
    assert (
        _refused("recall_memory", {"query": "x", "lmit": 3}).message == "unknown argument 'lmit': did you mean 'limit'?"
    )


def test_several_mistakes_are_told_at_once() -> None:
    error = _refused("recall_memory", {"limit": -1, "colour": "red"})

    assert set(error.arguments) == {"query", "limit", "colour"}
    assert "query: is required" in error.message


@pytest.mark.parametrize(("given", "target"), [("USER", "user"), (" Memory ", "memory")])
def test_a_target_may_be_spelt_with_capitals(given: str, target: str) -> None:
    call = parse("memory_profile", {"target": given})

    assert isinstance(call, MemoryProfile)
    assert call.target == target


def test_an_unknown_target_is_refused_with_the_known_ones() -> None:
    assert _refused("memory_profile", {"target": "notes"}).message == "target: must be 'memory' or 'user'"


@for_each(("given", "sync"), [(True, True), ("true", True), ("False", False), (None, False)])
def test_sync_may_be_spelt_as_text(given: object, sync: bool) -> None:
    call = parse("memory_remember", {"content": "x", "sync": given})

    assert isinstance(call, MemoryRemember)
    assert call.sync is sync


@for_each("sync", [1, "yes", 0.0, []])
def test_sync_must_be_true_or_false(sync: object) -> None:
    assert _refused("memory_remember", {"content": "x", "sync": sync}).message == "sync: must be true or false"


@pytest.mark.parametrize("content", ["", "  \n", None])
def test_nothing_cannot_be_remembered(content: object) -> None:
    _refused("memory_remember", {"content": content})


def test_content_that_is_too_long_is_refused_and_not_cut() -> None:
    error = _refused("memory_remember", {"content": "x" * (MAX_CONTENT_CHARS + 1)})

    assert error.message == f"content: must be at most {MAX_CONTENT_CHARS} characters"


def test_half_an_emoji_is_replaced_and_the_rest_is_kept() -> None:
    call = parse("memory_remember", {"content": "good \ud83d news \ud83d\ude00"})

    assert isinstance(call, MemoryRemember)
    assert call.content == "good \ufffd news 😀"


def test_an_entry_is_forgotten_by_its_id() -> None:
    call = parse("memory_forget", {"id": ENTRY})

    assert isinstance(call, MemoryForget)
    assert call.entry == UUID(ENTRY)


@for_each(
    "arguments", [{}, {"id": ENTRY, "content": "x"}, {"content": "  "}, {"id": "7"}, {"id": 7}, {"content": ["x"]}]
)
def test_forgetting_needs_one_selector_and_a_usable_one(arguments: dict[str, object]) -> None:
    _refused("memory_forget", arguments)


def test_a_refusal_does_not_repeat_what_was_passed() -> None:
    error = _refused("memory_forget", {"id": "hunter2-secret", "limit": "hunter2-secret"})

    assert "hunter2" not in error.json()


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
_names = st.sampled_from(["query", "scope", "target", "limit", "content", "sync", "id"]) | st.text(max_size=5)


@given(st.sampled_from(sorted(TOOL_NAMES)) | _json, st.dictionaries(_names, _json, max_size=5) | _json)
def test_any_json_is_read_or_refused_and_never_raises(name: object, arguments: object) -> None:
    result = parse(name, arguments)

    assert not isinstance(result, ToolError) or json.loads(result.json())["error"]


@given(st.dictionaries(st.text(), _json, max_size=5))
def test_any_answer_is_one_strict_json_object_that_can_be_encoded(payload: dict[str, Any]) -> None:
    text = result_json(payload)

    text.encode("utf-8")
    assert isinstance(json.loads(text, parse_constant=pytest.fail), dict)


def test_times_ids_and_enums_are_rendered_as_text() -> None:
    at = datetime(2026, 5, 3, 9, 30, tzinfo=UTC)

    answer = json.loads(result_json(at=at, id=UUID(ENTRY), target=Target.USER, none=None, scores=(0.5, float("nan"))))

    assert answer == {
        "at": "2026-05-03T09:30:00+00:00",
        "id": ENTRY,
        "target": "user",
        "none": None,
        "scores": [0.5, None],
    }


def test_half_an_emoji_in_an_answer_cannot_break_the_hosts_request() -> None:
    assert json.loads(result_json(content="a\ud83d")) == {"content": "a?"}


def test_an_error_carries_its_message_and_what_helps() -> None:
    assert json.loads(error_json("not reachable", retry=True)) == {"error": "not reachable", "retry": True}
