"""The host's real agent loop against a scripted model."""

from __future__ import annotations

from tests.support.hermes_host import HermesHost
from tests.support.scripted_model import Call, Say, scripted_model

FACT = "The Cinnabar release is planned for 9 October."


def test_the_agent_uses_the_memory_tools(hermes: HermesHost) -> None:
    said = ["Remember the plan.", "When is Cinnabar?"]
    with scripted_model(
        Call("memory_remember", {"content": FACT, "sync": True}),
        Say("Noted."),
        Call("recall_memory", {"query": "Cinnabar release"}),
        Say("On 9 October."),
    ) as model:
        run = hermes.run("conversation:talk", url=model.url, session="s1", messages=said, ready=True)
        turns = model.turns

    facts = run.require_clean()
    assert {"memory", "recall_memory", "memory_remember"} <= set(facts["tools"])
    assert facts["answers"] == ["Noted.", "On 9 October."]
    assert FACT in str(turns[-1]["messages"][-1]["content"])
    assert run.exit_seconds < 5


def test_a_note_of_the_built_in_tool_becomes_searchable(hermes: HermesHost) -> None:
    with scripted_model(
        Call("memory", {"action": "add", "target": "user", "content": "Prefers answers in Esperanto."}), Say("Done.")
    ) as model:
        hermes.run("conversation:talk", url=model.url, session="s1", messages=["Remember my language."]).require_clean()
    found = hermes.run("trouble:found_after_all", home=str(hermes.home), query="Esperanto", wanted="Esperanto")

    assert found.require_clean()["answer"]["hits"]
