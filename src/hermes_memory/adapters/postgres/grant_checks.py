"""What may be done with the schema, compared with what a migration grants.

What is granted stands in admit_runtime and admit_readonly, so it is read from their text, which is itself compared with
the one that is shipped.
"""

from __future__ import annotations

from typing import Final

from hermes_memory.adapters.postgres.check import Check

# Somebody granted by hand may do what the runtime may: migrations take names of several runtime roles. A right that may
# be passed on, one on a column, and one of everybody's is nobody's.
DIFFERING_RIGHTS: Final = Check(
    statement=r"""
with texts as (
  select p.proname as admits, p.prosrc as body from pg_proc p
   where p.pronamespace = 'hermes_memory'::regnamespace and p.proname in ('admit_runtime', 'admit_readonly')
), admitted as (
  select t.admits, m[1] as object, upper(trim(named)) as granted
    from texts t cross join regexp_matches(t.body, '\(''(\w+)'', ''([a-z, ]+)''\)', 'g') m
   cross join string_to_table(m[2], ',') named
  union all
  select t.admits, m[1], 'SELECT' from texts t
   cross join regexp_matches(substring(t.body, 'grant select on (hermes_memory[^%]*) to %I'), '\.(\w+)', 'g') m
  union all
  select t.admits, m[1], 'USAGE' from texts t
   cross join regexp_matches(t.body, 'grant usage on sequence hermes_memory\.(\w+)', 'g') m
  union all
  select t.admits, m[1] || '()', 'EXECUTE' from texts t
   cross join regexp_matches(substring(t.body, 'grant execute on function(.*)'), 'hermes_memory\.(\w+)\(', 'g') m
  union all
  select 'admit_runtime', kind || '_vectors_g' || g.generation, named from hermes_memory.embedding_models g
   cross join unnest(array['entry', 'turn']) kind cross join unnest(array['SELECT', 'DELETE']) named
  union all
  select t.admits, 'schema hermes_memory', 'USAGE' from texts t
), found as (
  select c.relname::text as object, coalesce(i.inhparent, c.oid) as family, null::name as part, c.relowner as owner,
         a.grantee, a.privilege_type as granted, a.is_grantable
    from pg_class c left join pg_inherits i on i.inhrelid = c.oid cross join aclexplode(c.relacl) a
   where c.relnamespace = 'hermes_memory'::regnamespace and c.relacl is not null
  union all
  select c.relname, c.oid, t.attname, c.relowner, a.grantee, a.privilege_type, a.is_grantable
    from pg_class c join pg_attribute t on t.attrelid = c.oid cross join aclexplode(t.attacl) a
   where c.relnamespace = 'hermes_memory'::regnamespace and c.relkind not in ('i', 'I') and t.attacl is not null
  union all
  select p.proname || '()', p.oid, null, p.proowner, a.grantee, a.privilege_type, a.is_grantable
    from pg_proc p cross join aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
   where p.pronamespace = 'hermes_memory'::regnamespace
  union all
  select 'schema hermes_memory', n.oid, null, n.nspowner, a.grantee, a.privilege_type, a.is_grantable
    from pg_namespace n cross join aclexplode(n.nspacl) a where n.nspname = 'hermes_memory'
)
select concat(coalesce(r.rolname, 'everybody'), ' has ', f.granted, ' (' || f.part || ')', ' on ', min(f.object),
              case when f.is_grantable then ' and may pass it on' end,
              case when count(*) > 1 then format(' and %s more like it', count(*) - 1) end) as name
  from found f left join pg_roles r on r.oid = f.grantee
 where f.grantee <> f.owner
   and (f.grantee = 0 or f.is_grantable or f.part is not null or not exists (
     select from admitted a where a.object = f.object and a.granted = f.granted
        and a.admits = case r.rolname when 'hermes_memory_readonly' then 'admit_readonly' else 'admit_runtime' end))
 group by r.rolname, f.granted, f.part, f.is_grantable, f.family
union all
select concat(r.rolname, ' lacks ', a.granted, ' on ', a.object)
  from admitted a
  join pg_roles r on r.rolname = case a.admits when 'admit_runtime' then current_user else 'hermes_memory_readonly' end
  left join pg_class c on c.relnamespace = 'hermes_memory'::regnamespace and c.relname = a.object
 where not r.rolsuper and not case
   when a.object = 'schema hermes_memory' then has_schema_privilege(r.oid, 'hermes_memory', a.granted)
   when a.granted = 'EXECUTE' then coalesce((
     select bool_and(has_function_privilege(r.oid, p.oid, 'EXECUTE')) from pg_proc p
      where p.pronamespace = 'hermes_memory'::regnamespace and p.proname || '()' = a.object), false)
   when c.relkind = 'S' then has_sequence_privilege(r.oid, c.oid, a.granted)
   else coalesce(has_table_privilege(r.oid, c.oid, a.granted), false) end
 order by 1""",
    sentence="rights are not those that a migration grants: {}; take back with `revoke` what is too much, and run "
    "`hermes-memory migrate --admin-dsn URL`, which grants what is missing",
)

DEFAULT_RIGHTS: Final = Check(
    statement="""
select concat(a.privilege_type, ' for ', coalesce(r.rolname, 'everybody')) as name
  from pg_namespace n
  join pg_default_acl d on d.defaclnamespace = n.oid or (d.defaclnamespace = 0 and d.defaclrole = n.nspowner)
 cross join aclexplode(d.defaclacl) a left join pg_roles r on r.oid = a.grantee
 where n.nspname = 'hermes_memory' and a.grantee <> d.defaclrole
union
select 'EXECUTE for everybody' from pg_namespace n
 where n.nspname = 'hermes_memory' and not exists (
   select from pg_default_acl d
    where d.defaclrole = n.nspowner and d.defaclnamespace = 0 and d.defaclobjtype = 'f')
 order by 1""",
    sentence="what is made later comes with rights of its own: {}; undo it with `alter default privileges for role "
    "hermes_memory_owner ... revoke`, or run `hermes-memory migrate --admin-dsn URL` for the functions",
)

GRANT_CHECKS: Final = (DIFFERING_RIGHTS, DEFAULT_RIGHTS)
