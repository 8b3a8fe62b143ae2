"""Homes, settings and finalisers that make trouble: a sentence for each, no hanging, no traceback, no lost agent."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_memory.adapters.secret_file import load_or_create
from hermes_memory.bootstrap.home import open_local_half
from hermes_memory.cli.main import main
from hermes_memory.domain.errors import ConfigurationError, InvalidInput
from hermes_memory.hermes.loop_thread import LoopThread
from hermes_memory.hermes.runtime import acquire, release
from hermes_memory.settings import NATIVE_FILE, Settings
from tests.acceptance.conftest import NewAgent
from tests.support.agents import Agent
from tests.support.full_disk import no_room_beyond


@pytest.mark.parametrize("name", [NATIVE_FILE, "config.yaml"])
@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000])
def test_settings_nested_beyond_reading_are_named(home: Path, name: str, text: str) -> None:
    (home / name).write_text(text)

    with pytest.raises(ConfigurationError, match=name):
        Settings()


@pytest.mark.parametrize("name", [NATIVE_FILE, "config.yaml"])
def test_a_pipe_in_the_place_of_settings_is_named_and_not_waited_for(home: Path, name: str) -> None:
    os.mkfifo(home / name)

    with pytest.raises(ConfigurationError, match="no plain file"):
        Settings()


def test_a_pipe_in_the_place_of_the_secret_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "secret")

    with pytest.raises(ConfigurationError, match="is no plain file: remove it"):
        load_or_create(tmp_path / "secret")


def test_a_disk_that_fills_up_leaves_no_half_of_the_secret(tmp_path: Path) -> None:
    with no_room_beyond(10), pytest.raises(ConfigurationError, match="cannot be made"):
        load_or_create(tmp_path / "secret")

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("days", ["1e400", "Infinity", "NaN", "1e9"])
def test_a_half_life_without_end_is_refused(home: Path, days: str) -> None:
    (home / NATIVE_FILE).write_text(f'{{"half_life_days": {days}}}')

    with pytest.raises(ConfigurationError, match="half_life_days"):
        Settings()


def test_a_home_whose_path_is_too_long_for_the_spool_is_told_before_anything_is_accepted(home: Path) -> None:
    deep = home.joinpath(*["d" * 120] * 4)
    deep.mkdir(parents=True)

    with pytest.raises(ConfigurationError, match="too long"):
        open_local_half(Settings(home=deep))


def test_an_agent_whose_home_has_no_usable_name_says_that_it_has_no_memory(new_agent: NewAgent) -> None:
    agent = new_agent()
    agent.provider.initialize("s1", hermes_home="/tmp/a\0b", agent_identity="coder")
    agent.provider.sync_turn("Where is the vault?", "In the cellar.", session_id="s1")

    assert "not available" in agent.provider.system_prompt_block()
    assert "error" in agent.tool("recall_memory", query="vault")


def test_a_session_that_could_not_be_started_does_not_speak_as_the_one_before(
    agent: Agent, configure: Callable[..., None]
) -> None:
    provider = agent.provider
    agent.start("with-ana", platform="telegram", gateway_session_key="agent:main:telegram:dm:111", user_id="111")
    provider.sync_turn("My alarm code is zebra 7741", "Noted, zebra 7741.", session_id="with-ana")
    agent.settle()
    (agent.home / NATIVE_FILE).write_text("{")
    agent.start("with-ben", platform="telegram", gateway_session_key="agent:main:telegram:dm:222", user_id="222")
    provider.sync_turn("Ben's zebra is called Stripe", "Stripe, noted.", session_id="with-ben")
    blocks = [provider.prefetch("what is the zebra code?", session_id=name) for name in ("", "with-ben")]
    told = agent.tool("recall_conversation", query="zebra")
    (agent.home / NATIVE_FILE).unlink()
    agent.start("with-ana", platform="telegram", gateway_session_key="agent:main:telegram:dm:111", user_id="111")
    agent.settle()

    assert blocks == ["", ""]
    assert "error" in told
    assert set(agent.said("zebra")) == {"My alarm code is zebra 7741", "Noted, zebra 7741."}


@pytest.mark.parametrize("wait", ["nan", "inf", "-1", "1e30", "soon"])
@pytest.mark.parametrize("verb", ["stats", "doctor"])
def test_a_time_that_nobody_can_wait_is_wrong_use(
    home: Path, capsys: pytest.CaptureFixture[str], verb: str, wait: str
) -> None:
    with pytest.raises(SystemExit) as left:
        main([verb, f"--wait={wait}"])

    assert left.value.code == 64
    assert "--wait" in capsys.readouterr().err


def test_a_directory_that_cannot_be_made_is_told_in_a_sentence(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "file").write_text("in the way")
    code = main(["demo", "--keep", str(home / "file" / "new")])

    assert code in (1, 64)
    assert capsys.readouterr().err.startswith("hermes-memory: ")


@pytest.mark.parametrize(
    ("platform", "contact"), [("telegram", ""), ("telegram", " \u200b"), ("", "222"), (None, None)]
)
def test_contacts_without_a_key_do_not_share_a_memory(home: Path, platform: str, contact: str) -> None:
    local = open_local_half(Settings())
    with pytest.raises(InvalidInput, match="nobody's"):
        local.subject_for(platform, contact)

    local.spool.close()


def test_an_agent_that_is_collected_while_another_one_starts_takes_nothing_from_it(
    home: Path, configure: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(dsn="postgresql://nobody@127.0.0.1:1/nothing")
    settings = Settings()
    dropped = acquire(settings, os.environ.get)
    alive: property = vars(LoopThread)["alive"]

    def collecting(loop: LoopThread) -> bool:
        answer: bool = alive.__get__(loop)
        release(dropped)
        return answer

    monkeypatch.setattr(LoopThread, "alive", property(collecting))
    started = acquire(settings, os.environ.get)
    monkeypatch.undo()

    assert started.runtime.loop.alive
    assert dropped.released
    release(started, timeout=5)


def test_what_shows_nothing_is_nothing_to_remember(agent: Agent) -> None:
    answer = agent.tool("memory_remember", content="\u200b\u200d\ufeff\u2060")
    agent.provider.sync_turn("\u200b\u200e", "\u202e\u200d", session_id="s1")
    agent.settle()

    assert "empty" in answer["error"] or "blank" in answer["error"]
    assert agent.profile() == []
    assert json.loads(agent.provider.handle_tool_call("recall_conversation", {"query": "\u200b"}))["hits"] == []
