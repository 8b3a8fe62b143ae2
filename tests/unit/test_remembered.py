from __future__ import annotations

from hermes_memory.domain.remembered import LONGEST_KEPT, TEXTS_KEPT, remembered


def test_a_text_is_read_once_and_a_long_one_each_time() -> None:
    read: list[str] = []
    reading = remembered(lambda text: read.append(text) or len(text))
    short, long = "a" * LONGEST_KEPT, "a" * (LONGEST_KEPT + 1)

    lengths = [reading(text) for text in (short, short, long, long)]

    assert lengths == [LONGEST_KEPT, LONGEST_KEPT, LONGEST_KEPT + 1, LONGEST_KEPT + 1]
    assert read == [short, long, long]


def test_the_text_that_was_not_met_for_longest_makes_room() -> None:
    read: list[str] = []
    reading = remembered(lambda text: read.append(text) or text)

    for number in range(TEXTS_KEPT + 1):
        reading(str(number))
    reading("1")
    reading("0")

    assert len(read) == TEXTS_KEPT + 2
    assert read[-1] == "0"
