"""What must not be around the wall: other objects of the database by which a row gets past it.

Each looks for what the runtime role may use, itself or as any role that it may become. A superuser may use everything,
and is told of that by another check.
"""

from __future__ import annotations

from typing import Final

from hermes_memory.adapters.postgres.check import Check

# A rule acts with the rights of its relation's owner, and so does a view, unless it reads with those of its reader.
PIERCING_RELATIONS: Final = Check(
    statement="""
with recursive mask as (
  select r.oid from pg_roles r join pg_roles me on me.rolname = current_user
   where not me.rolsuper and pg_has_role(me.oid, r.oid, 'MEMBER')
), derived as (
  select c.oid, null::oid as rule from pg_class c
   where c.relnamespace = 'hermes_memory'::regnamespace and c.relkind not in ('i', 'I')
  union
  select w.ev_class, w.oid
    from derived f join pg_depend d on d.refclassid = 'pg_class'::regclass and d.refobjid = f.oid
    join pg_rewrite w on d.classid = 'pg_rewrite'::regclass and w.oid = d.objid
)
select distinct case c.relnamespace when 'hermes_memory'::regnamespace then '' else n.nspname || '.' end || c.relname
       as name
  from derived f join pg_rewrite w on w.oid = f.rule join pg_class c on c.oid = f.oid
  join pg_namespace n on n.oid = c.relnamespace
 where f.rule is not null
   and not (c.relkind = 'v' and w.ev_type = '1'
            and coalesce(c.reloptions && array['security_invoker=true', 'security_invoker=on', 'security_invoker=1'],
                         false))
   and exists (select from mask m
                where has_schema_privilege(m.oid, n.oid, 'USAGE')
                  and (has_any_column_privilege(m.oid, c.oid, 'SELECT, INSERT, UPDATE')
                       or has_table_privilege(m.oid, c.oid, 'DELETE')))
 order by 1""",
    sentence="views or rules act with their owner's rights and look past the wall: {}; undo it with `alter view ... "
    "set (security_invoker = true)`, or drop or revoke them",
)

PIERCING_FUNCTIONS: Final = Check(
    statement="""
with mask as (
  select r.oid from pg_roles r join pg_roles me on me.rolname = current_user
   where not me.rolsuper and pg_has_role(me.oid, r.oid, 'MEMBER')
)
select n.nspname || '.' || p.proname || '()' as name
  from pg_proc p join pg_namespace n on n.oid = p.pronamespace join pg_roles o on o.oid = p.proowner
  join pg_namespace ours on ours.nspname = 'hermes_memory'
 where p.prosecdef and n.oid <> ours.oid
   and (o.rolsuper or o.rolbypassrls or pg_has_role(o.oid, ours.nspowner, 'USAGE')
        or pg_has_role(o.oid, 'pg_read_all_data', 'USAGE') or pg_has_role(o.oid, 'pg_write_all_data', 'USAGE'))
   and not exists (select from pg_depend d
                    where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e')
   and exists (select from mask m
                where (has_schema_privilege(m.oid, n.oid, 'USAGE') and has_function_privilege(m.oid, p.oid, 'EXECUTE'))
                   or exists (select from pg_trigger t
                               where t.tgfoid = p.oid
                                 and (has_any_column_privilege(m.oid, t.tgrelid, 'INSERT, UPDATE')
                                      or has_table_privilege(m.oid, t.tgrelid, 'DELETE, TRUNCATE'))))
 order by 1""",
    sentence="functions that the runtime role may call run as somebody who looks past the wall: {}; take it back with "
    "`revoke execute on function ... from public`, or make them run as their caller",
)

# The planner may run it before a policy has spoken, on rows that are hidden.
LEAKING_FUNCTIONS: Final = Check(
    statement="""
select n.nspname || '.' || p.proname || '()' as name from pg_proc p join pg_namespace n on n.oid = p.pronamespace
 where p.proleakproof and n.nspname not in ('pg_catalog', 'information_schema')
   and not exists (select from pg_depend d
                    where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e')
 order by 1""",
    sentence="functions are declared to leak nothing, and may be shown rows before the wall is asked: {}; undo it with "
    "`alter function ... not leakproof`",
)

# Rows that say whose they are and stand behind no wall were copied from behind ours.
COPIES: Final = Check(
    statement="""
with mask as (
  select r.oid from pg_roles r join pg_roles me on me.rolname = current_user
   where not me.rolsuper and pg_has_role(me.oid, r.oid, 'MEMBER')
)
select n.nspname || '.' || c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
 where n.nspname <> 'hermes_memory' and c.relkind in ('r', 'p') and not c.relrowsecurity
   and (select count(*) from pg_attribute a
         where a.attrelid = c.oid and a.attname in ('agent_identity', 'subject') and not a.attisdropped) = 2
   and exists (select from mask m where has_schema_privilege(m.oid, n.oid, 'USAGE')
                                    and has_any_column_privilege(m.oid, c.oid, 'SELECT'))
union
select n.nspname || '.' || c.relname from pg_inherits i join pg_class p on p.oid = i.inhparent
  join pg_class c on c.oid = i.inhrelid join pg_namespace n on n.oid = c.relnamespace
 where p.relnamespace = 'hermes_memory'::regnamespace and (n.oid <> p.relnamespace or not c.relispartition)
   and p.relkind in ('r', 'p')
 order by 1""",
    sentence="tables outside of the wall hold rows as those behind it, or are part of tables of ours: {}; drop them, "
    "or revoke the runtime role's rights on them",
)

# A foreign key asks of rows past every policy, and is made of triggers.
TRIGGERS_AND_RULES: Final = Check(
    statement="""
select coalesce(k.conname, t.tgname) || ' on ' || c.relname as name
  from pg_trigger t join pg_class c on c.oid = t.tgrelid left join pg_constraint k on k.oid = t.tgconstraint
 where c.relnamespace = 'hermes_memory'::regnamespace
union
select w.rulename || ' on ' || c.relname from pg_rewrite w join pg_class c on c.oid = w.ev_class
 where c.relnamespace = 'hermes_memory'::regnamespace and (c.relkind <> 'v' or w.ev_type <> '1')
 order by 1""",
    sentence="triggers, rules or foreign keys were put on tables of ours, which have none, and see or change what "
    "passes: {}; drop them",
)

FOREIGN_WAYS: Final = Check(
    statement="""
with mask as (
  select r.oid from pg_roles r join pg_roles me on me.rolname = current_user
   where not me.rolsuper and pg_has_role(me.oid, r.oid, 'MEMBER')
)
select 'table ' || n.nspname || '.' || c.relname as name
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
 where c.relkind = 'f'
   and exists (select from mask m
                where has_schema_privilege(m.oid, n.oid, 'USAGE')
                  and (has_any_column_privilege(m.oid, c.oid, 'SELECT, INSERT, UPDATE')
                       or has_table_privilege(m.oid, c.oid, 'DELETE')))
union all
select 'server ' || s.srvname from pg_foreign_server s
 where exists (select from mask m where has_server_privilege(m.oid, s.oid, 'USAGE'))
 order by 1""",
    sentence="the runtime role may leave the database by {}, and come back with another login: revoke these rights",
)

BYPASS_CHECKS: Final = (
    PIERCING_RELATIONS,
    PIERCING_FUNCTIONS,
    LEAKING_FUNCTIONS,
    COPIES,
    TRIGGERS_AND_RULES,
    FOREIGN_WAYS,
)
