"""Whatever is asked of a view over random worlds, what comes back is what the rule allows: rows in this process."""

from __future__ import annotations

from pathlib import Path

from hypothesis import Phase, given, settings
from tests.support.entry_points import (
    answers_are_as_the_rule_has_them,
    changes_reach_ones_own_alone,
    prompts_are_as_the_rule_has_them,
)
from tests.support.inprocess import GUARD, InProcess
from tests.support.inprocess_runtime import InProcessRuntime, eventually

from hermes_memory.adapters.inmemory import InMemoryStore
from hermes_memory.domain.model import ReadPolicy, RowId, Subject, Theme
from hermes_memory.testing import StoreUnderTest
from hermes_memory.testing.worlds import Setting, World, worlds

_examples = settings(max_examples=8, derandomize=True, deadline=None, phases=[Phase.generate])


def _under_test(store: InMemoryStore, parts: InProcess) -> StoreUnderTest:
    async def set_policy(policy: ReadPolicy) -> None:
        store.set_policy(policy)

    async def grant(reader: Theme | Subject, source: Theme, **options: object) -> None:
        store.grant(reader, source)

    async def merge(*subjects: Subject) -> None:
        store.merge(*subjects)

    async def erase_turn(row: RowId) -> None:
        store.erase_turn(row)

    async def pass_time(seconds: float) -> None:
        raise AssertionError("no world needs it")

    return StoreUnderTest(
        delivery=store.delivery,
        search=store.search,
        reader=store.reader,
        queue=store.queue,
        people=store.people,
        inspector=store.inspector,
        analyze=parts.analyzer.analyze,
        set_policy=set_policy,
        grant=grant,
        merge=merge,
        erase_turn=erase_turn,
        pass_time=pass_time,
    )


@_examples
@given(world=worlds)
async def test_every_entry_point_of_the_library_shows_what_the_rule_allows(world: World) -> None:
    parts = InProcess()
    setting = Setting(_under_test(parts.store, parts), world)
    await setting.build()
    async with parts.running() as memory:
        for asking in world.callers:
            await answers_are_as_the_rule_has_them(memory, setting, setting.caller(asking))
        await changes_reach_ones_own_alone(memory, setting, setting.caller(world.callers[0]))


def test_what_is_put_before_a_turn_unasked_is_what_the_rule_allows(home: Path) -> None:
    runtime = InProcessRuntime(home)
    eventually(lambda: runtime.loop.memory)

    @_examples
    @given(world=worlds)
    def tried(world: World) -> None:
        setting = Setting(_under_test(runtime.parts.store, runtime.parts), world)
        runtime.call(lambda _: setting.build(), timeout=GUARD)
        prompts_are_as_the_rule_has_them(runtime, setting, [setting.caller(asking) for asking in world.callers])

    tried()
    runtime.close(timeout=GUARD)
