"""How long the fuzz targets look: the same few examples with the other tests, many at random by `make fuzz`."""

from __future__ import annotations

import os
from typing import Final

from hypothesis import HealthCheck, settings

EXAMPLES_VARIABLE: Final = "FUZZ_EXAMPLES"
_FEW: Final = 60

fuzz: Final = settings(
    deadline=None,
    max_examples=int(os.environ.get(EXAMPLES_VARIABLE, _FEW)),
    derandomize=EXAMPLES_VARIABLE not in os.environ,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
"""Decorates a target."""
