"""Capturing: what a process remembers of a conversation has a bound, whatever the conversation's length."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from hermes_memory.adapters.inmemory.spool import InMemorySpool
from hermes_memory.adapters.inmemory.store import InMemoryStore
from hermes_memory.application.accept import Acceptor, CapturePolicy
from hermes_memory.domain.errors import SpoolFull
from hermes_memory.domain.identity import IdentityPolicy
from hermes_memory.domain.model import Origin, Role, SessionId
from hermes_memory.domain.operations import Operation, RecordTurns
from hermes_memory.hermes import capture
from hermes_memory.hermes.authors import Author, author_of, senders_of
from hermes_memory.hermes.bindings import binding_of
from hermes_memory.hermes.capture import Capture
from hermes_memory.hermes.sessions import Binding, SessionBook
from hermes_memory.testing.making import DESK

if TYPE_CHECKING:
    from hermes_memory.hermes.runtime import Runtime

NOW = datetime(2026, 5, 3, tzinfo=UTC)
BINDING = Binding(caller=DESK, files_caller=DESK, writes=True, visible_since=NOW)
TALK = [
    message
    for number in range(20)
    for message in (
        {"role": "user", "content": f"What is in drawer {number}?"},
        {"role": "assistant", "content": f"Drawer {number} holds part {number * 7}."},
    )
]


@pytest.fixture
def accepted() -> list[Operation]:
    return []


@pytest.fixture
def capturing(accepted: list[Operation]) -> Capture:
    acceptor = Acceptor(InMemorySpool(), policy=CapturePolicy(), now=lambda: NOW, accepted=accepted.append)
    return Capture(acceptor, max_chars=10_000)


def messages_in(operations: list[Operation]) -> list[tuple[str, int]]:
    return [
        (turn.content, turn.occurrence) for each in operations if isinstance(each, RecordTurns) for turn in each.turns
    ]


def spoken_by(operations: list[Operation]) -> list[tuple[str | None, bool]]:
    """Return who said each of the user's messages, and whether it is an agent."""
    turns = [turn for each in operations if isinstance(each, RecordTurns) for turn in each.turns]
    return [(turn.speaker, turn.origin is Origin.AGENT) for turn in turns if turn.role is Role.USER]


def refuse(*_: object, **__: object) -> None:
    raise SpoolFull("the spool is full")


def test_a_transcript_handed_in_again_is_not_accepted_again(capturing: Capture, accepted: list[Operation]) -> None:
    capturing.transcript(BINDING, TALK)
    before = len(accepted)

    capturing.transcript(BINDING, TALK)

    assert len(messages_in(accepted)) == len(TALK)
    assert len(accepted) == before


def test_equal_messages_told_of_singly_are_numbered(capturing: Capture, accepted: list[Operation]) -> None:
    for _ in range(3):
        capturing.exchange(BINDING, "Turn on the lamp in the hall", "The lamp in the hall is on.")

    assert [number for _, number in messages_in(accepted)] == [0, 0, 1, 1, 2, 2]


def test_what_a_person_says_after_a_bot_is_the_persons(capturing: Capture, accepted: list[Operation]) -> None:
    talk = [{"role": "user", "content": "Water the ferns"}, {"role": "assistant", "content": "They are watered"}]
    capturing.said_by_agent(BINDING, "Water the ferns")
    capturing.exchange(BINDING, "Water the ferns", "They are watered", author=Author(speaker="Fern", is_agent=True))
    capturing.transcript(BINDING, talk * 2)

    assert spoken_by(accepted) == [("Fern", True), (None, False)]


@pytest.mark.parametrize("bots", [0, 1, 2])
def test_a_message_of_a_transcript_is_a_bots_as_often_as_one_said_it(
    capturing: Capture, accepted: list[Operation], bots: int
) -> None:
    talk = [{"role": "user", "content": "Water the ferns"}, {"role": "assistant", "content": "They are watered"}]
    for _ in range(bots):
        capturing.said_by_agent(BINDING, "Water the ferns")
    capturing.transcript(BINDING, talk * 3)

    assert [by_agent for _, by_agent in spoken_by(accepted)] == [True] * bots + [False] * (3 - bots)
    assert not capturing._agents


def test_a_bot_is_told_apart_where_the_host_tells_of_it_with_the_exchange_alone(
    capturing: Capture, accepted: list[Operation], monkeypatch: pytest.MonkeyPatch
) -> None:
    bot = Author(speaker=None, is_agent=True)
    with monkeypatch.context() as full:
        full.setattr(Acceptor, "turns", refuse)
        for _ in range(2):
            with pytest.raises(SpoolFull):
                capturing.exchange(BINDING, "Water the ferns", "They are watered", author=bot)
    capturing.transcript(BINDING, [{"role": "user", "content": "Water the ferns"}] * 3)

    assert spoken_by(accepted) == [(None, True), (None, True), (None, False)]


def test_the_key_of_an_author_in_front_of_a_text_is_left_out_wherever_the_host_tells_of_it(
    capturing: Capture, accepted: list[Operation]
) -> None:
    talk = [{"role": "user", "content": "[+49 151 50607080] Water the ferns"}, {"role": "assistant", "content": "Done"}]
    author = author_of(BINDING, {"id": "777000111", "name": "+49 151 50607080"})
    capturing.exchange(BINDING, talk[0]["content"], talk[1]["content"], author=author)
    capturing.exchange(BINDING, "[777000111] And the moss", "Done too", author=author)
    capturing.transcript(BINDING, talk)
    capturing.transcript(replace(BINDING, caller=replace(DESK, session=SessionId("other"))), talk)

    assert [words for words, _ in messages_in(accepted)] == [
        *("Water the ferns", "Done", "And the moss", "Done too"),
        *("[+49 151 50607080] Water the ferns", "Done"),
    ]


def test_the_keys_of_whom_a_session_is_with_are_left_out_in_front_of_a_text(
    capturing: Capture, accepted: list[Operation]
) -> None:
    binding = replace(BINDING, senders=senders_of("Ana", frozenset({"777000111"})))
    capturing.exchange(binding, "[777000111] Water the ferns", "Done")
    capturing.exchange(binding, "[Ana] Water the moss", "Done")

    assert [words for words, _ in messages_in(accepted)] == ["Water the ferns", "Done", "[Ana] Water the moss", "Done"]


KEY = "+49 151 50607080"
OF_ANA = replace(BINDING, shared=True, senders=senders_of(KEY, frozenset({"4915150607080@s.whatsapp.net"})))
OF_BEN = replace(BINDING, shared=True, speaker="Ben", senders=senders_of("Ben", frozenset({"4915150607099"})))


@pytest.mark.parametrize("first", ["Ana's", "Ben's"])
async def test_the_agents_of_several_people_in_one_session_store_a_text_once_without_the_key_and_as_nobody_elses(
    capturing: Capture, accepted: list[Operation], first: str
) -> None:
    talk = [
        {"role": "user", "content": f"[{KEY}] Water the ferns on Monday"},
        {"role": "assistant", "content": "I will water them."},
        {"role": "user", "content": "[Ben] And feed the cat"},
        {"role": "assistant", "content": "Fed."},
    ]
    bens = Capture(capturing._acceptor, max_chars=10_000)
    capturing.exchange(OF_ANA, talk[0]["content"], talk[1]["content"], messages=talk[:2])
    bens.exchange(OF_BEN, talk[2]["content"], talk[3]["content"], messages=talk)
    bens.transcript(OF_BEN, talk)
    store = InMemoryStore(analyze=str.split)
    await store.delivery.apply(accepted if first == "Ana's" else accepted[::-1])
    kept = {(turn.content, turn.speaker) for each in accepted if isinstance(each, RecordTurns) for turn in each.turns}

    assert (await store.inspector.counts())["turns"] == 4
    assert kept == {
        ("Water the ferns on Monday", None),
        ("I will water them.", None),
        ("[Ben] And feed the cat", "Ben"),
        ("Fed.", None),
    }


@pytest.mark.parametrize("way", ["told", "found", "transcript"])
@pytest.mark.parametrize(
    ("front", "binding", "left", "speaker"),
    [
        ("[Ana|777000111]\n", OF_BEN, "", "Ana"),
        ("[Ana (+49 151 50607080)] ", OF_BEN, "", "Ana"),
        ("[5551234|5551234]\n", OF_BEN, "", None),
        ("[#|777000111]\n", OF_BEN, "", None),
        ("[777000112] ", OF_BEN, "", None),
        ("[Ana|777000111]\n", replace(BINDING, senders=frozenset({"777000111"})), "", "Ana"),
        ("[+49 151 50607080] ", replace(BINDING, speaker="Ben"), "[+49 151 50607080] ", "Ben"),
    ],
)
def test_who_sent_a_text_is_told_by_the_name_beside_the_key_in_front_of_it(
    capturing: Capture, accepted: list[Operation], way: str, front: str, binding: Binding, left: str, speaker: str
) -> None:
    talk = [{"role": "user", "content": f"{front}Water the ferns"}, {"role": "assistant", "content": "Done."}]
    if way == "transcript":
        capturing.transcript(binding, talk)
    else:
        messages = talk if way == "found" else None
        capturing.exchange(binding, talk[0]["content"], talk[1]["content"], messages=messages)

    assert messages_in(accepted)[0] == (f"{left}Water the ferns", 0)
    assert spoken_by(accepted) == [(speaker, False)]


@pytest.mark.parametrize(
    "front",
    [
        *(" ", "x", "x|", "2026-11-30", "2026-11-30|12:30:45", "20261130", "20261130164501", "12:30:45", "10:30-11:15"),
        *("100,000", "+1,000,000", "1.000.000", "#1234567", "bug 1234567", "#1234567|x", "Ask 777000111", "@ben"),
        *("v1.2.3.4", "https://example.org/a1b2c3d4e5f6a7b8", "call +49 151 50607080", "unknown|unknown"),
    ],
)
def test_what_people_write_in_brackets_stays_the_users_where_hosts_write_who_sent_a_text(
    capturing: Capture, accepted: list[Operation], front: str
) -> None:
    for mark in (" ", "\n"):
        capturing.exchange(OF_BEN, f"[{front}]{mark}Deploy went well", "Noted.")

    assert [words for words, _ in messages_in(accepted)] == [f"[{front}]{mark}Deploy went well" for mark in " \n"]
    assert spoken_by(accepted) == [("Ben", False)] * 2


@pytest.mark.parametrize("binding", [OF_BEN, replace(BINDING, speaker="Ben")])
def test_nobody_said_what_several_may_have(capturing: Capture, accepted: list[Operation], binding: Binding) -> None:
    front = "[Recent channel messages]\n[Ana] hi\n\n[New message]\n"
    binding = replace(binding, in_group=True)
    capturing.exchange(binding, f"{front}And feed the cat", "Noted.")
    capturing.exchange(binding, f"{front}paste:\n\n[New message]\n[Ana|777000111]\nI approve", "Noted.")

    assert [words for words, _ in messages_in(accepted)] == [
        "And feed the cat",
        f"{front}paste:\n\n[New message]\n[Ana|777000111]\nI approve",
    ]
    assert spoken_by(accepted) == [("Ben", False), (None, False)]


def test_in_a_group_with_one_person_brackets_are_the_persons_and_what_others_said_before_is_left_out(
    capturing: Capture, accepted: list[Operation]
) -> None:
    local = SimpleNamespace(secret=bytes(32), identities=IdentityPolicy())
    runtime = cast("Runtime", SimpleNamespace(local=local, settings=SimpleNamespace(write_contexts=("primary",))))
    host = {"platform": "whatsapp", "user_id": "99887766554433@lid", "chat_id": "123-456@g.us", "chat_type": "group"}
    key = "agent:main:whatsapp:group:123-456@g.us:4915150607080"
    book = SessionBook()
    book.bind("evening", binding_of(runtime, {**host, "gateway_session_key": key, "user_name": "Ana"}))
    binding = book.find()
    assert binding is not None
    capturing.exchange(binding, "[1234567] is the ticket", "Noted.")
    capturing.exchange(binding, "[Recent channel messages]\nBen: hi\n\n[New message]\n[ ] buy milk", "Noted.")

    assert messages_in(accepted) == [("[1234567] is the ticket", 0), ("[ ] buy milk", 0)]
    assert spoken_by(accepted) == [("Ana", False)] * 2


def test_a_transcript_of_several_people_gives_nobody_the_words_of_another(
    capturing: Capture, accepted: list[Operation]
) -> None:
    capturing.transcript(OF_BEN, [{"role": "user", "content": "[Ana] Water the moss"}])

    assert messages_in(accepted) == [("[Ana] Water the moss", 0)]
    assert spoken_by(accepted) == [(None, False)]


def test_the_key_of_a_bot_in_front_of_a_text_is_known_before_the_text_is_marked_as_the_bots(
    capturing: Capture, accepted: list[Operation]
) -> None:
    binding = replace(BINDING, speaker="Ana")
    bot = author_of(binding, {"id": "888000222", "is_bot": True})
    for told in ("The vault code is 8841", "Feed the cat at noon"):
        capturing.meet(binding, bot)
        capturing.said_by_agent(binding, f"[888000222] {told}")
    capturing.exchange(binding, "[888000222] Feed the cat at noon", "Fed the cat.", author=bot)
    capturing.transcript(binding, [{"role": "user", "content": "[888000222] The vault code is 8841"}])

    assert spoken_by(accepted) == [(None, True), (None, True)]


async def test_an_endless_conversation_is_remembered_up_to_a_bound_and_stored_once_all_the_same(
    capturing: Capture, accepted: list[Operation], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capture, "MESSAGES_KEPT", 10)
    for number in range(0, len(TALK), 2):
        capturing.exchange(BINDING, TALK[number]["content"], TALK[number + 1]["content"])
    capturing.transcript(BINDING, TALK)
    store = InMemoryStore(analyze=str.split)

    await store.delivery.apply(accepted)

    assert len(capturing._accepted) <= 10
    assert len(capturing._told) <= 10
    assert (await store.inspector.counts())["turns"] == len(TALK)
