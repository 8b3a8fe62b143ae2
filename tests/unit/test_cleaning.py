"""What a host hands over, made storable."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from datetime import UTC, date, datetime
from functools import partial
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st
from tests.support.growth import grows_linearly, on_repeated
from tests.support.tables import for_each

from hermes_memory.domain.cleaning import CUT_MARKER, MAX_METADATA_TEXT, MAX_PARTS, clean_metadata, clean_text
from hermes_memory.domain.fences import strip_blocks


class Untold:
    """An object whose text cannot be had."""

    def __str__(self) -> str:
        raise ValueError("no text")


def part(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


@for_each(
    ("value", "text"),
    [
        ("hello", "hello"),
        ("  hello\n", "hello"),
        (None, ""),
        ("", ""),
        ([], ""),
        ({}, ""),
        (b"caf\xc3\xa9 \xff", "café �"),
        (bytearray(b"abc"), "abc"),
        (42, "42"),
        (3.5, "3.5"),
        (True, "True"),
        (part("hello"), "hello"),
        ([part("one"), part("two")], "one\ntwo"),
        (["one", part("two"), None, 3], "one\ntwo\n3"),
        ([[part("deep")], "flat"], "deep\nflat"),
        ([part("look"), IMAGE], "[1 image] look"),
        ([IMAGE, part("look"), {"type": "input_image"}], "[2 images] look"),
        ([IMAGE], "[1 image]"),
        ([part("look"), part("[Attached image — stripped after compression]")], "[1 image] look"),
        ([{"type": "input_audio"}], "[audio]"),
        ([{"type": "input_audio"}, {"type": "file"}, {"type": "file"}], "[audio] [file]"),
        ([part("listen"), {"type": "input_audio"}], "listen"),
        ([{"type": "thinking", "thinking": "hm"}, part("done")], "done"),
        ([{"type": "output_text", "text": "out"}], "out"),
        ([{"content": "inner"}], "inner"),
        ({"note": "kept"}, '{"note": "kept"}'),
        ([{"type": 7, "text": 7}], ""),
        (Untold(), "[Untold]"),
        ([Untold(), "x"], "[Untold]\nx"),
        (datetime(2026, 5, 3, tzinfo=UTC), "2026-05-03T00:00:00+00:00"),
        ("a\x00b", "ab"),
        ("a\r\nb\rc\x85d", "a\nb\nc\nd"),
        ("tab\tstays\x1b[0m\x07", "tab\tstays"),
        ("\x1b[2J\x1b]0;a title\x07\x9b1;31mred\x1b[0m \x1b alone", "red  alone"),
        ("half \ud83d here", "half � here"),
        ("pair \ud83d\ude00", "pair 😀"),
        ("Book it.\n\n<memory-context>\n[System note: old]\nfact\n</memory-context>", "Book it."),
        ('a <recalled-memory id="7f">fact</recalled-memory> b', "a  b"),
        ("<MEMORY-CONTEXT>x</MEMORY-CONTEXT>", ""),
        ("<memory-context>never closed", "never closed"),
        ("stray </memory-context> tag", "stray  tag"),
        ("<memory-context>a<memory-context>b</memory-context>c</memory-context>d", "d"),
        ("<memory-context>a<recalled-memory x=1>b</memory-context>c</recalled-memory>d", "c d"),
        ("<memory-contexts>stays</memory-contexts>", "<memory-contexts>stays</memory-contexts>"),
    ],
)
def test_any_content_becomes_text(value: object, text: str) -> None:
    assert clean_text(value, max_chars=1000) == text


def test_a_long_text_is_cut_with_a_mark() -> None:
    text = clean_text("x" * 500, max_chars=100)

    assert len(text) == 100
    assert text.endswith(CUT_MARKER)
    assert clean_text("x" * 100, max_chars=100) == "x" * 100


@for_each("cluster", ["e\u0301", "👨‍👩‍👧", "❤\ufe0f", "กุ้"])
def test_a_cut_does_not_split_a_character_from_its_marks(cluster: str) -> None:
    for bound in range(40, 60):
        kept = clean_text(cluster * 50, max_chars=bound).removesuffix(CUT_MARKER)

        assert kept == cluster * (len(kept) // len(cluster))


def test_lists_that_hold_themselves_end() -> None:
    endless: list[object] = ["x"]
    endless.extend([endless] * 10)

    assert clean_text(endless, max_chars=50).startswith("x\nx")
    assert clean_text([part("y")] * (MAX_PARTS * 2), max_chars=50).endswith(CUT_MARKER)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.datetimes() | st.uuids(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=6) | st.integers(), inner, max_size=4)
        | st.fixed_dictionaries({"type": st.sampled_from(["text", "image_url", "file", "odd"]), "text": inner})
    ),
    max_leaves=12,
)
PIECES = (
    *("<", ">", "/", "a", " ", "\n", "\r", "\x00", "\ud83d", "\ude00", "e\u0301", "\x85", "\u2028", "memory-context"),
    *("<memory-context>", "</memory-context>", "<recalled-memory x>", "</recalled-memory>"),
)
TROUBLE = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


@given(ANYTHING, st.integers(0, 60))
def test_cleaning_never_fails_and_never_exceeds_the_bound(value: object, bound: int) -> None:
    text = clean_text(value, max_chars=bound)

    assert len(text) <= bound
    text.encode()
    assert "\x00" not in text


@given(TROUBLE | st.text(), st.integers(0, 80))
def test_cleaning_twice_changes_nothing(value: str, bound: int) -> None:
    once = clean_text(value, max_chars=bound)

    assert clean_text(once, max_chars=bound) == once


@given(TROUBLE)
def test_no_tag_of_a_recalled_block_survives(value: str) -> None:
    text = strip_blocks(value)

    assert "<memory-context>" not in text
    assert "</recalled-memory>" not in text


@given(st.text())
def test_text_without_tags_is_left_as_it_is(value: str) -> None:
    text = value.replace("<", "")

    assert strip_blocks(text) == text


@for_each(
    "unit",
    [
        *("<memory-context>", "</memory-context>", "<", "<memory-context><recalled-memory x>", "\ud83d", "a"),
        *(
            '{"hits":',
            '{ "count": 1 "entries"',
            '2026-05-03 turn, a: "',
            "2026-05-03 turn, a: “",
            '\n2026-05-03 turn, a: "b',
        ),
    ],
)
def test_the_cost_of_cleaning_grows_with_the_length_and_not_faster(unit: str) -> None:
    assert grows_linearly(on_repeated(partial(clean_text, max_chars=1000), unit), largest=128_000)


@for_each(
    ("value", "metadata"),
    [
        (None, {}),
        ({"a": 1, "b": [1, 2.5, None, True, "x"]}, {"a": 1, "b": [1, 2.5, None, True, "x"]}),
        ({"at": datetime(2026, 5, 3, 12, tzinfo=UTC)}, {"at": "2026-05-03T12:00:00+00:00"}),
        ({"on": date(2026, 5, 3)}, {"on": "2026-05-03"}),
        ({"nul\x00": "a\x00b", "half": "\ud83d"}, {"nul": "ab", "half": "�"}),
        ({7: 1, None: 2, (1, 2): 3}, {"7": 1, "None": 2, "(1, 2)": 3}),
        ({"nan": math.nan, "inf": -math.inf}, {"nan": None, "inf": None}),
        ({"id": UUID(int=5)}, {"id": "00000000-0000-0000-0000-000000000005"}),
        ({"huge": 10**5000}, {"huge": "[int]"}),
        ({"odd": Untold()}, {"odd": "[Untold]"}),
        ({"set": {1}, "tuple": (1, 2), "bytes": b"x"}, {"set": [1], "tuple": [1, 2], "bytes": "x"}),
        ("text", {"value": "text"}),
        ([1], {"value": [1]}),
    ],
)  # fmt: skip
def test_any_metadata_becomes_an_object_of_json(value: object, metadata: dict[str, object]) -> None:
    assert clean_metadata(value) == metadata


def test_metadata_is_bounded_in_depth_number_and_length() -> None:
    deep: dict[str, object] = {}
    deep["deep"] = deep
    wide = clean_metadata({"wide": list(range(100_000))})["wide"]

    assert len(json.dumps(clean_metadata(deep))) < 200
    assert isinstance(wide, list)
    assert len(wide) < 600
    assert len(str(clean_metadata({"long": "x" * 100_000})["long"])) == MAX_METADATA_TEXT


@given(ANYTHING)
def test_cleaned_metadata_can_always_be_written_as_json(value: object) -> None:
    written = json.dumps(clean_metadata(value), allow_nan=False, ensure_ascii=False)

    assert "\\u0000" not in written
    written.encode()
    assert clean_metadata(json.loads(written)) == json.loads(written)


def test_a_generator_is_not_content() -> None:
    def parts() -> Iterator[str]:
        yield "x"

    assert clean_text(parts(), max_chars=100).startswith("<generator object")
