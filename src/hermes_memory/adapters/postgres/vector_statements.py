"""The statements of the vector leg. Vectors of each kind and embedding generation have a table of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, LiteralString

from hermes_memory.adapters.postgres.spaces import THEME, in_all_themes, in_one_theme, in_subject_themes
from hermes_memory.domain.model import AllScope, CurrentScope, Kind, Scope, SessionScope, SubjectScope, ThemeScope

# What a plan depends on: how many rows the caller sees, and up to how many every distance is computed. $5 shelves, $6
# the generation, $7 that number where ordinary themes read each other, $8 where they do not.
FACTS: Final[LiteralString] = """,
sizes as (
  select t.shelf, sum(t.n) as size from spaces s cross join lateral (
         select b.shelf, b.n from hermes_memory.term_blocks b
          where b.agent_identity = {theme of space} and b.subject = s.subject and b.shelf = any ($5::text[])
            and b.lexeme = ''
         offset 0) t
   group by t.shelf),
facts as materialized (
  select m.generation, m.dimension, i.partitions, i.read_policy = 'open' as open,
         case when i.read_policy = 'open' then $7::bigint else $8::bigint end as whole,
         coalesce((select sum(z.size) from sizes z where z.shelf <> 'turn'), 0)::bigint as entry,
         coalesce((select sum(z.size) from sizes z where z.shelf = 'turn'), 0)::bigint as turn
    from hermes_memory.installation i join hermes_memory.embedding_models m on m.generation = $6::int)"""

# About how many entries and turns the partition of the theme holds, as of the last look that the server took at it,
# where that matters. A theme is in the partition of the same number in every table.
CROWDS: Final[LiteralString] = """
       case when greatest(f.entry, f.turn) > f.whole then (
         select array(select greatest((select c.reltuples from pg_catalog.pg_class c
                                        where c.oid = to_regclass(format('hermes_memory.%s_vectors_g%s_p%s',
                                                                         k.kind, f.generation, n))), 0)
                        from unnest(array['entry', 'turn']) with ordinality as k(kind, place) order by k.place)
           from generate_series(0, f.partitions - 1) as n
          where satisfies_hash_partition('hermes_memory.conversations'::regclass, f.partitions, n,
                                         $1::text collate "C")) end"""

# $3 vector, $4 limit. Adding 0 keeps the planner from the graph, which would hand out rows that the other conditions
# then drop. The vector is made once, not for every row. A row is there once for each of its parts: so more parts are
# taken than rows are wanted.
EXACT: Final[LiteralString] = """,
taken as materialized (
  select t.row_id, s.theme, t.distance from facts f cross join spaces s cross join lateral ({distances}
         offset 0) t
   where f.dimension = cardinality($3::real[]) and t.distance <> 'NaN'
   order by t.distance limit {parts}),"""

# Of a kind with more rows than that, nothing is looked at. Of each kind the nearest are taken at once, so that the
# steps that follow are not handed all.
DISTANCES: Final[LiteralString] = """
         (select v.row_id, (v.embedding operator(public.<=>) (select $3::real[]::public.halfvec)) + 0 as distance
            from hermes_memory.{vectors} v
           where f.{kind} <= f.whole and v.agent_identity = {theme of space} and v.subject = s.subject {and of target}
           order by 2 limit {parts})"""

# The same through the graph, which hands out rows nearly in order.
APPROXIMATE: Final[LiteralString] = """,
taken as materialized (
  select n.row_id, n.theme, n.distance from (
    select v.row_id, v.agent_identity as theme, v.embedding operator(public.<=>) $3::real[]::public.halfvec as distance
      from hermes_memory.{vectors} v
     where {in one theme} (v.agent_identity, v.subject) in (select s.theme, s.subject from spaces s) {and of target}
     order by v.embedding operator(public.<=>) $3::real[]::public.halfvec limit {parts}) n
   where n.distance <> 'NaN'),"""

NEAREST: Final[LiteralString] = """
near as materialized (
  select t.row_id, t.theme, min(t.distance) as distance from taken t
   group by t.row_id, t.theme order by 3, 1 limit $4)"""

# $9 names of the session. The session's rows first, their vectors by id.
IN_SESSION: Final[LiteralString] = """,
near as materialized (
  select d.id as row_id, $1::text as theme, min(t.distance) as distance
    from facts f cross join hermes_memory.memory_documents d cross join lateral ({distances}
         offset 0) t
   where f.dimension = cardinality($3::real[])
     and d.agent_identity = $1 and d.session_id = any ($9::text[]) and d.shelf = any ($5::text[])
     and d.subject in (select s.subject from spaces s) and t.distance <> 'NaN'
   group by d.id order by 3, 1 limit $4)"""

DISTANCES_IN_SESSION: Final[LiteralString] = """
         select (v.embedding operator(public.<=>) (select $3::real[]::public.halfvec)) + 0 as distance
           from hermes_memory.{vectors} v where v.agent_identity = $1 and v.row_id = d.id"""

ROWS: Final[LiteralString] = """
       select s.distance, {parts taken} as parts, r.* from near s cross join lateral (
              select r.* from hermes_memory.memory_rows r
               where r.agent_identity = {theme of space} and r.id = s.row_id and r.kind in ({kinds})
              offset 0) r"""

# The facts come with every row, and alone when there is none.
WITH_FACTS: Final[LiteralString] = """
select f.dimension, f.partitions, f.open, f.whole, f.entry, f.turn, c.crowds[1] as entries_around,
       c.crowds[2] as turns_around, h.*
  from facts f cross join lateral (select {crowds}::bigint[] as crowds offset 0) c left join ({rows}) h on true
 order by h.distance, h.id"""

# $1 the caller's theme, $2 its subjects, $3 vector, $4 ids, $5 the generation. Most rows are of the caller's theme,
# whose partition is asked first; the others are asked for what is left.
COSINES: Final[LiteralString] = """
select c.row_id as id, min(c.distance) as distance from (
  select v.row_id, v.agent_identity, v.subject,
         v.embedding operator(public.<=>) (select $3::real[]::public.halfvec) as distance
    from hermes_memory.{entry vectors} v where {comparable} and {theme} $1::text and v.row_id = any ($4::uuid[])
  union all
  select v.row_id, v.agent_identity, v.subject, v.embedding operator(public.<=>) (select $3::real[]::public.halfvec)
    from hermes_memory.{turn vectors} v where {comparable} and {theme} $1::text and v.row_id = any ($4::uuid[])) c
 where c.distance <> 'NaN'
   and ((c.subject <> '' and c.subject = any ($2::bytea[]))
        or (c.subject = '' and (c.agent_identity = (select hermes_memory.ctx_theme())
                                or c.agent_identity in (select unnest(hermes_memory.ctx_themes())))))
 group by c.row_id"""

COMPARABLE: Final[LiteralString] = """cardinality($3::real[]) = (
           select m.dimension from hermes_memory.embedding_models m where m.generation = $5::int)"""

_OF_TARGET: Final[LiteralString] = "and ({target}::text is null or v.target = {target})"


_DIGITS: Final[Sequence[LiteralString]] = ("0", "1", "2", "3", "4", "5", "6", "7", "8", "9")
_NAMES: Final[Mapping[Kind, LiteralString]] = {Kind.ENTRY: "entry", Kind.TURN: "turn"}


def exact_statement(kinds: Sequence[Kind], generation: int, scope: Scope, *, parts_a_row: int) -> LiteralString:
    """Return the statement that computes every distance to the rows of the kinds that have few enough of them.

    It also tells how many rows of each kind there are, and how many parts it took for the nearest rows.

    Args:
        kinds: In order; at least one.
        parts_a_row: How many parts are taken for each row that is wanted, 0 for all of them. A session's rows always
            count all of them, however many there are.

    Parameters: theme, subjects, vector, limit, shelves, generation, up to how many rows every distance is computed
    where ordinary themes read each other, and where they do not; then for a session its names, else the target if
    entries are looked for.
    """
    session = isinstance(scope, SessionScope)
    distances = "\n          union all".join(
        _of_kind(DISTANCES_IN_SESSION if session else DISTANCES, kind, generation, "$9") for kind in kinds
    ).replace(THEME, "s.theme" if isinstance(scope, AllScope | SubjectScope) else "$1::text")
    crowds = CROWDS if isinstance(scope, CurrentScope | ThemeScope) else "null"
    steps = FACTS + (IN_SESSION if session else EXACT + NEAREST) + WITH_FACTS.replace("{rows}", ROWS)
    taken = "0" if session else "(select count(*) from taken)"
    return _filled(
        _in_scope(steps.replace("{crowds}", crowds), scope).replace("{distances}", distances),
        kinds,
        taken,
        "$4 * " + _number(parts_a_row) if parts_a_row else "all",
    )


def walk_statement(kind: Kind, generation: int, scope: Scope, *, parts_a_row: int) -> LiteralString:
    """Return the statement that walks the graph of a kind.

    Args:
        parts_a_row: How many parts are taken for each row that is wanted.

    Parameters: theme, subjects, vector, limit, then the target for entries.
    """
    own = "" if isinstance(scope, AllScope | SubjectScope) else "v.agent_identity = $1 and"
    steps = _in_scope(APPROXIMATE + NEAREST + ROWS + "\n order by s.distance, r.id", scope)
    return _filled(
        _of_kind(steps.replace("{in one theme}", own), kind, generation, "$5"),
        [kind],
        "(select count(*) from taken)",
        "$4 * " + _number(parts_a_row),
    )


def _of_kind(steps: LiteralString, kind: Kind, generation: int, target: LiteralString) -> LiteralString:
    of_target = _OF_TARGET.replace("{target}", target) if kind is Kind.ENTRY else ""
    named = steps.replace("{vectors}", vectors_table(kind, generation)).replace("{kind}", _NAMES[kind])
    return named.replace("{and of target}", of_target)


def _filled(
    steps: LiteralString, kinds: Sequence[Kind], parts_taken: LiteralString, parts: LiteralString
) -> LiteralString:
    named = ", ".join("'" + _NAMES[kind] + "'" for kind in kinds)
    return steps.replace("{kinds}", named).replace("{parts taken}", parts_taken).replace("{parts}", parts)


def cosines_statement(generation: int, *, own_theme: bool) -> LiteralString:
    """Return the statement that tells cosines by id, within the caller's theme or everywhere else."""
    return (
        COSINES.replace("{entry vectors}", vectors_table(Kind.ENTRY, generation))
        .replace("{turn vectors}", vectors_table(Kind.TURN, generation))
        .replace("{theme}", "v.agent_identity =" if own_theme else "v.agent_identity <>")
        .replace("{comparable}", COMPARABLE)
    )


def vectors_table(kind: Kind, generation: int) -> LiteralString:
    """Return the name of the table that holds the vectors of a kind in a generation."""
    return _NAMES[kind] + "_vectors_g" + _number(generation)


def _number(value: int) -> LiteralString:
    """Write a whole number, of literal digits: all that comes into these statements, and it can be nothing else."""
    return "".join(_DIGITS[int(digit)] for digit in str(value))


def _in_scope(steps: LiteralString, scope: Scope) -> LiteralString:
    if isinstance(scope, AllScope):
        return in_all_themes(steps)
    if isinstance(scope, SubjectScope):
        return in_subject_themes(steps)
    return in_one_theme(steps)
