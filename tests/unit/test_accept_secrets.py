"""No secret reaches the spool, wherever in a write it stands."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from hermes_memory.adapters.inmemory.spool import InMemorySpool
from hermes_memory.adapters.spool.codec import encode
from hermes_memory.application.accept import Acceptor, CapturePolicy, Said
from hermes_memory.domain.model import Origin, Role, SessionId, Target
from hermes_memory.domain.operations import BySubstring, Operation, RemoveEntry
from hermes_memory.testing.making import DESK

SECRET = "sk-ant-" + "a1B2c3D4" * 4
LINE = f"the key is {SECRET}"


def accept_everywhere(acceptor: Acceptor) -> list[Operation]:
    """Hand in the secret in every place where a caller may put text."""
    metadata = {"note": LINE, "deep": [{"list": [LINE]}]}
    selector = BySubstring(target=Target.MEMORY, text=LINE)
    turns = acceptor.turns(DESK, [Said(role=Role.USER, content=LINE, speaker=LINE, metadata=metadata)])
    assert turns is not None
    return [
        acceptor.add(DESK, LINE, target=Target.MEMORY, origin=Origin.USER, metadata=metadata),
        acceptor.replace(DESK, selector, LINE, origin=Origin.USER),
        acceptor.remove(DESK, selector, origin=Origin.USER),
        acceptor.delegation(DESK, task=LINE, result=LINE, child_session=SessionId("child")),
        turns,
    ]


def make_acceptor(*, redact: bool = True) -> Acceptor:
    return Acceptor(InMemorySpool(), policy=CapturePolicy(redact=redact), now=lambda: datetime.now(UTC))


def test_no_secret_reaches_the_spool_wherever_it_stands() -> None:
    accepted = accept_everywhere(make_acceptor())

    assert [SECRET.encode() in encode(operation) for operation in accepted] == [False] * 5


def test_an_installation_may_keep_them() -> None:
    accepted = accept_everywhere(make_acceptor(redact=False))

    assert [SECRET.encode() in encode(operation) for operation in accepted] == [True] * 5


@pytest.mark.parametrize(("text", "selecting"), [(" two", " two"), ("a\x00b", "ab"), (LINE, "the key is [redacted:")])
def test_a_selecting_text_is_brought_to_the_form_of_what_it_selects_and_not_trimmed(text: str, selecting: str) -> None:
    removal = make_acceptor().remove(DESK, BySubstring(target=Target.MEMORY, text=text), origin=Origin.USER)

    assert isinstance(removal, RemoveEntry)
    assert isinstance(removal.selector, BySubstring)
    assert removal.selector.text.startswith(selecting)
