"""Random worlds in Postgres: library, tools, prompt, host, export and the wall alone obey the rule of who sees what."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Coroutine
from datetime import UTC, datetime
from functools import partial
from itertools import count
from typing import Any, Final, TypeAlias
from uuid import uuid4

import asyncpg
import pytest
import pytest_asyncio
from hypothesis import HealthCheck, Phase, given, settings

from hermes_memory.application.memory import Memory
from hermes_memory.cli.exits import DONE
from hermes_memory.domain.errors import NotVisible
from hermes_memory.domain.model import AllScope, Caller, CurrentScope, Kind, Scope, Target, Theme, ThemeScope
from hermes_memory.domain.operations import BySubstring
from hermes_memory.domain.visibility import changeable
from hermes_memory.hermes.sessions import Binding
from hermes_memory.hermes.tool_calls import ToolCalls
from hermes_memory.testing.worlds import Setting, World, worlds
from tests.acceptance.conftest import Command
from tests.support.agents import Agent
from tests.support.entry_points import (
    answers_are_as_the_rule_has_them,
    changes_reach_ones_own_alone,
    ones_own,
    prompts_are_as_the_rule_has_them,
    scope_names,
    touched,
    undo_reaches_ones_own_alone,
    written_everywhere,
)
from tests.support.postgres import TestServer
from tests.support.postgres_store import Installation, migrated
from tests.support.wall_recipe import Context, acting

SECONDS = 250.0
MOST_ATTEMPTS: Final = 3
"""One more than there are entries of the same words that are a caller's own: its subject's, and nobody's."""
NOBODYS_WORDS: Final = "words that nobody wrote"
_Way: TypeAlias = Callable[[str], str | None]
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


class _ByWords:
    """The ways of one caller to an entry that holds certain words. Each returns why it was refused.

    The host, which has changed its own file already, is told of no refusal.
    """

    def __init__(self, agent: Agent, caller: Caller) -> None:
        self._agent = agent
        self._caller = caller
        self._tools = _Tools(agent, caller)
        self._new = count()

    def content(self, words: str) -> str | None:
        return self._refused(lambda memory: memory.view_of(self._caller).forget_content(words))

    def tool(self, words: str) -> str | None:
        refused: str | None = self._tools("memory_forget", content=words).get("error")
        return refused

    def part(self, words: str) -> str | None:
        selector = BySubstring(target=Target.MEMORY, text=words)
        return self._refused(lambda memory: memory.view_of(self._caller).forget_selected(selector))

    def host_removes(self, words: str) -> None:
        self._agent.runtime.local.mirror.removed(self._caller, Target.MEMORY, previous=None, old_text=words)

    def host_replaces(self, words: str) -> None:
        better = f"better words {next(self._new)}"
        mirror = self._agent.runtime.local.mirror
        mirror.replaced(self._caller, Target.MEMORY, better, previous=None, old_text=words)

    def _refused(self, work: Callable[[Memory], Coroutine[Any, Any, object]]) -> str | None:
        try:
            self._agent.runtime.call(work, timeout=SECONDS)
        except NotVisible as error:
            return str(error)
        return None


def _words_reach_ones_own_alone(agent: Agent, setting: Setting, caller: Caller, number: int) -> None:
    """Forget and change by words that stand in every theme, until nothing of one's own holds them any more."""
    by = _ByWords(agent, caller)
    answering: list[_Way] = [by.content, by.tool, by.part]
    for way in (*answering, by.host_removes, by.host_replaces):
        words = f"{setting.word} {way.__name__} {number}"
        write = partial(written_everywhere, setting=setting, words=words, alike=way in (by.content, by.tool))
        written = agent.runtime.call(write, timeout=SECONDS)
        own = ones_own(written, caller)
        nothing = way(NOBODYS_WORDS)
        answers = [way(words) for _ in range(MOST_ATTEMPTS)]
        agent.settle()

        assert (nothing is not None) is (way in answering)
        assert answers == [None] * len(own) + [nothing] * (MOST_ATTEMPTS - len(own)), (caller, words)
        assert agent.runtime.call(partial(touched, written=written), timeout=SECONDS) == own, (caller, words)


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
    prompts_are_as_the_rule_has_them(agent.runtime, setting, [setting.caller(asking) for asking in world.callers])
    caller = setting.caller(world.callers[0])
    foreign = [row.id for row in setting.rows if not changeable(row.caller.theme, row.caller.subject, caller)]
    refusals = {_Tools(agent, caller)("memory_forget", id=str(row))["error"] for row in (*foreign, uuid4())}
    assert len(refusals) == 1
    agent.runtime.call(lambda memory: changes_reach_ones_own_alone(memory, setting, caller), timeout=SECONDS)


@settings(_examples, max_examples=1)
@given(world=worlds)
def test_undo_and_what_finds_by_words_reach_ones_own_alone(database: Installation, agent: Agent, world: World) -> None:
    setting = asyncio.run(_built(database, world))
    for number, asking in enumerate(world.callers):
        caller = setting.caller(asking)
        undo = partial(undo_reaches_ones_own_alone, setting=setting, caller=caller, words=f"{setting.word} {number}")

        agent.runtime.call(undo, timeout=SECONDS)
        _words_reach_ones_own_alone(agent, setting, caller, number)


def _exported_alone(typed: Command, setting: Setting, theme: Theme, admin_dsn: str) -> None:
    """An export of a theme has all of its rows, whoever's, and neither a name nor a text of another theme."""
    numbered = [(number, row) for number, row in enumerate(setting.rows) if row.caller.theme == theme]
    ran = typed("export", "jsonl", "--theme", theme, "--admin-dsn", admin_dsn)
    lines = [json.loads(line) for line in ran.out.splitlines()]
    found = {(line["kind"], line["id"]) for line in lines if line["kind"] in tuple(Kind)}
    of_world = {(str(row.kind), str(row.id)) for row in setting.rows}
    texts = set(re.findall(rf"{setting.word} number \d+", ran.out))

    assert found & of_world == {(str(row.kind), str(row.id)) for _, row in numbered}
    assert texts == {f"{setting.word} number {number}" for number, _ in numbered}
    assert {line["theme"] for line in lines if "theme" in line} <= {theme}
    assert {name for name in setting.themes if name in ran.out + ran.err} == {theme}
    assert (ran.code == DONE) is bool(lines)


@pytest.mark.usefixtures("served")
@_examples
@given(world=worlds)
def test_an_export_of_a_theme_holds_that_theme_alone(database: Installation, typed: Command, world: World) -> None:
    setting = asyncio.run(_built(database, world))
    for theme in setting.themes:
        _exported_alone(typed, setting, theme, database.admin_dsn)
