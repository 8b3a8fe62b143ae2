"""What must hold of the roles and of the database as a whole."""

from __future__ import annotations

from typing import Final

from hermes_memory.adapters.postgres.check import Check

ALL_POWERFUL_ROLE: Final = Check(
    statement="""
select r.rolname as name from pg_roles r where r.rolname = current_user and (r.rolsuper or r.rolbypassrls)""",
    sentence="role {} is a superuser or exempt from row-level security, so there is no wall before it: connect as the "
    "unprivileged runtime role",
)

PRIVILEGED_ROLE: Final = Check(
    statement="""
select f.flag as name from pg_roles r
 cross join lateral (values ('createrole', r.rolcreaterole), ('createdb', r.rolcreatedb),
                            ('replication', r.rolreplication)) as f(flag, has)
 where r.rolname = current_user and f.has and not r.rolsuper order by 1""",
    sentence="the runtime role has rights over the whole cluster: {}; take them away with `alter role ... nocreaterole "
    "nocreatedb noreplication`",
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
select 'temporary tables' as name where has_database_privilege(current_database(), 'TEMPORARY')
 union all select 'schemas' where has_database_privilege(current_database(), 'CREATE')
 union all select 'objects in schema public' where has_schema_privilege('public', 'CREATE')
 union all select 'objects in schema hermes_memory' where has_schema_privilege('hermes_memory', 'CREATE')""",
    sentence="the runtime role may create {} in this database, as after a restore, which does not bring the revocation "
    "back: run `hermes-memory migrate --admin-dsn URL`, and revoke what was granted by hand",
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
    OWNING_ROLE,
    OWNER_WITH_LOGIN,
    OPEN_DATABASE,
    OLD_VECTOR,
)
