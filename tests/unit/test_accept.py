"""Accepting writes: what is bound when it is accepted, what is kept, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, Literal
from uuid import uuid4

import pytest

from hermes_memory.adapters.inmemory.spool import InMemorySpool
from hermes_memory.application.accept import DELEGATION_MAX_CHARS, Acceptor, CapturePolicy, Said
from hermes_memory.application.preparing import ENTRY_MAX_CHARS
from hermes_memory.domain.cleaning import CUT_MARKER
from hermes_memory.domain.errors import InvalidInput, SpoolFull
from hermes_memory.domain.model import Caller, Origin, Role, RowId, SessionId, Target, Theme
from hermes_memory.domain.operations import (
    AddEntry,
    ByContent,
    ById,
    BySubstring,
    Operation,
    RecordDelegation,
    RecordTurns,
    RemoveEntry,
    ReplaceEntry,
)
from hermes_memory.domain.redaction import SecretPolicy
from hermes_memory.testing.making import ANA, DESK, DESK_WITH_ANA, HOME, MARKETING

NOW = datetime(2026, 5, 3, 12, 0, tzinfo=UTC)
SECRET = "export PGPASSWORD=hunter2"


class Bench:
    """An acceptor, its spool, and what it told of."""

    def __init__(self, policy: CapturePolicy | None = None, *, max_rows: int = 1_000) -> None:
        self.spool = InMemorySpool(max_rows=max_rows)
        self.told: list[Operation] = []
        self.acceptor = Acceptor(
            self.spool, policy=policy or CapturePolicy(), now=lambda: NOW, accepted=self.told.append
        )

    @property
    def kept(self) -> list[Operation]:
        return [item.operation for item in self.spool.due(1_000)]

    def add(self, content: object = "The vault is number 13", caller: Caller = DESK) -> AddEntry:
        operation = self.acceptor.add(caller, content, target=Target.MEMORY, origin=Origin.USER)
        assert isinstance(operation, AddEntry)
        return operation

    def turns(self, *said: Said, caller: Caller = DESK, filtered: bool = True) -> list[str]:
        operation = self.acceptor.turns(caller, said, filtered=filtered)
        if operation is None:
            return []
        assert isinstance(operation, RecordTurns)
        return [turn.content for turn in operation.turns]


@pytest.fixture
def bench() -> Bench:
    return Bench()


def user(
    content: object,
    *,
    speaker: str | None = None,
    at: datetime | None = None,
    occurrence: int = 0,
    metadata: Mapping[str, object] | None = None,
) -> Said:
    return Said(role=Role.USER, content=content, speaker=speaker, at=at, occurrence=occurrence, metadata=metadata)


def test_an_addition_is_spooled_with_all_that_was_said_about_it(bench: Bench) -> None:
    accepted = bench.acceptor.add(
        DESK_WITH_ANA,
        "Likes tea",
        target=Target.USER,
        origin=Origin.ASSISTANT,
        at=datetime(2026, 1, 2, tzinfo=UTC),
        source=HOME,
        metadata={"turn": "D1:3"},
        tool="memory_remember",
    )

    assert bench.kept == [accepted]
    assert isinstance(accepted, AddEntry)
    assert (accepted.content, accepted.target, accepted.source) == ("Likes tea", Target.USER, HOME)
    assert accepted.at == datetime(2026, 1, 2, tzinfo=UTC)
    assert accepted.metadata == {"turn": "D1:3"}
    stamp = accepted.stamp
    assert (stamp.caller, stamp.origin, stamp.accepted_at, stamp.tool) == (
        DESK_WITH_ANA,
        Origin.ASSISTANT,
        NOW,
        "memory_remember",
    )


def test_every_accepted_write_has_an_id_of_its_own_and_is_told_of_once(bench: Bench) -> None:
    first, second = bench.add(), bench.add()

    assert first.stamp.operation != second.stamp.operation
    assert bench.told == [first, second]


def test_what_is_told_of_is_in_the_spool_already() -> None:
    bench = Bench()
    found: list[bool] = []
    acceptor = Acceptor(
        bench.spool,
        policy=CapturePolicy(),
        now=lambda: NOW,
        accepted=lambda operation: found.append(bench.spool.pending(operation.stamp.operation)),
    )
    acceptor.add(DESK, "Likes tea", target=Target.USER, origin=Origin.USER)

    assert found == [True]


def test_without_a_time_of_its_own_a_memory_is_true_from_its_acceptance_on(bench: Bench) -> None:
    assert bench.add().at == NOW


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (datetime(2026, 1, 2, 3, 0), datetime(2026, 1, 2, 3, 0, tzinfo=UTC)),
        (datetime(2026, 1, 2, 3, 0, tzinfo=timezone(timedelta(hours=2))), datetime(2026, 1, 2, 1, 0, tzinfo=UTC)),
    ],
    ids=["naive", "elsewhere"],
)
def test_a_time_is_kept_as_that_moment_in_utc(bench: Bench, given: datetime, kept: datetime) -> None:
    operation = bench.acceptor.add(DESK, "Likes tea", target=Target.USER, origin=Origin.USER, at=given)
    turns = bench.acceptor.turns(DESK, [user("The vault is number 13", at=given)])

    assert isinstance(operation, AddEntry)
    assert isinstance(turns, RecordTurns)
    assert operation.at == turns.turns[0].at == kept
    assert operation.at.tzinfo == turns.turns[0].at.tzinfo == UTC


@pytest.mark.parametrize("content", ["", "  \n ", "\0", None, [], {}])
def test_a_memory_without_content_is_refused_and_nothing_is_spooled(bench: Bench, content: object) -> None:
    with pytest.raises(InvalidInput) as caught:
        bench.add(content)

    assert caught.value.field == "content"
    assert bench.kept == bench.told == []


def test_a_memory_as_long_as_one_may_be_is_kept_and_a_longer_one_is_refused_not_cut(bench: Bench) -> None:
    assert len(bench.add("x" * ENTRY_MAX_CHARS).content) == ENTRY_MAX_CHARS
    with pytest.raises(InvalidInput, match="65,536") as caught:
        bench.add("x" * (ENTRY_MAX_CHARS + 1))

    assert caught.value.field == "content"
    assert len(bench.kept) == 1


def test_contents_are_cleaned_before_they_are_kept(bench: Bench) -> None:
    assert bench.add("  Caf\0e\ud83d ").content == "Cafe\ufffd"


def test_credentials_are_replaced_by_a_mark_in_everything_that_is_accepted(bench: Bench) -> None:
    bench.add(SECRET)
    bench.acceptor.replace(DESK, ById(id=RowId(uuid4())), SECRET, origin=Origin.USER)
    bench.acceptor.remove(DESK, ByContent(target=Target.MEMORY, content=SECRET), origin=Origin.USER)
    bench.turns(user(SECRET))
    bench.acceptor.delegation(DESK, task=SECRET, result=SECRET, child_session=None)

    assert len(bench.kept) == 5
    assert "hunter2" not in repr(bench.kept)


def test_credentials_stay_where_the_policy_says_so() -> None:
    bench = Bench(CapturePolicy(secrets=SecretPolicy.ALLOW))

    assert bench.add(SECRET).content == SECRET
    assert bench.turns(user(SECRET)) == [SECRET]


def test_a_full_spool_refuses_loudly_and_tells_nobody() -> None:
    bench = Bench(max_rows=1)
    bench.add()
    with pytest.raises(SpoolFull):
        bench.add("Another one")

    assert [texts.content for texts in bench.kept if isinstance(texts, AddEntry)] == ["The vault is number 13"]
    assert len(bench.told) == 1


def test_a_replacement_is_spooled_with_its_selector(bench: Bench) -> None:
    selector = BySubstring(target=Target.USER, text="tea", source=HOME)
    accepted = bench.acceptor.replace(
        DESK, selector, " Likes coffee ", origin=Origin.ASSISTANT, upsert=True, source=HOME, tool="memory"
    )

    assert bench.kept == [accepted]
    assert isinstance(accepted, ReplaceEntry)
    assert (accepted.selector, accepted.content) == (selector, "Likes coffee")
    assert (accepted.upsert, accepted.source, accepted.stamp.tool) == (True, HOME, "memory")


def test_a_selecting_content_is_brought_to_the_form_in_which_contents_are_stored(bench: Bench) -> None:
    stored = bench.add(f"  {SECRET}\0 ")
    selector = ByContent(target=Target.MEMORY, content=f"\n{SECRET} ", source=HOME)
    removal = bench.acceptor.remove(DESK, selector, origin=Origin.USER)
    change = bench.acceptor.replace(DESK, selector, "Gone", origin=Origin.USER)

    assert isinstance(removal, RemoveEntry)
    assert isinstance(change, ReplaceEntry)
    expected = ByContent(target=Target.MEMORY, content=stored.content, source=HOME)
    assert removal.selector == change.selector == expected


def test_a_removal_keeps_who_asked_for_it_and_by_which_tool(bench: Bench) -> None:
    removal = bench.acceptor.remove(DESK, ById(id=RowId(uuid4())), origin=Origin.OPERATOR, tool="memory_forget")

    assert bench.kept == [removal]
    assert (removal.stamp.caller, removal.stamp.origin, removal.stamp.tool) == (DESK, Origin.OPERATOR, "memory_forget")


def test_turns_keep_order_role_and_speaker_and_say_who_wrote_them(bench: Bench) -> None:
    operation = bench.acceptor.turns(
        DESK,
        [
            user("Which port does staging use?", speaker=" Ana\0 ", metadata={"turn": 1}, occurrence=2),
            Said(role=Role.ASSISTANT, content="Port 5433."),
            Said(role=Role.TOOL, content="listening on 5433"),
            Said(role=Role.SYSTEM, content="staging was restarted"),
        ],
        parent=SessionId("before"),
    )

    assert isinstance(operation, RecordTurns)
    assert operation.parent_session == "before"
    assert [(turn.role, turn.origin) for turn in operation.turns] == [
        (Role.USER, Origin.USER),
        (Role.ASSISTANT, Origin.ASSISTANT),
        (Role.TOOL, Origin.TOOL),
        (Role.SYSTEM, Origin.AGENT),
    ]
    first = operation.turns[0]
    assert (first.speaker, first.occurrence, dict(first.metadata), first.at) == ("Ana", 2, {"turn": 1}, NOW)
    assert operation.turns[1].speaker is None


def test_what_another_agent_says_in_the_users_place_is_no_users(bench: Bench) -> None:
    operation = bench.acceptor.turns(
        DESK,
        [
            Said(role=Role.USER, content="The vault is number 13.", speaker="HelperBot", by_agent=True),
            Said(role=Role.TOOL, content="listening on 5433", by_agent=True),
        ],
    )

    assert isinstance(operation, RecordTurns)
    assert [(turn.role, turn.origin) for turn in operation.turns] == [
        (Role.USER, Origin.AGENT),
        (Role.TOOL, Origin.TOOL),
    ]


@pytest.mark.parametrize(
    ("speaker", "kept"),
    [
        ("+49 151 50607080", None),
        ("+49\x00151\u200b50607080", None),
        ("bob@example.org", None),
        ("Bob <bob@example.org>", "Bob"),
        (f"{'Bob ' * 49}+4915150607080", ("Bob " * 49).strip()),
        (b"4915150607080", None),
        ("\x00", None),
    ],
)
def test_a_speaker_is_named_without_the_key_of_a_contact(bench: Bench, speaker: Any, kept: str | None) -> None:
    operation = bench.acceptor.turns(DESK, [user("The vault is number 13.", speaker=speaker)])

    assert isinstance(operation, RecordTurns)
    assert [turn.speaker for turn in operation.turns] == [kept]


def test_noise_is_left_out_and_the_rest_is_kept(bench: Bench) -> None:
    assert bench.turns(user("ok, thanks"), Said(role=Role.ASSISTANT, content="The vault is number 13.")) == [
        "The vault is number 13."
    ]


def test_nothing_is_accepted_where_nothing_is_worth_keeping(bench: Bench) -> None:
    assert bench.acceptor.turns(DESK, [user("ok"), user(""), user(None)]) is None
    assert bench.acceptor.turns(DESK, []) is None
    assert bench.kept == bench.told == []


def test_a_turn_that_is_handed_in_on_purpose_is_kept_unless_it_is_empty(bench: Bench) -> None:
    assert bench.turns(user("ok"), user("  "), filtered=False) == ["ok"]


def test_a_policy_without_turns_keeps_only_those_handed_in_on_purpose() -> None:
    bench = Bench(CapturePolicy(turns=False))

    assert bench.turns(user("The vault is number 13")) == []
    assert bench.turns(user("The vault is number 13"), filtered=False) == ["The vault is number 13"]


def test_turns_narrower_than_the_policy_says_are_left_out() -> None:
    bench = Bench(CapturePolicy(min_width=12))

    assert bench.turns(user("Port 5433"), user("Port 5433, not 5432")) == ["Port 5433, not 5432"]


def test_a_long_turn_is_cut_and_marked() -> None:
    bench = Bench(CapturePolicy(max_chars=300))
    (content,) = bench.turns(user("word " * 400))

    assert len(content) <= 300
    assert content.endswith(CUT_MARKER.strip())


@pytest.mark.parametrize(
    ("policy", "embedded"),
    [("all", [True, True]), ("substantive_only", [False, True]), ("none", [False, False])],
)
def test_which_turns_get_a_vector_is_the_policys(
    policy: Literal["all", "substantive_only", "none"], embedded: list[bool]
) -> None:
    bench = Bench(CapturePolicy(embed=policy))
    operation = bench.acceptor.turns(DESK, [user("ok"), user("The vault is number 13")], filtered=False)

    assert isinstance(operation, RecordTurns)
    assert [turn.embed for turn in operation.turns] == embedded


def test_a_turn_without_a_session_is_refused(bench: Bench) -> None:
    with pytest.raises(InvalidInput) as caught:
        bench.turns(user("The vault is number 13"), caller=Caller(theme=MARKETING))

    assert caught.value.field == "session"
    assert bench.kept == []


def test_a_delegation_is_kept_bounded_with_its_child(bench: Bench) -> None:
    accepted = bench.acceptor.delegation(
        DESK,
        task="Find sellers\0",
        result="x" * (DELEGATION_MAX_CHARS + 5),
        child_session=SessionId("child"),
        child_theme=Theme("research"),
    )

    assert bench.kept == [accepted]
    assert isinstance(accepted, RecordDelegation)
    assert (accepted.task, accepted.child_session, accepted.child_theme) == ("Find sellers", "child", "research")
    assert len(accepted.result) <= DELEGATION_MAX_CHARS
    assert accepted.stamp.origin is Origin.AGENT


def test_a_fitting_text_is_cut_marked_and_the_same_when_it_is_prepared_again(bench: Bench) -> None:
    fitting = bench.acceptor.preparing.fitting("word " * ENTRY_MAX_CHARS)

    assert len(fitting) <= ENTRY_MAX_CHARS
    assert fitting.endswith(CUT_MARKER.strip())
    assert bench.acceptor.preparing.content(fitting) == bench.acceptor.preparing.fitting(fitting) == fitting
    assert bench.acceptor.preparing.fitting(" short ") == "short"
    with pytest.raises(InvalidInput):
        bench.acceptor.preparing.fitting(" ")


def test_redaction_at_the_place_of_the_cut_leaves_a_text_that_fits(bench: Bench) -> None:
    # The mark is longer than the secret, so the text grows after it was measured.
    text = f"{'x' * (ENTRY_MAX_CHARS - len(SECRET) - 1)}\n{SECRET}"
    fitting = bench.acceptor.preparing.fitting(text)

    assert len(fitting) <= ENTRY_MAX_CHARS
    assert bench.acceptor.preparing.content(fitting) == fitting
    assert "hunter2" not in fitting


def test_a_subject_stays_with_every_write_of_its_caller(bench: Bench) -> None:
    bench.add(caller=DESK_WITH_ANA)
    bench.turns(user("The vault is number 13"), caller=DESK_WITH_ANA)
    bench.acceptor.delegation(DESK_WITH_ANA, task="a", result="b", child_session=None)

    assert {operation.stamp.caller.subject for operation in bench.kept} == {ANA}
