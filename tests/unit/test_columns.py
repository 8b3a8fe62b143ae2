"""Rows as columns: in parts that are small, made one at a time, and leave nothing out."""

from __future__ import annotations

from collections.abc import Iterator

from tests.support.tables import for_each

from hermes_memory.adapters.postgres.pacing import VALUES_A_STATEMENT
from hermes_memory.adapters.postgres.rows import columns_in_parts


@for_each("count", [0, 1, 249, 250, 251, 1_001])
def test_every_row_is_in_one_part_in_its_order(count: int) -> None:
    rows = [(number, "a", None, b"") for number in range(count)]
    parts = list(columns_in_parts(rows))

    assert [row for part in parts for row in zip(*part, strict=True)] == rows
    assert all(len(part) * len(part[0]) <= VALUES_A_STATEMENT for part in parts)


def test_rows_are_made_when_their_part_is_wanted() -> None:
    made: list[int] = []

    def rows() -> Iterator[tuple[int, int]]:
        for number in range(10_000):
            made.append(number)
            yield number, number

    parts = columns_in_parts(rows())
    next(parts)

    assert len(made) == VALUES_A_STATEMENT // 2


def test_a_row_wider_than_a_part_is_a_part_of_its_own() -> None:
    wide = tuple(range(VALUES_A_STATEMENT + 1))

    assert [len(part[0]) for part in columns_in_parts([wide, wide])] == [1, 1]
