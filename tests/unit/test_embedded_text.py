from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_memory.domain.chunks import ChunkPolicy, chunks, tokens
from hermes_memory.domain.embedded_text import CONTEXT_TOKENS, embedded_parts

SHORT = ChunkPolicy(tokens=16, overlap=0)


def test_a_text_without_context_is_embedded_as_it_is() -> None:
    assert embedded_parts("On Friday.", ChunkPolicy()) == ("On Friday.",)
    assert embedded_parts("On Friday.", ChunkPolicy(), " \n ") == ("On Friday.",)


def test_context_stands_before_the_first_part_alone() -> None:
    text = "A sentence of some length. " * 6
    policy = ChunkPolicy(tokens=16, overlap=0, context=CONTEXT_TOKENS)

    parts = embedded_parts(text, policy, "Why?")

    assert len(parts) > 1
    assert parts == ("Why?\n" + chunks(text, policy)[0], *chunks(text, policy)[1:])


def test_where_a_part_has_no_room_left_there_is_no_context() -> None:
    full = "x" * 4 * 16

    assert embedded_parts(full, SHORT, "And what did the other one say?") == (full,)


@pytest.mark.parametrize(("context", "end"), [("word " * 100 + "launch?", "launch?"), ("月" * 500 + "日", "日")])
def test_of_a_long_context_the_end_counts(context: str, end: str) -> None:
    (part,) = embedded_parts("On Friday.", ChunkPolicy(), context)

    before = part.removesuffix("\nOn Friday.")
    assert before.endswith(end)
    assert 0 < tokens(before) <= CONTEXT_TOKENS


@given(st.text(min_size=1, max_size=400), st.text(max_size=400), st.integers(0, 60))
def test_no_part_is_longer_than_the_policy_says(text: str, context: str, extra: int) -> None:
    policy = ChunkPolicy(tokens=16, overlap=4, context=extra)

    parts = embedded_parts(text, policy, context)

    assert all(tokens(part) <= policy.tokens + extra for part in parts)
    assert parts[0].endswith(chunks(text, policy)[0])
