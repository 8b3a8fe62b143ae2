"""What consumers get from `hermes_memory.testing`."""

from __future__ import annotations

import subprocess
import sys


def test_the_adapters_come_without_a_test_framework() -> None:
    code = (
        "import sys; from hermes_memory.testing import InMemoryStore, StoreUnderTest; "
        "sys.exit(' '.join({'pytest', 'hypothesis', '_pytest'} & sys.modules.keys()) or 0)"
    )

    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)

    assert (ran.returncode, ran.stderr) == (0, "")
