"""The places a search looks at: pairs of theme and subject, chosen by scope under the visibility rule.

Searches are written once over the step `spaces` and exist in two variants: over one theme, which the parameter $1
names throughout, so that its partition alone is planned; and over many themes, each looked up in its own partition.
"""

from __future__ import annotations

from typing import Final, LiteralString, assert_never

from hermes_memory.domain.model import (
    AllScope,
    Caller,
    CurrentScope,
    Kind,
    Scope,
    SessionScope,
    SubjectScope,
    Target,
    Theme,
    ThemeScope,
)

THEME: Final[LiteralString] = "{theme of space}"
"""Stands for the theme in the steps of a search; see `in_one_theme` and `in_many_themes`."""

# $1 theme, $2 subjects: nobody's and the caller's own.
ONE_THEME: Final[LiteralString] = """
spaces as materialized (
  select 1 as place, $1::text as theme, s.subject from unnest($2::bytea[]) as s(subject)
   where s.subject <> '' or $1::text = (select hermes_memory.ctx_theme())
      or $1::text in (select unnest(hermes_memory.ctx_themes())))"""

# $1 the caller's theme. The subject's own rows count wherever they are, governed themes apart but for the caller's.
ALL_THEMES: Final[LiteralString] = """
spaces as materialized (
  select row_number() over () as place, t.theme, t.subject from (
    select r.theme, ''::bytea as subject from unnest(hermes_memory.ctx_themes()) as r(theme)
    union
    select b.agent_identity, b.subject from hermes_memory.term_blocks b
     where b.lexeme = '' and b.subject = any ($2::bytea[]) and b.subject <> '') t
   where t.theme = $1::text or t.theme not in (select g.theme from hermes_memory.sinks g))"""

SUBJECT_THEMES: Final[LiteralString] = """
spaces as materialized (
  select row_number() over () as place, t.theme, t.subject from (
    select distinct b.agent_identity as theme, b.subject from hermes_memory.term_blocks b
     where b.lexeme = '' and b.subject = any ($2::bytea[]) and b.subject <> '') t
   where $1::text is not null)"""


def in_one_theme(steps: LiteralString) -> LiteralString:
    """Return the steps of a search within the theme $1."""
    return "with " + ONE_THEME + steps.replace(THEME, "$1::text")


def in_all_themes(steps: LiteralString) -> LiteralString:
    """Return the steps of a search over all readable themes."""
    return "with " + ALL_THEMES + steps.replace(THEME, "s.theme")


def in_subject_themes(steps: LiteralString) -> LiteralString:
    """Return the steps of a search over all rows of the caller's subject."""
    return "with " + SUBJECT_THEMES + steps.replace(THEME, "s.theme")


def theme_of(caller: Caller, scope: Scope) -> Theme:
    """Return the theme that $1 names: the one asked for, else the caller's own."""
    match scope:
        case ThemeScope():
            return scope.theme
        case CurrentScope() | SessionScope() | AllScope() | SubjectScope():
            return caller.theme
        case _:
            assert_never(scope)


def shelves(kinds: frozenset[Kind], target: Target | None = None) -> list[str]:
    """Return the shelves of the text index that hold these kinds, entries narrowed to a target."""
    targets = [str(each) for each in Target if target in {None, each}] if Kind.ENTRY in kinds else []
    return [*targets, "turn"] if Kind.TURN in kinds else targets
