"""Lets hermes-memory-pgvector write through its own code: a program for that package's environment.

It reads one JSON object: what the package is imported by, the provider's settings and the home. It drives the provider
as the host does.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from typing import Any

CONTACT = "agent:main:whatsapp:dm:+4915550104711"
LONG = "the harbour crane needs a new cable and a certificate before the season begins "


def main() -> None:
    """Write, and leave in order."""
    setup = json.loads(sys.stdin.readline())
    desk = started(setup, "m1", agent_identity="Marketing")
    desk.on_memory_write("add", "memory", "The launch is on 3 May", metadata={"session_id": "m1", "platform": "cli"})
    desk.on_memory_write("add", "user", "Prefers short answers")
    desk.on_memory_write("add", "memory", "The venue is the old harbour hall")
    desk.on_memory_write("replace", "memory", "The venue is the town hall", metadata={"old_text": "harbour hall"})
    desk.on_memory_write("add", "memory", "This entry goes again")
    desk.on_memory_write("remove", "memory", "This entry goes again", metadata={"old_text": "goes again"})
    for number in range(20):
        desk.sync_turn(f"Question {number % 5}: {LONG}?", f"Answer {number}: {LONG}.", session_id="m1")
    desk.on_delegation("Find three caterers near the town hall", "Found three", child_session_id="c1")
    wait_for_vectors(setup["config"]["dsn"], turns=41, entries=3)
    desk.shutdown()
    talk = started(setup, "w1", agent_identity="Marketing", gateway_session_key=CONTACT)
    talk.sync_turn(f"My door code is 8841 and {LONG}", f"I will remember the code 8841, and {LONG}", session_id="w1")
    talk.on_memory_write("add", "user", "Ana's birthday is on 4 June")
    talk.shutdown()
    print("done", flush=True)


def wait_for_vectors(dsn: str, *, turns: int, entries: int) -> None:
    """Wait until so many rows have vectors: those that wait at a shutdown are stored without."""
    import psycopg  # type: ignore[import-not-found]

    counted = (
        "select (select count(embedding) from conversations), "
        "(select count(embedding) from memory_entries where content !~ 'goes again|harbour')"
    )
    with psycopg.connect(dsn, autocommit=True) as connection:
        for _ in range(1_200):
            if connection.execute(counted).fetchone() == (turns, entries):
                return
            time.sleep(0.05)
    raise TimeoutError(f"there are not {turns} turns and {entries} entries with vectors")


def started(setup: dict[str, Any], session: str, **identity: Any) -> Any:
    """Return a provider in a session, as the host starts it."""
    provider = importlib.import_module(setup["package"]).PgvectorMemoryProvider(config=dict(setup["config"]))
    provider.initialize(session, hermes_home=setup["home"], platform="cli", agent_context="primary", **identity)
    return provider


if __name__ == "__main__":
    main()
