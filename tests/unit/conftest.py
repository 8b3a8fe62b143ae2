"""How the unit tests run."""

from __future__ import annotations

from hypothesis import settings

# An example that takes long on a busy machine is no defect: growth is tested by ratios, hangs by the test's timeout.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
