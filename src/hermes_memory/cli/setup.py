"""`setup`: ask for the settings, keep them, bring the database to the schema, and check the whole."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

import anyio

import hermes_memory
from hermes_memory.cli.common import FROM_INPUT, home_option, json_option, print_json, wait_option
from hermes_memory.cli.exits import DONE
from hermes_memory.cli.findings import Finding, exit_code, show
from hermes_memory.domain.errors import InvalidInput
from hermes_memory.hermes.config_schema import get_config_schema
from hermes_memory.settings import ENV_PREFIX, NATIVE_FILE, Settings, default_home
from hermes_memory.settings.names import ENDPOINT_EMBEDDERS, ENDPOINT_SETTINGS

if TYPE_CHECKING:
    from hermes_memory.hermes.setup_dialogue import Kept, Terminal

ADMIN_QUESTION: Final = "Login that may make roles and the schema there; it is not kept. Empty: the schema is there"


def register(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser("setup", help="ask for the settings, keep them, prepare the database and check it")
    home_option(parser)
    json_option(parser)
    wait_option(parser, default=60.0)
    parser.add_argument("--yes", action="store_true", help="ask nothing: keep what is set and not given here")
    parser.add_argument("--no-verify", action="store_true", help="keep the settings and look at nothing")
    parser.add_argument(
        "--embedded", action="store_true", help="use the home's own database: take the connection URL out"
    )
    parser.add_argument(
        "--admin-dsn",
        metavar="URL",
        help="login that may make roles and the schema; makes the role that --dsn names, with its password",
    )
    for field in get_config_schema():
        answer = parser.add_argument(
            f"--{field['key'].replace('_', '-')}",
            dest=f"answer_{field['key']}",
            type=str,  # a blank answer takes the setting out
            metavar="URL" if field.get("secret") else "VALUE",
            help=_help_of(field),
        )
        # For the completion alone: a blank answer is one too, and the settings say best what is wrong with another.
        answer.offers = field.get("choices")
    parser.add_argument(
        "--set", dest="others", action="append", default=[], metavar="KEY=VALUE", help="any other setting; repeatable"
    )
    parser.set_defaults(carry_out=carry_out)


def carry_out(given: argparse.Namespace) -> int:
    """Set up. 1: something is wrong; 2: a dependency is down; 64: an answer cannot be used."""
    # What follows takes a while to load, and the host imports this module at every start.
    from hermes_memory.adapters.modes import make_private  # noqa: PLC0415
    from hermes_memory.hermes.setup_dialogue import ConsoleTerminal, set_up  # noqa: PLC0415

    home: Path = given.hermes_home or default_home()
    terminal = None if given.yes or given.as_json else ConsoleTerminal()
    kept = set_up(home, _answers(given), terminal, own_database=bool(given.admin_dsn))
    settings = Settings(home=home)
    notes = (*_outranked(kept), *_idle(kept, settings))
    if not given.as_json:  # now, since what follows may fail
        print("\n".join((*_kept_lines(home, kept), *notes)))
    make_private(settings.home)
    migration = _migrate(settings, given.admin_dsn or _asked_admin_dsn(settings, kept, terminal))
    findings = () if given.no_verify else _verify(home, given.wait)
    code = exit_code(findings)
    if given.as_json:
        print_json(
            {
                "exit": code,
                "healthy": code == DONE,
                "settings": kept.settings,
                "variables": kept.variables,
                "notes": notes,
                "migration": migration,
                "findings": findings,
            }
        )
        return code
    if migration is not None:
        print(f"the schema is up to date, runtime role {migration.runtime_role}")
    show(findings)
    return code


def _help_of(field: dict[str, Any]) -> str:
    choices = f": {', '.join(field['choices'])}" if field.get("choices") else ""
    where = f"; {FROM_INPUT} reads it from standard input" if field.get("secret") else ""
    return f"{field['label'][0].lower()}{field['label'][1:]}{choices}{where}"


def _answers(given: argparse.Namespace) -> dict[str, str]:
    answers = {key: value for key, value in _named(given) if value is not None}
    for pair in given.others:
        key, equals, value = pair.partition("=")
        if not equals:
            raise InvalidInput(f"--set takes KEY=VALUE, '{key}' has no value", field="set")
        answers[key.strip()] = value.strip()
    if given.embedded and answers.get("dsn"):
        raise InvalidInput("--embedded and --dsn name two databases: choose one", field="dsn")
    if given.embedded:
        answers["dsn"] = ""
    elif answers.get("dsn") == FROM_INPUT:
        answers["dsn"] = sys.stdin.readline().strip()
    return answers


def _named(given: argparse.Namespace) -> Iterator[tuple[str, str | None]]:
    for field in get_config_schema():
        yield field["key"], getattr(given, f"answer_{field['key']}")


def _kept_lines(home: Path, kept: Kept) -> Iterator[str]:
    if kept.settings:
        yield f"kept {', '.join(kept.settings)} in {home / NATIVE_FILE}"
    if kept.variables:
        yield f"kept {', '.join(kept.variables)} in {home / '.env'}"
    if not kept.settings and not kept.variables:
        yield "the settings stay as they are"


def _outranked(kept: Kept) -> Iterator[str]:
    for name in (*kept.variables, *(f"{ENV_PREFIX}{key.upper()}" for key in kept.settings)):
        if os.environ.get(name):
            yield f"note: {name} in the environment outranks what was kept"


def _idle(kept: Kept, settings: Settings) -> Iterator[str]:
    if settings.embedder in ENDPOINT_EMBEDDERS:
        return
    for key in ENDPOINT_SETTINGS:
        if key in kept.settings and getattr(settings, key) is not None:
            yield f"note: embedder '{settings.embedder}' does without {key}: it waits for one that has an endpoint"


def _asked_admin_dsn(settings: Settings, kept: Kept, terminal: Terminal | None) -> str:
    if terminal is None or settings.dsn is None or not kept.variables:
        return ""
    return (terminal.ask(f"\n{ADMIN_QUESTION}: ", secret=True) or "").strip()


def _migrate(settings: Settings, admin_dsn: str) -> Any:
    """Bring the database to the schema, for the role that the connection URL names."""
    if not admin_dsn:
        return None
    if settings.dsn is None:
        raise InvalidInput("an admin login is for a database of your own: name that with --dsn", field="admin_dsn")
    login = urlsplit(settings.dsn.get_secret_value())

    async def work() -> Any:
        return await hermes_memory.migrate(
            admin_dsn,
            settings=settings,
            runtime_role=unquote(login.username) if login.username else None,
            runtime_password=unquote(login.password) if login.password else None,
        )

    return anyio.run(work)


def _verify(home: Path, wait: float) -> Sequence[Finding]:
    from hermes_memory.cli.checks import examine  # noqa: PLC0415 - loads the drivers

    return anyio.run(examine, home, wait)
