"""Where the `hermes-memory` command begins: whoever interrupts it while it is still loading gets its usual end."""

from __future__ import annotations

import sys

from hermes_memory.cli.exits import INTERRUPTED


def main() -> int:
    """Run the command and return its exit code."""
    try:
        # It takes most of the time of a short verb to load.
        from hermes_memory.cli.main import main as run  # noqa: PLC0415

        return run()
    except KeyboardInterrupt:
        print("hermes-memory: interrupted", file=sys.stderr)
        return INTERRUPTED
