"""A script that does not await: it remembers the lines of its input and answers a question from them.

python examples/sync_script.py "When is the launch?" < notes.txt
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

from hermes_memory import HermesMemoryError, InvalidInput, Settings, SyncView, open_memory_sync

LONGEST = 500


def remember_all(desk: SyncView, notes: Iterable[str]) -> int:
    """Remember each line that says something; return how many. A line that is known already changes nothing."""
    remembered = 0
    for note in notes:
        try:
            desk.remember(note[:LONGEST])
        except InvalidInput:
            continue
        remembered += 1
    return remembered


def main(question: str) -> int:
    """Remember, ask and print."""
    try:
        with open_memory_sync(Settings()) as memory:
            desk = memory.view("example-script")
            print(remember_all(desk, sys.stdin), "notes remembered")
            for hit in desk.recall(question, limit=3).hits:
                print(f"{hit.score:.2f}  {hit.content}")
    except HermesMemoryError as error:
        print(f"no memory: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(" ".join(sys.argv[1:])))
