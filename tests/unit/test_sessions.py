"""Names of sessions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_memory.domain.sessions import MAX_SESSION_CHARS, session_name


@pytest.mark.parametrize("nothing", [None, "", "  ", "\0", "\x07\n", b""])
def test_what_names_nothing_is_no_session(nothing: object) -> None:
    assert session_name(nothing) is None


@pytest.mark.parametrize(
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
