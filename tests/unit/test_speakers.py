"""Names of who speaks: kept as they are, but for the keys of contacts in them."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st
from tests.support.tables import for_each

from hermes_memory.domain.model import Caller, Theme
from hermes_memory.domain.speakers import sender_spellings, shows_sender, speaker_name
from hermes_memory.hermes.authors import Author, author_of, senders_of
from hermes_memory.hermes.sessions import Binding

CONTACTS = frozenset({"777000111", "kestrel_handle", "bob.kestrel@example.org", "+49 151 50607080", "ana"})
BOUND = Binding(
    caller=Caller(theme=Theme("coder")),
    files_caller=Caller(theme=Theme("coder")),
    writes=True,
    speaker="Bob",
    contacts=CONTACTS,
    visible_since=datetime(2026, 5, 3, tzinfo=UTC),
)


@for_each(
    "name",
    [
        *("Ana", "Ana Kestrel", "Dr. Bob O'Kestrel-Ros", "José", "李小龙", "🙂", "deploy-bot", "Agent 47", "R2-D2"),
        *("Ms Saffron (night shift)", "web", "team:dm:planning", "Bob #1234", "3 o'clock"),
        *("xX_Ana_1999_1234", "user_20240315", "Ana20240315"),
    ],
)
def test_a_name_without_a_key_is_kept_as_it_is(name: str) -> None:
    assert speaker_name(name) == speaker_name(f" {name} ") == name


@for_each(
    "key",
    [
        *("+4915150607080", "+49 151 5060 7080", "004915150607080", "4915150607080", "(0151) 506-07080", "555-0100"),
        *(
            "+４９１５１５０６０７０８０",
            "+49\u200b1515\u200b0607080",
            "tel:+4915150607080",
            "sms:12345",
            "12345678",
            "98765",
        ),
        *("bob.kestrel@example.org", "4915150607080@s.whatsapp.net", "@kestrel_handle", "@bob:example.org"),
        *("agent:main:telegram:dm:12345", "8f14e45f-ceea-467f-a0e6-0123456789ab", "Uc0ffee00c0ffee00c0ffee00c0ffee00"),
        *("iMessage;-;bob", "wxid_abc@im.wechat", "", "  ", "(+49 151 5060 7080)", "<bob.kestrel@example.org>"),
    ],
)
def test_a_key_is_no_name(key: str) -> None:
    assert speaker_name(key) is None


@for_each(
    ("given", "name"),
    [
        ("Bob Kestrel (+49 151 5060 7080)", "Bob Kestrel"),
        ("Bob Kestrel <bob.kestrel@example.org>", "Bob Kestrel"),
        ("4915150607080 – Bob", "Bob"),
        ("Bob4915150607080", None),
        ("Ana Bob4915150607080", "Ana"),
        ("Bob,+4915150607080", None),
        ("R2 5550100 Ana", "R2 Ana"),
        ("Bob @kestrel_handle", "Bob"),
        ("Bob [@bob:example.org]", "Bob"),
    ],
)
def test_what_remains_is_kept_when_a_key_is_taken_out(given: str, name: str) -> None:
    assert speaker_name(given) == name


@for_each(
    ("given", "name"),
    [
        ("777000111", None),
        ("Bob u777000111", "Bob"),
        ("Bob (777000111)", "Bob"),
        ("bob.kestrel@example.org", None),
        ("Bob bob.kestrel@example.orgs", "Bob"),
    ],
)
def test_the_keys_of_whom_the_talk_is_with_are_no_names(given: str, name: str | None) -> None:
    assert speaker_name(given, CONTACTS) == name


@for_each("name", ["ANA", "Ana Ros", "Ana Banana", "Banana Joe", "Kestrel_Handle", "kestrel_handles"])
def test_a_name_that_is_the_id_of_a_platform_of_nicknames_is_kept_whole(name: str) -> None:
    assert speaker_name(name, CONTACTS) == name


@given(
    st.text(st.sampled_from("+4915 06@.:_-(<>)aZß７\u200b#"), max_size=60), st.sets(st.sampled_from(sorted(CONTACTS)))
)
def test_a_name_that_was_kept_is_kept_again(given: str, contacts: set[str]) -> None:
    name = speaker_name(given, frozenset(contacts))

    assert name is None or speaker_name(name, frozenset(contacts)) == name


@for_each(
    ("told", "author"),
    [
        (None, Author(speaker="Bob")),
        ("Ana", Author(speaker="Bob")),
        ({}, Author(speaker="Bob")),
        ({"id": "777000111", "name": None}, Author(speaker="Bob")),
        ({"id": 777000111}, Author(speaker="Bob")),
        ({"id": "other"}, Author(speaker=None)),
        ({"name": "Cleo"}, Author(speaker="Cleo")),
        ({"name": "+4915150607080"}, Author(speaker=None)),
        ({"name": "777000111"}, Author(speaker=None)),
        ({"id": "cleopatra", "name": "cleopatra"}, Author(speaker="cleopatra")),
        ({"id": "rober", "name": "Robert"}, Author(speaker="Robert")),
        ({"id": "888", "name": "Cleo 888"}, Author(speaker="Cleo")),
        ({"id": "B1", "name": "HelperBot", "is_bot": True}, Author(speaker="HelperBot", is_agent=True)),
        ({"is_bot": True}, Author(speaker=None, is_agent=True)),
    ],
)
def test_an_author_is_whom_the_host_tells_of_without_a_key(told: object, author: Author) -> None:
    assert author_of(BOUND, told) == author


@for_each(
    ("name", "told", "other"),
    [
        ("+49 151 50607080", "+4915150607080", "+4915150607081"),
        ("Cleo +49 151 50607080", "cleo  +49 151 50607080", "Cleo"),
        ("Cleo", "777000111", "Cleo"),
        ("cleopatra", "777000111", "ana"),
        (None, "bob.kestrel@example.org", "@kestrel_handle"),
    ],
)
def test_a_sender_is_told_by_a_key_and_never_by_a_name(name: str | None, told: str, other: str) -> None:
    senders = senders_of(name, CONTACTS - {"+49 151 50607080"})

    assert not senders.isdisjoint(sender_spellings(told))
    assert senders.isdisjoint(sender_spellings(other))


@for_each(
    "key",
    [
        *("777000111", "4915150607080", "+4915150607080", "+49 151 50607080", "+４９１５１５０６０７０８０"),
        *("bob.kestrel@example.org", "4915150607080:12@s.whatsapp.net", "99887766554433@lid", "@bob:example.org"),
        *("8f14e45f-ceea-467f-a0e6-0123456789ab", "Uc0ffee00c0ffee00c0ffee00c0ffee00"),
    ],
)
def test_a_key_shows_who_sent_a_text_alone_and_behind_a_name(key: str) -> None:
    assert all(map(shows_sender, (key, f"Ana|{key}", f"Ana | 7|{key}", f" |{key}", f"Ana ({key})", f"Ana <{key}>")))
    assert not any(map(shows_sender, (f"Ask {key}", f"{key}|", f"{key} Ana", f"#{key}", f"{key}, {key}")))


def test_an_author_shows_no_key() -> None:
    author = author_of(BOUND, {"id": "777000111", "name": "+4915150607080"})

    assert author.senders == {"777000111", "+4915150607080", "4915150607080"}
    assert not any(key in repr(author) for key in author.senders)


def test_a_binding_shows_no_contact() -> None:
    assert not any(contact in repr(BOUND) for contact in CONTACTS)
