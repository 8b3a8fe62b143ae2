"""What must not be around the wall: other objects of the database by which a row gets past it.

Each looks for what the runtime role may use, itself or as any role that it may become. A superuser may use everything,
and is told of that by another check. A right on a relation counts whether or not its schema may be looked into: who
reads a view needs no such look at what the view reads.
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
                where has_any_column_privilege(m.oid, c.oid, 'SELECT, INSERT, UPDATE')
                   or has_table_privilege(m.oid, c.oid, 'DELETE'))
 order by 1""",
    sentence="views or rules act with their owner's rights and look past the wall: {}; undo it with `alter view ... "
    "set (security_invoker = true)`, or drop or revoke them",
)

# An operator, a view or a default calls its function wherever that stands, an aggregate its parts with the rights of
# its own owner, and an index or a trigger asks for no right at all. Nobody can call what an extension brings for its
# event triggers, which is meant to follow everybody's commands; plpgsql is in every database, and brings none. What is
# made for a trigger can be called by one alone: it is a way in where the runtime role writes to the trigger's table.
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
        or exists (select from pg_roles a
                    where a.rolname in ('pg_read_all_data', 'pg_write_all_data', 'pg_read_server_files',
                                        'pg_write_server_files', 'pg_execute_server_program')
                      and pg_has_role(o.oid, a.oid, 'USAGE')))
   and not exists (select from pg_depend d join pg_language l on l.oid = p.prolang
                     join pg_extension x on x.oid = d.refobjid
                    where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e'
                      and d.refclassid = 'pg_extension'::regclass
                      and (l.lanname = 'c'
                           or (p.prorettype = 'event_trigger'::regtype and x.extname <> 'plpgsql')))
   and exists (select from mask m
                where (p.prorettype <> all ('{trigger,event_trigger}'::regtype[])
                       and has_function_privilege(m.oid, p.oid, 'EXECUTE')
                       and (has_schema_privilege(m.oid, n.oid, 'USAGE')
                            or exists (select from pg_depend u where u.refclassid = 'pg_proc'::regclass
                                          and u.refobjid = p.oid and u.deptype = 'n')))
                   or exists (select from pg_aggregate a
                               where p.oid in (a.aggtransfn, a.aggfinalfn, a.aggcombinefn, a.aggserialfn,
                                               a.aggdeserialfn, a.aggmtransfn, a.aggminvtransfn, a.aggmfinalfn)
                                 and has_function_privilege(m.oid, a.aggfnoid, 'EXECUTE'))
                   or exists (select from pg_amproc a where a.amproc = p.oid)
                   or exists (select from pg_range a where p.oid in (a.rngcanonical, a.rngsubdiff))
                   or exists (select from pg_event_trigger e where e.evtfoid = p.oid and e.evtenabled <> 'D')
                   or exists (select from pg_trigger t
                               where t.tgfoid = p.oid
                                 and (has_any_column_privilege(m.oid, t.tgrelid, 'INSERT, UPDATE')
                                      or has_table_privilege(m.oid, t.tgrelid, 'DELETE, TRUNCATE'))))
 order by 1""",
    sentence="functions that the runtime role may call run as somebody who looks past the wall: {}; take it back with "
    "`revoke execute on function ... from public`, or make them run as their caller",
)

# The planner may run it before a policy has spoken, on rows that are hidden. Functions of the server's own have been
# there since the cluster was made, and nothing has touched the rows that say so.
LEAKING_FUNCTIONS: Final = Check(
    statement="""
select n.nspname || '.' || p.proname || '()' as name from pg_proc p join pg_namespace n on n.oid = p.pronamespace
 where p.proleakproof and (p.oid >= 16384 or p.xmin <> '1'::xid)
   and not exists (select from pg_depend d join pg_language l on l.oid = p.prolang
                    where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e' and l.lanname = 'c')
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
 where n.nspname <> 'hermes_memory' and c.relkind in ('r', 'p', 'm')
   and (not c.relrowsecurity or exists (
     select from pg_policy o where o.polrelid = c.oid and o.polpermissive and o.polcmd in ('r', '*')
        and not exists (select from pg_depend d join pg_proc f on f.oid = d.refobjid
                         where d.classid = 'pg_policy'::regclass and d.objid = o.oid
                           and d.refclassid = 'pg_proc'::regclass
                           and f.pronamespace = 'hermes_memory'::regnamespace)))
   and (select count(*) from pg_attribute a
         where a.attrelid = c.oid and a.attname in ('agent_identity', 'subject') and not a.attisdropped) = 2
   and exists (select from mask m where has_any_column_privilege(m.oid, c.oid, 'SELECT'))
union
select n.nspname || '.' || c.relname from pg_inherits i join pg_class p on p.oid = i.inhparent
  join pg_class c on c.oid = i.inhrelid join pg_namespace n on n.oid = c.relnamespace
 where p.relnamespace = 'hermes_memory'::regnamespace and (n.oid <> p.relnamespace or not c.relispartition)
   and p.relkind in ('r', 'p')
union
select n.nspname || '.' || p.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
  join pg_class p on p.oid = i.inhparent join pg_namespace n on n.oid = p.relnamespace
 where c.relnamespace = 'hermes_memory'::regnamespace and n.oid <> c.relnamespace and c.relkind in ('r', 'p')
 order by 1""",
    sentence="tables outside of the wall hold rows as those behind it, are part of tables of ours, or have these as "
    "parts: {}; drop them, or revoke the runtime role's rights on them",
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

# The rows of a table pass through its policies, constraints, defaults and indexes. Those of ours ask the server's own
# functions and those of the schema. A policy that narrows may be asked first, and a function in it, or an error of one,
# then shows what is hidden.
SEEING_EXPRESSIONS: Final = Check(
    statement=r"""
with stored as (
  select p.polname || ' on ' || c.relname as name, concat(p.polqual, p.polwithcheck) as tree,
         not p.polpermissive as narrows
    from pg_policy p join pg_class c on c.oid = p.polrelid where c.relnamespace = 'hermes_memory'::regnamespace
  union all
  select k.conname || ' on ' || c.relname, k.conbin::text, false
    from pg_constraint k join pg_class c on c.oid = k.conrelid
   where c.relnamespace = 'hermes_memory'::regnamespace and k.conislocal
  union all
  select a.attname || ' of ' || c.relname, d.adbin::text, false
    from pg_attrdef d join pg_class c on c.oid = d.adrelid
    join pg_attribute a on a.attrelid = d.adrelid and a.attnum = d.adnum
   where c.relnamespace = 'hermes_memory'::regnamespace and not c.relispartition
  union all
  select k.relname, concat(i.indexprs, i.indpred), false
    from pg_index i join pg_class k on k.oid = i.indexrelid
   where k.relnamespace = 'hermes_memory'::regnamespace and not k.relispartition
)
select distinct s.name from stored s
 where (s.narrows and s.tree ~ '\{COERCE(VIAIO|TODOMAIN)\M')
    or exists (
   select from regexp_matches(s.tree, ':(?:func|opfunc|aggfno|winfno)id (\d+)', 'g') m
     join pg_proc p on p.oid = m[1]::oid join pg_language l on l.oid = p.prolang
    where p.pronamespace <> 'hermes_memory'::regnamespace
      and ((s.narrows and not p.proleakproof)
           or (p.oid < 16384 and p.provolatile = 'v' and p.proname <> 'clock_timestamp')
           or (p.oid >= 16384 and not (l.lanname = 'c' and exists (
                 select from pg_depend d
                  where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e')))))
 order by 1""",
    sentence="policies, constraints, defaults or indexes of tables of ours call functions that see or change what "
    "passes, or that may be shown what is hidden: {}; drop them, and mend policies with `select "
    "hermes_memory.raise_wall('TABLE')`",
)

# It is granted counts alone, and is given to whoever watches the memory. As the runtime role it could be anybody.
POWERFUL_READER: Final = Check(
    statement="""
select r.rolname as name from pg_roles r join pg_namespace n on n.nspname = 'hermes_memory'
 where r.rolname = 'hermes_memory_readonly'
   and (r.rolsuper or r.rolbypassrls or exists (
     select from pg_roles a where pg_has_role(r.oid, a.oid, 'MEMBER')
        and (a.rolsuper or a.rolbypassrls or a.oid = n.nspowner
             or a.rolname in (current_user, 'pg_read_all_data', 'pg_write_all_data', 'pg_read_server_files',
                              'pg_write_server_files', 'pg_execute_server_program'))))""",
    sentence="role {} looks past the wall, and so does everybody it is given to: undo it with `alter role ... "
    "nosuperuser nobypassrls`, and revoke its memberships",
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
                where has_any_column_privilege(m.oid, c.oid, 'SELECT, INSERT, UPDATE')
                   or has_table_privilege(m.oid, c.oid, 'DELETE'))
union all
select 'server ' || s.srvname from pg_foreign_server s
 where exists (select from mask m where has_server_privilege(m.oid, s.oid, 'USAGE'))
 order by 1""",
    sentence="the runtime role may leave the database by {}, and come back with another login: revoke these rights",
)

# In these a function does whatever the server can do.
TRUSTED_LANGUAGES: Final = Check(
    statement=r"""
select l.lanname as name from pg_language l
 where l.lanpltrusted and (l.lanname in ('c', 'internal') or l.lanname like 'pl%u') order by 1""",
    sentence="languages in which nothing is held back are marked as trusted, so that everybody may make functions in "
    "them: {}; undo it with `update pg_language set lanpltrusted = false`",
)

BYPASS_CHECKS: Final = (
    PIERCING_RELATIONS,
    PIERCING_FUNCTIONS,
    LEAKING_FUNCTIONS,
    COPIES,
    TRIGGERS_AND_RULES,
    SEEING_EXPRESSIONS,
    POWERFUL_READER,
    FOREIGN_WAYS,
    TRUSTED_LANGUAGES,
)
