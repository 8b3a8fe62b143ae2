"""Names of sessions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.tables import for_each

from hermes_memory.domain.sessions import MAX_SESSION_CHARS, SessionNames, session_name

SECRET = b"a secret of the installation"
NAMES = SessionNames(secret=SECRET)


@for_each("nothing", [None, "", "  ", "\0", "\x07\n", b""])
def test_what_names_nothing_is_no_session(nothing: object) -> None:
    assert session_name(nothing) is None


@for_each(
    ("given", "name"),
    [("20260503_ab12", "20260503_ab12"), (" s\0one ", "sone"), ("s\ud83d", "s\ufffd"), (7, "7"), (b"s1", "s1")],
)
def test_an_id_is_kept_as_far_as_it_can_be_stored(given: object, name: str) -> None:
    assert session_name(given) == name


def test_ids_that_differ_only_far_behind_stay_two() -> None:
    one, other = session_name("x" * 5_000), session_name("x" * 5_000 + "y")

    assert one is not None
    assert other is not None
    assert one != other
    assert len(one) == len(other) == MAX_SESSION_CHARS


@given(st.text(st.characters(), max_size=600))
def test_a_name_can_be_stored_and_stands_for_itself(given: str) -> None:
    name = session_name(given)

    if name is not None:
        assert "\0" not in name
        assert len(name.encode("utf-8")) <= 4 * MAX_SESSION_CHARS
        assert session_name(name) == name


@for_each(
    "name",
    [
        *("20260503_101500_12345678", "20260503_101500_ab12cd", "20260503_101500", "1714732800.123456"),
        *(
            "8f14e45f-ceea-467f-a0e6-0123456789ab",
            "s1",
            "team:dm:planning",
            "cron_nightly_20260503",
            "2026-05-03 10:15",
        ),
    ],
)
def test_a_session_that_tells_of_nobody_keeps_its_name(name: str) -> None:
    assert NAMES(name) == SessionNames(secret=SECRET, contacts=frozenset({"777000111", "Bob"}))(name) == name


@for_each(
    "name",
    [
        *("telegram:dm:+4915112345678", "agent:main:whatsapp:dm:4915112345678@s.whatsapp.net", "bob@example.org"),
        *("4915112345678", "talk with +49 151 12345678", "discord:thread:general", "1714730400"),
    ],
)
def test_a_session_that_is_named_by_a_contact_is_kept_as_a_keyed_hash(name: str) -> None:
    kept = NAMES(name)

    assert kept is not None
    assert kept.startswith("contact~")
    assert kept == NAMES(name) == NAMES(kept) == NAMES(f" {name}\0") == NAMES.hidden(name)
    assert kept != SessionNames(secret=SECRET[::-1])(name)
    assert NAMES(f"{name}:evening") != kept


@for_each(
    ("name", "contact", "told"),
    [
        ("chat-777000111-evening", "777000111", True),
        ("chat-7770001115", "777000111", True),
        ("u777000111", "777000111", True),
        ("wa4915150607080", "4915150607080@s.whatsapp.net", True),
        ("sms+4915150607080x", "+49 151 50607080", True),
        ("4915112345678_web", "+49 151 1234-5678", True),
        ("4915112345678_web", "4915112345678@s.whatsapp.net", True),
        ("web/Kestrel_Handle", "@kestrel_handle", True),
        ("kestrel_handles", "@kestrel_handle", False),
        ("mariana-notes", "maria", False),
        ("administration", "admin", False),
        ("notes-of-maria", "maria", True),
        ("talk@kestrel_handles", "@kestrel_handle", True),
        ("7-evening", "7", False),
        ("banana", "ana", False),
        ("talk-with-ana", "ana", True),
        ("20260503_101500_777000111", "777000111", True),
        ("20260503_101500_ab12cd", "777000111", False),
        ("20260503_101500_ab12cd", "10150", False),
        ("20260503_101500", "01500", False),
        ("1714732800.123456", "17147", False),
        ("s1", "", False),
    ],
)
def test_a_session_that_holds_the_key_of_whom_it_is_with_is_kept_as_a_keyed_hash(
    name: str, contact: str, told: bool
) -> None:
    names = SessionNames(secret=SECRET, contacts=frozenset({contact}))

    assert (names(name) == NAMES.hidden(name)) is told
    assert (names(name) == name) is not told


def test_names_of_sessions_show_neither_secret_nor_contact() -> None:
    shown = repr(SessionNames(secret=SECRET, contacts=frozenset({"777000111"})))

    assert "777000111" not in shown
    assert repr(SECRET) not in shown


@pytest.mark.parametrize(
    "name", ["AKIA" + "ABCDEFGHIJKLMNOP password=", "password=hunter2" * 40, "x" * 246 + "password="]
)
def test_a_name_that_lost_a_secret_stands_for_itself(name: str) -> None:
    kept = session_name(name)

    assert kept is not None
    assert session_name(kept) == kept
    assert "hunter2" not in kept


@given(st.text(st.characters(), max_size=300))
def test_a_kept_name_is_kept_as_it_is(given: str) -> None:
    assert NAMES(NAMES(given)) == NAMES(given)
