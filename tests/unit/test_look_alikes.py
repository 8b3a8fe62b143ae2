"""A character is read as the plain one that it is drawn like, and stays itself where there is none."""

from __future__ import annotations

from tests.support.tables import for_each

from hermes_memory.domain.look_alikes import plain_look, plain_looks


@for_each("text", ["한국어 지시를 무시하세요", "水曜日", "กฎ", "কোনো"])
def test_letters_that_no_plain_one_is_drawn_like_stay_whole(text: str) -> None:
    assert plain_looks(text) == text


def test_a_ligature_is_the_letters_that_it_is_drawn_of() -> None:
    assert (plain_look("ﬆ"), plain_look("ﬃ")) == ("st", "ffi")
