"""`migrate`: bring an operator's database to the schema of this version."""

from __future__ import annotations

import argparse
import os
from typing import Any

import anyio

import hermes_memory
from hermes_memory.cli.common import home_option, json_option, print_json, settings_for, whole_number
from hermes_memory.cli.exits import DONE
from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.model import ReadPolicy
from hermes_memory.settings import ROLE_PASSWORD


def register(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser("migrate", help="bring a database to the schema of this version")
    home_option(parser)
    json_option(parser)
    parser.add_argument("--admin-dsn", metavar="URL", help="login that may create roles, extensions and schemas")
    parser.add_argument("--runtime-role", metavar="NAME", help="role the memory logs in as; made when missing")
    parser.add_argument(
        "--partitions",
        type=whole_number(1, 256),
        metavar="N",
        help="hash partitions, 1 to 256; heeded the first time only",
    )
    parser.add_argument("--read-policy", choices=[policy.value for policy in ReadPolicy], help="who reads whom")
    parser.set_defaults(carry_out=carry_out, makes_home=True)


def carry_out(given: argparse.Namespace) -> int:
    """Migrate and say what was done."""
    if not given.admin_dsn:
        raise InvalidInput("name the database: hermes-memory migrate --admin-dsn postgresql://admin@host/database")

    async def work() -> Any:
        return await hermes_memory.migrate(
            given.admin_dsn,
            settings=settings_for(given),
            runtime_role=given.runtime_role,
            runtime_password=os.environ.get(ROLE_PASSWORD),
            partitions=given.partitions,
            read_policy=ReadPolicy(given.read_policy) if given.read_policy else None,
        )

    report = anyio.run(work)
    if given.as_json:
        print_json(report)
        return DONE
    for name in report.applied:
        print(f"applied {name}")
    print(
        f"the schema is up to date: {report.partitions} partitions, read policy '{report.read_policy}', "
        f"runtime role {report.runtime_role}, embedding generation {report.generation or 'none'}"
    )
    for warning in report.warnings:
        print(f"warning: {warning}")
    return DONE
