"""What is to be erased: named exactly, told apart, and never shown as who it is."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import pytest
from tests.support.tables import for_each

from hermes_memory.domain.contacts import ContactKind
from hermes_memory.domain.erasure import (
    Erasure,
    OneEntry,
    Told,
    WholeSession,
    WholeSubject,
    WholeTheme,
    concerns,
    entry_named,
    links,
    reaches,
    session_named,
    theme_named,
    title,
    told_by,
    unforgets,
)
from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.model import Caller, OperationId, SessionId, Subject, Target, Theme
from hermes_memory.domain.operations import ByContent, ById, BySubstring, Operation, RecordDelegation, row_id
from hermes_memory.domain.sessions import SessionNames
from hermes_memory.domain.subject_keys import named_by_key, subject_of_key
from hermes_memory.domain.subjects import subject_for
from hermes_memory.testing.making import (
    ANA,
    ANA_DIRECTLY,
    BEN,
    DESK,
    DESK_WITH_ANA,
    MARKETING,
    MORNING,
    SALES_DESK,
    add,
    by_content,
    by_substring,
    record,
    remove,
    replace,
    said,
    stamp,
)

SECRET = b"s" * 32
PHONE = "+15550100199"


@for_each("name", ["", "  ", "*", "mark%", "mark?ting", "[a-z]", "all", "Current", "sub\u200bject"])
def test_no_theme_is_erased_by_a_pattern_or_a_scope(name: str) -> None:
    with pytest.raises(InvalidInput):
        theme_named(name)


NAMES = SessionNames(secret=b"a secret of the installation")


def test_a_theme_is_named_in_any_of_its_spellings_and_a_sink_like_any_other() -> None:
    assert theme_named(" Marketing ") == WholeTheme(theme=Theme("marketing"))
    assert theme_named("whatsapp-dm") == WholeTheme(theme=Theme("whatsapp-dm"))


@pytest.mark.parametrize(
    "make",
    [
        lambda: session_named(" ", None, names=NAMES),
        lambda: session_named("s*", None, names=NAMES),
        lambda: entry_named("7"),
    ],
)
def test_a_session_and_an_entry_are_named_exactly(make: Callable[[], Erasure]) -> None:
    with pytest.raises(InvalidInput):
        make()


def test_a_title_tells_nobody_who_a_subject_or_a_session_is() -> None:
    session = SessionId("agent:main:telegram:dm:4711")

    assert ANA.hex() not in title(WholeSubject(subject=ANA))[1]
    named = session_named(session, None, names=NAMES)
    digest = hashlib.sha256(session.encode()).hexdigest()
    assert named.names == {session, NAMES(session)}
    assert not digest.startswith(title(named)[1])
    assert "4711" not in title(named)[1]
    assert title(WholeTheme(theme=MARKETING)) == ("theme", "marketing")


def told(*texts: str, subject: Subject | None = None, target: Target = Target.MEMORY) -> frozenset[Told]:
    return frozenset(Told(theme=MARKETING, subject=subject, target=target, text=text) for text in texts)


def test_writes_that_wait_belong_to_what_names_their_caller() -> None:
    hers, desk = add("tea", DESK_WITH_ANA), add("launch", DESK)
    talk = record(said("hello"), caller=Caller(theme=MARKETING, session=SessionId("s9")))
    child = RecordDelegation(
        stamp=stamp(SALES_DESK), child_session=SessionId("s9"), child_theme=None, task="t", result="r"
    )

    everything: list[Operation] = [hers, desk, talk, child, add("code", ANA_DIRECTLY)]
    chosen: dict[str, Erasure] = {
        "subject": WholeSubject(subject=ANA),
        "theme": WholeTheme(theme=MARKETING),
        "session": WholeSession(session=SessionId("s9")),
        "narrowed": WholeSession(session=SessionId("s9"), theme=MARKETING),
        "hidden": WholeSession(session=SessionId("telegram:dm:4711"), hidden=SessionId("s9")),
        "morning": WholeSession(session=MORNING, theme=MARKETING),
    }
    found = {name: [concerns(erasure, each) for each in everything] for name, erasure in chosen.items()}
    assert found == {
        "subject": [True, False, False, False, True],
        "theme": [True, True, True, False, False],
        "session": [False, False, True, True, False],
        "hidden": [False, False, True, True, False],
        "narrowed": [False, False, True, False, False],
        "morning": [True, True, False, False, False],
    }


def test_a_write_of_a_conversation_that_the_erased_one_started_is_not_of_it_and_names_it() -> None:
    session = SessionId("s9")
    child, inside = (
        record(said("hi"), caller=at, parent_session=session) for at in (DESK, Caller(theme=MARKETING, session=session))
    )
    asked: list[Erasure] = [
        WholeSession(session=session),
        WholeSession(session=session, theme=MARKETING),
        WholeSession(session=session, theme=SALES_DESK.theme),
        WholeSession(session=MORNING),
        WholeTheme(theme=MARKETING),
        WholeSession(session=SessionId("telegram:dm:4711"), hidden=session),
    ]

    assert [links(erasure, child) for erasure in asked] == [True, True, False, False, False, True]
    assert not concerns(asked[0], child)
    assert not links(asked[0], inside)


def test_what_waits_of_a_task_that_another_theme_gave_belongs_to_the_theme_and_the_session_that_did_it() -> None:
    child = SessionId("s9")
    asked = RecordDelegation(
        stamp=stamp(SALES_DESK), child_session=child, child_theme=MARKETING, task="ask about Zebra", result="4711"
    )
    chosen: list[Erasure] = [
        WholeTheme(theme=MARKETING),
        WholeTheme(theme=SALES_DESK.theme),
        WholeSession(session=child, theme=MARKETING),
        WholeSession(session=child, theme=SALES_DESK.theme),
        WholeTheme(theme=Theme("support")),
        WholeSession(session=child, theme=Theme("support")),
        WholeSession(session=MORNING, theme=MARKETING),
    ]

    assert [concerns(erasure, asked) for erasure in chosen] == [True, True, True, True, False, False, False]


def test_a_write_of_another_person_or_theme_in_the_words_of_an_entry_is_theirs() -> None:
    erasure, texts = OneEntry(row=row_id(add("tea").stamp.operation)), told("tea", "green tea", subject=ANA)
    with_ben = Caller(theme=MARKETING, subject=BEN, session=MORNING)
    elsewhere = Caller(theme=SALES_DESK.theme, subject=ANA, session=MORNING)
    callers = [DESK_WITH_ANA, with_ben, elsewhere, DESK, SALES_DESK]
    found = [
        [
            concerns(erasure, each, texts)
            for each in (
                add("tea", caller),
                replace(by_substring("tea"), "coffee", caller, upsert=True),
                remove(by_content("green tea"), caller),
                replace(by_content("water"), "tea", caller),
            )
        ]
        for caller in callers
    ]

    assert found == [[True] * 4, *([[False] * 4] * 4)]
    assert not any(reaches(erasure, remove(by_content("tea"), caller), texts) for caller in callers)


def test_a_part_of_a_text_selects_in_its_own_target_alone() -> None:
    erasure = OneEntry(row=row_id(add("tea").stamp.operation))
    selecting = remove(BySubstring(target=Target.USER, text="tea"))

    assert [concerns(erasure, selecting, told("green tea", target=target)) for target in Target] == [
        target is Target.USER for target in Target
    ]


def test_an_equal_text_of_another_target_is_another_memory() -> None:
    erasure = OneEntry(row=row_id(add("tea").stamp.operation))
    user, elsewhere = (ByContent(target=Target.USER, content=content) for content in ("tea", "water"))
    writes: list[Operation] = [
        add("tea", target=Target.USER),
        remove(user),
        replace(user, "coffee", upsert=True),
        replace(elsewhere, "tea"),
    ]
    by_id = replace(ById(id=row_id(add("water").stamp.operation)), "tea")
    hers = remove(user, DESK_WITH_ANA)

    found = {
        target: [concerns(erasure, each, told("tea", target=target)) for each in (*writes, by_id)] for target in Target
    }
    assert found == {Target.MEMORY: [False] * 4 + [True], Target.USER: [True] * 5}
    assert [reaches(erasure, hers, told("tea", target=target)) for target in Target] == [
        target is Target.USER for target in Target
    ]


def test_what_an_entry_would_have_said_next_is_said_in_its_target() -> None:
    row = row_id(add("tea").stamp.operation)
    erasure, by_id = OneEntry(row=row), replace(ById(id=row), "coffee")

    def targets(operation: Operation, texts: frozenset[Told]) -> set[Target]:
        return {each.target for each in told_by(erasure, operation, texts)}

    assert targets(by_id, told("tea", target=Target.USER)) == {Target.USER}
    assert targets(by_id, frozenset()) == set(Target)
    assert targets(replace(by_content("tea"), "coffee"), told("tea", target=Target.USER)) == {Target.MEMORY}
    assert targets(add("tea", target=Target.USER), frozenset()) == {Target.USER}


def test_a_removal_that_names_an_entry_by_a_text_may_mean_another_memory_and_one_by_its_id_does_not() -> None:
    row = row_id(add("tea").stamp.operation)
    writes: list[Operation] = [
        remove(by_content("tea")),
        remove(by_substring("te")),
        remove(ById(id=row)),
        remove(ById(id=row, left_by=OperationId(row))),
        replace(by_content("tea"), "coffee"),
    ]

    assert [unforgets(OneEntry(row=row), each) for each in writes] == [True, True, False, False, False]


def test_a_write_of_somebody_that_may_mean_an_entry_of_everybody_is_told_of_and_stays() -> None:
    erasure, texts = OneEntry(row=row_id(add("tea").stamp.operation)), told("green tea")
    writes: list[Operation] = [
        replace(by_substring("tea"), "coffee", DESK_WITH_ANA),
        remove(by_content("green tea"), DESK_WITH_ANA),
        add("green tea", DESK_WITH_ANA),
        remove(by_content("water"), DESK_WITH_ANA),
        remove(by_content("green tea"), SALES_DESK),
        remove(by_content("green tea"), DESK),
    ]

    assert [reaches(erasure, each, texts) for each in writes] == [True, True, False, False, False, False]
    assert [concerns(erasure, each, texts) for each in writes] == [False, False, False, False, False, True]
    assert not reaches(WholeTheme(theme=MARKETING), writes[0], texts)


def test_a_write_is_about_an_entry_that_it_makes_names_or_repeats() -> None:
    making = add("the code is 8841")
    row = row_id(making.stamp.operation)
    erasure, texts = OneEntry(row=row), told("the code is 8841", "the code was 1234")
    about: list[Operation] = [
        making,
        replace(ById(id=row), "anything"),
        remove(ById(id=row, left_by=OperationId(row))),
        remove(by_content("the code was 1234")),
        remove(by_substring("code was")),
        replace(by_content("something else"), "the code is 8841"),
    ]
    others: list[Operation] = [
        add("the code is 9999"),
        remove(by_content("launch")),
        remove(by_substring("xyz")),
        record(said("hello")),
    ]

    assert [concerns(erasure, each, texts) for each in about] == [True] * len(about)
    assert [concerns(erasure, each, texts) for each in others] == [False] * len(others)


def test_a_key_leads_to_the_subject_under_which_the_talk_is_kept() -> None:
    person = subject_for(SECRET, ContactKind.PERSON, "telegram", "12345")

    assert subject_of_key(SECRET, "telegram:12345\n") == person
    assert subject_of_key(SECRET, "agent:main:telegram:dm:12345") == person
    assert subject_of_key(SECRET, person.hex().upper()) == person
    assert subject_of_key(SECRET, f"whatsapp:{PHONE}") == subject_of_key(SECRET, "whatsapp:15550100199")


def test_a_key_tells_a_person_from_a_group_and_digits_tell_neither() -> None:
    person, group = "agent:main:telegram:dm:12345", "agent:main:telegram:group:-10012345"
    kinds = [named_by_key(SECRET, key).kind for key in ("telegram:12345", person, group, ANA.hex())]

    assert kinds == [ContactKind.PERSON, ContactKind.PERSON, ContactKind.GROUP, None]


def test_a_key_that_names_nobody_is_refused_in_the_same_words_whatever_it_is() -> None:
    said_of = set()
    for key in ("", " ", "nobody", "planning", "whatsapp:*", "telegram:", ":12345", "f" * 63):
        with pytest.raises(InvalidInput) as refused:
            subject_of_key(SECRET, key)
        said_of.add(str(refused.value))

    assert len(said_of) == 1
