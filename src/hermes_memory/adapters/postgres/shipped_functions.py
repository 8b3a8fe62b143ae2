"""The functions that this version ships, to compare with those of a database.

What the wall lets through is decided in a few functions. One that was replaced by hand looks just like the others in
the catalogue: only its body tells, and as whom, how and with which settings it runs. What is declared of it counts as
much as what it does: of a function said to be immutable, the answer to one caller is kept for the next.
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
select p.proname as name, coalesce(pg_get_function_sqlbody(p.oid), p.prosrc) as body,
       p.prosqlbody is not null as plain, l.lanname::text as language,
       pg_get_function_arguments(p.oid) as arguments,
       case when not coalesce(p.proargmodes && '{o,b}', false) then pg_get_function_result(p.oid) end as result,
       array_remove(array[
         case p.provolatile when 'i' then 'immutable' when 's' then 'stable' end,
         case p.proparallel when 's' then 'parallel safe' when 'r' then 'parallel restricted' end,
         case when p.proisstrict then 'strict' end, case when p.proleakproof then 'leakproof' end,
         case when p.prosecdef then 'security definer' end, case when p.prosupport <> 0 then 'support' end,
         case p.prokind when 'a' then 'aggregate' when 'p' then 'procedure' when 'w' then 'window' end
       ], null) as traits,
       coalesce(p.proconfig, '{}') as settings
  from pg_proc p join pg_language l on l.oid = p.prolang
 where p.pronamespace = 'hermes_memory'::regnamespace"""

SENTENCE: Final = (
    "functions are missing or differ from those that this version made: {}; run `create or replace function` with "
    "their text from the library's migrations, or restore a backup"
)

_DEFINITION: Final = re.compile(
    r"^create (?P<replaces>or replace )?function hermes_memory\.(?P<name>\w+)\((?P<arguments>(?:[^()]|\(\))*)\)\s+"
    r"(?:returns (?P<result>table \([^()]*\)|(?:setof )?[\w.]+(?:\[\])?)\s+)?(?P<manner>language\b[^;$]*?)"
    r"(?:\bas\s+(?P<quote>\$\w*\$)(?P<body>.*?)(?P=quote)|\b(?P<expression>return\b[^;]*);)",
    re.MULTILINE | re.DOTALL,
)
_LANGUAGE: Final = re.compile(r"\blanguage (\w+)")
_TRAIT: Final = re.compile(
    r"\b(immutable|stable|parallel (?:safe|restricted)|strict|leakproof|security definer|support|window)\b"
)
_SETTING: Final = re.compile(r"\bset ([\w.]+)\s*=\s*(\w+(?:,\s*\w+)*)")
_SHORT_NAMES: Final = (
    (re.compile(r"\bint\b"), "integer"),
    (re.compile(r"\btimestamptz\b"), "timestamp with time zone"),
)
_CAST: Final = re.compile(r"::(?:double precision|\w+)(?:\[\])?")
_BARE_FRACTION: Final = re.compile(r"(?<![\w.])\.(?=\d)")
_LAYOUT: Final = re.compile(r"[\s()]+")
_DROPPED: Final = re.compile(r"^drop function (?:if exists )?hermes_memory\.(\w+)", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """How a function is made.

    Attributes:
        language: What its body is written in.
        body: Its text. Of a plain expression, which the server keeps as parsed, what is left without casts and
            parentheses: the server adds some.
        arguments: Their names and types in order, with those that it gives back, spelt as the server does.
        result: The type that it returns, spelt likewise; empty where the arguments tell.
        traits: What is declared of it beside its settings: how it runs and what may be expected of it. What it costs
            is none of them: one who corrects an estimate changes no meaning.
        settings: `name=value` of each setting of its own.
    """

    language: str
    body: str
    arguments: str
    result: str
    traits: frozenset[str]
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
            found[match["name"]] = others | {_shipped(match)}
    return MappingProxyType(found)


def made(row: Mapping[str, Any]) -> Made:
    """Return how a function of a database is made, from a row of `FUNCTIONS`."""
    body: str = row["body"]
    return Made(
        language=row["language"],
        body=_bare(body) if row["plain"] else body,
        arguments=_spelt(row["arguments"]),
        result=_spelt(row["result"] or ""),
        traits=frozenset(row["traits"]),
        settings=frozenset(row["settings"]),
    )


def altered(functions: Iterable[tuple[str, Made]]) -> list[str]:
    """Return the names of functions that are not as shipped, not shipped at all, or not there."""
    given, ours = list(functions), shipped_functions()
    names = {name for name, each in given if each not in ours.get(name, ())}
    return sorted(f"{name}()" for name in names | (ours.keys() - {name for name, _ in given}))


def _shipped(match: re.Match[str]) -> Made:
    manner: str = match["manner"]
    return Made(
        language="".join(_LANGUAGE.findall(manner)),
        body=_bare(match["expression"]) if match["body"] is None else match["body"],
        arguments=_spelt(match["arguments"]),
        result=_spelt(match["result"] or ""),
        traits=frozenset(_TRAIT.findall(manner)),
        settings=frozenset(f"{name}={value}" for name, value in _SETTING.findall(manner)),
    )


def _bare(expression: str) -> str:
    """Return an expression as it reads for every server, whatever casts and parentheses it writes out."""
    return _LAYOUT.sub("", _BARE_FRACTION.sub("0.", _CAST.sub("", expression))).lower()


def _spelt(declaration: str) -> str:
    """Return arguments or a result with the names of types written in full, without what their defaults are cast to."""
    written = _CAST.sub("", declaration.lower())
    for short, full in _SHORT_NAMES:
        written = short.sub(full, written)
    return _LAYOUT.sub("", written)
