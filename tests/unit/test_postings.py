from __future__ import annotations

import struct
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.tables import for_each

from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.postings import (
    BLOCK_POSTINGS,
    MAX_FREQUENCY,
    MAX_LENGTH,
    STATISTICS_LEXEME,
    Block,
    BlockBuilder,
    Document,
    document,
    impact,
    lexeme_key,
    pack,
    postings,
    unpack,
)

sessions = st.integers(0, 2**31 - 1)
positions = st.integers(0, 2**16 - 1)
keys = st.builds(lexeme_key, sessions, positions)


def blocks_of(documents: Iterable[Document]) -> list[Block]:
    builder = BlockBuilder()
    for each in documents:
        builder.add(each)
    return list(builder.blocks())


@given(sessions, positions)
def test_a_key_gives_back_its_session_and_position(session: int, position: int) -> None:
    key = lexeme_key(session, position)

    assert (key >> 16, key & 65_535) == (session, position)


@given(keys, st.integers(1, MAX_FREQUENCY), st.integers(0, MAX_LENGTH))
def test_a_packed_posting_gives_back_what_was_put_in(key: int, frequency: int, length: int) -> None:
    posting = unpack(pack(key, frequency, length))

    assert (posting.key, posting.frequency, posting.length) == (key, frequency, length)


@given(keys, st.integers(1, 10**9), st.integers(0, 10**9))
def test_a_packed_posting_fits_a_signed_bigint_and_caps_what_does_not_fit(
    key: int, frequency: int, length: int
) -> None:
    packed = pack(key, frequency, length)

    assert 0 < packed < 2**63
    assert unpack(packed).frequency == min(frequency, 15)
    assert unpack(packed).length == min(length, 4_095)


def test_the_layout_is_the_one_the_statements_take_apart() -> None:
    packed = pack(lexeme_key(7, 3), 2, 30)

    assert packed == 7 << 32 | 3 << 16 | 2 << 12 | 30
    assert packed >> 16 == lexeme_key(7, 3)
    assert (packed >> 12) & 15 == 2
    assert packed & 4095 == 30


def test_the_order_of_keys_is_the_order_of_sessions_and_then_of_positions() -> None:
    assert lexeme_key(1, 65_535) < lexeme_key(2, 0) < lexeme_key(2, 1)


@for_each(("session", "position"), [(-1, 0), (2**31, 0), (0, -1), (0, 2**16)])
def test_a_key_out_of_range_is_refused(session: int, position: int) -> None:
    with pytest.raises(InvalidInput):
        lexeme_key(session, position)


@for_each(("key", "frequency", "length"), [(-1, 1, 1), (2**47, 1, 1), (1, 0, 1), (1, 1, -1)])
def test_a_posting_out_of_range_is_refused(key: int, frequency: int, length: int) -> None:
    with pytest.raises(InvalidInput):
        pack(key, frequency, length)


@pytest.mark.parametrize("packed", [-1, 2**63, 7 << 32 | 30])
def test_a_number_that_is_no_posting_is_refused(packed: int) -> None:
    with pytest.raises(InvalidInput):
        unpack(packed)


def test_impact_follows_its_formula() -> None:
    assert impact(1, 30) == pytest.approx(1.9 / (1 + 0.54 + 0.36), rel=1e-6)
    assert impact(3, 10) == pytest.approx(3 * 1.9 / (3 + 0.54 + 0.12), rel=1e-6)


@given(st.integers(1, 100), st.integers(0, 10_000))
def test_impact_is_exact_as_a_four_byte_float(frequency: int, length: int) -> None:
    value = impact(frequency, length)

    assert struct.unpack("f", struct.pack("f", value))[0] == value
    assert 0 < value < 1.9


def test_a_batch_becomes_blocks_by_lexeme_with_the_best_posting_first() -> None:
    short = document(lexeme_key(1, 0), ["launch", "launch", "may"])
    long = document(lexeme_key(1, 1), ["launch", *("word" for _ in range(50))])

    blocks = {block.lexeme: block for block in blocks_of([long, short])}

    assert list(blocks) == [STATISTICS_LEXEME, "launch", "may", "word"]
    assert blocks["launch"].packed == (pack(short.key, 2, 3), pack(long.key, 1, 51))
    assert blocks["launch"].hi == impact(2, 3)
    assert blocks["word"].packed == (pack(long.key, 50, 51),)


def test_the_statistics_block_counts_documents_and_sums_their_capped_lengths() -> None:
    first = Document(key=1, counts={"a": 1}, length=10)
    second = Document(key=2, counts={"a": 1}, length=9_000)

    statistics = blocks_of([first, second])[0]

    assert (statistics.lexeme, statistics.hi, statistics.count) == ("", 0.0, 2)
    assert statistics.packed == (10 + 4_095,)


def test_a_document_without_lexemes_still_counts_as_a_document() -> None:
    blocks = blocks_of([document(5, [])])

    assert [(block.lexeme, block.count, block.packed) for block in blocks] == [("", 1, (0,))]


def test_a_common_lexeme_fills_several_blocks_in_falling_order() -> None:
    documents = [Document(key=key, counts={"common": 1 + key % 5}, length=key % 40) for key in range(600)]

    blocks = [block for block in blocks_of(documents) if block.lexeme == "common"]
    impacts = [impact(unpack(value).frequency, unpack(value).length) for block in blocks for value in block.packed]

    assert [block.count for block in blocks] == [BLOCK_POSTINGS, BLOCK_POSTINGS, 120]
    assert impacts == sorted(impacts, reverse=True)
    assert [block.hi for block in blocks] == [impacts[0], impacts[240], impacts[480]]


@given(st.dictionaries(keys, st.lists(st.sampled_from(["a", "b", "c"]), max_size=20), max_size=20))
def test_blocks_hold_every_posting_once_whatever_the_order_of_the_batch(batch: dict[int, list[str]]) -> None:
    documents = [document(key, lexemes) for key, lexemes in batch.items()]

    blocks = blocks_of(documents)
    held = sorted((block.lexeme, value) for block in blocks if block.lexeme for value in block.packed)

    assert held == sorted(pair for each in documents for pair in postings(each).items())
    assert blocks == blocks_of(reversed(documents))


def test_nothing_makes_no_block() -> None:
    assert blocks_of([]) == []


def test_a_batch_with_the_same_key_twice_is_refused() -> None:
    with pytest.raises(InvalidInput):
        blocks_of([document(1, ["a"]), document(1, ["b"])])


def test_an_empty_lexeme_is_refused_because_it_names_the_statistics() -> None:
    with pytest.raises(InvalidInput):
        blocks_of([document(1, ["a", ""])])
