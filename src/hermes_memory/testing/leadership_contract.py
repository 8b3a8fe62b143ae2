"""Contract of `Leadership`: one leads, and everybody can tell who."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_memory.ports.spool import Leadership


class LeadershipContract(ABC):
    """What every `Leadership` keeps. A subclass says how to make contenders for one seat."""

    @abstractmethod
    def make_contenders(self, directory: Path) -> tuple[Leadership, Leadership]:
        """Make two that contend for the same seat; files, if any, lie below `directory`."""

    @pytest.fixture
    def contenders(self, tmp_path: Path) -> Iterator[tuple[Leadership, Leadership]]:
        """Make two contenders and take the seat back from them."""
        pair = self.make_contenders(tmp_path / "seat")
        yield pair
        for contender in pair:
            contender.release()

    def test_one_leads_and_the_other_does_not(self, contenders: tuple[Leadership, Leadership]) -> None:
        first, second = contenders

        assert first.try_acquire()
        assert not second.try_acquire()

    def test_a_leader_may_ask_again(self, contenders: tuple[Leadership, Leadership]) -> None:
        first, second = contenders
        first.try_acquire()

        assert first.try_acquire()
        assert not second.try_acquire()

    def test_a_released_seat_is_free(self, contenders: tuple[Leadership, Leadership]) -> None:
        first, second = contenders
        first.try_acquire()
        first.release()

        assert second.try_acquire()
        assert not first.try_acquire()

    def test_one_that_does_not_lead_releases_nothing(self, contenders: tuple[Leadership, Leadership]) -> None:
        first, second = contenders
        first.try_acquire()
        second.release()
        second.release()

        assert not second.try_acquire()
        assert first.try_acquire()

    def test_everybody_can_tell_who_leads(self, contenders: tuple[Leadership, Leadership]) -> None:
        first, second = contenders
        before = [first.leader(), second.leader()]
        first.try_acquire()
        while_led = [first.leader(), second.leader()]
        first.release()

        assert before == [None, None]
        assert while_led == [os.getpid(), os.getpid()]
        assert [first.leader(), second.leader()] == [None, None]

    def test_asking_who_leads_takes_no_seat(self, contenders: tuple[Leadership, Leadership]) -> None:
        first, second = contenders
        first.try_acquire()
        second.leader()
        first.release()
        second.leader()

        assert first.try_acquire()
