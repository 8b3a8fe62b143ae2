"""How a vector search is made depends on sizes alone."""

from __future__ import annotations

import pytest

from hermes_memory.adapters.postgres.vector_plan import EXACT_ROWS, WIDEST, Sizes, Walk, walk
from hermes_memory.domain.model import (
    AllScope,
    CurrentScope,
    Scope,
    SessionId,
    SessionScope,
    SubjectScope,
    Theme,
    ThemeScope,
)

LIMIT = 100


def sizes(rows: int, *, crowd: int = 0, partitions: int = 32, everybody: bool = True) -> Sizes:
    return Sizes(rows=rows, crowd=crowd or rows, partitions=partitions, everybody=everybody)


@pytest.mark.parametrize("scope", [CurrentScope(), ThemeScope(theme=Theme("a")), AllScope()])
def test_every_distance_is_computed_in_a_small_space(scope: Scope) -> None:
    assert walk(scope, sizes(EXACT_ROWS, crowd=1_000_000), LIMIT) is None


@pytest.mark.parametrize("scope", [SubjectScope(), SessionScope(session=SessionId("s"))])
def test_every_distance_is_computed_of_what_is_a_small_part_of_every_partition(scope: Scope) -> None:
    assert walk(scope, sizes(300_000, crowd=1_000_000), LIMIT) is None


def test_a_big_theme_is_walked_and_a_bigger_one_on_a_wider_front() -> None:
    big, bigger = walk(CurrentScope(), sizes(20_000), LIMIT), walk(CurrentScope(), sizes(400_000), LIMIT)

    assert bigger == Walk(width=WIDEST, goes_on=True)
    assert big is not None
    assert LIMIT < big.width < WIDEST


def test_a_theme_lost_in_a_crowd_is_not_walked_to() -> None:
    assert walk(CurrentScope(), sizes(10_000, crowd=15_000), LIMIT) is not None
    assert walk(CurrentScope(), sizes(10_000, crowd=400_000), LIMIT) is None
    assert walk(CurrentScope(), sizes(10_000, crowd=400_000), LIMIT, exact_rows=0) is not None


def test_a_crowd_that_was_not_counted_yet_is_at_least_the_theme_itself() -> None:
    grown = Sizes(rows=10_000, crowd=0, partitions=32, everybody=True)

    assert walk(CurrentScope(), grown, LIMIT) == walk(CurrentScope(), sizes(10_000), LIMIT)


def test_all_open_themes_are_walked_once_in_each_partition_with_less_width_the_more_there_are() -> None:
    widths = [walk(AllScope(), sizes(1_000_000, partitions=count), LIMIT) for count in (1, 8, 32, 256)]

    assert widths == [Walk(width=width, goes_on=False) for width in (400, 400, 100, 100)]


def test_among_themes_that_few_may_read_the_walk_goes_on_to_those() -> None:
    granted = sizes(200_000, everybody=False)

    assert walk(AllScope(), sizes(20_000, everybody=False), LIMIT) is None
    assert walk(AllScope(), granted, LIMIT) == Walk(width=100, goes_on=True)


def test_the_settings_of_a_walk_keep_the_planner_in_the_graph() -> None:
    assert Walk(width=400, goes_on=True).settings == (
        "hnsw.iterative_scan = relaxed_order",
        "hnsw.ef_search = 400",
        "enable_sort = off",
        "plan_cache_mode = force_custom_plan",
    )
