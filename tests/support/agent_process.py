"""An agent in a process of its own, driven through its standard input and output.

For each line it reads, a JSON list of a call's name and arguments, it prints one JSON line with the answer. A call is a
hook of the provider, or a method of `Agent`. It ends at end of input, with no farewell unless `shutdown` was called.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from tests.support.agents import Agent


def main() -> None:
    agent = Agent(Path(sys.argv[1]))
    for line in sys.stdin:
        name, arguments, named = json.loads(line)
        answer = _call(agent, name, arguments, named)
        print(json.dumps(answer), flush=True)
    # As a host that is killed or leaves in a hurry.
    os._exit(0)


def _call(agent: Agent, name: str, arguments: list[Any], named: dict[str, Any]) -> object:
    if name in {"start", "tool", "settle", "facts", "said", "profile"}:
        answer = getattr(agent, name)(*arguments, **named)
        return None if answer is agent else answer
    return getattr(agent.provider, name)(*arguments, **named)


if __name__ == "__main__":
    main()
