"""No secret reaches the spool, wherever in a write it stands."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.support.inprocess import GUARD
from tests.support.inprocess_runtime import InProcessRuntime, binding, eventually

from hermes_memory.adapters.inmemory.secret_tally import InMemorySecretTally
from hermes_memory.adapters.inmemory.spool import InMemorySpool
from hermes_memory.adapters.spool.codec import encode
from hermes_memory.application.accept import Acceptor, CapturePolicy, Said
from hermes_memory.bootstrap.home import open_local_half
from hermes_memory.domain.cleaning import CUT_MARKER
from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.model import Caller, Origin, Role, SessionId, Target, Theme
from hermes_memory.domain.operations import AddEntry, ByContent, BySubstring, Operation, RecordTurns, RemoveEntry
from hermes_memory.domain.redaction import SecretPolicy
from hermes_memory.domain.sessions import session_name
from hermes_memory.hermes.authors import Author
from hermes_memory.hermes.capture import Capture
from hermes_memory.hermes.sessions import Binding
from hermes_memory.hermes.told_writes import ToldWrite
from hermes_memory.hermes.tool_calls import ToolCalls
from hermes_memory.settings import Settings
from hermes_memory.testing.making import DESK

SECRET = "sk-ant-" + "a1B2c3D4" * 4
LINE = f"the key is {SECRET}"
NAMED = "hunter-two"
METADATA = {"note": LINE, "deep": [{"list": [LINE]}], f"x {SECRET}": 1, "db_password": NAMED, "pin_password": 73519024}


def accept_everywhere(acceptor: Acceptor) -> list[Operation]:
    """Hand in the secret in every place where a caller may put text."""
    selector = BySubstring(target=Target.MEMORY, text=LINE)
    turns = acceptor.turns(DESK, [Said(role=Role.USER, content=LINE, speaker=LINE, metadata=METADATA)])
    assert turns is not None
    return [
        acceptor.add(DESK, LINE, target=Target.MEMORY, origin=Origin.USER, metadata=METADATA, tool=LINE),
        acceptor.replace(DESK, selector, LINE, origin=Origin.USER),
        acceptor.remove(DESK, selector, origin=Origin.USER),
        acceptor.remove(DESK, ByContent(target=Target.MEMORY, content=LINE), origin=Origin.USER),
        acceptor.delegation(DESK, task=LINE, result=LINE, child_session=SessionId("child")),
        turns,
    ]


class Desk:
    """An acceptor with a policy, and what it accepted and counted."""

    def __init__(self, policy: SecretPolicy) -> None:
        self.tally = InMemorySecretTally()
        self.spool = InMemorySpool()
        self.acceptor = Acceptor(
            self.spool, policy=CapturePolicy(secrets=policy), now=lambda: datetime.now(UTC), tally=self.tally
        )

    def add(self, content: str, **more: object) -> Operation:
        return self.acceptor.add(DESK, content, target=Target.MEMORY, origin=Origin.USER, **more)  # type: ignore[arg-type]

    @property
    def accepted(self) -> int:
        return self.spool.status().accepted


@pytest.fixture
def redacting() -> Desk:
    return Desk(SecretPolicy.REDACT)


@pytest.fixture
def refusing() -> Desk:
    return Desk(SecretPolicy.REFUSE)


def test_no_secret_reaches_the_spool_wherever_it_stands(redacting: Desk) -> None:
    written = b"".join(map(encode, accept_everywhere(redacting.acceptor)))

    assert [mark.encode() in written for mark in (SECRET, NAMED, "73519024")] == [False] * 3


def test_a_secret_across_the_cut_of_a_long_text_is_taken_out_whole(redacting: Desk) -> None:
    address, most = "postgresql://app:S3cretPw99@db.example/app", CapturePolicy().max_chars
    for kept in range(len(address) + len(CUT_MARKER)):
        text = ("word " * most)[: most - kept - 1] + " " + address + " and more" * 9
        turns = redacting.acceptor.turns(DESK, [Said(role=Role.USER, content=text)])

        assert isinstance(turns, RecordTurns)
        assert "S3c" not in turns.turns[0].content
        assert len(turns.turns[0].content) <= most


def test_an_installation_may_keep_them() -> None:
    accepted = accept_everywhere(Desk(SecretPolicy.ALLOW).acceptor)

    assert [SECRET.encode() in encode(operation) for operation in accepted] == [True] * 6


def test_what_is_taken_out_is_counted_by_kind(redacting: Desk) -> None:
    redacting.add(f"{LINE} and password=x1")

    assert redacting.tally.totals().redacted == {"anthropic-key": 1, "password": 1}
    assert redacting.tally.totals().refused == {}


def test_an_installation_may_refuse_them_and_says_what_to_do(refusing: Desk) -> None:
    with pytest.raises(InvalidInput, match=r"holds a secret \(anthropic-key\).*take the secret out") as refusal:
        refusing.add(LINE)
    with pytest.raises(InvalidInput, match="holds a secret"):
        refusing.add("A fact", metadata=METADATA)
    with pytest.raises(InvalidInput, match="holds a secret"):
        refusing.acceptor.turns(DESK, [Said(role=Role.USER, content="Hello there", speaker=LINE)], filtered=False)

    assert SECRET not in str(refusal.value)
    assert refusing.accepted == 0
    assert refusing.tally.totals().refused["anthropic-key"] == 3


def test_a_refused_message_takes_no_other_of_its_conversation_with_it(
    refusing: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        operation = refusing.acceptor.turns(
            DESK, [Said(role=Role.USER, content=LINE), Said(role=Role.ASSISTANT, content="I will not keep that")]
        )

    assert isinstance(operation, RecordTurns)
    assert [turn.content for turn in operation.turns] == ["I will not keep that"]
    assert [record.action for record in caplog.records] == ["accept.secret"]  # type: ignore[attr-defined]
    assert SECRET not in caplog.text


def test_what_was_kept_before_can_be_selected_by_a_text_that_is_refused_now(refusing: Desk) -> None:
    removal = refusing.acceptor.remove(DESK, ByContent(target=Target.MEMORY, content=LINE), origin=Origin.USER)

    assert isinstance(removal, RemoveEntry)
    assert removal.selector == ByContent(target=Target.MEMORY, content="the key is [redacted:anthropic-key]")


def test_names_that_become_one_without_their_secrets_stay_two(redacting: Desk) -> None:
    operation = redacting.add("A fact", metadata={f"a {SECRET}": 1, f"a {SECRET[::-1]} {SECRET}x": 2, "a": 3})

    assert isinstance(operation, AddEntry)
    assert sorted(map(str, operation.metadata.values())) == ["1", "2", "3"]
    assert SECRET not in str(operation.metadata)


def test_two_names_with_different_secrets_are_both_kept(redacting: Desk) -> None:
    operation = redacting.add("A fact", metadata={SECRET: 1, f"{SECRET}x": 2})

    assert isinstance(operation, AddEntry)
    assert operation.metadata == {"[redacted:anthropic-key]": 1, "[redacted:anthropic-key] (2)": 2}


@pytest.mark.parametrize(("text", "selecting"), [(" two", " two"), ("a\x00b", "ab"), (LINE, "the key is [redacted:")])
def test_a_selecting_text_is_brought_to_the_form_of_what_it_selects_and_not_trimmed(
    redacting: Desk, text: str, selecting: str
) -> None:
    removal = redacting.acceptor.remove(DESK, BySubstring(target=Target.MEMORY, text=text), origin=Origin.USER)

    assert isinstance(removal, RemoveEntry)
    assert isinstance(removal.selector, BySubstring)
    assert removal.selector.text.startswith(selecting)


def test_a_session_is_never_named_by_a_secret_and_two_stay_two() -> None:
    first, again, second = (session_name(f"chat {secret}") for secret in (SECRET, SECRET, f"{SECRET}x"))

    assert first == again
    assert first != second
    assert SECRET not in f"{first}{second}"
    assert str(first).startswith("chat [redacted:anthropic-key]~")


def test_no_secret_is_in_any_file_of_a_home_that_was_told_one_in_every_way(home: Path) -> None:
    (home / "memories").mkdir()
    (home / "memories" / "USER.md").write_text(f"Bob's {LINE}")
    local = open_local_half(Settings(home=home, spool_sync="NORMAL"))
    bound = Binding(
        caller=Caller(theme=Theme("marketing"), session=session_name(SECRET)),
        files_caller=Caller(theme=Theme("marketing")),
        writes=True,
        speaker=f"Ana {SECRET}",
        visible_since=datetime.now(UTC),
    )
    messages = [{"role": "user", "content": LINE}, {"role": "assistant", "content": f"Noted: {SECRET}"}]
    capture = Capture(local.acceptor, max_chars=65_536)
    capture.exchange(bound, f"Password: {NAMED}", f"Yes, {SECRET}", messages=messages, author=Author(speaker=SECRET))
    capture.transcript(bound, [*messages, {"role": "user", "content": [{"type": "text", "text": f"And {SECRET}?"}]}])
    accept_everywhere(local.acceptor)
    for facts in ({}, {"previous_content": LINE}, {"old_text": SECRET}):
        told = ToldWrite.from_host("replace" if facts else "add", "memory", f"{LINE} ({len(facts)})", facts)
        assert told is not None
        told.accept(local.mirror, bound.caller)
    local.mirror.accept_differences(bound.files_caller, [], frozenset())
    waiting = local.spool.status().depth
    local.spool.close()
    written = {path: path.read_bytes() for path in _files_of(home / "hermes-memory")}

    assert waiting >= 11
    assert [path.name for path, kept in written.items() if SECRET.encode() in kept or NAMED.encode() in kept] == []
    assert local.tally.totals().redacted["anthropic-key"] > 10


def test_a_model_is_told_why_a_secret_was_not_remembered(home: Path) -> None:
    runtime = InProcessRuntime(home, secret_policy=SecretPolicy.REFUSE)
    eventually(lambda: runtime.loop.memory)
    answers = [
        json.loads(ToolCalls(runtime).answer(binding(), "memory_remember", {"content": LINE, "sync": sync}))
        for sync in (True, False)
    ]
    refused = runtime.local.tally.totals().refused
    runtime.close(timeout=GUARD)

    assert all("holds a secret (anthropic-key)" in answer["error"] for answer in answers)
    assert SECRET not in str(answers)
    assert refused == {"anthropic-key": 2}


def _files_of(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file())
