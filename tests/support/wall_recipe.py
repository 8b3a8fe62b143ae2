"""Tries the wall of a database with raw SQL, as the runtime role, on everything that stands in its catalogue.

The library is bypassed on purpose. Relations and functions are found in the catalogue, so that a new table without a
wall, or a new function that nobody looked at, is found wanting. What comes back is compared with the domain's rule.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias
from uuid import UUID, uuid4

import asyncpg

from hermes_memory.adapters.postgres.context import caller_settings
from hermes_memory.adapters.postgres.statements import literal
from hermes_memory.domain.model import DIRECT_MESSAGES, SINKS, Caller, Subject, Theme
from hermes_memory.domain.visibility import Access, changeable, past_visible, readable, visible

Connection: TypeAlias = "asyncpg.Connection[Any]"
Pair: TypeAlias = tuple[Theme, Subject | None]

FACTS: Final = frozenset({"installation", "schema_migrations", "embedding_models", "sinks"})
"""Relations that everybody may read: settings of the installation, nothing of anybody's."""

INVOKERS: Final = frozenset(
    {
        *("ctx_theme", "ctx_subject", "term_frequency", "term_query", "forget_vectors", "microseconds", "change_form"),
        *("turn_hash", "tally_of", "telling_columns"),
    }
)
"""Functions that run as their caller, for whom the wall stands."""

DEFINERS: Final = {
    "ctx_themes": "the names of readable themes",
    "ctx_subjects": "the subjects that are the caller's person",
    "claim_embedding_jobs": "contents to be embedded, for the worker that embeds for all themes",
    "store_vectors": "nothing",
    "hold_embedding_jobs": "nothing",
    "end_embedding_jobs": "nothing",
    "postpone_embedding_jobs": "nothing",
    "park_embedding_job": "nothing",
    "embedding_backlog": "numbers over all themes",
    "generation_standing": "numbers over all themes",
    "calibrate_generation": "nothing",
    "store_counts": "numbers over all themes",
    "private_copies": "which of the contents in the asker's hands are somebody's",
    "fold_term_blocks": "what there was to do",
    "seal_history": "a number, and heads of chains without content",
    "seal_heads": "heads of chains without content",
    "seal_lag": "numbers over all themes",
    "expire_forgotten": "a number",
}
"""Functions that look past the wall, and what of it they let their caller know."""

RIGHTS: Final = ("select", "insert", "update", "delete", "truncate", "references", "trigger")
NEVER: Final = frozenset({"truncate", "references", "trigger"})
"""Rights that no policy holds back."""

RELATIONS: Final = """
select c.relname as name, c.relkind::text as kind, c.relispartition as part,
       array(select a.attname::text from pg_attribute a
              where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped order by a.attnum) as columns,
       array(select r from unnest($2::text[]) r where has_table_privilege($1, c.oid, r)) as rights
  from pg_class c where c.relnamespace = 'hermes_memory'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f')
 order by 1"""

FUNCTIONS: Final = """
select p.proname as name, p.prosecdef as definer from pg_proc p
 where p.pronamespace = 'hermes_memory'::regnamespace and has_function_privilege($1, p.oid, 'execute')"""

UNIQUE_KEYS: Final = """
select array(select a.attname::text from pg_attribute a where a.attrelid = i.indrelid and a.attnum = any (i.indkey))
  from pg_index i where i.indrelid = ('hermes_memory.' || quote_ident($1))::regclass and i.indisunique"""

DOORS: Final = (
    "alter table hermes_memory.memory_entries disable row level security",
    "drop policy wall_read on hermes_memory.memory_entries",
    "create policy mine on hermes_memory.memory_entries using (true)",
    "create table hermes_memory.mine (x int)",
    "create table public.mine (x int)",
    "create temporary table mine (x int)",
    "create schema mine",
    "create function hermes_memory.mine() returns int language sql return 1",
    "set role hermes_memory_owner",
    "set session authorization hermes_memory_owner",
    "select pg_read_file('PG_VERSION')",
    "select last_value from hermes_memory.lex_numbers",
    "select hermes_memory.make_generation('mine', 4)",
    "select hermes_memory.activate_generation(1)",
    "select hermes_memory.admit_runtime('public')",
    "select hermes_memory.raise_wall('memory_entries')",
    "copy hermes_memory.memory_entries from '/dev/null'",
    "copy hermes_memory.memory_entries to '/dev/null'",
    "alter function hermes_memory.ctx_themes() reset search_path",
)
"""What must be refused whatever the context."""


FORGERIES: Final[tuple[dict[str, Any], ...]] = (
    {"recorded_at": "2001-01-01T00:00:00Z"},
    {"recorded_at": "2101-01-01T00:00:00Z"},
    {"seal": 1},
    {"erasure": str(uuid4())},
    {"change": "erased"},
    {"salt": None, **dict.fromkeys(("new_content", "tool", "session_id", "reason", "said_at", "metadata"))},
)
"""What no change that is noted may say."""

TRY_EACH: Final = """
do $$ declare statement text; trial text := ''; begin
  foreach statement in array array[{statements}] loop
    begin
      execute statement;
      trial := trial || statement || ': done' || chr(10);
    exception when insufficient_privilege then null;
      when others then trial := trial || statement || ': ' || sqlstate || chr(10);
    end;
  end loop;
  perform set_config('hermes_memory.trial', trial, true);
end $$"""
"""Tries statements and notes those that were not refused. What one of them did is undone with the transaction."""


@dataclass(frozen=True)
class Context:
    """What the settings of a transaction say."""

    theme: str | None
    subject: Subject | None
    also: frozenset[Subject] = frozenset()

    @property
    def settings(self) -> str:
        """The statements that make the context, none for a theme that is None."""
        if not self.theme:
            unset = "" if self.theme is None else "set local hermes_memory.theme = ''; "
            return unset + f"set local hermes_memory.subject = '{self.subject.hex() if self.subject else ''}'"
        return caller_settings(self.asking)

    @property
    def asking(self) -> Caller:
        """The caller. A sink without a subject cannot be one; in raw SQL it can be said all the same."""
        caller = Caller(theme=Theme("anybody"), subject=self.subject, also=self.also)
        object.__setattr__(caller, "theme", Theme(self.theme or ""))
        return caller

    def sees(self, theme: Theme, subject: Subject | None, access: Access) -> bool:
        """Tell by the domain's rule."""
        if not self.theme:
            return subject is not None and subject in {self.subject, *self.also}
        return visible(theme, subject, self.asking, access)

    def sees_past(self, theme: Theme, subject: Subject | None) -> bool:
        """Tell by the domain's rule."""
        if not self.theme:
            return subject is not None and subject in {self.subject, *self.also}
        return past_visible(theme, subject, self.asking)

    def sees_theme(self, theme: Theme, access: Access) -> bool:
        """Tell of a row without a subject, such as one of the registry."""
        return bool(self.theme) and readable(theme, self.asking, access)

    def may_change(self, theme: Theme, subject: Subject | None) -> bool:
        """Tell by the domain's rule."""
        return bool(self.theme) and changeable(theme, subject, self.asking)


@dataclass(frozen=True)
class Relation:
    """A table or view as the catalogue has it, and what the runtime role may do with it."""

    name: str
    kind: str
    part: bool
    columns: Sequence[str]
    rights: Collection[str]

    @property
    def full_name(self) -> str:
        return f"hermes_memory.{self.name}"

    @property
    def guarded(self) -> bool:
        """Whether its rows are somebody's: of a theme, and mostly of a subject."""
        return "agent_identity" in self.columns

    @property
    def pair(self) -> str:
        """The columns that say whose a row is."""
        return "agent_identity, subject" if "subject" in self.columns else "agent_identity, ''::bytea"


@dataclass
class Recipe:
    """One trial of a wall. `failures` fills as it goes.

    Attributes:
        admin_dsn: A superuser's address, to see what there is.
        role: Name of the runtime role.
        stranger: A subject who has stored nothing yet.
    """

    admin_dsn: str
    role: str
    stranger: Subject
    failures: list[str] = field(default_factory=list)
    relations: list[Relation] = field(default_factory=list)
    stored: dict[str, list[Pair]] = field(default_factory=dict)
    rows: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    keys: dict[str, list[list[str]]] = field(default_factory=dict)

    async def look(self) -> Recipe:
        """Read the catalogue and all rows, as the superuser."""
        admin = await asyncpg.connect(self.admin_dsn)
        try:
            found = await admin.fetch(RELATIONS, self.role, list(RIGHTS))
            self.relations = [Relation(**dict(record)) for record in found]
            functions = await admin.fetch(FUNCTIONS, self.role)
            self._check_functions({record["name"]: record["definer"] for record in functions})
            for relation in self._guarded():
                await self._look_at(admin, relation)
        finally:
            await admin.close()
        self._check_relations()
        return self

    async def try_all(
        self, connection: Connection, contexts: Sequence[Context], access: Callable[[Context], Access]
    ) -> list[str]:
        """Try everything in each context, which has this access; return what was not as the rule has it."""
        for context in contexts:
            await self._read(connection, context, access(context))
            for relation in self._guarded():
                await self._change(connection, context, relation)
        await self._work(connection)
        await self._insert(connection, contexts)
        await self._insert_as_stranger(connection)
        await self._forge(connection)
        await self._refused(connection, contexts[0])
        return self.failures

    def _guarded(self) -> list[Relation]:
        return [r for r in self.relations if r.guarded and r.rights and not r.part]

    async def _look_at(self, admin: Connection, relation: Relation) -> None:
        self.stored[relation.name] = pairs(await admin.fetch(f"select {relation.pair} from {relation.full_name}"))
        if relation.kind == "p" and "insert" in relation.rights:
            rows = await admin.fetch(f"select to_jsonb(t)::text as row from {relation.full_name} t")
            self.rows[relation.name] = [json.loads(record["row"]) for record in rows]
            self.keys[relation.name] = [record[0] for record in await admin.fetch(UNIQUE_KEYS, relation.name)]

    def _check_relations(self) -> None:
        for relation in self.relations:
            rights = set(relation.rights)
            if relation.part and rights:
                self.failures.append(f"partition {relation.name} is granted: {rights}")
            elif not relation.guarded and rights - ({"select"} if relation.name in FACTS else set()):
                self.failures.append(f"{relation.name}, which says of no row whose it is, is granted: {rights}")
            elif rights & NEVER:
                self.failures.append(f"{relation.name} is granted what no policy holds back: {rights & NEVER}")
        for relation in self._guarded():
            if not self.stored[relation.name]:
                self.failures.append(f"{relation.name} is empty, so that nothing of its wall was seen")

    def _check_functions(self, functions: dict[str, bool]) -> None:
        for name, definer in functions.items():
            if definer and name not in DEFINERS:
                self.failures.append(f"{name}() looks past the wall and nobody said what it lets its caller know")
            if not definer and name not in INVOKERS:
                self.failures.append(f"{name}() may be called and nobody looked at it")

    async def _read(self, connection: Connection, context: Context, access: Access) -> None:
        for relation in self._guarded():
            if "select" not in relation.rights:
                continue
            try:
                async with acting(connection, context):
                    found = pairs(await connection.fetch(f"select {relation.pair} from {relation.full_name}"))
            except asyncpg.PostgresError as error:
                self.failures.append(f"read {relation.name} as {context}: {type(error).__name__}")
                continue
            stored = self.stored[relation.name]
            if relation.name == "history":
                expected = [pair for pair in stored if context.sees_past(*pair)]
            elif "subject" in relation.columns:
                expected = [pair for pair in stored if context.sees(*pair, access)]
            else:
                expected = [pair for pair in stored if context.sees_theme(pair[0], access)]
            if found != expected:
                self.failures.append(f"read {relation.name} as {context}: {len(found)} rows, not {len(expected)}")

    async def _work(self, connection: Connection) -> None:
        """Do what the worker of all themes does, on nobody's behalf."""
        async with acting(connection, Context(None, None)):
            try:
                jobs = await connection.fetchval("select count(*) from hermes_memory.claim_embedding_jobs(1000, 1, 0)")
                entries = await connection.fetchval("select entries from hermes_memory.store_counts()")
            except asyncpg.PostgresError as error:
                self.failures.append(f"the worker cannot work: {type(error).__name__}")
                return
        if (jobs, entries) != (len(self.stored["embedding_jobs"]), len(self.stored["memory_entries"])):
            self.failures.append(f"the worker sees {jobs} jobs and {entries} entries")

    async def _change(self, connection: Connection, context: Context, relation: Relation) -> None:
        changes = {
            "update": f"update {relation.full_name} set agent_identity = agent_identity returning {relation.pair}",
            "delete": f"delete from {relation.full_name} returning {relation.pair}",
        }
        for right in ("update", "delete"):
            if right not in relation.rights:
                continue
            async with acting(connection, context):
                try:
                    changed = pairs(await connection.fetch(changes[right]))
                except asyncpg.PostgresError as error:
                    self.failures.append(f"{right} {relation.name} as {context}: {type(error).__name__}")
                    continue
            expected = [pair for pair in self.stored[relation.name] if context.may_change(*pair)]
            if changed != expected:
                self.failures.append(f"{right} {relation.name} as {context}: {len(changed)} rows, not {len(expected)}")

    async def _insert(self, connection: Connection, contexts: Sequence[Context]) -> None:
        """Put a row like each kind of those there are, from each context."""
        for name, rows in self.rows.items():
            some = {(row["agent_identity"], row.get("subject")): row for row in rows}
            for context in contexts:
                for row in some.values():
                    await self._insert_one(connection, context, name, row)

    async def _insert_one(self, connection: Connection, context: Context, name: str, row: dict[str, Any]) -> None:
        subject = Subject(bytes.fromhex(row["subject"][2:])) if row.get("subject", "\\x") != "\\x" else None
        allowed = context.may_change(Theme(row["agent_identity"]), subject)
        outcome = await put(connection, context, name, row)
        # What is there already is met by its key, which comes after the wall.
        if (outcome in {"stored", "there already"}) is not allowed:
            self.failures.append(f"insert into {name} for {row['agent_identity']} as {context}: {outcome}")

    async def _insert_as_stranger(self, connection: Connection) -> None:
        """Say what somebody else has said: it is stored, and nothing tells that it was there."""
        for name, rows in self.rows.items():
            if not rows or "subject" not in rows[0]:
                continue
            row = next(row for row in rows if row["subject"] != "\\x")
            context = Context(row["agent_identity"], self.stranger)
            ids = {key: str(uuid4()) for key, value in row.items() if _is_uuid(value)}
            outcome = await put(connection, context, name, {**row, "subject": f"\\x{self.stranger.hex()}", **ids})
            if outcome != "stored":
                self.failures.append(f"a stranger's row like somebody else's does not come into {name}: {outcome}")
            if await put(connection, Context(DIRECT_MESSAGES, None), name, self._nobodys(row, ids)) == "stored":
                self.failures.append(f"a row in a sink is nobody's in {name}")

    async def _forge(self, connection: Connection) -> None:
        """Note changes of one's own theme that never were, or not then."""
        row = next(row for row in self.rows["history"] if row["subject"] == "\\x")
        for forged in FORGERIES:
            outcome = await put(connection, Context(row["agent_identity"], None), "history", row, **forged)
            if outcome != "refused":
                self.failures.append(f"history takes a change with {forged}: {outcome}")

    def _nobodys(self, row: dict[str, Any], ids: dict[str, str]) -> dict[str, Any]:
        return {**row, "agent_identity": DIRECT_MESSAGES, "subject": "\\x", **ids}

    async def _refused(self, connection: Connection, context: Context) -> None:
        statements = [*DOORS]
        for relation in self.relations:
            if relation.part:
                statements += [_attempt(relation, right) for right in ("select", "delete")]
            elif relation.kind in {"p", "r"}:
                missing = {"insert", "update", "delete"} - set(relation.rights)
                statements += [_attempt(relation, right) for right in sorted(missing | {"truncate"})]
        async with acting(connection, context):
            await connection.execute(TRY_EACH.format(statements=", ".join(map(literal, statements))))
            done = await connection.fetchval("select current_setting('hermes_memory.trial')")
        self.failures += done.splitlines()


def _attempt(relation: Relation, right: str) -> str:
    column = relation.columns[0]
    return {
        "select": f"select from {relation.full_name}",
        "insert": f"insert into {relation.full_name} default values",
        "update": f"update {relation.full_name} set {column} = {column}",
        "delete": f"delete from {relation.full_name}",
        "truncate": f"truncate {relation.full_name}",
    }[right]


def _is_uuid(value: object) -> bool:
    try:
        return isinstance(value, str) and bool(UUID(value))
    except ValueError:
        return False


async def put(connection: Connection, context: Context, name: str, row: dict[str, Any], **forged: Any) -> str:
    """Insert a row in a context and undo it; say what came of it."""
    if name == "history":  # nothing is noted of another time than now, and the rows to be like were noted a while ago
        row = {**row, "seal": None, "recorded_at": datetime.now(UTC).isoformat(), **forged}
    columns = ", ".join(row)
    statement = (
        f"insert into hermes_memory.{name} ({columns}) "
        f"select {columns} from jsonb_populate_record(null::hermes_memory.{name}, $1::text::jsonb)"
    )
    async with acting(connection, context):
        try:
            await connection.execute(statement, json.dumps(row))
        except asyncpg.InsufficientPrivilegeError:
            return "refused"
        except asyncpg.UniqueViolationError:
            return "there already"
        except asyncpg.PostgresError as error:
            return type(error).__name__
        return "stored"


@asynccontextmanager
async def acting(connection: Connection, context: Context) -> AsyncIterator[None]:
    """Act in a context and leave no trace."""
    await connection.execute(f"begin; {context.settings}")
    try:
        yield
    finally:
        await connection.execute("rollback")


def pairs(records: Sequence[asyncpg.Record]) -> list[Pair]:
    """Return theme and subject of each row, in one order."""
    return sorted(
        ((Theme(r[0]), Subject(r[1]) if r[1] else None) for r in records), key=lambda pair: (pair[0], pair[1] or b"")
    )


def may_exist(theme: Theme, subject: Subject | None) -> bool:
    """Tell whether there can be such a row: in a sink everything is somebody's."""
    return subject is not None or theme not in SINKS
