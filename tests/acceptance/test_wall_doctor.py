"""The doctor of a home whose database has holes in its wall: it fails, names each hole, and says what to do."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from hermes_memory.cli.exits import ERROR
from hermes_memory.cli.main import main
from tests.support.postgres_store import Installation

HOLES = {
    "drop policy wall_read on hermes_memory.sessions": "select hermes_memory.raise_wall(",
    "alter policy wall_read on hermes_memory.memory_entries using (true)": "wall_read on memory_entries",
    "grant select on hermes_memory.conversations_p0 to public": "everybody has SELECT on conversations_p0",
    "alter table hermes_memory.history force row level security": "no force row level security",
    "alter table hermes_memory.term_blocks disable row level security": "enable row level security",
    "create unique index told on hermes_memory.memory_entries (agent_identity, lex_key)": "told; drop them",
    "create unique index kept on hermes_memory.sessions (agent_identity, session_id) include (subject)": "kept",
    "alter function hermes_memory.ctx_subjects() immutable": "ctx_subjects()",
    "alter function hermes_memory.ctx_themes() reset search_path": "set search_path = pg_catalog, pg_temp",
    "grant truncate on hermes_memory.inbox to public": "everybody has TRUNCATE on inbox",
    "grant execute on function hermes_memory.make_generation(text, int) to public": "EXECUTE on make_generation()",
    'grant temporary on database "{database}" to public': "temporary tables",
    "alter view hermes_memory.memory_rows reset (security_invoker)": "security_invoker = true",
    "create view public.peek as select content from hermes_memory.memory_entries; "
    'grant select on public.peek to "{role}"': "public.peek",
    "create function public.peek() returns setof text language sql security definer as "
    "'select content from hermes_memory.memory_entries'": "revoke execute on function",
    "create table public.spare as select * from hermes_memory.sessions; grant select on public.spare to public": (
        "public.spare; drop them"
    ),
    "create rule also as on insert to hermes_memory.inbox do also notify heard": "also on inbox; drop them",
    "create function public.tell(text) returns bool language sql immutable leakproof return true": "not leakproof",
    'alter role "{role}" in database "{database}" set hermes_memory.theme = \'desk\'': "hermes_memory.theme for the",
    "alter function hermes_memory.forget_vectors(text, uuid[]) security definer": "forget_vectors()",
    'revoke insert on hermes_memory.sessions from "{role}"': "lacks INSERT on sessions",
    "alter default privileges for role hermes_memory_owner grant select on tables to public": "SELECT for everybody",
    "grant select on pg_statistic to public": "SELECT on pg_statistic",
    "insert into hermes_memory.sinks values ('desk')": "desk too much",
}
"""What breaks the wall, and what is told of it."""


def test_the_doctor_fails_over_a_broken_wall_and_a_mended_one_is_well(
    served: Path, database: Installation, capsys: pytest.CaptureFixture[str]
) -> None:
    asyncio.run(database.administer_all(";".join(HOLES).format(database=database.database, role=database.role)))

    code = main(["doctor", "--json"])
    findings = json.loads(capsys.readouterr().out)["findings"]

    wrong = [finding["message"] for finding in findings if (finding["check"], finding["level"]) == ("wall", "error")]
    assert code == ERROR
    assert [remedy for remedy in HOLES.values() if not any(remedy in message for message in wrong)] == []


def test_raising_the_wall_again_mends_its_policies(
    served: Path, database: Installation, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = (
        "alter policy wall_read on hermes_memory.memory_entries using (true); "
        "create policy helpful on hermes_memory.memory_entries using (true); "
        "drop policy wall_add on hermes_memory.memory_entries; "
        "alter table hermes_memory.memory_entries force row level security"
    )
    mended = (
        "set role hermes_memory_owner; drop policy helpful on hermes_memory.memory_entries; "
        "select hermes_memory.raise_wall('memory_entries')"
    )
    asyncio.run(database.administer_all(broken))
    before = main(["doctor", "--json"])
    asyncio.run(database.administer_all(mended))
    capsys.readouterr()
    main(["doctor", "--json"])
    findings = json.loads(capsys.readouterr().out)["findings"]

    assert before == ERROR
    assert [finding["level"] for finding in findings if finding["check"] == "wall"] == ["ok"]
