"""What must hold of the wall: policies, owners, functions and constraints, on every relation of the catalogue."""

from __future__ import annotations

from typing import Final

from hermes_memory.adapters.postgres.check import Check

_RAISE: Final = "mend it as a member of hermes_memory_owner with `select hermes_memory.raise_wall('TABLE')`"

# Four tables hold settings of the installation and nothing of anybody's. Roles that may look past the wall are told so
# by another check; for them every table would be listed here.
OPEN_TABLES: Final = Check(
    statement="""
select c.relname as name from pg_class c
 where c.relnamespace = 'hermes_memory'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
   and not c.relrowsecurity
   and c.relname not in ('installation', 'schema_migrations', 'embedding_models', 'sinks')
   and (has_any_column_privilege(c.oid, 'SELECT, INSERT, UPDATE') or has_table_privilege(c.oid, 'DELETE')
        or c.relname in ('theme_grants', 'subject_members', 'seals', 'memory_maintenance_log')) order by 1""",
    sentence="row-level security is off on {}, so there is no wall around it: turn it on with `alter table ... enable "
    "row level security`",
)

FORCED_TABLES: Final = Check(
    statement="""
select c.relname as name from pg_class c
 where c.relnamespace = 'hermes_memory'::regnamespace and c.relforcerowsecurity order by 1""",
    sentence="row-level security is forced on {}, which binds the owner's functions as well: undo it with `alter table "
    "... no force row level security`",
)

# A granted right without a policy lets nothing through: rows are missing rather than shown.
MISSING_POLICIES: Final = Check(
    statement="""
select w.policy || ' on ' || c.relname as name from pg_class c
 cross join (values ('wall_read', 'SELECT'), ('wall_add', 'INSERT'), ('wall_change', 'UPDATE'),
                    ('wall_remove', 'DELETE')) as w(policy, wanted)
 where c.relnamespace = 'hermes_memory'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
   and c.relrowsecurity and has_table_privilege(c.oid, w.wanted)
   and exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'agent_identity')
   and not exists (select from pg_policy p where p.polrelid = c.oid and p.polname = w.policy and p.polpermissive)
 order by 1""",
    sentence="policies are missing, so that rows cannot be read or written which should be: {}; " + _RAISE,
)

# The server writes an expression back in its own way; what differs between versions and search paths is left out.
ALTERED_POLICIES: Final = Check(
    statement=r"""
select p.polname || ' on ' || c.relname as name
  from pg_policy p join pg_class c on c.oid = p.polrelid
 cross join lateral (
   select exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'subject') as has_subject,
          regexp_replace(pg_get_expr(p.polqual, c.oid), ' AS \w+|\s|hermes_memory\.|::\w+', '', 'g') as found,
          regexp_replace(pg_get_expr(p.polwithcheck, c.oid), ' AS \w+|\s|hermes_memory\.|::\w+', '', 'g') as checked) e
 cross join lateral (
   select case when e.has_subject
     then '((agent_identity=(SELECTctx_theme()))AND((subject=''\x'')OR(subject=(SELECTctx_subject()))))'
     else '(agent_identity=(SELECTctx_theme()))' end as own,
     case when e.has_subject
     then '((subjectIN(SELECTunnest((SELECTctx_subjects()))))OR((subject=''\x'')'
          'AND((agent_identity=(SELECTctx_theme()))OR(agent_identityIN(SELECTunnest((SELECTctx_themes())))))))'
     else '(agent_identityIN(SELECTunnest(ctx_themes())))' end as visible) w
 cross join lateral (
   select case when c.relname = 'history'
     then '((subjectIN(SELECTunnest((SELECTctx_subjects()))))OR((subject=''\x'')'
          'AND(agent_identity=(SELECTctx_theme()))))'
     else w.visible end as read,
     case when c.relname = 'history'
     then left(w.own, -1) || 'AND(sealISNULL)AND(erasureISNULL)AND(saltISNOTNULL)AND(change<>''erased'')'
          'AND((recorded_at>=(clock_timestamp()-make_interval(mins=>5)))'
          'AND(recorded_at<=(clock_timestamp()+make_interval(mins=>5)))))'
     else w.own end as added) o
 where c.relnamespace = 'hermes_memory'::regnamespace and p.polpermissive
   and (p.polroles <> '{0}'::oid[]
        or concat_ws(' ', p.polname, p.polcmd, e.found, e.checked) collate "C" not in (
          concat_ws(' ', 'wall_read', 'r', o.read), concat_ws(' ', 'wall_add', 'a', o.added),
          concat_ws(' ', 'wall_change', 'w', w.own), concat_ws(' ', 'wall_remove', 'd', w.own))
        or (p.polcmd = 'a') is distinct from (e.checked is not null))
 order by 1""",
    sentence="policies are not those of the wall and may open it: {}; drop what is not ours, and " + _RAISE,
)

LOOSE_FUNCTIONS: Final = Check(
    statement="""
select p.proname || '()' as name from pg_proc p
 where p.pronamespace = 'hermes_memory'::regnamespace and p.prosecdef
   and not coalesce(p.proconfig @> array['search_path=pg_catalog, pg_temp'], false) order by 1""",
    sentence="functions that run as the owner have no safe search path of their own: {}; set it with `alter function "
    "... set search_path = pg_catalog, pg_temp`",
)

FOREIGN_OWNERS: Final = Check(
    statement="""
select c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
 where n.nspname = 'hermes_memory' and c.relkind in ('r', 'p', 'v', 'm', 'S', 'f') and c.relowner <> n.nspowner
 union all
select p.proname || '()' from pg_proc p join pg_namespace n on n.oid = p.pronamespace
 where n.nspname = 'hermes_memory' and p.proowner <> n.nspowner order by 1""",
    sentence="{} belong to another role than the schema does, and act with other rights than they were made for: give "
    "them back with `alter ... owner to hermes_memory_owner`",
)

# The rule of reading leans on it: a row in a sink is somebody's.
NOBODYS_IN_SINKS: Final = Check(
    statement=r"""
select c.relname as name from pg_class c
 where c.relnamespace = 'hermes_memory'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
   and (select count(*) from pg_attribute a
         where a.attrelid = c.oid and a.attname in ('agent_identity', 'subject')) = 2
   and not exists (
     select from pg_constraint k where k.conrelid = c.oid and k.contype = 'c' and k.convalidated
        and regexp_replace(pg_get_constraintdef(k.oid), '\s|::\w+', '', 'g')
          = 'CHECK(((octet_length(subject)=32)OR'
            '(agent_identity<>ALL(ARRAY[''whatsapp-dm'',''external-group'',''_bench'']))))')
 order by 1""",
    sentence="rows in governed themes need no subject any more, and those without one are everybody's: {}; add the "
    "constraint sink_rows_have_a_subject again, as on memory_entries",
)

# Ids are made of operations and cannot be guessed. Any other key without the subject tells one subject what another
# said, and loses what the second one says. What a key only carries along tells nothing apart, nor does an id that may
# be null, nor a subject that is compared in a way of somebody's own. An exclusion compares in any way that it likes.
TELLING_KEYS: Final = Check(
    statement="""
select k.relname as name from pg_index i join pg_class c on c.oid = i.indrelid join pg_class k on k.oid = i.indexrelid
 where c.relnamespace = 'hermes_memory'::regnamespace and not k.relispartition
   and (select count(*) from pg_attribute a
         where a.attrelid = c.oid and a.attname in ('agent_identity', 'subject')) = 2
   and (i.indisexclusion or (i.indisunique and not exists (
     select from generate_series(0, i.indnkeyatts - 1) n
       join pg_attribute a on a.attrelid = c.oid and a.attnum = i.indkey[n]
       join pg_opclass o on o.oid = i.indclass[n]
      where (a.attname = 'subject' or (a.atttypid = 'uuid'::regtype and a.attnotnull))
        and o.opcdefault and o.opcnamespace = 'pg_catalog'::regnamespace))) order by 1""",
    sentence="unique keys without the subject, or exclusion constraints, let one person's words decide whether "
    "another's are kept: {}; drop them",
)

# Who has no subject is nobody: joined to a person, that one would read what is public in every theme. A sink that is
# granted anything grants it to everybody in it.
UNGUARDED_GRANTS: Final = Check(
    statement=r"""
select w.relation || ' ' || w.rule as name
  from (values ('subject_members', 'CHECK((octet_length(subject)=32))'),
               ('theme_grants', 'CHECK((octet_length(subject)=ANY(ARRAY[0,32])))'),
               ('theme_grants', 'CHECK(((reader='''')<>(octet_length(subject)=0)))'),
               ('theme_grants', 'CHECK((source<>ALL(ARRAY[''whatsapp-dm'',''external-group'',''_bench''])))'),
               ('theme_grants', 'CHECK((reader<>ALL(ARRAY[''whatsapp-dm'',''external-group'',''_bench''])))')
       ) as w(relation, rule)
 where not exists (
   select from pg_constraint k join pg_class c on c.oid = k.conrelid
    where c.relnamespace = 'hermes_memory'::regnamespace and c.relname = w.relation and k.contype = 'c'
      and k.convalidated and regexp_replace(pg_get_constraintdef(k.oid), '\s|::\w+', '', 'g') = w.rule)
 order by 1""",
    sentence="grants and members are not held to what they may be any more: {}; delete what breaks these rules, and "
    "add the constraints again",
)

# What is public follows from them, and the constraint above names the same ones.
OTHER_SINKS: Final = Check(
    statement="""
select coalesce(s.theme || ' too much', o.theme || ' missing') as name
  from hermes_memory.sinks s full join unnest(array['whatsapp-dm', 'external-group', '_bench']) o(theme)
    on o.theme = s.theme
 where s.theme is null or o.theme is null order by 1""",
    sentence="the governed themes in table sinks are not those of the library: {}; insert what is missing, delete what "
    "is too much",
)

WALL_CHECKS: Final = (
    OPEN_TABLES,
    FORCED_TABLES,
    MISSING_POLICIES,
    ALTERED_POLICIES,
    LOOSE_FUNCTIONS,
    FOREIGN_OWNERS,
    NOBODYS_IN_SINKS,
    TELLING_KEYS,
    UNGUARDED_GRANTS,
    OTHER_SINKS,
)
