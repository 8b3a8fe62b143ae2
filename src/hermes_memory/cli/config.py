"""`config`: show the settings that hold and where they come from, check a file of settings, print their schema."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hermes_memory.cli.common import home_option, json_option, print_json, settings_for, verb_below
from hermes_memory.cli.effective import setting_lines, setting_payload
from hermes_memory.cli.exits import DONE, USAGE
from hermes_memory.domain.errors import ConfigurationError, InvalidInput
from hermes_memory.settings.effective import EffectiveSetting, effective_settings
from hermes_memory.settings.homes import require_home
from hermes_memory.settings.names import nearest
from hermes_memory.settings.refusals import Problem, UnusableSettings


def register(verbs: Any) -> None:
    """Add the verb and those below it."""
    parser = verbs.add_parser("config", help="show the settings and where they come from, or check a file of them")
    below = parser.add_subparsers(dest="config_verb", metavar="VERB", required=True, parser_class=type(parser))
    show = verb_below(
        below, "show", _show, "show each setting that holds and where it comes from", home_option, json_option
    )
    show.add_argument("key", nargs="*", metavar="KEY", help="only these settings; default: all")
    check = verb_below(
        below, "check", _check, "check a file of settings by itself, or all that a home has", home_option, json_option
    )
    check.add_argument(
        "file",
        nargs="?",
        type=Path,
        metavar="FILE",
        help="a file named like hermes-memory.json, config.yaml or .env; default: the settings of the home",
    )
    verb_below(below, "schema", _schema, "print the JSON schema of hermes-memory.json", home_option, json_option)


def _show(given: argparse.Namespace) -> int:
    """Print the settings."""
    settings, found = effective_settings(given.hermes_home)
    require_home(settings.home)
    shown = _chosen(found, given.key)
    if given.as_json:
        print_json({"home": settings.home, "settings": list(map(setting_payload, shown))})
        return DONE
    for line in setting_lines(shown):
        print(line)
    return DONE


def _chosen(found: Sequence[EffectiveSetting], keys: Sequence[str]) -> Sequence[EffectiveSetting]:
    known = {each.key: each for each in found}
    if unknown := [key for key in keys if key not in known]:
        raise InvalidInput(f"unknown setting '{unknown[0]}'{nearest(unknown[0], known)}", field="key")
    return [known[key] for key in keys] or found


def _check(given: argparse.Namespace) -> int:
    """Say what is wrong. 64: something is."""
    problems = list(_problems(given))
    if given.as_json:
        print_json({"file": given.file, "valid": not problems, "problems": list(map(_payload, problems))})
    else:
        for problem in problems:
            print(problem)
        if not problems:
            print(f"{given.file or 'the settings of the home'}: all can be used")
    return USAGE if problems else DONE


def _problems(given: argparse.Namespace) -> Iterator[Problem]:
    from hermes_memory.settings.checking import check_file  # noqa: PLC0415 - the host imports this module at start

    try:
        if given.file:
            check_file(given.file)
        else:
            settings_for(given)
    except UnusableSettings as error:
        yield from error.problems
    except ConfigurationError as error:
        yield Problem(key="", message=str(error))


def _payload(problem: Problem) -> dict[str, Any]:
    origin = problem.origin
    return {
        "key": problem.key or None,
        "message": problem.message,
        "value": problem.shown,
        "expected": problem.expected,
        "source": origin.source if origin else None,
        "name": origin.name if origin else None,
        "file": origin.path if origin else None,
        "line": origin.line() if origin else None,
    }


def _schema(_given: argparse.Namespace) -> int:
    """Print the schema, which is JSON in any case."""
    from hermes_memory.settings.schema import settings_schema  # noqa: PLC0415 - makes schemas of everything

    print_json(settings_schema())
    return DONE
