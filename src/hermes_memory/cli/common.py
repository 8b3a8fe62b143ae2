"""What the verbs share: options, settings, and how results are shown."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import Any, Final, TypeVar
from uuid import UUID

import anyio

import hermes_memory
from hermes_memory.application.memory import Memory
from hermes_memory.domain.characters import escaped_invisible
from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.identity import HOST_WORKSPACE
from hermes_memory.domain.model import Subject
from hermes_memory.domain.subject_keys import subject_of_key
from hermes_memory.settings import Settings
from hermes_memory.settings.effective import settings_at
from hermes_memory.settings.homes import require_home

Answer = TypeVar("Answer")
FROM_INPUT: Final = "-"
"""Stands for what nobody wants in the history of a shell: it is read from standard input."""
MOST: Final = 2**53
"""More than anything here ever numbers."""
SHORTEST_WAIT: Final = 0.1
LONGEST_WAIT: Final = 86_400.0
START_SECONDS: Final = 60.0
"""For a database of the home, which may have to be made first."""
CONNECT_SECONDS: Final = 10.0
"""For an operator's database."""
SHOWN: Final = 20
"""Lines that are printed of what may be very many; `--json` tells all."""
_LOOK_INTO_SPOOL: Final = frozenset({"erase", "remap"})
"""Verbs that concern what a home has not delivered yet, too."""
_SHOWN_AS: Final[Mapping[type, Callable[[Any], Any]]] = {
    Enum: lambda value: value.value,
    datetime: lambda value: value.isoformat(),
    bytes: lambda value: value.hex(),
    UUID: str,
    Path: str,
}


def not_blank(text: str) -> str:
    """Return a value of an option. Nothing is named by blanks.

    Raises:
        argparse.ArgumentTypeError: It is blank.
    """
    if not text.strip():
        raise argparse.ArgumentTypeError("must not be blank")
    return text


def path_named(text: str) -> Path:
    """Return the path that an option names. A blank one would be the directory that somebody happens to be in.

    Raises:
        argparse.ArgumentTypeError: It is blank.
    """
    return Path(not_blank(text))


def whole_number(low: int, high: int) -> Callable[[str], int]:
    """Return what reads a whole number of an option, from `low` to `high`.

    >>> whole_number(1, 200)("20")
    20
    """

    def read(text: str) -> int:
        with suppress(ValueError):
            if low <= (found := int(text)) <= high:
                return found
        raise argparse.ArgumentTypeError(f"must be a whole number from {low:,} to {high:,}")

    return read


def number(low: float, high: float, of: str = "") -> Callable[[str], float]:
    """Return what reads a number of an option, from `low` to `high`.

    >>> number(0, 1)("0.5")
    0.5
    """

    def read(text: str) -> float:
        with suppress(ValueError):
            if low <= (found := float(text)) <= high:
                return found
        raise argparse.ArgumentTypeError(f"must be a number{of} from {low:,g} to {high:,.0f}")

    return read


def seconds(low: float, high: float, *, least: float = 0.0) -> Callable[[str], float]:
    """Return what reads a number of seconds of an option, from `low` to `high`; one below `least` stands for that.

    >>> seconds(0, 60, least=0.1)("0")
    0.1
    """
    read = number(low, high, of=" of seconds")
    return lambda text: max(read(text), least)


def days(high: float) -> Callable[[str], float]:
    """Return what reads a number of days of an option, above 0 and at most `high`.

    >>> days(30)("0.5")
    0.5
    """

    def read(text: str) -> float:
        with suppress(ValueError):
            if 0 < (found := float(text)) <= high:
                return found
        raise argparse.ArgumentTypeError(f"must be a number of days above 0 and at most {high:,.0f}")

    return read


def counted(count: int, noun: str) -> str:
    """Return a count with its noun.

    >>> counted(1, "write"), counted(2_000, "write")
    ('1 write', '2,000 writes')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def counts_told(counts: Mapping[str, int]) -> str:
    """Return how many there are of each kind.

    >>> counts_told({"entry": 1_000, "turn": 0})
    '1,000 of kind entry'
    """
    return ", ".join(f"{count:,} of kind {kind}" for kind, count in counts.items() if count) or "nothing"


def first_of(lines: Sequence[str]) -> Sequence[str]:
    """Return lines, the first ones and how many there are more if they are very many.

    >>> first_of(["one"] * 21)[19:]
    ['one', 'and 1 more; --json tells all']
    """
    more = len(lines) - SHOWN
    return [*lines[:SHOWN], f"and {more:,} more; --json tells all"] if more > 0 else lines


def home_option(parser: argparse.ArgumentParser) -> None:
    """Add the option that names the Hermes home."""
    parser.add_argument("--hermes-home", type=Path, metavar="DIR", help="the Hermes home; default: $HERMES_HOME")


def json_option(parser: argparse.ArgumentParser) -> None:
    """Add the option for machine-readable output."""
    parser.add_argument("--json", action="store_true", dest="as_json", help="print one JSON document")


def theme_option(parser: argparse.ArgumentParser) -> None:
    """Add the option that says for whom."""
    parser.add_argument(
        "--theme", default=HOST_WORKSPACE, help=f"whose memory; default: {HOST_WORKSPACE}, the unnamed agent"
    )


def verb_below(
    below: Any,
    name: str,
    carry_out: Callable[[argparse.Namespace], int],
    summary: str,
    *options: Callable[[argparse.ArgumentParser], None],
) -> argparse.ArgumentParser:
    """Add a verb below another, with the options that the others there have too."""
    parser: argparse.ArgumentParser = below.add_parser(name, help=summary)
    for add in options:
        add(parser)
    parser.set_defaults(carry_out=carry_out)
    return parser


def administering_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of verbs that work with the owner's rights."""
    home_option(parser)
    json_option(parser)
    parser.add_argument("--admin-dsn", metavar="URL", help="login with the owner's rights; the embedded needs none")


def wait_option(parser: argparse.ArgumentParser, *, default: float) -> None:
    """Add the option that says how long the database gets."""
    parser.add_argument(
        "--wait",
        type=seconds(0, LONGEST_WAIT, least=SHORTEST_WAIT),
        default=default,
        metavar="SECONDS",
        help="time the database gets to answer; default: %(default)s",
    )


def settings_for(given: argparse.Namespace) -> Settings:
    """Read the settings of the home that was named, which is there unless the verb makes it or can do without.

    Raises:
        ConfigurationError: A setting is wrong, or there is no such home.
    """
    settings = settings_at(given.hermes_home)
    if not (getattr(given, "makes_home", False) or _needs_no_home(given, settings)):
        require_home(settings.home)
    return settings


def _needs_no_home(given: argparse.Namespace, settings: Settings) -> bool:
    """Tell whether all is in an operator's database. People are named by the secret, which a home keeps."""
    if getattr(given, "admin_dsn", None) is None or given.hermes_memory_verb in _LOOK_INTO_SPOOL:
        return False
    people = any(getattr(given, name, None) for name in ("subject", "to_subject", "key"))
    return settings.subject_secret is not None or not people


def subject_named(key: str, settings: Settings) -> Subject:
    """Return the person or group that an operator names by a key, or by a line of standard input in its place.

    Raises:
        InvalidInput: There is no key, or it names nobody. The message does not quote it.
        ConfigurationError: The installation's secret cannot be read.
    """
    from hermes_memory.bootstrap.home import installation_secret  # noqa: PLC0415 - the host imports this at every start

    given = sys.stdin.readline() if key == FROM_INPUT else key
    if not given.strip():
        raise InvalidInput("no key of a person or group was given", field="subject")
    return subject_of_key(installation_secret(settings), given)


def with_memory(
    settings: Settings, work: Callable[[Memory], Awaitable[Answer]], *, wait: float | None = None
) -> Answer:
    """Open the memory, do the work, close it.

    Args:
        wait: Seconds to wait for the database; by default as long as its kind may need.
    """
    patience = (START_SECONDS if settings.dsn is None else CONNECT_SECONDS) if wait is None else wait

    async def opened() -> Answer:
        # Named through the package, which loads the drivers only now: the host imports this module at every start.
        async with hermes_memory.open_memory(settings, wait=patience) as memory:
            return await work(memory)

    return anyio.run(opened)


def print_json(payload: Any) -> None:
    """Print one JSON document, which escapes what the terminal has no characters for, or would obey instead of show."""
    unicode = getattr(sys.stdout, "encoding", None) in {"utf-8", "utf8", "UTF-8", None}
    print(escaped_invisible(json.dumps(plain(payload), ensure_ascii=not unicode, indent=2)))


def plain(value: Any) -> Any:
    """Return a value as JSON knows it."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    return next((show(value) for kind, show in _SHOWN_AS.items() if isinstance(value, kind)), value)
