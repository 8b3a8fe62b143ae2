"""What the host's own tests demand of any provider."""

from __future__ import annotations

from tests.support.hermes_host import HermesHost

CORE_TOOLS = {
    "memory",
    "session_search",
    "todo",
    "read_file",
    "write_file",
    "patch",
    "search_files",
    "terminal",
    "process",
}


def test_every_hook_can_be_called_before_initialize(hermes: HermesHost) -> None:
    facts = hermes.run("contract:uninitialised").require_clean()

    answers = facts["answers"]
    assert isinstance(answers.pop("system_prompt_block"), str)
    assert answers.pop("prefetch") == ""
    assert answers.pop("on_pre_compress") == ""
    assert set(answers.values()) == {None}
    assert facts["missing_hooks"] == []
    assert facts["backup_paths"] == []


def test_every_tool_answers_json_before_initialize(hermes: HermesHost) -> None:
    facts = hermes.run("contract:uninitialised").require_clean()

    assert len(facts["tools"]) == 5
    assert all("error" in answer for answer in facts["tools"].values())


def test_the_host_takes_every_schema_as_it_is(hermes: HermesHost) -> None:
    facts = hermes.run("contract:schemas").require_clean()

    assert facts["unchanged_by_host"] == [True] * 5
    assert facts["taken"] == [schema["name"] for schema in facts["schemas"]]
    assert not CORE_TOOLS & set(facts["taken"])
    for schema in facts["schemas"]:
        assert set(schema) == {"name", "description", "parameters"}
        assert schema["parameters"]["type"] == "object"


def test_no_argument_makes_a_hook_or_a_tool_raise(hermes: HermesHost) -> None:
    run = hermes.run("contract:hostile_arguments", home=str(hermes.home))

    facts = run.require_clean()
    assert all(isinstance(answer, dict) for answer in facts["answers"])
    # Only {} for the overview is a call that can be served.
    assert sum("error" not in answer for answer in facts["answers"]) <= 1
    assert isinstance(facts["after_shutdown"][0], dict)
