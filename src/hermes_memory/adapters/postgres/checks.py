"""What must hold of roles, grants, walls and statistics. Each check names what breaks it; none changes anything."""

from __future__ import annotations

from typing import Final

from hermes_memory.adapters.postgres.bypass_checks import BYPASS_CHECKS
from hermes_memory.adapters.postgres.check import Check
from hermes_memory.adapters.postgres.grant_checks import GRANT_CHECKS
from hermes_memory.adapters.postgres.role_checks import ROLE_CHECKS
from hermes_memory.adapters.postgres.statistics_checks import STATISTICS_CHECKS
from hermes_memory.adapters.postgres.wall_checks import WALL_CHECKS

CHECKS: Final[tuple[Check, ...]] = (*ROLE_CHECKS, *WALL_CHECKS, *GRANT_CHECKS, *BYPASS_CHECKS, *STATISTICS_CHECKS)
