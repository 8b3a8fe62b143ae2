from __future__ import annotations

import time

import pytest

from hermes_memory.domain.asking import only_asks


@pytest.mark.parametrize(
    "text",
    [
        "Why?",
        "And the orders that hang?",
        "Good. How long do we keep the nightly backups?",
        "¿Y qué trabajos dejan más?",
        "А если отдать перевозчику? Успеет?",
        "能不能只改固件？",
        "هل انتهى العمل؟",
        "What did it say? And when?\n",
    ],
)
def test_a_text_of_questions_only_asks(text: str) -> None:
    assert only_asks(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "On Friday.",
        "The build failed because of a deadlock with the vacuum. Shall I try again?",
        "GET /orders?id=7",
        "Is it Friday? Yes, it is Friday.",
        "好，那就永盛，先做两千个，打样这个星期五寄出。行吗？",
        "word " * 200 + "?",
    ],
)
def test_a_text_that_states_something_does_not_only_ask(text: str) -> None:
    assert not only_asks(text)


@pytest.mark.parametrize("text", ["?" * 100_000, "a?" * 50_000, "." * 100_000 + "?", " " * 100_000 + "?"])
def test_a_hostile_text_is_judged_at_once(text: str) -> None:
    started = time.thread_time()
    only_asks(text)
    cost = time.thread_time() - started

    assert cost < 1.0
