"""What all tests share."""

from __future__ import annotations

import pytest

# The contract suites are library modules: without this their assertions would not tell what they compared.
pytest.register_assert_rewrite("hermes_memory.testing")
