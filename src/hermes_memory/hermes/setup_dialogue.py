"""Walks a person through the settings of the set-up forms and keeps the answers: secrets in `.env`, others in JSON.

One dialogue serves `hermes-memory setup` and the host's `hermes memory setup`. Nothing is written before everything
that was answered has been checked.
"""

from __future__ import annotations

import getpass
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from pydantic import SecretStr

from hermes_memory.domain.database_address import require_database_address
from hermes_memory.domain.errors import ConfigurationError
from hermes_memory.hermes.config_schema import (
    RefusedValue,
    get_config_schema,
    parse_value,
    require_together,
    save_config,
    settings_after,
)
from hermes_memory.hermes.secrets_file import keep_secrets, require_keepable
from hermes_memory.settings import Settings
from hermes_memory.settings.names import ENDPOINT_EMBEDDERS, ENDPOINT_SETTINGS

BACK_TO_DEFAULT: Final = "-"


class Terminal(Protocol):
    """Where the person sits."""

    def ask(self, question: str, *, secret: bool) -> str | None:
        """Return one answer, "" when nothing was typed, None when nobody answers any more."""

    def tell(self, text: str) -> None:
        """Show a line."""


class ConsoleTerminal:
    """Standard input and output of this process; what is secret is not shown while it is typed."""

    def ask(self, question: str, *, secret: bool) -> str | None:
        """Return one line, None at the end of the input."""
        try:
            return getpass.getpass(question) if secret and sys.stdin.isatty() else input(question)
        except EOFError:
            print()  # noqa: T201 - the question still stands on this line
            return None

    def tell(self, text: str) -> None:
        """Print a line."""
        print(text)  # noqa: T201 - this is the person's terminal


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """Names of what a set-up wrote or took out: settings of the native file, and variables of `.env`."""

    settings: tuple[str, ...]
    variables: tuple[str, ...]


def set_up(home: Path, given: Mapping[str, str], terminal: Terminal | None, *, own_database: bool = False) -> Kept:
    """Take what is given, ask for the rest of the fields, check everything and keep it.

    Args:
        home: The Hermes home.
        given: Answers by setting, which are not asked for. "" takes a setting out, back to its default.
        terminal: Who is asked; None asks nobody.
        own_database: Whether a database other than the home's own must be named, now or before.

    Raises:
        RefusedValue: An answer cannot be used, and nobody can be asked again or answers anything else. Nothing was
            written, but for what `keep` says.
        DirectoryBusy: Another process keeps the home to itself.
        OSError: A file cannot be written.
    """
    check(given)
    asked = {field["key"] for field in get_config_schema()}
    # No answer mends what is never asked for.
    require_together({key: value for key, value in given.items() if key not in asked}, home)
    answers, refused = dict(given), dict(given)
    while True:
        told_all = terminal is None or _walk(home, answers, given, terminal)
        try:
            if own_database:
                _require_own_database(home, answers)
            return keep(home, answers)
        except RefusedValue as error:
            if terminal is None or not told_all or answers == refused:
                raise
            refused = dict(answers)
            terminal.tell(f"  {error}. Once more:")


def keep(home: Path, answers: Mapping[str, str]) -> Kept:
    """Check all answers and write them.

    Raises:
        RefusedValue: An answer cannot be used, or not together with the others. Nothing was written, but for `.env`
            where another process has changed the settings since the check.
        DirectoryBusy: Another process keeps the home to itself.
        OSError: A file cannot be written.
    """
    check(answers)
    settings, secrets = _divided(answers)
    require_together(settings, home)
    if secrets:
        keep_secrets(home, secrets)
    if settings:
        save_config(settings, home)
    return Kept(settings=tuple(settings), variables=tuple(secrets))


def check(answers: Mapping[str, str]) -> None:
    """Check answers one by one.

    Raises:
        RefusedValue: One cannot be used. The message names it, and does not quote a secret.
    """
    secrets = {field["key"]: field["env_var"] for field in get_config_schema() if field.get("secret")}
    for key, value in answers.items():
        if key in secrets:
            _require_address(key, value)
            require_keepable(secrets[key], value)
        else:
            parse_value(key, value)


def _divided(answers: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str | None]]:
    """Return what goes to the native file, and what goes to `.env` by the name of its variable."""
    variables = {field["key"]: field["env_var"] for field in get_config_schema() if field.get("secret")}
    secrets = {variables[key]: value or None for key, value in answers.items() if key in variables}
    return {key: value for key, value in answers.items() if key not in variables}, secrets


def _walk(home: Path, answers: dict[str, str], given: Mapping[str, str], terminal: Terminal) -> bool:
    """Ask for every field that concerns the person; tell whether the input went on to the end."""
    terminal.tell(f"Empty keeps what is in brackets, {BACK_TO_DEFAULT} goes back to the default.")
    for field in _open_fields(home, answers, given):
        answer = _answer(field, _shown(home, field, answers), terminal)
        if answer is None:
            return False
        if answer:
            answers[field["key"]] = "" if answer == BACK_TO_DEFAULT else answer
    return True


def _open_fields(home: Path, answers: Mapping[str, str], given: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    default = str(Settings.model_fields["embedder"].default)
    for field in get_config_schema():
        # An answer of "" goes back to the default.
        embedder = answers["embedder"] or default if "embedder" in answers else _current(home, "embedder")
        if field["key"] in given or (field["key"] in ENDPOINT_SETTINGS and embedder not in ENDPOINT_EMBEDDERS):
            continue
        yield field


def _answer(field: Mapping[str, Any], shown: str, terminal: Terminal) -> str | None:
    """Ask until the answer can be used."""
    choices = f" ({', '.join(field['choices'])})" if field.get("choices") else ""
    terminal.tell(f"\n{field['description']}")
    while True:
        answer = terminal.ask(f"  {field['label']}{choices} [{shown}]: ", secret=bool(field.get("secret")))
        answer = answer.strip() if answer is not None else None
        if not answer or answer == BACK_TO_DEFAULT:
            return answer
        try:
            check({field["key"]: answer})
        except RefusedValue as error:
            terminal.tell(f"  {error}")
        else:
            return answer


def _shown(home: Path, field: Mapping[str, Any], answers: Mapping[str, str]) -> str:
    value = answers.get(field["key"])
    if field.get("secret"):
        return "set" if (_current(home, field["key"]) if value is None else value) else "embedded database of the home"
    return _current(home, field["key"]) if value is None else value or _text_of(field["default"])


def _current(home: Path, key: str) -> str:
    """Return what a setting is now, "" when it is unset or the settings are wrong and about to be mended."""
    try:
        value = getattr(Settings(home=home), key)
    except ConfigurationError:
        value = None
    if isinstance(value, SecretStr):
        return value.get_secret_value()
    return _text_of(value)


def _text_of(value: object) -> str:
    """Return a value as it would be typed."""
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(getattr(value, "value", value))


def _require_own_database(home: Path, answers: Mapping[str, str]) -> None:
    if answers["dsn"] if "dsn" in answers else _names_database(home, answers):
        return
    raise RefusedValue("an admin login is for a database of your own: name that with --dsn")


def _names_database(home: Path, answers: Mapping[str, str]) -> bool:
    try:
        return settings_after(_divided(answers)[0], home).dsn is not None
    except ConfigurationError:
        return True  # nobody can tell yet, and whoever reads the settings next says what is wrong with them


def _require_address(key: str, value: str) -> None:
    try:
        if value:
            require_database_address(value)
    except ConfigurationError as error:
        raise RefusedValue(f"{key}: {error}") from None
