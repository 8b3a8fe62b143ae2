"""What must hold of the planner's statistics: they outlive the rows that they were taken of, an erasure included."""

from __future__ import annotations

from typing import Final

from hermes_memory.adapters.postgres.check import Check

TELLING_STATISTICS: Final = Check(
    statement="""
select t.relation::regclass || '.' || t.name as name from hermes_memory.telling_columns() t
  join pg_class c on c.oid = t.relation where not t.silent and not c.relispartition order by 1""",
    sentence="the planner's statistics keep what stands in {}, also when that is erased: `alter table ... alter column "
    "... set statistics 0`, and of an index on an expression `drop index`",
)

EXTENDED_STATISTICS: Final = Check(
    statement="""
select s.stxname as name from pg_statistic_ext s join pg_class c on c.oid = s.stxrelid
 where c.relnamespace = 'hermes_memory'::regnamespace order by 1""",
    sentence="extended statistics keep what stands in tables of the memory, also when that is erased: {}; drop them",
)

STATISTICS_CHECKS: Final = (TELLING_STATISTICS, EXTENDED_STATISTICS)
