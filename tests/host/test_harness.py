"""The harness itself: a provider that fails silently must not pass for one that works."""

from __future__ import annotations

from pathlib import Path

from tests.support.hermes_host import HermesHost, ScenarioRun
from tests.support.scripted_model import Call, Say, scripted_model

_PLUGIN = '''
"""register_memory_provider"""
def register(ctx):
    from agent.memory_provider import MemoryProvider
    class Provider(MemoryProvider):
        name = "broken-memory"
        def is_available(self): return True
        def initialize(self, session_id, **facts): pass
        def get_tool_schemas(self):
            return [{"name": "recall_memory", "description": "d", "parameters": {"type": "object", "properties": {}}}]
        def handle_tool_call(self, name, arguments, **facts): return '{"hits": ["from the tool"]}'
        def prefetch(self, query, *, session_id=""): return "- recalled for " + query
        def on_turn_start(self, number, message, **facts):
            %s
    ctx.register_memory_provider(Provider())
'''


def _converse(host: HermesHost, on_turn_start: str) -> tuple[ScenarioRun, list[str]]:
    plugin = host.home / "plugins" / "broken-memory"
    plugin.mkdir(parents=True)
    (plugin / "__init__.py").write_text(_PLUGIN % on_turn_start)
    host.activate("broken-memory")
    with scripted_model(Call("recall_memory", {}), Say("The answer.")) as model:
        run = host.run("conversation:talk", url=model.url, session="s1", messages=["Where is it?"])
        return run, [str(turn["messages"]) for turn in model.turns]


def test_a_working_provider_leaves_nothing_to_report(bare_hermes: HermesHost) -> None:
    run, turns = _converse(bare_hermes, "pass")

    facts = run.require_clean()
    assert facts["answers"] == ["The answer."]
    assert "recalled for Where is it?" in turns[0]
    assert "from the tool" in turns[1]


def test_a_failure_that_the_host_swallows_is_reported(bare_hermes: HermesHost) -> None:
    run, _ = _converse(bare_hermes, 'raise RuntimeError("went wrong in silence")')

    assert run.facts["answers"] == ["The answer."]
    assert run.exit_code == 0
    assert any("went wrong in silence" in line for line in run.failures)


def test_a_provider_that_cannot_be_loaded_is_reported(bare_hermes: HermesHost) -> None:
    plugin = bare_hermes.home / "plugins" / "hermes-memory"
    plugin.mkdir(parents=True)
    (plugin / "__init__.py").write_text('"""register_memory_provider"""\nraise ImportError("half installed")\n')

    run = bare_hermes.run("loading:as_the_manager_takes_it")

    assert run.exit_code == 1
    assert any("half installed" in line for line in run.failures)


def test_a_scenario_that_breaks_is_an_error_and_not_an_empty_report(bare_hermes: HermesHost, tmp_path: Path) -> None:
    run = bare_hermes.run("contract:hostile_arguments", home=str(tmp_path))

    assert "AttributeError" in run.error
    assert run.exit_code == 1
