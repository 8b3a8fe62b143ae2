"""The bodies of the functions that this version ships, to compare with those of a database.

What the wall lets through is decided in a few functions. One that was replaced by hand looks just like the others in
the catalogue: only its body tells.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Final, LiteralString

from hermes_memory.adapters.postgres.ledger import shipped

BODIES: Final[LiteralString] = """
select p.proname as name, p.prosrc as body from pg_proc p
 where p.pronamespace = 'hermes_memory'::regnamespace and p.prosqlbody is null"""

SENTENCE: Final = (
    "functions differ from those that this version made: {}; run `create or replace function` with their text from the "
    "library's migrations, or restore a backup"
)

_DEFINITION: Final = re.compile(
    r"^create (?P<replaces>or replace )?function hermes_memory\.(?P<name>\w+)\("
    r"(?:(?!^create ).)*?(?P<quote>\$\w*\$)(?P<body>.*?)(?P=quote)",
    re.MULTILINE | re.DOTALL,
)
_DROPPED: Final = re.compile(r"^drop function (?:if exists )?hermes_memory\.(\w+)", re.MULTILINE)


@cache
def shipped_bodies() -> Mapping[str, frozenset[str]]:
    """Return, by name, the bodies that a function may have after all migrations."""
    found: dict[str, frozenset[str]] = {}
    for migration in shipped():
        for name in _DROPPED.findall(migration.statements):
            found.pop(name, None)
        for match in _DEFINITION.finditer(migration.statements):
            others = frozenset[str]() if match["replaces"] else found.get(match["name"], frozenset())
            found[match["name"]] = others | {match["body"]}
    return MappingProxyType(found)


def altered(bodies: list[tuple[str, str]]) -> list[str]:
    """Return the names of functions, given with their bodies, that are not as shipped, or not shipped at all."""
    ours = shipped_bodies()
    return sorted({f"{name}()" for name, body in bodies if body not in ours.get(name, frozenset())})
