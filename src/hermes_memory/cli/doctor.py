"""`doctor`: find out what keeps the memory from working, and say what to do about it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio

from hermes_memory.cli.common import home_option, json_option, print_json, wait_option
from hermes_memory.cli.effective import compact_lines, setting_payload
from hermes_memory.cli.exits import DONE
from hermes_memory.cli.findings import Finding, exit_code, show
from hermes_memory.domain.errors import ConfigurationError
from hermes_memory.settings import default_home
from hermes_memory.settings.effective import EffectiveSetting, effective_settings


def register(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser("doctor", help="check installation, settings, spool, database and embedder")
    home_option(parser)
    json_option(parser)
    wait_option(parser, default=30.0)
    parser.set_defaults(carry_out=carry_out)


def carry_out(given: argparse.Namespace) -> int:
    """Examine everything. 1: something is wrong; 2: a dependency is down; 64: a setting is wrong."""
    # The drivers take a while to load, and the host imports this module at every start.
    from hermes_memory.cli.checks import examine  # noqa: PLC0415

    home = given.hermes_home or default_home()
    findings: Sequence[Finding] = anyio.run(examine, home, given.wait)
    code = exit_code(findings)
    settings = _settings_of(home)
    if given.as_json:
        told = list(map(setting_payload, settings))
        print_json({"healthy": code == DONE, "exit": code, "findings": findings, "settings": told})
        return code
    show(findings)
    for line in compact_lines(settings) if settings else ():
        print(line)
    return code


def _settings_of(home: Path) -> Sequence[EffectiveSetting]:
    """Return the settings that hold, none when they cannot be read: a finding says why."""
    try:
        return effective_settings(home)[1]
    except ConfigurationError:
        return ()
