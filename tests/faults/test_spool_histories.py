"""Random histories of a spool whose process dies between statements, whose disk fills and whose bytes flip.

A failure prints the history and the code that repeats it.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from contextlib import ExitStack, suppress
from copy import copy
from pathlib import Path
from typing import Any, cast

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from hermes_memory.adapters.spool.sqlite_spool import SqliteSpool
from hermes_memory.domain.errors import SpoolFull, StoreUnavailable
from hermes_memory.domain.model import OperationId
from hermes_memory.domain.operations import Operation
from hermes_memory.ports.spool import Kept, Spool
from hermes_memory.testing.making import PLENTY, add, record, said
from hermes_memory.testing.spool_machine import CALLERS, MAX_ROWS, Expected, SpoolMachine, chosen
from hermes_memory.testing.spool_suite import Clock
from tests.support.breakable import Killed, Plan, breakable
from tests.support.spool_process import DESTINATION

DATABASE = f"spool-{DESTINATION}.db"
INTAKE = f"spool-{DESTINATION}.intake"
STATEMENTS = 12
"""Statements and writes: more than most calls make, so that some are killed after their commit and some not at all."""

operations = st.builds(
    lambda caller, turn, size: record(said("x" * size), caller=caller) if turn else add("x" * size, caller),
    st.sampled_from(CALLERS),
    st.booleans(),
    st.sampled_from([1, 3_000, 9_000]),
)
calls = st.one_of(
    st.tuples(st.just("put_this"), st.fixed_dictionaries({"operation": operations})),
    st.tuples(st.just("done"), st.fixed_dictionaries({"first": chosen, "count": chosen})),
    st.tuples(
        st.just("postpone"),
        st.fixed_dictionaries({"first": chosen, "count": chosen, "seconds": st.integers(min_value=0, max_value=5)}),
    ),
    st.tuples(st.just("bury"), st.fixed_dictionaries({"index": chosen})),
    st.tuples(st.just("retry"), st.fixed_dictionaries({"index": chosen, "everything": st.booleans()})),
)


class Obedient:
    """Stands for the spool while only the model is to change."""

    def __init__(self, kept: list[Expected]) -> None:
        self._dead = {expected.operation.stamp.operation for expected in kept if expected.reason is not None}

    def put(self, operation: Operation) -> None: ...

    def done(self, some: list[OperationId]) -> None: ...

    def postpone(self, some: list[OperationId], seconds: float) -> None: ...

    def bury(self, operation: OperationId, reason: str) -> None: ...

    def retry_dead(self, some: list[OperationId] | None = None) -> int:
        return len(self._dead if some is None else self._dead & set(some))


class FaultySpoolMachine(SpoolMachine):
    """A spool that meets what a machine does to it."""

    def __init__(self) -> None:
        self.plan = Plan()
        self.breaking = ExitStack()
        self.breaking.enter_context(breakable(self.plan))
        self.lost: list[Path] = []
        super().__init__()

    def open_spool(self, directory: Path, now: Clock) -> Spool:
        return SqliteSpool(
            directory=directory / "spool", destination=DESTINATION, now=now, max_rows=MAX_ROWS, synchronous="NORMAL"
        )

    def teardown(self) -> None:
        self.plan.left, self.plan.room = None, True
        super().teardown()
        self.breaking.close()
        for directory in self.lost:
            shutil.rmtree(directory)

    @initialize(large=st.booleans())
    def begin_large(self, large: bool) -> None:
        """Begin with a file that spans pages, or with an empty one."""
        if large:
            for _ in range(4):
                self.put_this(add("x" * 5_000))

    def put_this(self, operation: Operation) -> None:
        """Put, and let a refusal for want of room on the disk pass to who took the room."""
        if self.plan.room:
            super().put_this(operation)
            return
        self.spool.put(operation)
        self.kept.append(Expected(operation))
        self.accepted += 1

    # -- death --------------------------------------------------------------------------------------------------------

    @rule(call=calls, statements=st.integers(min_value=0, max_value=STATEMENTS))
    def die_in(self, call: tuple[str, dict[str, Any]], statements: int) -> None:
        """Let the process die in a call: afterwards all of it has happened or nothing."""
        name, arguments = call
        before, accepted = self.model(), self.accepted
        self.plan.left = statements
        try:
            getattr(self, name)(**arguments)
        except Killed:
            pass
        else:
            before, accepted = self.model(), self.accepted
        self.begin_again_from_a_copy()
        self.kept, self.accepted = before, accepted
        if self.seen() != self.expected_kept():
            spool, self.spool = self.spool, cast("Spool", Obedient(self.kept))
            getattr(self, name)(**arguments)
            self.spool = spool
        assert self.seen() == self.expected_kept()

    @rule(operation=operations, statements=st.integers(min_value=1, max_value=5))
    def die_in_a_put(self, operation: Operation, statements: int) -> None:
        """Let the process die in the middle of the call that matters most."""
        self.die_in(("put_this", {"operation": operation}), statements)

    @rule(statements=st.integers(min_value=1, max_value=7))
    def die_after_a_delivery(self, statements: int) -> None:
        """Let the process die in the middle of forgetting all that was delivered."""
        self.die_in(("done", {"first": 0, "count": MAX_ROWS}), statements)

    @rule(some=st.lists(operations, min_size=1, max_size=3), steps=st.integers(min_value=0, max_value=16))
    def die_in_moving(self, some: list[Operation], steps: int) -> None:
        """Let the process die while it moves what it has accepted into the database: all of that is there, once."""
        for operation in some:
            self.put_this(operation)
        self.plan.left = steps
        with suppress(Killed):
            self.spool.status()
        self.begin_again_from_a_copy()

        assert self.seen() == self.expected_kept()

    @rule(statements=st.integers(min_value=0, max_value=40))
    def die_in_opening(self, statements: int) -> None:
        """Let the process die while it opens the file, or makes it."""
        self.spool.close()
        self.plan.left = statements
        with suppress(Killed):
            self.spool.status()
        self.begin_again_from_a_copy()

    def begin_again_from_a_copy(self) -> None:
        """Leave the dead process's files to it, and go on with what it left on the disk."""
        copied = Path(tempfile.mkdtemp(prefix="spool-machine-"))
        if (self.directory / "spool").exists():
            shutil.copytree(self.directory / "spool", copied / "spool")
        self.plan.left = None
        self.spool.close()
        self.lost.append(self.directory)
        self.directory = copied
        self.spool = self.open_spool(copied, self.clock)

    # -- a full disk --------------------------------------------------------------------------------------------------

    @rule(call=calls)
    def without_room(self, call: tuple[str, dict[str, Any]]) -> None:
        """Let a call meet a disk on which no file can grow: it is done or refused, and nothing else is touched."""
        name, arguments = call
        before, accepted = self.model(), self.accepted
        self.plan.room = False
        try:
            getattr(self, name)(**arguments)
        except (SpoolFull, StoreUnavailable):
            self.kept, self.accepted = before, accepted
        self.plan.room = True
        if name == "done":  # a batch is halved until its parts fit, and some may be forgotten
            present = {kept.id for kept in self.spool.kept(PLENTY)}
            self.kept = [expected for expected in self.kept if expected.operation.stamp.operation in present]
        assert self.seen() == self.expected_kept()

    # -- flipped bytes ------------------------------------------------------------------------------------------------

    @rule(place=st.floats(min_value=0, max_value=1, exclude_max=True), bit=st.integers(min_value=0, max_value=7))
    def flip(self, place: float, bit: int) -> None:
        """Flip a bit that means something: what is not what was written is never delivered, and its loss is told."""
        self.flip_one_of(lambda byte: byte != 0, place, bit)

    @rule(place=st.floats(min_value=0, max_value=1, exclude_max=True), bit=st.integers(min_value=0, max_value=4))
    def flip_in_a_text(self, place: float, bit: int) -> None:
        """Flip a bit that SQLite does not care about, and that leaves a body that can be read."""
        self.flip_one_of(lambda byte: byte == ord("x"), place, bit)

    @rule(some=st.lists(operations, min_size=1, max_size=3), place=st.floats(0, 1, exclude_max=True))
    def flip_before_it_is_moved(self, some: list[Operation], place: float) -> None:
        """Flip a bit of what was just accepted: that one is told of, and the others go on in their order."""
        for operation in some:
            self.put_this(operation)
        path = self.directory / "spool" / INTAKE
        content = bytearray(path.read_bytes())
        used = [offset for offset, byte in enumerate(content) if byte]
        if used:
            content[used[int(place * len(used))]] ^= 1
        path.write_bytes(content)
        kept = self.spool.kept(PLENTY)

        assert len(kept) == len(self.kept)
        assert sum(item.operation is None for item in kept) <= 1
        assert all(item.operation in (None, each.operation) for item, each in zip(kept, self.kept, strict=True))
        self.adopt()

    def flip_one_of(self, meant: Callable[[int], bool], place: float, bit: int) -> None:
        """Flip a bit of one of the bytes that are meant, if there is one."""
        self.spool.close()
        path = self.directory / "spool" / DATABASE
        content = bytearray(path.read_bytes())
        used = [offset for offset, byte in enumerate(content) if meant(byte)]
        if used:
            content[used[int(place * len(used))]] ^= 1 << bit
        path.write_bytes(content)
        self.spool = self.open_spool(self.directory, self.clock)
        waiting = [item.operation for item in self.spool.due(PLENTY)]
        self.check_what_is_left(waiting)
        self.adopt()

    def check_what_is_left(self, waiting: list[Operation]) -> None:
        """Compare with the model what a damaged file still gives."""
        written = {expected.operation.stamp.operation: expected for expected in self.kept}
        kept = {item.id: item for item in self.spool.kept(PLENTY)}
        readable = [item for item in kept.values() if item.operation is not None]
        status = self.spool.status()
        missing = [name for name in written if kept.get(name) is None]

        assert all(item.operation == written[item.id].operation for item in readable)
        assert [item.id for item in readable] == [name for name in written if name in {each.id for each in readable}]
        assert not missing or status.quarantined
        assert all(operation in [item.operation for item in readable] for operation in waiting)

    def adopt(self) -> None:
        """Take over what is left, without what cannot be read and with holds that no checksum guards set anew."""
        self.spool.discard([item.id for item in self.spool.kept(PLENTY) if item.operation is None])
        self.spool.postpone([item.id for item in self.spool.kept(PLENTY)], 0)
        self.kept = [_expected(item) for item in self.spool.kept(PLENTY)]
        self.accepted = self.spool.status().accepted

    # -- the model ----------------------------------------------------------------------------------------------------

    def model(self) -> list[Expected]:
        """Return the model as it is now."""
        return [copy(expected) for expected in self.kept]

    def seen(self) -> list[tuple[OperationId, int, str | None]]:
        """Return what the spool keeps."""
        return [(item.id, item.attempts, item.reason) for item in self.spool.kept(PLENTY)]

    def expected_kept(self) -> list[tuple[OperationId, int, str | None]]:
        """Return what the model keeps."""
        return [(each.operation.stamp.operation, each.attempts, each.reason) for each in self.kept]


def _expected(item: Kept) -> Expected:
    assert item.operation is not None
    return Expected(item.operation, attempts=item.attempts, reason=item.reason)


TestFaultySpoolHistories = FaultySpoolMachine.TestCase
TestFaultySpoolHistories.settings = settings(
    max_examples=30,
    stateful_step_count=25,
    deadline=None,
    # A history is told as it was found: to shorten one takes minutes, and the guard against hanging ends it first.
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
