"""The measure of growth that other tests rely on tells a square from a line."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.support.growth import grows_linearly


def steps(count: int) -> Callable[[], object]:
    return lambda: sum(1 for _ in range(count))


@pytest.mark.parametrize(
    ("work", "linear"),
    [(lambda size: steps(size * 1_000), True), (lambda size: steps(size * size), False)],
    ids=["line", "square"],
)
def test_a_square_is_told_from_a_line(work: Callable[[int], Callable[[], object]], linear: bool) -> None:
    assert grows_linearly(work, largest=1_600) is linear
