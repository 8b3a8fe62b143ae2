"""The functions that this version ships, to compare with those of a database.

What the wall lets through is decided in a few functions. One that was replaced by hand looks just like the others in
the catalogue: only its body tells, and as whom and with which settings it runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, Final, LiteralString

from hermes_memory.adapters.postgres.ledger import shipped

FUNCTIONS: Final[LiteralString] = """
select p.proname as name, case when p.prosqlbody is null then p.prosrc end as body, p.prosecdef as as_owner,
       coalesce(p.proconfig, '{}') as settings
  from pg_proc p where p.pronamespace = 'hermes_memory'::regnamespace"""

SENTENCE: Final = (
    "functions are missing or differ from those that this version made: {}; run `create or replace function` with "
    "their text from the library's migrations, or restore a backup"
)

_DEFINITION: Final = re.compile(
    r"^create (?P<replaces>or replace )?function hermes_memory\.(?P<name>\w+)\("
    r"(?P<manner>[^;$]*)(?:(?P<quote>\$\w*\$)(?P<body>.*?)(?P=quote))?",
    re.MULTILINE | re.DOTALL,
)
_SETTING: Final = re.compile(r"\bset ([\w.]+)\s*=\s*(\w+(?:,\s*\w+)*)")
_DROPPED: Final = re.compile(r"^drop function (?:if exists )?hermes_memory\.(\w+)", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """How a function is made.

    Attributes:
        body: Its text; None where the server keeps it as parsed, which is so with plain expressions. One that another
            plain expression has replaced is not noticed: servers of each version write what they parsed differently.
        as_owner: Whether it runs with the rights of its owner.
        settings: `name=value` of each setting of its own.
    """

    body: str | None
    as_owner: bool
    settings: frozenset[str]


@cache
def shipped_functions() -> Mapping[str, frozenset[Made]]:
    """Return, by name, how a function may be made after all migrations."""
    found: dict[str, frozenset[Made]] = {}
    for migration in shipped():
        for name in _DROPPED.findall(migration.statements):
            found.pop(name, None)
        for match in _DEFINITION.finditer(migration.statements):
            others = frozenset[Made]() if match["replaces"] else found.get(match["name"], frozenset())
            found[match["name"]] = others | {_shipped(match["manner"], match["body"])}
    return MappingProxyType(found)


def made(row: Mapping[str, Any]) -> Made:
    """Return how a function of a database is made, from a row of `FUNCTIONS`."""
    return Made(body=row["body"], as_owner=row["as_owner"], settings=frozenset(row["settings"]))


def altered(functions: Iterable[tuple[str, Made]]) -> list[str]:
    """Return the names of functions that are not as shipped, not shipped at all, or not there."""
    given, ours = list(functions), shipped_functions()
    names = {name for name, each in given if each not in ours.get(name, ())}
    return sorted(f"{name}()" for name in names | (ours.keys() - {name for name, _ in given}))


def _shipped(manner: str, body: str | None) -> Made:
    settings = {f"{name}={value}" for name, value in _SETTING.findall(manner)}
    return Made(body=body, as_owner="security definer" in manner, settings=frozenset(settings))
