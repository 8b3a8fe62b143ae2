from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st
from tests.support.tables import for_each

from hermes_memory.domain.budget import Piece, estimate_tokens, fit, fit_payloads, truncate
from hermes_memory.domain.model import Json

texts = st.one_of(st.text(max_size=300), st.text(alphabet="ab é漢😀\n\"'", max_size=300))
pieces = st.lists(st.builds(Piece, text=texts, overhead=st.integers(0, 20)), max_size=8)


@for_each(
    ("text", "tokens"),
    [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("漢字", 3), ("привет", 3), ("😀", 2), ("a" * 4_000, 1_000)],
)
def test_tokens_are_estimated_by_script(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


@given(texts, texts)
def test_texts_put_together_never_take_more_than_they_take_alone(one: str, other: str) -> None:
    assert estimate_tokens(one + other) <= estimate_tokens(one) + estimate_tokens(other)


@given(texts, st.integers(-2, 100))
def test_a_text_is_cut_to_its_tokens(text: str, tokens: int) -> None:
    cut = truncate(text, tokens)

    assert estimate_tokens(cut) <= max(tokens, 0)
    assert cut == text or cut == "" or text.startswith(cut.removesuffix("…"))


def test_a_cut_comes_after_a_word_and_is_marked() -> None:
    assert truncate("the launch moved to the ninth of May", 6) == "the launch moved to…"


def test_text_without_blanks_is_cut_anywhere() -> None:
    assert truncate("漢" * 100, 10) == "漢" * 7 + "…"
    assert truncate("x" * 100, 5) == "x" * 18 + "…"


@given(pieces, st.integers(-5, 120), st.one_of(st.none(), st.integers(0, 50)))
def test_what_is_shown_never_exceeds_the_budget(found: list[Piece], budget: int, per_item: int | None) -> None:
    shown = fit(found, budget, per_item=per_item)

    spent = sum(estimate_tokens(text) + piece.overhead for text, piece in zip(shown, found, strict=False))
    assert spent <= max(budget, 0)
    assert len(shown) <= len(found)


def test_what_fits_is_shown_whole() -> None:
    found = [Piece(text="word " * 50, overhead=5), Piece(text="short")]

    assert fit(found, 100) == [piece.text for piece in found]


def test_a_long_text_is_cut_rather_than_dropped_and_leaves_room_for_others() -> None:
    found = [Piece(text="word " * 500), Piece(text="second"), Piece(text="third")]

    shown = fit(found, 100)

    assert shown[0].endswith("…")
    assert 20 <= estimate_tokens(shown[0]) <= 25
    assert shown[1:] == ["second", "third"]


def test_the_best_come_first_and_the_last_that_fits_is_cut() -> None:
    found = [Piece(text="word " * 16) for _ in range(10)]

    shown = fit(found, 50, per_item=20)

    assert shown[:2] == [found[0].text, found[1].text]
    assert shown[2].endswith("…")
    assert len(shown) == 3


def test_a_single_text_may_take_the_whole_budget_unless_it_is_capped() -> None:
    (whole,) = fit([Piece(text="word " * 500)], 100)
    (capped,) = fit([Piece(text="word " * 500)], 100, per_item=30)

    assert 90 <= estimate_tokens(whole) <= 100
    assert 20 <= estimate_tokens(capped) <= 30


def payload(number: int, content: str, **more: Json) -> dict[str, Json]:
    return {"id": str(number), "content": content, **more}


def size(payloads: list[dict[str, Json]]) -> int:
    return sum(estimate_tokens(json.dumps(each, ensure_ascii=False)) for each in payloads)


@given(st.lists(texts, max_size=8), st.integers(0, 300))
def test_the_answer_of_a_tool_never_exceeds_its_budget(contents: list[str], budget: int) -> None:
    shown = fit_payloads([payload(number, content) for number, content in enumerate(contents)], budget)

    assert size(shown) <= budget
    assert [each["id"] for each in shown] == [str(number) for number in range(len(shown))]


def test_twenty_long_hits_do_not_flood_the_context() -> None:
    found = [payload(number, "a long note about the launch. " * 70) for number in range(20)]

    shown = fit_payloads(found, 1_500)

    assert size(shown) <= 1_500
    assert len(shown) >= 4
    assert all(each["truncated"] is True and str(each["content"]).endswith("…") for each in shown)


def test_hits_that_fit_are_handed_on_as_they_are() -> None:
    found = [payload(1, "short", metadata={"turn": "D1:3"}), payload(2, 'with "quotes"\nand lines')]

    assert fit_payloads(found, 1_000) == found


def test_large_metadata_gives_way_to_content() -> None:
    (shown,) = fit_payloads([payload(1, "short", metadata={"blob": "x" * 10_000})], 200)

    assert shown == {"id": "1", "content": "short"}
