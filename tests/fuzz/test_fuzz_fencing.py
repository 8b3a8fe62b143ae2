"""Fuzz target: whatever is stored, what is shown of it stays one block of quotations, and is not taken in again."""

from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from hermes_memory.domain.budget import estimate_tokens
from hermes_memory.domain.cleaning import clean_text
from hermes_memory.domain.fences import BLOCK_TAG, HEADING
from hermes_memory.domain.instructions import looks_like_instruction
from hermes_memory.domain.model import Caller, Origin, Role, Row, SessionId, Theme
from hermes_memory.domain.neutralising import defuse, neutralise
from hermes_memory.domain.rendering import hit_payload, render_block
from hermes_memory.hermes.tool_json import result_json
from tests.fuzz.effort import fuzz
from tests.fuzz.texts import texts
from tests.support.poison import NONCE
from tests.support.ranking_rows import entry, hit, turn
from tests.unit.test_poison import BREAKS_OUT, as_seen

READER = Caller(theme=Theme("marketing"))
_names = texts.map(lambda text: text[:200])


def _entry(content: str, name: str, origin: Origin, own: bool) -> Row:
    row = entry(1, content, theme="marketing" if own else name[:128] or "sales")
    return replace(row, origin=origin, tool=name, session=SessionId(name), metadata={name: [name, {name: content}]})


def _turn(content: str, name: str, origin: Origin, role: Role) -> Row:
    return replace(turn(2, content, speaker=name, role=role), origin=origin, session=SessionId(name))


rows = st.builds(_entry, texts, _names, st.sampled_from(Origin), st.booleans()) | st.builds(
    _turn, texts, _names, st.sampled_from(Origin), st.sampled_from(Role)
)


@fuzz
@given(st.lists(rows, max_size=5), st.integers(0, 600))
def test_a_block_is_one_block_within_its_budget(shown: list[Row], budget: int) -> None:
    block = render_block([hit(row) for row in shown], caller=READER, token_budget=budget, nonce=NONCE)

    assert estimate_tokens(block) <= budget
    if block:
        top, heading, *lines, bottom = block.split("\n")
        assert (top, heading) == (f'<{BLOCK_TAG} id="{NONCE}">', HEADING)
        assert bottom == f'</{BLOCK_TAG} id="{NONCE}">'
        assert 1 <= len(lines) <= len(shown)
        for line in lines:
            assert line.startswith("- 2024-06-01")
            assert (line.count("“"), line.count("”"), line[-1]) == (1, 1, "”")
            assert not BREAKS_OUT.search(as_seen(line))
            assert len(line.splitlines()) == 1


@fuzz
@given(st.lists(rows, min_size=1, max_size=4), st.integers(200, 2_000), texts)
def test_what_was_shown_is_not_taken_in_again(shown: list[Row], budget: int, said: str) -> None:
    block = render_block([hit(row) for row in shown], caller=READER, token_budget=budget, nonce=NONCE)
    lines = block.split("\n")[2:-1]

    assert clean_text(block, max_chars=10**6) == ""
    assert clean_text("\n".join(lines), max_chars=10**6) == ""
    assert not any(line in clean_text(f"{said}\n{line}", max_chars=10**6) for line in lines)


@fuzz
@given(texts, st.integers(16, 400))
def test_cleaning_again_changes_nothing(text: str, bound: int) -> None:
    once = clean_text(text, max_chars=bound)

    assert clean_text(once, max_chars=bound) == once
    assert len(once) <= bound


@fuzz
@given(texts)
def test_what_is_harmless_stays_as_it_is(text: str) -> None:
    for harmless in (neutralise(text), defuse(text)):
        assert not BREAKS_OUT.search(as_seen(harmless))
    assert neutralise(neutralise(text)) == neutralise(text)
    assert defuse(defuse(text)) == defuse(text)
    assert isinstance(looks_like_instruction(text), bool)


@fuzz
@given(rows)
def test_an_answer_is_one_strict_json_object(row: Row) -> None:
    answer = result_json(hits=[hit_payload(hit(row), caller=READER)])

    answer.encode("utf-8")
    assert list(json.loads(answer)) == ["hits"]
    assert len(answer.splitlines()) == 1
