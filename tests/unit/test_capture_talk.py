"""Capturing a talk: each message is accepted once, numbered among its equals, and in writes the spool takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from tests.support.inprocess import utc_now
from tests.support.tables import for_each

from hermes_memory.adapters.inmemory import InMemoryStore
from hermes_memory.adapters.inmemory.spool import InMemorySpool
from hermes_memory.application.accept import Acceptor, CapturePolicy
from hermes_memory.domain.cleaning import CUT_MARKER
from hermes_memory.domain.errors import SpoolFull
from hermes_memory.domain.model import Origin, Role, SessionId
from hermes_memory.domain.operations import RecordTurns
from hermes_memory.hermes.authors import Author
from hermes_memory.hermes.capture import CHARS_AN_OPERATION, TURNS_AN_OPERATION, Capture
from hermes_memory.hermes.sessions import Binding
from hermes_memory.testing.making import DESK

MAX_CHARS = 65_536
HERE = Binding(caller=DESK, files_caller=DESK, writes=True, speaker="Ana", visible_since=utc_now())
THERE = replace(HERE, caller=replace(DESK, session=SessionId("elsewhere")), parent=SessionId("morning"))


class Bench:
    """A capture and the spool that it accepts into."""

    def __init__(self, spool: InMemorySpool | None = None) -> None:
        self.spool = spool or InMemorySpool()
        self.acceptor = Acceptor(self.spool, policy=CapturePolicy(), now=utc_now)
        self.capture = self.another_process()

    def another_process(self) -> Capture:
        return Capture(self.acceptor, max_chars=MAX_CHARS)

    @property
    def operations(self) -> list[RecordTurns]:
        found = [item.operation for item in self.spool.due(10_000)]
        return [operation for operation in found if isinstance(operation, RecordTurns)]

    @property
    def said(self) -> list[tuple[str, int]]:
        return [(turn.content, turn.occurrence) for operation in self.operations for turn in operation.turns]

    async def stored(self) -> int:
        store = InMemoryStore(analyze=str.split)
        await store.delivery.apply(self.operations)
        return (await store.inspector.counts())["turns"]


def messages(*texts: str) -> list[dict[str, Any]]:
    """Return a transcript in which user and assistant take turns."""
    return [{"role": ("user", "assistant")[index % 2], "content": text} for index, text in enumerate(texts)]


TALK = ("Which port does staging use?", "Port 5433.", "And the host?", "The host is db-fra-03.")
REPEATED = ("Is the build green?", "The build is green.") * 3


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_an_exchange_is_one_write_with_speaker_session_and_parent(bench: Bench) -> None:
    bench.capture.exchange(THERE, *TALK[:2])
    (operation,) = bench.operations

    assert operation.stamp.caller == THERE.caller
    assert operation.parent_session == "morning"
    assert [(turn.role, turn.content, turn.speaker) for turn in operation.turns] == [
        (Role.USER, TALK[0], "Ana"),
        (Role.ASSISTANT, TALK[1], None),
    ]


def test_who_spoke_this_time_comes_before_the_person_of_the_session(bench: Bench) -> None:
    bench.capture.exchange(HERE, *TALK[:2], author=Author(speaker="Ben"))

    assert [turn.speaker for turn in bench.operations[0].turns] == ["Ben", None]


def test_what_another_agent_says_is_no_users_whichever_hook_hands_it_in(bench: Bench) -> None:
    bench.capture.exchange(HERE, *TALK[:2], author=Author(speaker="HelperBot", is_agent=True))
    bench.capture.said_by_agent(HERE, TALK[2])
    bench.capture.transcript(HERE, messages(*TALK, "Who asked?", "Nobody did."))

    turns = [turn for operation in bench.operations for turn in operation.turns]
    assert [(turn.content, turn.role, turn.origin, turn.speaker) for turn in turns] == [
        (TALK[0], Role.USER, Origin.AGENT, "HelperBot"),
        (TALK[1], Role.ASSISTANT, Origin.ASSISTANT, None),
        (TALK[2], Role.USER, Origin.AGENT, None),
        (TALK[3], Role.ASSISTANT, Origin.ASSISTANT, None),
        ("Who asked?", Role.USER, Origin.USER, "Ana"),
        ("Nobody did.", Role.ASSISTANT, Origin.ASSISTANT, None),
    ]


def test_an_author_without_a_name_does_not_get_the_name_of_the_person(bench: Bench) -> None:
    bench.capture.exchange(HERE, *TALK[:2], author=Author(speaker=None))

    assert [turn.speaker for turn in bench.operations[0].turns] == [None, None]


def test_the_users_messages_of_a_transcript_are_the_persons(bench: Bench) -> None:
    bench.capture.transcript(HERE, messages(*TALK))

    assert [turn.speaker for turn in bench.operations[0].turns] == ["Ana", None, "Ana", None]


@pytest.mark.parametrize("with_messages", [True, False], ids=["with the transcript", "singly"])
def test_equal_messages_are_numbered_in_the_order_in_which_they_were_said(bench: Bench, with_messages: bool) -> None:
    for number in range(0, len(REPEATED), 2):
        so_far = messages(*REPEATED[: number + 2]) if with_messages else None
        bench.capture.exchange(HERE, *REPEATED[number : number + 2], messages=so_far)

    assert bench.said == [(text, number // 2) for number, text in enumerate(REPEATED)]


@pytest.mark.parametrize("with_messages", [True, False], ids=["with the transcript", "singly"])
@pytest.mark.parametrize("talk", [TALK, REPEATED], ids=["talk", "repeated"])
def test_what_was_captured_turn_by_turn_is_not_accepted_again_with_the_transcript(
    bench: Bench, talk: Sequence[str], with_messages: bool
) -> None:
    for number in range(0, len(talk), 2):
        so_far = messages(*talk[: number + 2]) if with_messages else None
        bench.capture.exchange(HERE, *talk[number : number + 2], messages=so_far)
    before = bench.spool.last_sequence()
    bench.capture.transcript(HERE, messages(*talk))
    bench.capture.transcript(HERE, messages(*talk))

    assert bench.spool.last_sequence() == before
    assert len(bench.said) == len(talk)


async def test_a_transcript_brings_what_was_missed_and_nothing_else(bench: Bench) -> None:
    bench.capture.exchange(HERE, *TALK[2:])
    bench.capture.transcript(HERE, messages(*TALK))

    assert bench.said == [(TALK[2], 0), (TALK[3], 0), (TALK[0], 0), (TALK[1], 0)]
    assert await bench.stored() == 4


@pytest.mark.parametrize("talk", [TALK, REPEATED], ids=["talk", "repeated"])
async def test_another_process_that_hears_the_same_talk_stores_nothing_twice(bench: Bench, talk: Sequence[str]) -> None:
    bench.capture.transcript(HERE, messages(*talk))
    resumed = bench.another_process()
    for number in range(0, len(talk), 2):
        resumed.exchange(HERE, *talk[number : number + 2])
    resumed.transcript(HERE, messages(*talk))

    assert await bench.stored() == len(talk)


async def test_the_same_words_in_two_sessions_are_two_turns_with_numbers_of_their_own(bench: Bench) -> None:
    for binding in (HERE, THERE, HERE, THERE):
        bench.capture.exchange(binding, "Is the build green?", "The build is green.")

    assert [number for _, number in bench.said] == [0, 0, 0, 0, 1, 1, 1, 1]
    assert await bench.stored() == 8


def test_a_message_of_the_user_and_an_equal_one_of_the_assistant_are_two(bench: Bench) -> None:
    bench.capture.exchange(HERE, "The build is green.", "The build is green.")

    assert bench.said == [("The build is green.", 0), ("The build is green.", 0)]


@pytest.mark.parametrize("halves", [("", "The build is green."), ("The build is green.", None), ("ok", "thanks")])
def test_a_half_that_says_nothing_is_left_out_and_the_other_is_kept(
    bench: Bench, halves: tuple[object, object]
) -> None:
    bench.capture.exchange(HERE, *halves)

    assert bench.said == ([("The build is green.", 0)] if "The build is green." in halves else [])


def test_noise_between_equal_messages_is_counted_alike_by_both_ways(bench: Bench) -> None:
    talk = ("Yes", "Deploying to staging.", "Yes", "Deploying to production.")
    bench.capture.exchange(HERE, *talk[:2])
    bench.capture.exchange(HERE, *talk[2:], messages=messages(*talk))
    bench.capture.transcript(HERE, messages(*talk))

    assert bench.said == [("Deploying to staging.", 0), ("Deploying to production.", 0)]


@pytest.mark.parametrize("odd", [None, [], "text", 7, [None, 7, {"role": "user"}], {"role": "user", "content": "x"}])
def test_a_transcript_that_is_none_is_nothing(bench: Bench, odd: object) -> None:
    bench.capture.transcript(HERE, odd)

    assert bench.said == []


def test_a_large_transcript_goes_into_the_spool_in_order_in_writes_of_bounded_size() -> None:
    bench = Bench(InMemorySpool(max_item_bytes=1024 * 1024))
    large = [f"{number} {'x' * 55_000}" for number in range(12)]
    small = [f"message number {number} of many" for number in range(200)]
    bench.capture.transcript(HERE, messages(*large, *small))
    sizes = [[len(turn.content) for turn in operation.turns] for operation in bench.operations]

    assert [text for text, _ in bench.said] == [*large, *small]
    assert all(len(size) <= TURNS_AN_OPERATION for size in sizes)
    assert all(len(size) == 1 or sum(size) <= CHARS_AN_OPERATION for size in sizes)
    assert max(map(len, sizes)) == TURNS_AN_OPERATION


@pytest.mark.parametrize("way", ["told", "found", "transcript"])
def test_a_secret_across_the_cut_of_a_long_message_is_taken_out_whole_whichever_way_it_comes(way: str) -> None:
    address = "postgresql://app:S3cretPw99@db.example/app"
    for kept in range(1, len(address) + len(CUT_MARKER), 3):
        bench = Bench()
        text = ("word " * MAX_CHARS)[: MAX_CHARS - kept - 1] + " " + address + " and more" * 9
        if way == "transcript":
            bench.capture.transcript(HERE, messages(text, text))
        else:
            bench.capture.exchange(HERE, text, text, messages=messages(text, text) if way == "found" else None)

        assert len(bench.said) == 2
        assert not [content for content, _ in bench.said if "S3c" in content or len(content) > MAX_CHARS]


@pytest.mark.parametrize("way", ["exchange", "transcript"])
def test_long_messages_that_differ_after_the_cut_alone_are_numbered_as_the_equal_ones_that_they_are_stored_as(
    bench: Bench, way: str
) -> None:
    long = "word " * (MAX_CHARS // 5)
    talk = messages(f"{long} one", "First.", f"{long} two", "Second.")
    if way == "transcript":
        bench.capture.transcript(HERE, talk)
    else:
        bench.capture.exchange(HERE, talk[0]["content"], "First.")
        bench.capture.exchange(HERE, talk[2]["content"], "Second.")

    assert [number for _, number in bench.said] == [0, 0, 1, 0]
    assert bench.said[0][0] == bench.said[2][0]


@for_each("character", ["語", "😀", '"', "\n"])
def test_the_largest_messages_fit_an_item_of_the_spool_by_default_whatever_they_hold(character: str) -> None:
    bench = Bench(InMemorySpool(max_item_bytes=1024 * 1024))
    largest = f"a{character * (MAX_CHARS - 2)}b"
    bench.capture.exchange(HERE, largest, largest)
    bench.capture.transcript(HERE, messages("first", largest, "second"))

    assert [len(text) for text, _ in bench.said] == [MAX_CHARS, MAX_CHARS, 5, 6]


def test_what_a_full_spool_refused_is_accepted_when_it_is_told_again() -> None:
    bench = Bench(InMemorySpool(max_rows=1))
    bench.capture.exchange(HERE, *TALK[:2])
    with pytest.raises(SpoolFull):
        bench.capture.exchange(HERE, *TALK[2:])
    bench.spool.done([bench.operations[0].stamp.operation])
    bench.capture.exchange(HERE, *TALK[2:])

    assert bench.said == [(TALK[2], 0), (TALK[3], 0)]
