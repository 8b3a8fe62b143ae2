"""Random worlds in Postgres: the library, the provider's tools and the wall alone each show what the rule allows."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from functools import partial
from typing import Any

import asyncpg
import pytest_asyncio
from hypothesis import HealthCheck, Phase, given, settings

from hermes_memory.application.memory import Memory
from hermes_memory.domain.model import AllScope, Caller, CurrentScope, Kind, Scope, ThemeScope
from hermes_memory.domain.visibility import changeable
from hermes_memory.hermes.sessions import Binding
from hermes_memory.hermes.tool_calls import ToolCalls
from hermes_memory.testing.worlds import Setting, World, worlds
from tests.support.agents import Agent
from tests.support.entry_points import answers_are_as_the_rule_has_them, changes_reach_ones_own_alone, scope_names
from tests.support.postgres import TestServer
from tests.support.postgres_store import Installation, migrated
from tests.support.wall_recipe import Context, acting

SECONDS = 250.0
_examples = settings(
    max_examples=3,
    derandomize=True,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def template(server: TestServer) -> AsyncIterator[Installation]:
    """A database for the small vectors of the worlds."""
    async with migrated(server) as installation:
        yield installation


async def _built(database: Installation, world: World) -> Setting:
    async with database.under_test() as store:
        setting = Setting(store, world)
        await setting.build()
        return setting


async def _behind_the_wall_alone(database: Installation, setting: Setting, caller: Caller) -> set[Any]:
    """Read everything without a condition, as the runtime role on the caller's behalf."""
    connection = await asyncpg.connect(database.runtime_dsn)
    try:
        async with acting(connection, Context(caller.theme, caller.subject)):
            found = await connection.fetch("select id from hermes_memory.memory_rows")
    finally:
        await connection.close()
    return {record["id"] for record in found} & {row.id for row in setting.rows}


class _Tools:
    """The provider's tools as the model of one caller has them."""

    def __init__(self, agent: Agent, caller: Caller) -> None:
        self._calls = ToolCalls(agent.runtime)
        self._binding = Binding(caller=caller, files_caller=caller, writes=True, visible_since=datetime.now(UTC))

    def __call__(self, name: str, **arguments: object) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(self._calls.answer(self._binding, name, arguments))
        return answer


def _named(setting: Setting, caller: Caller) -> list[tuple[str, Scope]]:
    session = [("session", scope) for scope in setting.scopes() if getattr(scope, "session", "") == caller.session]
    return [("current", CurrentScope()), ("all", AllScope()), *session, *scope_names(setting, caller)]


def _tools_obey(tools: _Tools, setting: Setting, caller: Caller) -> None:
    for name, scope in _named(setting, caller):
        for tool, kind in (("recall_memory", Kind.ENTRY), ("recall_conversation", Kind.TURN)):
            answer = tools(tool, query=setting.word, scope=name, limit=50)
            expected = {str(row.id) for row in setting.seen(caller, scope) if row.kind is kind}
            own = {
                str(row.id)
                for row in setting.rows
                if str(row.id) in expected and changeable(row.caller.theme, row.caller.subject, caller)
            }

            assert {hit["id"] for hit in answer["hits"]} == expected, (caller, scope)
            assert (answer["count"], answer["left_out"]) == (len(expected), 0)
            assert {hit["id"] for hit in answer["hits"] if hit["own"]} == own
    listed = {entry["id"] for entry in tools("memory_profile", limit=50)["entries"]}
    current = {str(row.id) for row in setting.seen(caller, CurrentScope()) if row.kind is Kind.ENTRY}
    assert listed & {str(row.id) for row in setting.rows} == current


async def _asked(setting: Setting, caller: Caller, memory: Memory) -> None:
    await answers_are_as_the_rule_has_them(memory, setting, caller)


def _closed_doors(tools: _Tools, setting: Setting, caller: Caller) -> None:
    """A theme one may not read looks like one that is not there, and a sink is refused whoever is in it."""
    nowhere = tools("recall_memory", query=setting.word, scope="nobody", limit=50)
    for scope in (ThemeScope(theme=theme) for theme in setting.themes[:3]):
        if not setting.seen(caller, scope):
            hidden = tools("recall_memory", query=setting.word, scope=scope.theme, limit=50)
            assert {**hidden, "scope": "", "trace_id": ""} == {**nowhere, "scope": "", "trace_id": ""}


@_examples
@given(world=worlds)
def test_library_tools_and_the_wall_alone_show_what_the_rule_allows(
    database: Installation, agent: Agent, world: World
) -> None:
    setting = asyncio.run(_built(database, world))
    for asking in world.callers:
        caller = setting.caller(asking)
        tools = _Tools(agent, caller)

        assert asyncio.run(_behind_the_wall_alone(database, setting, caller)) == {
            row.id for row in setting.seen(caller)
        }
        agent.runtime.call(partial(_asked, setting, caller), timeout=SECONDS)
        _tools_obey(tools, setting, caller)
        _closed_doors(tools, setting, caller)
    caller = setting.caller(world.callers[0])
    foreign = [row for row in setting.rows if not changeable(row.caller.theme, row.caller.subject, caller)]
    refusals = {_Tools(agent, caller)("memory_forget", id=str(row.id))["error"] for row in foreign}
    assert len(refusals) <= 1
    agent.runtime.call(lambda memory: changes_reach_ones_own_alone(memory, setting, caller), timeout=SECONDS)
