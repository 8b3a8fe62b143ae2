"""A spool against a plain list: random histories must leave both with the same answers."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from hermes_memory.domain.errors import SpoolFull
from hermes_memory.domain.model import Caller, SessionId, Theme
from hermes_memory.domain.operations import Operation, lane_of
from hermes_memory.ports.spool import Spool
from hermes_memory.testing.making import PLENTY, add, record, said
from hermes_memory.testing.spool_suite import Clock

MAX_ROWS = 8
"""What the machine allows a spool, so that it is full now and then."""
CALLERS = [Caller(theme=Theme(theme), session=SessionId("s")) for theme in ("marketing", "sales")]

chosen = st.integers(min_value=0, max_value=MAX_ROWS)


@dataclass(slots=True)
class Expected:
    """An operation as the model has it."""

    operation: Operation
    attempts: int = 0
    not_before: float = 0.0
    reason: str | None = None


class SpoolMachine(RuleBasedStateMachine):
    """Puts, takes, fails and reopens at random. A subclass says how to open a spool with `MAX_ROWS` rows at most."""

    def open_spool(self, directory: Path, now: Clock) -> Spool:
        """Open the spool below `directory`: the same one again when it was closed before."""
        raise NotImplementedError

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp(prefix="spool-machine-"))
        self.clock = Clock()
        self.spool = self.open_spool(self.directory, self.clock)
        self.kept: list[Expected] = []
        self.accepted = 0

    def teardown(self) -> None:
        """Leave nothing behind."""
        self.spool.close()
        shutil.rmtree(self.directory)

    @rule(caller=st.sampled_from(CALLERS), turn=st.booleans())
    def put(self, caller: Caller, turn: bool) -> None:
        """Put an operation, or be refused."""
        self.put_this(record(said("hello"), caller=caller) if turn else add("a note", caller))

    def put_this(self, operation: Operation) -> None:
        """Put this operation, or be refused."""
        try:
            self.spool.put(operation)
        except SpoolFull:
            assert len(self.kept) == MAX_ROWS
            return
        self.kept.append(Expected(operation))
        self.accepted += 1

    @rule(index=chosen)
    def put_again(self, index: int) -> None:
        """Put one that is known."""
        for expected in self.kept[index : index + 1]:
            self.spool.put(expected.operation)

    @rule(first=chosen, count=chosen)
    def done(self, first: int, count: int) -> None:
        """Have some delivered, or unknown to the spool because they are dead."""
        some = self.kept[first : first + count]
        self.spool.done([expected.operation.stamp.operation for expected in some])
        self.kept = [expected for expected in self.kept if expected.reason is not None or expected not in some]

    @rule(first=chosen, count=chosen, seconds=st.integers(min_value=0, max_value=5))
    def postpone(self, first: int, count: int, seconds: int) -> None:
        """Have some fail for now."""
        some = self.kept[first : first + count]
        self.spool.postpone([expected.operation.stamp.operation for expected in some], seconds)
        for expected in some:
            if expected.reason is None:
                expected.attempts += 1
                expected.not_before = self.clock() + seconds

    @rule(index=chosen)
    def bury(self, index: int) -> None:
        """Have one fail for good."""
        for expected in self.kept[index : index + 1]:
            self.spool.bury(expected.operation.stamp.operation, f"reason {index}")
            expected.reason = expected.reason or f"reason {index}"

    @rule(index=chosen, everything=st.booleans())
    def retry(self, index: int, everything: bool) -> None:
        """Bring dead ones back."""
        some = self.kept if everything else self.kept[index : index + 1]
        dead = [expected for expected in some if expected.reason is not None]

        retried = self.spool.retry_dead(None if everything else [e.operation.stamp.operation for e in some])

        assert retried == len(dead)
        for expected in dead:
            expected.reason, expected.attempts, expected.not_before = None, 0, 0.0

    @rule(seconds=st.integers(min_value=0, max_value=4))
    def wait(self, seconds: int) -> None:
        """Let time pass."""
        self.clock.move(seconds)

    @rule()
    def reopen(self) -> None:
        """Close the spool and open it again."""
        self.spool.close()
        self.spool = self.open_spool(self.directory, self.clock)

    @rule(limit=st.integers(min_value=0, max_value=MAX_ROWS))
    def take(self, limit: int) -> None:
        """Ask for fewer than there may be."""
        assert self.due(limit) == self.expected_due()[:limit]

    @invariant()
    def the_same_is_due(self) -> None:
        """What is due is a prefix of every lane, by age."""
        assert self.due(PLENTY) == self.expected_due()

    @invariant()
    def the_same_is_counted(self) -> None:
        """The counters agree with what is kept."""
        dead = [expected for expected in self.kept if expected.reason is not None]
        status = self.spool.status()

        assert (status.depth, status.dead) == (len(self.kept) - len(dead), len(dead))
        assert status.accepted == self.spool.last_sequence() == self.accepted
        assert self.spool.pending_before() == status.depth
        assert {letter.id: letter.reason for letter in self.spool.dead()} == {
            expected.operation.stamp.operation: expected.reason for expected in dead
        }

    def due(self, limit: int) -> list[tuple[Operation, int]]:
        """Return what the spool has due, with the attempts."""
        return [(item.operation, item.attempts) for item in self.spool.due(limit)]

    def expected_due(self) -> list[tuple[Operation, int]]:
        """Return what the model has due."""
        held: set[str] = set()
        ready: list[tuple[Operation, int]] = []
        for expected in self.kept:
            lane = lane_of(expected.operation)
            if expected.reason is not None or lane in held:
                continue
            if expected.not_before > self.clock():
                held.add(lane)
                continue
            ready.append((expected.operation, expected.attempts))
        return ready
