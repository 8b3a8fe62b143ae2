"""What must hold of roles, grants and walls. Each check names what breaks it; none of them changes anything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, LiteralString

_MIGRATE: Final = "run `hermes-memory migrate --admin-dsn URL`"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing to look for.

    Attributes:
        statement: Returns the names (column `name`) of what is wrong, as the current role sees it.
        sentence: Says what that means and what to do; {} stands for the names.
    """

    statement: LiteralString
    sentence: str


ALL_POWERFUL_ROLE: Final = Check(
    statement="""
select r.rolname as name from pg_roles r where r.rolname = current_user and (r.rolsuper or r.rolbypassrls)""",
    sentence="role {} is a superuser or exempt from row-level security, so there is no wall before it: connect as the "
    "unprivileged runtime role",
)

OWNING_ROLE: Final = Check(
    statement="""
select distinct o.rolname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
  join pg_roles o on o.oid = c.relowner cross join pg_roles r
 where n.nspname = 'hermes_memory' and r.rolname = current_user and not r.rolsuper
   and pg_has_role(r.oid, o.oid, 'MEMBER')""",
    sentence="the runtime role is a member of {}, which owns the tables, so the wall does not hold it back: revoke the "
    "membership",
)

# Roles that may look past the wall are told so above; for them every table would be listed here.
OPEN_TABLES: Final = Check(
    statement="""
select c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
 where n.nspname = 'hermes_memory' and c.relkind in ('r', 'p') and not c.relispartition and not c.relrowsecurity
   and has_table_privilege(c.oid, 'SELECT, INSERT, UPDATE, DELETE')
   and exists (select from pg_attribute a where a.attrelid = c.oid and a.attname in ('agent_identity', 'subject'))
 order by 1""",
    sentence="row-level security is off on {}, so there is no wall around it: turn it on with `alter table ... enable "
    "row level security`",
)

FORCED_TABLES: Final = Check(
    statement="""
select c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
 where n.nspname = 'hermes_memory' and c.relforcerowsecurity order by 1""",
    sentence="row-level security is forced on {}, which binds the owner's functions as well: undo it with `alter table "
    "... no force row level security`",
)

STRANGE_POLICIES: Final = Check(
    statement="""
select p.polname || ' on ' || c.relname as name from pg_policy p join pg_class c on c.oid = p.polrelid
  join pg_namespace n on n.oid = c.relnamespace
 where n.nspname = 'hermes_memory' and p.polpermissive
   and p.polname not in ('wall_read', 'wall_add', 'wall_change', 'wall_remove') order by 1""",
    sentence="policies that are not part of the wall open it: {}; drop them",
)

OPEN_PARTITIONS: Final = Check(
    statement="""
select c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace cross join pg_roles r
 where n.nspname = 'hermes_memory' and c.relispartition and c.relkind in ('r', 'p') and r.rolname = current_user
   and not r.rolsuper and has_table_privilege(c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE') order by 1""",
    sentence="the runtime role has rights on partitions, which is a way around the wall: {}; revoke them",
)

DANGEROUS_RIGHTS: Final = Check(
    statement="""
select c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace cross join pg_roles r
 where n.nspname = 'hermes_memory' and c.relkind in ('r', 'p', 'v') and not c.relispartition
   and r.rolname = current_user and not r.rolsuper
   and has_table_privilege(c.oid, 'TRUNCATE, REFERENCES, TRIGGER') order by 1""",
    sentence="the runtime role may truncate, reference or put triggers on {}, which no wall holds back: revoke these "
    "rights",
)

LOOSE_FUNCTIONS: Final = Check(
    statement="""
select p.proname as name from pg_proc p join pg_namespace n on n.oid = p.pronamespace
 where n.nspname = 'hermes_memory' and p.prosecdef
   and not exists (select from unnest(p.proconfig) as s(setting) where s.setting like 'search_path=%') order by 1""",
    sentence="functions that run as the owner have no search path of their own: {}; " + _MIGRATE,
)

OPEN_DATABASE: Final = Check(
    statement="""
select 'temporary tables' as name where has_database_privilege(current_database(), 'TEMPORARY')
 union all select 'schemas' where has_database_privilege(current_database(), 'CREATE')
 union all select 'objects in schema public' where has_schema_privilege('public', 'CREATE')""",
    sentence="the runtime role may create {} in this database, as after a restore, which does not bring the revocation "
    "back: " + _MIGRATE,
)

OLD_VECTOR: Final = Check(
    statement="""
select e.extversion as name from pg_extension e
 where e.extname = 'vector' and string_to_array(e.extversion, '.')::int[] < array[0, 8]""",
    sentence="the extension vector is {}, which stops searching when conditions drop rows: update it to 0.8 or newer",
)

CHECKS: Final = (
    ALL_POWERFUL_ROLE,
    OWNING_ROLE,
    OPEN_TABLES,
    FORCED_TABLES,
    STRANGE_POLICIES,
    OPEN_PARTITIONS,
    DANGEROUS_RIGHTS,
    LOOSE_FUNCTIONS,
    OPEN_DATABASE,
    OLD_VECTOR,
)
