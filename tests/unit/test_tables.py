"""One test that stands for a table of cases tries them all and tells of each that fails."""

from __future__ import annotations

import asyncio
import inspect

import pytest
from tests.support.tables import for_each


def test_every_case_that_fails_is_told_with_its_name_and_what_came_out() -> None:
    tried = []

    @for_each("one, other", [(1, 1), (2, 3), pytest.param(4, 5, id="apart"), (6, 6)])
    def same(one: int, other: int) -> None:
        tried.append(one)
        assert one == other, f"{one} is not {other}"

    with pytest.raises(AssertionError) as failed:
        same()

    assert tried == [1, 2, 4, 6]
    assert not inspect.signature(same).parameters
    for told in ("2 of 4 cases fail", "'other': 3", "2 is not 3", "apart", "4 is not 5"):
        assert told in str(failed.value)
    assert "is not 6" not in str(failed.value)


def test_a_table_over_a_table_tries_each_with_each_and_an_error_names_the_case() -> None:
    tried = []

    @for_each("one", [1, 2], ids=["first", "second"])
    @for_each("other", [0, 3], ids=str)
    async def divided(one: int, other: int) -> None:
        tried.append((one, other))
        assert one % (other or 1) == 0
        if one == 2:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as failed:
        asyncio.run(divided())

    assert tried == [(1, 0), (1, 3), (2, 0)]
    assert failed.value.__notes__ == ["with the case 0: {'other': 0}", "with the case second: {'one': 2}"]


def test_a_case_whose_expected_error_does_not_come_fails_like_any_other() -> None:
    @for_each("text", ["no", "1"])
    def refused(text: str) -> None:
        with pytest.raises(ValueError, match="invalid"):
            int(text)

    with pytest.raises(AssertionError, match=r"1 of 2 cases fail\n.*'1'.*\nDID NOT RAISE"):
        refused()
