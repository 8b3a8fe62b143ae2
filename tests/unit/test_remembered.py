from __future__ import annotations

from hermes_memory.domain.remembered import LONGEST_KEPT, TEXTS_KEPT, remembered


class Reader:
    """Reads how long a text is, and notes which texts it read."""

    def __init__(self) -> None:
        self.read: list[str] = []

    def __call__(self, text: str) -> int:
        self.read.append(text)
        return len(text)


def test_a_text_is_read_once_and_a_long_one_each_time() -> None:
    reader = Reader()
    reading = remembered(reader)
    short, long = "a" * LONGEST_KEPT, "a" * (LONGEST_KEPT + 1)

    lengths = [reading(text) for text in (short, short, long, long)]

    assert lengths == [LONGEST_KEPT, LONGEST_KEPT, LONGEST_KEPT + 1, LONGEST_KEPT + 1]
    assert reader.read == [short, long, long]


def test_the_text_that_was_not_met_for_longest_makes_room() -> None:
    reader = Reader()
    reading = remembered(reader)

    for number in range(TEXTS_KEPT + 1):
        reading(str(number))
    reading("1")
    reading("0")

    assert len(reader.read) == TEXTS_KEPT + 2
    assert reader.read[-1] == "0"
