"""The provider's life under the host's real MemoryManager, on the embedded Postgres, with nothing configured."""

from __future__ import annotations

import json

from tests.support.hermes_host import HermesHost


def test_a_whole_life_passes_without_a_failure(hermes: HermesHost) -> None:
    run = hermes.run("life:whole_life", home=str(hermes.home))

    facts = run.require_clean()
    assert facts["prompt"]
    assert facts["prompt"] == facts["prompt_again"]
    assert facts["first_recall"] == ""
    assert facts["recalled_while_in_view"] == ""
    assert "Kourou" in facts["recalled"]
    assert "<memory-context>" in facts["recalled"]
    assert "Bifrost" not in json.dumps(facts["replaced"])
    assert "Asgard" not in json.dumps(facts["removed"])
    assert facts["compressor"] == ""
    assert "Kourou" not in json.dumps(facts["second_session"])
    assert facts["drained"]["status"] == "drained"
    assert facts["shutdown_seconds"] < 5
    assert isinstance(facts["recall_after_shutdown"], str)
    assert isinstance(facts["tool_after_shutdown"], dict)
    assert run.exit_seconds < 5


def test_a_later_process_recalls_what_an_earlier_one_kept(hermes: HermesHost) -> None:
    fact = "The spare key lies under the Heliotrope pot."
    hermes.run("life:across_processes", home=str(hermes.home), remember=fact, query="").require_clean()
    later = hermes.run("life:across_processes", home=str(hermes.home), remember="", query="Heliotrope")

    assert fact in json.dumps(later.require_clean()["answer"])


def test_two_people_on_one_messenger_do_not_see_each_other(hermes: HermesHost) -> None:
    facts = hermes.run("life:two_users", home=str(hermes.home)).require_clean()

    assert "4471" in json.dumps(facts["own"][0])
    assert "4471" not in json.dumps(facts["others"])
    assert "4471" not in facts["ambient"][0]
    assert "Noted, doctor" not in facts["ambient"][1]


def test_recalled_text_cannot_break_out_of_the_hosts_fence(hermes: HermesHost) -> None:
    run = hermes.run("life:hostile_memory", home=str(hermes.home))

    facts = run.require_clean()
    assert facts["recalled"] in facts["block"]
    assert "Oleander end" in facts["block"]
    assert facts["block"].count("<memory-context>") == 1
    assert facts["block"].count("</memory-context>") == 1


def test_four_agents_add_three_threads_and_leave_none(hermes: HermesHost) -> None:
    run = hermes.run("life:four_agents", home=str(hermes.home))

    facts = run.require_clean()
    assert len(facts["added"]) <= 3, facts["added"]
    assert facts["left"] == []
    assert run.exit_seconds < 5


def test_starting_an_agent_costs_the_host_next_to_nothing(hermes: HermesHost) -> None:
    facts = hermes.run("life:many_agents", home=str(hermes.home), agents=9).require_clean()

    # The median of a busy machine says little; the fastest says what the work itself takes.
    assert min(facts["initialize_seconds"]) < 0.05, facts["initialize_seconds"]
    assert max(facts["initialize_seconds"]) < 2.0
