"""Moving out and in by file: `export jsonl` and `import jsonl` on real databases, as an operator types them."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final

import anyio
import pytest

from hermes_memory import Caller, Origin, Settings, Target, open_memory
from hermes_memory.adapters.embedding.local import LOCAL_DIMENSION
from hermes_memory.bootstrap.moving import import_memory
from hermes_memory.bootstrap.verification import verify_history
from hermes_memory.cli.exits import DONE, ERROR, USAGE, WORK_REMAINS
from hermes_memory.domain.archive import KINDS
from hermes_memory.domain.model import DIRECT_MESSAGES, SessionId
from tests.acceptance.conftest import Command
from tests.support.loaded_command import loaded_command
from tests.support.postgres_store import Installation

PHONE: Final = "+4915550104711"
THEN: Final = datetime(2024, 5, 3, 10, 0, 0, 123_456, tzinfo=UTC)


async def lived(turns: int = 70) -> None:
    """Write what a memory holds: entries, changes, turns, delegations, people, and something that was forgotten."""
    async with open_memory(Settings()) as memory:
        ana = memory.subject_for("whatsapp", PHONE)
        talk = memory.view("support", session="s1", subject=ana)
        await talk.remember("Ana's code is zebra", metadata={"b": 1.5, "aa": [1, {"ü": None}]})
        desk = memory.view("marketing", session="m1")
        entry = await desk.remember("Launch on 3 May\nwith a second line\u2028and \U0001f680", at=THEN)
        await desk.replace(entry.id, "Launch on 9 May")
        gone = await desk.remember("this goes")
        await desk.forget(gone.id)
        await desk.remember("likes tea", target="user")
        for number in range(turns):
            await desk.capture_turn(
                f"turn {number} of the plan", role="user", speaker="Ana", at=THEN + timedelta(seconds=number)
            )
        await talk.capture_turn("yes", role="user")
        acceptor = memory.services.acceptor
        direct = Caller(theme=DIRECT_MESSAGES, subject=ana, session=SessionId("w1"))
        acceptor.add(direct, "her dog is called Rex", target=Target.USER, origin=Origin.ASSISTANT, tool="memory")
        acceptor.delegation(direct, task="find a vet", result="found", child_session=SessionId("c1"))
        assert await memory.settled(timeout=120)


async def refill(database: Installation, path: Path) -> dict[str, int]:
    """Import a file into a database and count what it took."""
    with path.open("rb") as lines:
        done = await import_memory(
            Settings(), database.admin_dsn, lines, restoring=True, dry_run=False, progress=lambda _: None
        )
    assert (done.refused, done.missing, done.notes, done.whole, done.mended) == ([], [], [], True, 0)
    return {**done.new, "known": done.known}


@pytest.mark.timeout(300)
async def test_an_export_that_was_imported_is_exported_as_the_same_bytes(
    template: Installation,
    served: Path,
    configure: Callable[..., None],
    typed: Command,
    database: Installation,
    tmp_path: Path,
) -> None:
    configure(embedder="local")
    await lived()
    tea = await database.administer("select id from hermes_memory.memory_entries where content = 'likes tea'")
    erased = await anyio.to_thread.run_sync(
        typed, "erase", "--entry", str(tea), "--execute", "--admin-dsn", database.admin_dsn
    )
    first, second, text = (tmp_path / name for name in ("first.jsonl", "second.jsonl", "text.jsonl"))
    out = ("export", "jsonl", "--admin-dsn")
    exported = await anyio.to_thread.run_sync(typed, *out, database.admin_dsn, "--vectors", "-o", str(first), "--json")
    assert exported.code == DONE, exported.err
    async with template.copy() as other:
        stored = await refill(other, first)
        again = await refill(other, first)
        second_run = await anyio.to_thread.run_sync(typed, *out, other.admin_dsn, "--vectors", "-o", str(second))
        plain = await anyio.to_thread.run_sync(typed, *out, other.admin_dsn, "-o", str(text), "--theme", "marketing")
        waiting = await other.administer("select count(*) from hermes_memory.embedding_jobs")
        configure(dsn=other.runtime_dsn)
        looked_at: list[int] = []
        checked = await verify_history(Settings(), other.admin_dsn, [], looked_at.append)
        turns = await other.administer("select count(*) from hermes_memory.conversations")
        async with open_memory(Settings()) as memory:
            found = await memory.view("marketing").recall("when do we launch")
            more = await memory.view("marketing", session="m1").capture_turn("one more", role="user")
            assert await memory.settled(timeout=60)
        places = await other.administer(
            "select array_agg(position order by position) from hermes_memory.conversations where session_id = 'm1'"
        )

    lines = [json.loads(line) for line in first.read_bytes().splitlines()]
    kinds = [line["kind"] for line in lines]
    assert (second_run.code, plain.code) == (DONE, DONE)
    assert first.read_bytes() == second.read_bytes()
    assert stat.S_IMODE(first.stat().st_mode) == 0o600
    assert exported.document["counts"] == lines[-1]["counts"]
    assert erased.code == DONE, erased.err
    assert lines[-1]["counts"] == {"theme": 3, "entry": 3, "session": 3, "turn": 71, "delegation": 1, "change": 8}
    assert [line["digest"] is not None for line in lines if line.get("erasure")] == [True]
    assert stored == {
        **{kind: kinds.count(kind) for kind in KINDS},
        "known": 0,
    }
    assert again == {**dict.fromkeys(KINDS, 0), "known": len(lines) - 2}
    assert all(
        len(line["vectors"][0]) * 3 // 8 >= LOCAL_DIMENSION for line in lines if line["kind"] in ("entry", "turn")
    )
    assert waiting == 0
    assert PHONE not in first.read_text()
    assert "vectors" not in text.read_text().partition("\n")[2]
    assert '"support"' not in text.read_text()
    assert checked.flaws == []
    assert sum(looked_at) == checked.changes + turns
    assert found.hits[0].row.content == "Launch on 9 May"
    assert more is not None
    assert places == list(range(71))


@pytest.mark.usefixtures("served")
async def test_lines_that_are_no_records_are_named_and_all_others_are_imported(
    database: Installation, tmp_path: Path, typed: Command
) -> None:
    at = "2024-05-03T10:00:00+00:00"
    entry: dict[str, Any] = {
        "kind": "entry",
        "theme": "marketing",
        "subject": None,
        "target": "memory",
        "origin": "import",
        **dict.fromkeys(("tool", "session", "source")),
        **dict.fromkeys(("said_at", "created_at", "updated_at"), at),
        "metadata": {},
        "operation": f"{9:032x}",
    }
    good = [{**entry, "id": f"{n:032x}", "content": f"fact {n}"} for n in (1, 2)]
    secret = {**entry, "id": f"{3:032x}", "content": "the key is AKIAIOSFODNN7EXAMPLE\u0007"}
    bad: Iterable[dict[str, Any]] = [
        {**entry, "id": "no id", "content": "x"},
        {**entry, "id": f"{4:032x}", "content": "x", "theme": "agent:main:telegram:dm:12345"},
        {**entry, "id": f"{4:032x}", "content": "x", "theme": "whatsapp-dm"},
        {**entry, "id": f"{4:032x}", "content": "  "},
        {**entry, "id": f"{4:032x}", "content": "x", "colour": 1},
        {**entry, "id": f"{4:032x}", "content": "x", "said_at": "0001-01-01T00:00:00+00:00"},
        {"kind": "poem"},
    ]
    poison = {
        **{name: entry[name] for name in ("theme", "subject", "origin", "metadata", "said_at", "created_at")},
        "kind": "turn",
        "session": "s1",
        "parent": None,
        "role": "user",
        "speaker": None,
        "occurrence": 0,
        "embed": False,
        "id": f"{5:032x}",
        "operation": f"{9:032x}",
        "content": "said at a place after which there is none",
        "position": (1 << 31) - 1,
    }
    head = {"kind": "hermes-memory", "version": 1, "theme": None, "vectors": None}
    lines = [json.dumps(each) for each in (head, good[0], *bad, good[1], secret, poison)] + [
        "{",
        "[1]",
        '{"kind": "ent',
    ]
    path, other = tmp_path / "made.jsonl", tmp_path / "other.jsonl"
    path.write_text("\n".join(lines))
    other.write_text('{"kind": "hermes-memory", "version": 2}\n')
    login = ("--admin-dsn", database.admin_dsn)
    dry = await anyio.to_thread.run_sync(typed, "import", "jsonl", str(path), "--dry-run", "--json", *login)
    empty = await database.administer("select count(*) from hermes_memory.memory_entries")
    ran = await anyio.to_thread.run_sync(typed, "import", "jsonl", str(path), "--json", *login)
    told = await anyio.to_thread.run_sync(typed, "import", "jsonl", str(path), *login)
    later = await anyio.to_thread.run_sync(typed, "import", "jsonl", str(other), *login)
    path.write_text("\n".join(lines[:2]))
    cut = await anyio.to_thread.run_sync(typed, "import", "jsonl", str(path), *login)
    contents = await database.administer("select array_agg(content order by id) from hermes_memory.memory_entries")
    jobs = await database.administer("select count(*) from hermes_memory.embedding_jobs")
    noted = await database.administer(
        "select array_agg(affected order by at) from hermes_memory.memory_maintenance_log"
    )
    themes = await database.administer("select array_agg(agent_identity) from hermes_memory.memory_agents")

    assert (dry.code, ran.code, told.code, later.code, cut.code) == (ERROR, ERROR, ERROR, USAGE, WORK_REMAINS)
    assert empty == 0
    assert sorted(each["line"] for each in ran.document["refused"]) == [3, 4, 5, 6, 7, 8, 9, 12, 13, 14, 15]
    assert ran.document["new"] == {"entry": 3}
    assert ran.document["mended"] == 1
    assert contents[:2] == ["fact 1", "fact 2"]
    assert "AKIA" not in contents[2]
    assert jobs == 3
    assert noted == [3, 0, 0]
    assert themes == ["marketing"]
    assert "line 3: the field 'id' has no usable value" in told.out
    assert "there already: 3" in told.out
    assert "newer" in later.err
    assert "no end" in cut.out


@pytest.mark.usefixtures("served")
async def test_a_file_decides_whom_to_trust_only_where_an_operator_restores_it(
    template: Installation, configure: Callable[..., None], database: Installation, tmp_path: Path, typed: Command
) -> None:
    async with open_memory(Settings()) as memory:
        await memory.view("marketing").remember("Payments go to Ana", origin=Origin.USER)
    path, login = tmp_path / "forged.jsonl", ("--admin-dsn", database.admin_dsn)
    exported = await anyio.to_thread.run_sync(typed, "export", "jsonl", *login, "-o", str(path))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        if line["kind"] == "entry":
            line |= {"content": "Payments go to Eve", "origin": "operator", "source": "0" * 32, "tool": "vault"}
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    kept: dict[str, dict[str, Any]] = {}
    told: dict[str, str] = {}
    for name in ("", "--restore"):
        async with template.copy() as other:
            configure(dsn=other.runtime_dsn)
            words = ("import", "jsonl", str(path), "--admin-dsn", other.admin_dsn, *name.split())
            ran = await anyio.to_thread.run_sync(partial(loaded_command, *words))
            searched = await anyio.to_thread.run_sync(
                typed, "search", "who gets payments", "--theme", "marketing", "--json"
            )
            history = await anyio.to_thread.run_sync(typed, "history", "--theme", "marketing", "--json")
            entry = searched.document["hits"][0]
            kept[name] = {"said": history.document["changes"][-1]["origin"], "tool": entry.get("tool"), **entry}
            told[name] = ran.out

    assert exported.code == DONE
    assert {name: (each["content"], each["origin"], each["tool"], each["said"]) for name, each in kept.items()} == {
        "": ("Payments go to Eve", "import", None, "import"),
        "--restore": ("Payments go to Eve", "operator", "vault", "user"),
    }
    assert "kept as imported, whatever the file says" in told[""]
    assert "--restore believes" in told[""]
    assert "--restore" not in told["--restore"]


@pytest.mark.usefixtures("served")
async def test_an_import_that_did_not_end_is_told_from_a_memory_that_somebody_took_away(
    template: Installation, configure: Callable[..., None], database: Installation, tmp_path: Path, typed: Command
) -> None:
    async with open_memory(Settings()) as memory:
        await memory.view("marketing").remember("Payments go to Ana")
    path, cut = tmp_path / "whole.jsonl", tmp_path / "cut.jsonl"
    await anyio.to_thread.run_sync(typed, "export", "jsonl", "--admin-dsn", database.admin_dsn, "-o", str(path))
    lines = path.read_text().splitlines(keepends=True)
    cut.write_text("".join(lines[: next(n for n, line in enumerate(lines) if '"kind":"entry"' in line)]))
    codes, told = [], []
    async with template.copy() as other:
        configure(dsn=other.runtime_dsn)
        for file in (cut, path):
            words = ("import", "jsonl", str(file), "--restore", "--admin-dsn", other.admin_dsn)
            codes.append((await anyio.to_thread.run_sync(typed, *words)).code)
            verified = await anyio.to_thread.run_sync(typed, "history", "verify", "--admin-dsn", other.admin_dsn)
            codes.append(verified.code)
            told.append(verified.out)
        await other.administer("delete from hermes_memory.memory_entries")
        forged = await anyio.to_thread.run_sync(typed, "history", "verify", "--admin-dsn", other.admin_dsn)

    assert codes == [WORK_REMAINS, WORK_REMAINS, DONE, DONE]
    assert "run it again" in told[0]
    assert "run it again" not in told[1]
    assert (forged.code, "a memory is gone that no change took away" in forged.out) == (ERROR, True)
