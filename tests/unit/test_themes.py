"""Names of themes and scopes."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.tables import for_each

from hermes_memory.domain.errors import InvalidInput, NotVisible
from hermes_memory.domain.model import (
    DIRECT_MESSAGES,
    SINKS,
    AllScope,
    Caller,
    CurrentScope,
    SessionId,
    SessionScope,
    Subject,
    SubjectScope,
    Theme,
    ThemeScope,
)
from hermes_memory.domain.names import fold_name
from hermes_memory.domain.themes import (
    MAX_THEME_CHARS,
    RESERVED_NAMES,
    canonical_theme,
    claim_theme,
    is_reserved,
    parse_names,
    parse_scope,
)

SUBJECT = Subject(b"s" * 32)
DESK = Caller(theme=Theme("marketing"))


@for_each(
    "spelling",
    [
        "marketing",
        "  Marketing ",
        "MARKETING",
        "Ｍａｒｋｅｔｉｎｇ",
        "mark\u200beting",
        "mark\x00eting",
        "\ufeffmarketing\u200f",
        "mark\u00adeting",
        "mark\u2060eting\ufe0f",
        "mark\u115feting",
        "mark\x1feting",
        "\ud800marketing",
    ],
)
def test_every_spelling_of_a_name_is_one_theme(spelling: str) -> None:
    assert canonical_theme(spelling) == "marketing"


def test_white_space_of_any_kind_becomes_single_spaces() -> None:
    assert canonical_theme("\tmorning \n\u2003 report\u2028sr\u00a0") == "morning report sr"


@for_each("name", ["", "   ", "\u200b\u200d", "\x00", "\u3164\u115f", "\ud800"])
def test_a_name_without_anything_visible_is_refused_with_a_remedy(name: str) -> None:
    with pytest.raises(InvalidInput, match="at least one visible character") as refusal:
        canonical_theme(name)

    assert refusal.value.field == "theme"


def test_a_name_may_have_128_characters_and_no_more() -> None:
    assert len(canonical_theme("x" * MAX_THEME_CHARS)) == MAX_THEME_CHARS

    with pytest.raises(InvalidInput, match="at most 128"):
        canonical_theme("x" * (MAX_THEME_CHARS + 1))


def test_length_counts_after_folding() -> None:
    assert canonical_theme("x" + "\u200b" * 500) == "x"

    with pytest.raises(InvalidInput, match="too long"):
        canonical_theme("ﷺ" * 100)


@given(st.text(max_size=60))
def test_folding_again_changes_nothing(name: str) -> None:
    once = fold_name(name)

    assert fold_name(once) == once


@given(st.text(max_size=60))
def test_a_folded_name_holds_no_control_or_format_character_and_no_spare_space(name: str) -> None:
    folded = fold_name(name)

    assert not any(unicodedata.category(char) in {"Cc", "Cf", "Cs"} for char in folded)
    assert folded == " ".join(folded.split(" ")).strip()


def test_folding_is_stable_for_single_characters_of_the_whole_range() -> None:
    codes = (*range(0x3000), *range(0x3000, sys.maxunicode + 1, 211))
    unstable = [hex(code) for code in codes if fold_name(fold_name(chr(code))) != fold_name(chr(code))]

    assert unstable == []


@for_each("name", sorted(RESERVED_NAMES))
@for_each("disguise", ["{}", " {} ", "\u200b{}", "{}\x00"])
def test_a_reserved_name_cannot_be_claimed_in_any_disguise(name: str, disguise: str) -> None:
    for spelling in (disguise.format(name), disguise.format(name.upper())):
        with pytest.raises(InvalidInput, match="reserved"):
            claim_theme(spelling)


def test_the_reserved_names_are_the_scopes_and_the_sinks() -> None:
    assert (
        frozenset({"all", "current", "session", "subject", "whatsapp-dm", "external-group", "_bench"}) == RESERVED_NAMES
    )
    assert all(is_reserved(sink) for sink in SINKS)
    assert not is_reserved(Theme("bench"))


@for_each(
    ("names", "themes"),
    [
        ("Marketing, sales", {"marketing", "sales"}),
        (["Marketing", "sales "], {"marketing", "sales"}),
        (("sales",), {"sales"}),
        ("sales", {"sales"}),
        ("", set()),
        (" , ,", set()),
        ([], set()),
    ],
)
def test_a_list_of_themes_may_be_a_list_or_a_comma_separated_string(names: str | list[str], themes: set[str]) -> None:
    assert parse_names(names) == themes


def test_a_reserved_name_in_a_list_of_themes_is_an_error() -> None:
    with pytest.raises(InvalidInput, match="'all' is reserved"):
        parse_names("sales, ALL")


def test_scopes_are_named_in_any_spelling() -> None:
    caller = Caller(theme=Theme("marketing"), subject=SUBJECT, session=SessionId("s1"))

    assert parse_scope("Current", caller) == CurrentScope()
    assert parse_scope(" session", caller) == SessionScope(session=SessionId("s1"))
    assert parse_scope("subject", caller) == SubjectScope()
    assert parse_scope("ＡＬＬ", caller) == AllScope()
    assert parse_scope("Sales", caller) == ThemeScope(theme=Theme("sales"))


@for_each("name", ["", "  ", "\u200b", "x" * 200])
def test_an_empty_or_unusable_scope_is_refused_and_never_means_everything(name: str) -> None:
    with pytest.raises(InvalidInput, match="current, session, subject, all") as refusal:
        parse_scope(name, DESK)

    assert refusal.value.field == "scope"


def test_the_session_and_the_subject_must_exist_to_be_searched() -> None:
    with pytest.raises(InvalidInput, match="no session"):
        parse_scope("session", DESK)
    with pytest.raises(InvalidInput, match="no subject"):
        parse_scope("subject", DESK)


@pytest.mark.parametrize("sink", sorted(SINKS))
def test_a_sink_is_not_there_for_a_caller_outside_it(sink: Theme) -> None:
    with pytest.raises(NotVisible):
        parse_scope(sink, Caller(theme=Theme("marketing"), subject=SUBJECT))


def test_a_caller_inside_a_sink_may_name_it_but_not_another_one() -> None:
    inside = Caller(theme=DIRECT_MESSAGES, subject=SUBJECT)

    assert parse_scope("WhatsApp-DM", inside) == ThemeScope(theme=DIRECT_MESSAGES)
    with pytest.raises(NotVisible):
        parse_scope("_bench", inside)
