"""The provider's life under the host's real MemoryManager, on the embedded Postgres, with nothing configured."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hermes_memory.hermes.install import install
from tests.support.hermes_host import HermesHost, ScenarioRun, clear
from tests.support.hermes_host_promises import require_in_time, require_prompt_exit
from tests.support.poison import POISON


@pytest.fixture(scope="module")
def home(interpreter: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HermesHost]:
    """A host with our shim, whose home serves all of these tests: making a database takes longer than they do."""
    directory = tmp_path_factory.mktemp("life")
    host = HermesHost(python=interpreter, home=directory / "hermes")
    install(host.home)
    host.activate()
    yield host
    left = clear(directory)
    assert left == {}


@pytest.fixture(scope="module")
def life(home: HermesHost) -> ScenarioRun:
    """One process that lived through everything."""
    return home.run("life:everything", home=str(home.home))


@pytest.fixture
def facts(life: ScenarioRun) -> Mapping[str, Any]:
    """What was noted down in that life."""
    return life.require_clean()


def test_a_whole_life_passes_without_a_failure(facts: Mapping[str, Any]) -> None:
    noted = facts["whole_life"]

    assert noted["prompt"]
    assert noted["prompt"] == noted["prompt_again"]
    assert noted["first_recall"] == ""
    assert noted["recalled_while_in_view"] == ""
    assert "Kourou" in noted["recalled"]
    assert "<memory-context>" in noted["recalled"]
    assert "Bifrost" not in json.dumps(noted["replaced"])
    assert "Asgard" not in json.dumps(noted["removed"])
    assert noted["compressor"] == ""
    assert "Kourou" not in json.dumps(noted["second_session"])
    assert noted["drained"]["status"] == "drained"
    assert isinstance(noted["recall_after_shutdown"], str)
    assert isinstance(noted["tool_after_shutdown"], dict)


def test_a_later_process_recalls_what_an_earlier_one_kept(home: HermesHost) -> None:
    fact = "The spare key lies under the Heliotrope pot."
    home.run("life:across_processes", home=str(home.home), remember=fact, query="").require_clean()
    later = home.run("life:across_processes", home=str(home.home), remember="", query="Heliotrope")

    assert fact in json.dumps(later.require_clean()["answer"])


def test_two_people_on_one_messenger_do_not_see_each_other(facts: Mapping[str, Any]) -> None:
    noted = facts["two_users"]

    assert "4471" in json.dumps(noted["own"][0])
    assert "4471" not in json.dumps(noted["others"])
    assert "4471" not in noted["ambient"][0]
    assert "Noted, doctor" not in noted["ambient"][1]


def test_recalled_text_cannot_break_out_of_the_hosts_fence(facts: Mapping[str, Any]) -> None:
    noted = facts["hostile_memory"]

    assert noted["recalled"] in noted["block"]
    assert "Oleander end" in noted["block"]
    assert noted["block"].count("<memory-context>") == 1
    assert noted["block"].count("</memory-context>") == 1


def test_four_agents_add_three_threads_and_leave_none(facts: Mapping[str, Any]) -> None:
    noted = facts["four_agents"]

    assert len(noted["threads"]) <= 3, noted["threads"]
    assert noted["left"] == []


def test_starting_and_ending_an_agent_costs_the_host_next_to_nothing(facts: Mapping[str, Any]) -> None:
    require_in_time(facts["seconds"])


def test_the_process_ends_when_its_agents_have(home: HermesHost, life: ScenarioRun) -> None:
    life.require_clean()

    require_prompt_exit(
        life, again=lambda: home.run("life:across_processes", home=str(home.home), remember="A fact", query="")
    )


def test_no_text_breaks_out_of_what_the_host_puts_before_a_turn_or_comes_back_into_the_memory(home: HermesHost) -> None:
    letters = (first + second for first in "bdgk" for second in "aeiouylrwx")
    words = {f"v{letter}quorim": text[:2_000] for letter, text in zip(letters, POISON.values(), strict=False)}
    # Everything is shown that is found, however busy the machine is: what is shown is the point, not what is found.
    patient = replace(home, environment={"HERMES_MEMORY_RECALL_FLOOR": "0", "HERMES_MEMORY_PREFETCH_TIMEOUT": "7.5"})
    facts = patient.run("poison:drill", home=str(home.home), poison=words).require_clean()

    assert facts["stripped"] == []
    for word, injected in facts["injected"].items():
        assert (injected.count("<memory-context>"), injected.count("</memory-context>")) == (1, 1)
        assert injected.count("[System note:") == 1
        assert (injected.count("<recalled-memory id="), injected.count("</recalled-memory id=")) == (1, 1)
        assert sum(word in line for line in injected.splitlines()) == 1
    for answer in facts["answers"].values():
        assert json.loads(answer)["count"] >= 1
        assert "memory-context>" not in answer.replace("‹/memory-context>", "").replace("‹memory-context>", "")
    for word, turns in facts["turns"].items():
        assert set(turns) <= {f"What of {word} then?", f"Once more, {word}?"} | {t for t in turns if word not in t}
