"""What an agent's system prompt says while the memory serves less than it should."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from hermes_memory.application.health import Trouble
from hermes_memory.hermes.prompt import DEGRADED, PROMPT_BLOCK, prompt_block
from tests.acceptance.conftest import NewAgent
from tests.support.agents import Agent, eventually
from tests.support.gate import Gate


def prompts(agent: Agent, times: int = 20) -> set[str]:
    """Return the different texts that the provider gives."""
    return {agent.provider.system_prompt_block() for _ in range(times)}


def test_a_memory_that_serves_says_nothing_of_its_state(served: Path, new_agent: NewAgent) -> None:
    agent = new_agent().start()
    eventually(lambda: agent.runtime.loop.memory is not None and agent.runtime.loop.memory.services.link.opened)

    assert prompts(agent) == {PROMPT_BLOCK}


def test_a_database_that_is_away_is_said_in_the_same_words_each_turn(
    home: Path, configure: Callable[..., None], new_agent: NewAgent
) -> None:
    with Gate() as gate:
        configure(dsn=f"postgresql://app:s3cr3t-Pw@127.0.0.1:{gate.port}/nowhere")
        agent = new_agent().start()
        eventually(lambda: DEGRADED[Trouble.STORE] in agent.provider.system_prompt_block())
        agent.provider.sync_turn("The launch moved to the third of May", "Noted, the launch is on 3 May.")
        said = prompts(agent)

    assert said == {prompt_block([Trouble.STORE])}


def test_a_spool_without_room_is_said_before_all_else(
    home: Path, configure: Callable[..., None], new_agent: NewAgent
) -> None:
    with Gate() as gate:
        configure(dsn=f"postgresql://app@127.0.0.1:{gate.port}/nowhere", spool_max_rows=100)
        agent = new_agent().start()
        eventually(lambda: agent.runtime.loop.memory is not None)
        for number in range(101):
            agent.provider.on_memory_write("add", "memory", f"Fact {number} of the room {os.getpid()}")

        assert prompts(agent) == {prompt_block([Trouble.SPOOL_FULL])}
