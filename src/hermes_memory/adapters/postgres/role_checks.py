"""What must hold of the roles and of the database as a whole.

A role may act as every role that it is a member of, whether it inherits that or not, and is judged by all of them.
"""

from __future__ import annotations

from typing import Final

from hermes_memory.adapters.postgres.check import Check

ALL_POWERFUL_ROLE: Final = Check(
    statement="""
select r.rolname as name from pg_roles r join pg_roles me on me.rolname = current_user
 where (r.rolsuper or r.rolbypassrls)
   and (r.oid = me.oid or (not me.rolsuper and pg_has_role(me.oid, r.oid, 'MEMBER'))) order by 1""",
    sentence="role {} is a superuser or exempt from row-level security, so there is no wall before it: connect as the "
    "unprivileged runtime role, which is a member of no such role",
)

PRIVILEGED_ROLE: Final = Check(
    statement="""
select distinct f.flag as name from pg_roles r join pg_roles me on me.rolname = current_user
 cross join lateral (values ('createrole', r.rolcreaterole), ('createdb', r.rolcreatedb),
                            ('replication', r.rolreplication)) as f(flag, has)
 where f.has and not me.rolsuper and pg_has_role(me.oid, r.oid, 'MEMBER') order by 1""",
    sentence="the runtime role has rights over the whole cluster: {}; take them away with `alter role ... nocreaterole "
    "nocreatedb noreplication`, and memberships in roles that have them",
)

# Names that begin so are the server's.
PREDEFINED_ROLES: Final = Check(
    statement=r"""
select r.rolname as name from pg_roles r join pg_roles me on me.rolname = current_user
 where r.rolname like 'pg\_%' and not me.rolsuper and pg_has_role(me.oid, r.oid, 'MEMBER') order by 1""",
    sentence="the runtime role is a member of {}, which has rights over the whole database or server: revoke the "
    "membership",
)

OWNING_ROLE: Final = Check(
    statement="""
select distinct o.rolname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
  join pg_roles o on o.oid = c.relowner cross join pg_roles r
 where n.nspname = 'hermes_memory' and r.rolname = current_user and not r.rolsuper
   and pg_has_role(r.oid, o.oid, 'MEMBER')""",
    sentence="the runtime role is or may act as {}, which owns the tables, so the wall does not hold it back: connect "
    "as the runtime role, and revoke the membership",
)

OWNER_WITH_LOGIN: Final = Check(
    statement="""
select o.rolname as name from pg_namespace n join pg_roles o on o.oid = n.nspowner
 where n.nspname = 'hermes_memory' and (o.rolcanlogin or o.rolsuper)""",
    sentence="role {}, which owns the tables, may log in or is a superuser: nobody works as the owner; undo it with "
    "`alter role ... nologin nosuperuser`",
)

OPEN_DATABASE: Final = Check(
    statement="""
select distinct o.kind as name from pg_roles r join pg_roles me on me.rolname = current_user
 cross join lateral (values
   ('temporary tables', has_database_privilege(r.oid, current_database(), 'TEMPORARY')),
   ('schemas', has_database_privilege(r.oid, current_database(), 'CREATE')),
   ('objects in schema public', has_schema_privilege(r.oid, 'public', 'CREATE')),
   ('objects in schema hermes_memory', has_schema_privilege(r.oid, 'hermes_memory', 'CREATE'))) as o(kind, allowed)
 where o.allowed and (r.oid = me.oid or (not me.rolsuper and pg_has_role(me.oid, r.oid, 'MEMBER'))) order by 1""",
    sentence="the runtime role may create {} in this database, as after a restore, which does not bring the revocation "
    "back: run `hermes-memory migrate --admin-dsn URL`, and revoke what was granted by hand",
)

# Who is asking is said in every transaction. What holds when nobody said anything must be nobody: it is read by setting
# the setting to nothing, which is its default, and counts in what is left of this transaction alone.
STANDING_SETTINGS: Final = Check(
    statement=r"""
with named as (
  select split_part(setting, '=', 1) as setting,
         case when s.setrole = 0 then 'every role' else 'the runtime role' end as whose
    from pg_db_role_setting s cross join unnest(s.setconfig) setting
   where s.setrole in (0, (select oid from pg_roles where rolname = current_user))
     and s.setdatabase in (0, (select oid from pg_database where datname = current_database()))
)
select setting || ' for ' || whose as name from named
 where setting like 'hermes\_memory.%'
    or setting in ('row_security', 'search_path', 'session_replication_role', 'role', 'session_authorization')
union
select p.setting || ' for new sessions' from unnest(array['hermes_memory.theme', 'hermes_memory.subject']) p(setting)
 where nullif(set_config(p.setting, null, true), '') is not null
   and not exists (select from named n where n.setting = p.setting)
 order by 1""",
    sentence="settings that say who is asking, or what the wall is made of, hold where nobody said so: {}; undo it "
    "with `alter role ... reset`, `alter database ... reset` or `alter system reset`",
)

PARAMETER_RIGHTS: Final = Check(
    statement="""
select distinct p.parname || ' (' || a.privilege_type || ')' as name from pg_parameter_acl p
 cross join aclexplode(p.paracl) a join pg_roles me on me.rolname = current_user
 where not me.rolsuper and (a.grantee = 0 or pg_has_role(me.oid, a.grantee, 'MEMBER')) order by 1""",
    sentence="the runtime role may set what the server leaves to superusers: {}; undo it with `revoke set, alter "
    "system on parameter ... from ...`",
)

# What was granted when the cluster was made is on record.
SYSTEM_RIGHTS: Final = Check(
    statement="""
with system as (
  select 'pg_class'::regclass as class, c.oid, 0 as part, c.relname::text as object, c.relacl as acl,
         acldefault('r', c.relowner) as usual
    from pg_class c
   where c.relnamespace in ('pg_catalog'::regnamespace, 'pg_toast'::regnamespace)
     and c.relacl is not null
  union all
  select 'pg_class'::regclass, c.oid, t.attnum, c.relname, t.attacl, acldefault('c', c.relowner)
    from pg_attribute t join pg_class c on c.oid = t.attrelid
   where c.relnamespace in ('pg_catalog'::regnamespace, 'pg_toast'::regnamespace)
     and t.attacl is not null
  union all
  select 'pg_proc'::regclass, p.oid, 0, p.proname || '()', p.proacl, acldefault('f', p.proowner)
    from pg_proc p where p.pronamespace = 'pg_catalog'::regnamespace and p.proacl is not null
)
select distinct a.privilege_type || ' on ' || s.object as name
  from system s left join pg_init_privs i on i.classoid = s.class and i.objoid = s.oid and i.objsubid = s.part
 cross join aclexplode(s.acl) a join pg_roles me on me.rolname = current_user
 where not me.rolsuper and (a.grantee = 0 or pg_has_role(me.oid, a.grantee, 'MEMBER'))
   and not exists (select from aclexplode(coalesce(i.initprivs, s.usual)) b
                    where b.grantee = a.grantee and b.privilege_type = a.privilege_type) order by 1""",
    sentence="the runtime role was given rights on the server's own tables and functions: {}; revoke them",
)

LOGIN_TRIGGERS: Final = Check(
    statement="""
select e.evtname as name from pg_event_trigger e where e.evtevent = 'login' and e.evtenabled <> 'D' order by 1""",
    sentence="triggers act at each login, before anybody says who is asking: {}; drop them",
)

OLD_VECTOR: Final = Check(
    statement="""
select e.extversion as name from pg_extension e
 where e.extname = 'vector' and string_to_array(e.extversion, '.')::int[] < array[0, 8]""",
    sentence="the extension vector is {}, which stops searching when conditions drop rows: update it to 0.8 or newer",
)

ROLE_CHECKS: Final = (
    ALL_POWERFUL_ROLE,
    PRIVILEGED_ROLE,
    PREDEFINED_ROLES,
    OWNING_ROLE,
    OWNER_WITH_LOGIN,
    OPEN_DATABASE,
    STANDING_SETTINGS,
    PARAMETER_RIGHTS,
    SYSTEM_RIGHTS,
    LOGIN_TRIGGERS,
    OLD_VECTOR,
)
