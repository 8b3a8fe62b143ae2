"""Statements that count where what is derived from rows does not fit the rows."""

from __future__ import annotations

from typing import Final, LiteralString

INDEX_AND_ROWS: Final[LiteralString] = """
with rows as (
  select d.agent_identity, d.shelf, d.subject, count(*) as documents, sum(d.lex_length) as lexemes,
         sum((select count(*) from unnest(d.lex))) as postings
    from hermes_memory.memory_documents d group by 1, 2, 3),
blocks as (
  select b.agent_identity, b.shelf, b.subject, coalesce(sum(b.n) filter (where b.lexeme = ''), 0) as documents,
         coalesce(sum(b.packed[1]) filter (where b.lexeme = ''), 0) as lexemes,
         coalesce(sum(b.n) filter (where b.lexeme <> ''), 0) as postings,
         coalesce(sum(cardinality(b.packed)) filter (where b.lexeme <> ''), 0) as packed
    from hermes_memory.term_blocks b group by 1, 2, 3)
select count(*) from rows r full join blocks b using (agent_identity, shelf, subject)
 where coalesce(r.documents, 0) <> b.documents or coalesce(r.lexemes, 0) <> b.lexemes
    or coalesce(r.postings, 0) <> b.postings or b.postings <> b.packed"""
"""Counts the themes and shelves where the text index and the rows themselves do not agree."""

GAPS: Final[LiteralString] = """
select count(*) from (
  select c.position,
         row_number() over (partition by c.agent_identity, c.subject, c.session_id order by c.position) - 1 as expected
    from hermes_memory.conversations c) p where position <> expected"""
"""Counts the turns whose position is not the next one of their session."""
