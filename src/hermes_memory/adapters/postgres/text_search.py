"""The text leg: BM25 from the posting blocks, under a budget of postings.

Rare words of a query are read whole. Once the budget is used up, a common word gives only its best blocks, and the rows
found so far are scored exactly on it from their stored words. Cost is about half a microsecond a posting.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, LiteralString

from hermes_memory.adapters.postgres.looking import Looking
from hermes_memory.adapters.postgres.rows import own_subjects, row_of
from hermes_memory.adapters.postgres.spaces import (
    in_all_themes,
    in_one_theme,
    in_subject_themes,
    shelves,
    theme_of,
)
from hermes_memory.domain.model import AllScope, Scope, SessionScope, SubjectScope
from hermes_memory.ports.reading import SearchSpace, TextHit, TextMatches

if TYPE_CHECKING:
    from hermes_memory.adapters.postgres.rows import Record

POSTINGS_BUDGET: Final = 20_000
"""Postings read for one query, about."""
POSTINGS_PER_COMMON_TERM: Final = 1_000
"""Postings read of a word that the budget does not cover, at least."""
RESCORED: Final = 300
"""Rows scored exactly on the words that were not read whole."""

# BM25 with k1 = .9 and b = .4: idf · tf · 1.9 / (tf + .54 + .36 · length / mean length).
# $3 all shelves of the kinds asked for, $4 lexemes. Counting looks at the index alone.
COUNTING: Final[LiteralString] = """,
statistics as materialized (
  select coalesce(sum(t.n), 0)::float8 as documents,
         coalesce(nullif(sum(t.length)::float8, 0) / nullif(sum(t.n), 0), 1) as mean_length
    from spaces s cross join lateral (
         select b.n, b.packed[1] as length from hermes_memory.term_blocks b
          where b.agent_identity = {theme of space} and b.subject = s.subject and b.shelf = any ($3::text[])
            and b.lexeme = ''
         offset 0) t),
counted as materialized (
  select s.place, t.* from spaces s cross join lateral (
         select b.shelf, b.lexeme, b.hi, b.id, b.n from hermes_memory.term_blocks b
          where b.agent_identity = {theme of space} and b.subject = s.subject and b.shelf = any ($3::text[])
            and b.lexeme = any ($4::text[])
         offset 0) t),
weights as materialized (
  select c.lexeme, sum(c.n) as frequency, 1::int8 << (array_position($4::text[], c.lexeme) - 1) as bit,
         ln(1 + (greatest(st.documents, 50) - sum(c.n) + .5) / (sum(c.n) + .5))::float8 as idf
    from counted c cross join statistics st group by c.lexeme, st.documents)"""

# Scores are ordered as 4-byte floats: parts of equal scores are added in any order, and the last bits tell which.
# $5 shelves to find in, $6 budget, $7 least postings of a common word, $8 rows to rescore, $9 limit.
FINDING: Final[LiteralString] = """,
ordered as materialized (
  select c.lexeme, c.hi, c.n,
         sum(c.n) over (partition by c.lexeme order by c.hi desc, c.id rows unbounded preceding) - c.n as before
    from counted c where c.shelf = any ($5::text[])),
lengths as (
  select o.lexeme, sum(o.n) as postings from ordered o group by o.lexeme),
allowances as (
  select l.lexeme, sum(l.postings) over up_to_here <= $6::int as whole,
         case when sum(l.postings) over up_to_here <= $6::int then l.postings
              else greatest($7::int, $6::int - (sum(l.postings) over up_to_here - l.postings)) end as allowed
    from lengths l window up_to_here as (order by l.postings, l.lexeme)),
terms as materialized (
  select a.lexeme, a.whole, w.idf, w.bit, hermes_memory.term_query(a.lexeme) as query,
         (select min(o.hi) from ordered o where o.lexeme = a.lexeme and o.before < a.allowed) as lowest
    from allowances a join weights w using (lexeme)),
found as materialized (
  select distinct c.place, c.lexeme from counted c where c.shelf = any ($5::text[])),
postings as (
  select s.place, t.whole, t.idf, t.bit, unnest(k.packed) as posting
    from found f join terms t using (lexeme) join spaces s using (place) cross join lateral (
         select b.packed from hermes_memory.term_blocks b
          where b.agent_identity = {theme of space} and b.subject = s.subject and b.shelf = any ($5::text[])
            and b.lexeme = t.lexeme and b.hi >= t.lowest
         offset 0) k),
parts as (
  select p.place, p.posting >> 16 as key, p.whole, p.bit,
         p.idf * 1.9::float8 * ((p.posting >> 12) & 15)
           / (((p.posting >> 12) & 15) + .54::float8 + .36::float8 / st.mean_length * (p.posting & 4095)) as part
    from postings p cross join statistics st),
scored as (
  select p.key, min(p.place) as place, sum(p.part) as partial, bit_or(p.bit) as held,
         coalesce(sum(p.part) filter (where p.whole), 0) as certain
    from parts p group by p.key),
best as materialized (
  select s.key, s.place, s.partial, s.certain, s.held from scored s order by s.partial::real desc, s.key desc limit $8),
themes as materialized (
  select distinct s.place, s.theme from spaces s),
rescored as (
  select b.key, b.place, b.partial as score, b.held from best b where not exists (select from terms t where not t.whole)
  union all
  select b.key, b.place, case when r.score is null then b.partial else b.certain + r.score end,
         b.held | coalesce(r.held, 0)
    from best b join themes s using (place)
   cross join lateral (
         select sum(t.idf * 1.9::float8 * f.tf
                    / (f.tf + .54::float8 + .36::float8 / st.mean_length * least(d.lex_length, 4095))) as score,
                bit_or(t.bit) filter (where f.tf > 0) as held
           from (select d.lex, d.lex_length from hermes_memory.memory_documents d
                  where d.agent_identity = {theme of space} and d.lex_key = b.key
                 offset 0) d
          cross join statistics st
          cross join terms t
          cross join lateral (select hermes_memory.term_frequency(d.lex, t.query)::float8 as tf offset 0) f
          where not t.whole) r
   where exists (select from terms t where not t.whole)),
exact as materialized (
  select r.key, r.place, r.score, r.held from rescored r order by r.score::real desc, r.key desc limit $9)
select st.documents, st.mean_length,
       (select jsonb_object_agg(w.lexeme, w.frequency) from weights w)::text as frequencies, h.*
  from statistics st left join (
       select e.score, e.held, r.* from exact e join themes s using (place)
        cross join lateral (
              select r.* from hermes_memory.memory_rows r
               where r.agent_identity = {theme of space} and r.lex_key = e.key
              offset 0) r) h on true
 order by h.score::real desc nulls last, h.lex_key desc"""

# $5 shelves, $6 names of the session, $7 limit. A session is small enough to read its rows' own words.
FINDING_IN_SESSION: Final[LiteralString] = """,
scored as (
  select d.id, bit_or(w.bit) as held,
         sum(w.idf * 1.9::float8 * d.tf
             / (d.tf + .54::float8 + .36::float8 / st.mean_length * least(d.lex_length, 4095))) as score
    from (select d.id, d.lex_length, u.lexeme, least(cardinality(u.positions), 15)::float8 as tf
            from hermes_memory.memory_documents d cross join lateral unnest(d.lex) as u
           where d.agent_identity = {theme of space} and d.session_id = any ($6::text[]) and d.shelf = any ($5::text[])
             and d.subject in (select s.subject from spaces s)) d
    join weights w on w.lexeme = d.lexeme cross join statistics st
   group by d.id),
exact as materialized (
  select s.id, s.score, s.held from scored s order by s.score::real desc, s.id limit $7)
select st.documents, st.mean_length,
       (select jsonb_object_agg(w.lexeme, w.frequency) from weights w)::text as frequencies, h.*
  from statistics st left join (
       select e.score, e.held, r.* from exact e cross join lateral (
              select r.* from hermes_memory.memory_rows r
               where r.agent_identity = {theme of space} and r.id = e.id
              offset 0) r) h on true
 order by h.score::real desc nulls last, h.id"""

BY_TEXT_IN_ONE_THEME: Final[LiteralString] = in_one_theme(COUNTING + FINDING)
BY_TEXT_IN_ALL_THEMES: Final[LiteralString] = in_all_themes(COUNTING + FINDING)
BY_TEXT_OF_SUBJECT: Final[LiteralString] = in_subject_themes(COUNTING + FINDING)
BY_TEXT_IN_SESSION: Final[LiteralString] = in_one_theme(COUNTING + FINDING_IN_SESSION)


class TextSearch:
    """Finds rows by the words they hold.

    Args:
        budget: Postings read for one query, about. It sets the time a query of common words takes in a big theme.
    """

    def __init__(self, *, budget: int = POSTINGS_BUDGET) -> None:
        self._budget = budget

    async def find(self, looking: Looking, space: SearchSpace, lexemes: Sequence[str], *, limit: int) -> TextMatches:
        """Find rows that hold any of the lexemes; see `Search.by_text`."""
        wanted = [lexeme for lexeme in dict.fromkeys(lexemes) if lexeme]
        if not wanted or not space.kinds or limit < 1:
            return TextMatches(hits=())
        transaction = await looking.transaction()
        found = await transaction.fetch(
            _statement(space.scope),
            theme_of(looking.caller, space.scope),
            own_subjects(looking.caller),
            shelves(space.kinds),
            wanted,
            shelves(space.kinds, space.target),
            *self._bounds(space.scope, limit),
        )
        return _matches(found)

    def _bounds(self, scope: Scope, limit: int) -> tuple[object, ...]:
        if isinstance(scope, SessionScope):
            return [*scope.names], limit
        least = min(POSTINGS_PER_COMMON_TERM, self._budget)
        return self._budget, least, max(limit, RESCORED), limit


def _statement(scope: Scope) -> LiteralString:
    if isinstance(scope, SessionScope):
        return BY_TEXT_IN_SESSION
    if isinstance(scope, AllScope):
        return BY_TEXT_IN_ALL_THEMES
    if isinstance(scope, SubjectScope):
        return BY_TEXT_OF_SUBJECT
    return BY_TEXT_IN_ONE_THEME


def _matches(found: Sequence[Record]) -> TextMatches:
    """Read the answer: the statistics come with every row, and alone when there is no hit."""
    first = found[0]
    documents = max(0, round(first["documents"]))
    return TextMatches(
        hits=[
            TextHit(row=row_of(record), bm25=record["score"], held=record["held"])
            for record in found
            if record["score"] is not None
        ],
        documents=documents,
        mean_length=first["mean_length"] if documents else 0.0,
        document_frequencies=json.loads(first["frequencies"]) if first["frequencies"] else {},
    )
