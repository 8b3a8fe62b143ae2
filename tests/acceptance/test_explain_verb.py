"""`hermes-memory explain` as a process: what it tells of an answer, and of one memory."""

from __future__ import annotations

from uuid import uuid4

import pytest

from hermes_memory import Settings, open_memory
from hermes_memory.cli.main import main
from hermes_memory.domain.model import RowId
from tests.support.command import Ran
from tests.support.loaded_command import loaded_command

QUESTION = "When is the launch?"
DONE, USAGE = 0, 64


def explain(*options: str, theme: str = "marketing") -> Ran:
    ran = loaded_command("explain", QUESTION, "--theme", theme, *options)
    assert ran.code == DONE, ran.err
    return ran


async def remember(*contents: str, contact: str | None = None) -> list[RowId]:
    async with open_memory(Settings(), wait=30) as memory:
        subject = memory.subject_for("telegram", contact) if contact else None
        desk = memory.view("marketing", subject=subject)
        return [(await desk.remember(content)).id for content in contents]


@pytest.mark.usefixtures("served")
async def test_it_tells_how_the_answer_came_about() -> None:
    first, second, third = await remember("The launch", "The launch party is in the garden", "The office is in Turin")
    document = explain("--top-k", "1", "--json").document
    text = explain("--top-k", "1").out

    assert [(word["lexeme"], word["documents"]) for word in document["words"]] == [("launch", 2)]
    assert document["candidates"] == {"text": 2, "vector": 0}
    assert document["fates"] == {"returned": 1, "beyond the limit": 1}
    assert document["space"] == {"scope": "current", "kinds": ["entry", "turn"], "target": None}
    assert [(one["id"], one["fate"]) for one in document["verdicts"]] == [
        (str(first), "returned"),
        (str(second), "beyond the limit"),
    ]
    assert document["verdicts"][0]["row"]["content"] == "The launch"
    assert document["timings"]["total"] > 0
    for told in ("word       launch: in 2 texts", "limit 1", f"{second}  beyond the limit", "The launch party"):
        assert told in text
    assert str(third) not in text


@pytest.mark.usefixtures("served")
async def test_it_says_why_a_memory_is_not_found_and_nothing_of_those_of_others() -> None:
    (launch, office) = await remember("The launch", "The office is in Turin")
    (private,) = await remember("The launch is Ana's secret", contact="777000111")
    found = explain("--row", str(launch), "--json").document["verdict"]
    floored = explain("--row", str(launch), "--floor", "0.999").out
    unfitting = explain("--row", str(office)).out
    lines = {row: explain("--row", str(row)).out for row in (private, uuid4())}
    last = {row: out.replace(str(row), "ID").partition("\n\n")[2] for row, out in lines.items()}

    assert (found["fate"], found["rank"]) == ("returned", 1)
    assert "below the floor of 0.999" in floored
    assert "no memory stands out for this question (support" in floored
    assert "holds none of the question's words" in unfitting
    assert len(set(last.values())) == 1
    assert "no such memory for this caller" in last[private]
    assert "secret" not in lines[private]


@pytest.mark.usefixtures("served")
async def test_a_budget_of_tokens_cuts_what_it_has_no_room_for() -> None:
    await remember(*(f"The launch, clause {number}: {'detail ' * 60}" for number in range(3)))
    document = explain("--tokens", "200", "--json").document

    assert document["fates"]["beyond the token budget"] > 0
    assert document["fates"]["returned"] > 0


@pytest.mark.parametrize("wrong", [("--row", "no-id"), ("--floor", "low"), ("--tokens", "few"), ("--tokens", "-5")])
def test_what_cannot_be_understood_is_refused(wrong: tuple[str, str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["explain", QUESTION, *wrong])

    assert left.value.code == USAGE
