"""`erase`, `history` and `undo` as an operator types them, on a real Postgres and in a home with its spool."""

from __future__ import annotations

import io
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeAlias

import anyio
import asyncpg
import pytest

from hermes_memory import Caller, NotVisible, Origin, Settings, Target, Theme, open_memory
from hermes_memory.adapters.embedding.local import LOCAL_DIMENSION, LOCAL_MODEL
from hermes_memory.adapters.inmemory.archive import InMemoryArchive
from hermes_memory.adapters.postgres.administrator import administrator
from hermes_memory.adapters.postgres.erasure import PostgresEraser
from hermes_memory.application.exporting.jsonl import export_jsonl
from hermes_memory.bootstrap.home import open_local_half
from hermes_memory.bootstrap.parts import LOCAL_PARTS
from hermes_memory.bootstrap.verification import verify_history
from hermes_memory.cli.exits import DONE, ERROR, USAGE, WORK_REMAINS
from hermes_memory.domain.archive import EmbeddingModel
from hermes_memory.domain.erasure import WholeSubject
from hermes_memory.testing.archive_contract import entry
from tests.acceptance.conftest import NewAgent
from tests.support.agents import eventually
from tests.support.command import Ran, in_process
from tests.support.embedded import place
from tests.support.postgres_store import Installation

PHONE = "+4915550104711"
TEST_WORDS = "zebra"


Command: TypeAlias = Callable[..., Ran]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs the command in this process: what a process of its own costs is the same for every verb."""

    def run(*arguments: str) -> Ran:
        capsys.readouterr()
        code = in_process(*arguments)
        out, err = capsys.readouterr()
        return Ran(code=code, out=out, err=err)

    return run


def expect(ran: Ran, code: int) -> Ran:
    assert ran.code == code, ran.err + ran.out
    return ran


async def filled(settle: float = 60) -> None:
    async with open_memory(Settings()) as memory:
        ana = memory.subject_for("whatsapp", PHONE)
        talk = memory.view("support", session="s1", subject=ana)
        await talk.remember(f"{TEST_WORDS} is the code")
        await talk.capture_turn(f"my {TEST_WORDS} is ill", role="user")
        desk = memory.view("support", session="s2")
        entry = await desk.remember("The launch is on 3 May")
        await desk.replace(entry.id, "The launch is on 9 May")
        assert await memory.settled(timeout=settle)
        await memory.services.sealing.seal()


AN_AGENT: Final = """
import sys
from hermes_memory import Settings
from hermes_memory.bootstrap.home import open_local_half
half = open_local_half(Settings())
half.spool.status()
print("open", flush=True)
sys.stdin.read()
print(half.spool.status().dead, flush=True)
"""


@pytest.fixture
def agent(served: Path) -> Iterator[subprocess.Popen[str]]:
    """A process of its own that has the spool of the home open all the time."""
    process = subprocess.Popen(
        [sys.executable, "-c", AN_AGENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        yield process
        process.kill()


def spooled_in(home: Path) -> bytes:
    return b"".join(path.read_bytes() for path in (home / "hermes-memory" / "spool").iterdir())


@pytest.mark.usefixtures("served")
def test_a_person_is_erased_from_home_and_database_and_the_certificate_shows_it(
    database: Installation, home: Path, command: Command, agent: subprocess.Popen[str]
) -> None:
    anyio.run(filled)
    half = open_local_half(Settings())
    ana = half.subject_for("whatsapp", PHONE)
    waiting = Caller(theme=Theme("support"), subject=ana)
    half.acceptor.add(waiting, f"{TEST_WORDS} waits", target=Target.MEMORY, origin=Origin.USER)
    half.acceptor.add(Caller(theme=Theme("support")), "it stays", target=Target.MEMORY, origin=Origin.USER)
    half.spool.close()
    arguments = ("erase", "--subject", f"whatsapp:{PHONE}", "--admin-dsn", database.admin_dsn)
    preview = expect(command(*arguments, "--json"), WORK_REMAINS)
    text = expect(command(*arguments), WORK_REMAINS)
    before = spooled_in(home)
    done = expect(command(*arguments, "--execute", "--json"), DONE)
    spooled, agent_runs = spooled_in(home), agent.poll() is None
    goes_on = agent.communicate(timeout=60)[0]
    nothing = expect(command(*arguments), DONE)
    verified = expect(command("history", "verify", "--admin-dsn", database.admin_dsn), DONE)
    doctor = command("doctor", "--json")

    counts = {name: count for name, count in preview.document["counts"].items() if count}
    assert {name: count for name, count in done.document["counts"].items() if count} == counts
    assert (counts["entries"], counts["turns"], counts["changes"], counts["waiting"]) == (1, 1, 1, 1)
    assert done.document["complete"] is True
    assert {proof["remaining"] for proof in done.document["proofs"]} == {0}
    assert "would erase subject" in text.out
    assert ": nothing" in nothing.out
    assert "all holds" in verified.out
    (told,) = [finding for finding in doctor.document["findings"] if finding["check"] == "history"]
    assert told["level"] == "ok"
    for printed in (preview.out, text.out, done.out, doctor.out):
        assert PHONE not in printed
    assert b"it stays" in spooled
    assert f"{TEST_WORDS} is the code".encode() in before
    assert TEST_WORDS.encode() not in spooled
    assert (agent_runs, goes_on) == (True, "0\n")
    assert anyio.run(words_left, database, TEST_WORDS, ana.hex(), PHONE) == []


@pytest.mark.usefixtures("served")
def test_a_spool_whose_files_cannot_be_cleaned_leaves_the_certificate_and_work_to_do(
    database: Installation, home: Path, command: Command
) -> None:
    anyio.run(filled)
    (spool,) = (home / "hermes-memory" / "spool").glob("spool-*.db")
    note = spool.with_suffix(".scrub")
    note.symlink_to("elsewhere")
    arguments = ("erase", "--theme", "support", "--execute", "--json", "--admin-dsn", database.admin_dsn)
    told = expect(command(*arguments), WORK_REMAINS).document
    note.unlink()
    again = expect(command(*arguments), DONE).document
    misspelt = expect(command("erase", "--theme", "suport", "--admin-dsn", database.admin_dsn), DONE)

    assert "there is no theme 'suport'" in misspelt.out
    assert (told["counts"]["entries"], told["complete"]) == (2, False)
    assert {proof["store"] for proof in told["proofs"] if proof["remaining"]} == {"spool files"}
    assert any("remove it or the link" in note for note in told["notes"])
    assert again["complete"] is True


async def words_left(database: Installation, *words: str) -> list[str]:
    """Return the tables that hold one of the words in any row."""
    connection = await asyncpg.connect(database.admin_dsn)
    try:
        tables: list[Any] = await connection.fetch(
            "select c.oid::regclass::text from pg_class c join pg_namespace n on n.oid = c.relnamespace "
            "where n.nspname = 'hermes_memory' and c.relkind in ('r', 'p') and not c.relispartition"
        )
        return [
            table
            for (table,) in tables
            for word in words
            if await connection.fetchval(f"select exists (select from {table} t where strpos(t::text, $1) > 0)", word)
        ]
    finally:
        await connection.close()


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(
    "selector",
    [
        (),
        ("--theme", ""),
        ("--theme", "mark%"),
        ("--theme", "*"),
        ("--theme", "all"),
        ("--session", " "),
        ("--session", "s?"),
        ("--entry", "not-an-id"),
        ("--subject", ""),
        ("--subject", "whatsapp:*"),
        ("--subject", "nobody in particular"),
        ("--theme", "a", "--entry", "b"),
    ],
)
def test_whatever_names_not_exactly_one_thing_is_refused(selector: tuple[str, ...]) -> None:
    nowhere = "postgresql://nobody@127.0.0.1:9/nowhere"

    assert in_process("erase", *selector, "--execute", "--admin-dsn", nowhere) == USAGE


@pytest.mark.usefixtures("served")
def test_erasing_takes_a_login_with_the_owners_rights(database: Installation, command: Command) -> None:
    unnamed = expect(command("erase", "--theme", "support"), USAGE)
    unfit = expect(command("erase", "--theme", "support", "--admin-dsn", database.runtime_dsn), USAGE)

    assert "--admin-dsn" in unnamed.err
    assert "hermes_memory_owner" in unfit.err


TAMPERINGS = {
    "a change was altered": "update hermes_memory.history set new_content = 'forged' where new_content like '%9 May'",
    "a change was removed": "delete from hermes_memory.history where new_content like '%9 May'",
    "a change was inserted": """
        insert into hermes_memory.history
        select (jsonb_populate_record(h, jsonb_build_object('id', gen_random_uuid()))).*
          from hermes_memory.history h where new_content like '%9 May'""",
    "a seal is missing": "delete from hermes_memory.seals where seal = 1",
    "a seal was altered": "update hermes_memory.seals set root = sha256('forged') where seal = 2",
    "a published seal is missing": """
        with gone as (delete from hermes_memory.seals where seal = 2 returning seal)
        delete from hermes_memory.history where seal in (select seal from gone)""",
    "texts vanished that no erasure is on record for": """
        update hermes_memory.history set new_content = null, old_content = null, salt = null, tool = null,
               session_id = null, reason = null, said_at = null, metadata = null,
               erasure = gen_random_uuid() where new_content like '%9 May'""",
    "a text vanished without an erasure": """
        alter table hermes_memory.history drop constraint tombstones_tell_nothing;
        update hermes_memory.history set new_content = null, old_content = null, salt = null, tool = null,
               session_id = null, reason = null, said_at = null, metadata = null
         where new_content like '%9 May'""",
    "a memory stands that no change made": """
        insert into hermes_memory.memory_entries
        select (jsonb_populate_record(e, jsonb_build_object(
                 'id', gen_random_uuid(), 'content', 'forged', 'content_hash', sha256('forged')))).*
          from hermes_memory.memory_entries e where content like '%9 May'""",
    "a memory is not what its last change says": """
        delete from hermes_memory.history where new_content like '%9 May'""",
    "a memory was not written as its last change says": """
        update hermes_memory.memory_entries set origin = 'operator', session_id = 's9', tool = 'vault', said_at = now(),
               metadata = '{"vouched": true}' where content like '%9 May'""",
    "a memory is gone that no change took away": """
        delete from hermes_memory.memory_entries where content like '%9 May'""",
    "a memory stands that its last change took away": """
        insert into hermes_memory.history
        select (jsonb_populate_record(h, jsonb_build_object(
                 'id', gen_random_uuid(), 'change', 'removed', 'new_content', null, 'recorded_at', now()))).*
          from hermes_memory.history h where new_content like '%9 May'""",
    "the change before this one is missing": "delete from hermes_memory.history where new_content like '%3 May'",
    "a write had its effect and no change tells of it": """
        with entry as (delete from hermes_memory.memory_entries where content like '%delayed')
        delete from hermes_memory.history where new_content like '%delayed'""",
    "a turn is not what was said": "update hermes_memory.conversations set content = 'forged'",
    "a turn is not as it was stored": """
        update hermes_memory.conversations set content = 'forged', content_hash = sha256('forged')""",
    "a turn is found by words that are not those of its text": """
        update hermes_memory.conversations set lex = 'forged:1'""",
    "turns of a session are missing, or not those that were said in it": """
        delete from hermes_memory.conversations where position = 0""",
}


@pytest.mark.usefixtures("served")
def test_every_tampering_in_sql_is_found_and_named(database: Installation, command: Command) -> None:
    anyio.run(filled)
    anyio.run(more)
    verify = ("history", "verify", "--json", "--admin-dsn")
    clean = expect(command(*verify, database.admin_dsn), DONE).document
    found = {}
    for what, tampering in TAMPERINGS.items():
        found[what] = anyio.run(tampered, database, tampering)

    assert clean["flaws"] == []
    assert clean["seals"] == 2
    for what, (code, flaws) in found.items():
        assert code == ERROR
        assert what in {flaw["what"] for flaw in flaws}, (what, flaws)
        assert {flaw["theme"] for flaw in flaws} == {"support"}


async def more() -> None:
    async with open_memory(Settings()) as memory:
        await memory.view("support").remember("The launch is delayed")
        await memory.services.sealing.seal()


async def tampered(database: Installation, statement: str) -> tuple[int, list[dict[str, Any]]]:
    async with database.copy() as copied:
        await copied.administer_all(statement)
        report = await verify_history(Settings(), copied.admin_dsn, None)
    return (ERROR if report.flaws else DONE), [{"theme": flaw.theme, "what": flaw.what} for flaw in report.flaws]


@pytest.mark.usefixtures("served")
def test_a_chain_that_was_made_anew_is_told_from_the_published_one(
    database: Installation, home: Path, command: Command
) -> None:
    anyio.run(filled)
    (heads,) = (home / "hermes-memory").glob("history-heads-*.jsonl")
    kept = home / "kept.jsonl"
    kept.write_bytes(heads.read_bytes())
    heads.unlink()
    anyio.run(
        database.administer,
        """with unsealed as (update hermes_memory.history set seal = null where true)
           delete from hermes_memory.seals""",
    )
    anyio.run(database.administer, "select count(*) from hermes_memory.seal_history(1000)")
    alone = expect(command("history", "verify", "--admin-dsn", database.admin_dsn), DONE)
    against = command("history", "verify", "--admin-dsn", database.admin_dsn, "--against", str(kept))
    heads.write_bytes(kept.read_bytes())
    doctor = command("doctor", "--json")

    assert "all holds" in alone.out
    expect(against, ERROR)
    assert "the chain is not the published one" in against.out
    (told,) = [finding for finding in doctor.document["findings"] if finding["check"] == "history"]
    assert told["level"] == "error"
    assert "support" in told["message"]


@pytest.mark.usefixtures("served")
def test_damage_among_the_heads_that_wait_keeps_none_from_being_published_and_the_doctor_tells_of_it(
    home: Path, command: Command
) -> None:
    anyio.run(filled)
    (heads,) = (home / "hermes-memory").glob("history-heads-*.jsonl")
    first = len(heads.read_text().splitlines())
    heads.with_name(f"{heads.name}.waiting").write_text("no head\n")
    anyio.run(more)
    doctor = command("doctor", "--json")

    assert len(heads.read_text().splitlines()) > first
    (told,) = [finding for finding in doctor.document["findings"] if finding["check"] == "history"]
    assert (told["level"], f"{heads.name}.waiting.broken-1" in told["message"]) == ("warning", True)


@pytest.mark.usefixtures("served")
def test_history_is_told_and_a_change_taken_back_from_the_command_line(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    anyio.run(filled)
    told = expect(command("history", "--theme", "support", "--json"), DONE).document["changes"]
    # A key that is read from standard input stays out of the shell's history.
    asked = ("history", "--theme", "support", "--subject", "-", "--json")
    monkeypatch.setattr("sys.stdin", io.StringIO(f"whatsapp:{PHONE}\n"))
    private = expect(command(*asked), DONE)
    nobody = expect(command(*asked), USAGE)
    shown = expect(command("undo", told[0]["row"], "--theme", "support"), WORK_REMAINS)
    undone = expect(
        command("undo", told[0]["operation"], "--theme", "support", "--reason", "wrong date", "--execute"), DONE
    )
    after = expect(command("history", told[0]["row"], "--theme", "support"), DONE)
    hidden = command("history", told[0]["row"], "--theme", "sales-ghost", "--subject", f"whatsapp:{PHONE}")

    assert [(change["before"], change["after"]) for change in told] == [
        ("The launch is on 3 May", "The launch is on 9 May"),
        (None, "The launch is on 3 May"),
    ]
    assert "no key of a person or group was given" in nobody.err
    assert f"{TEST_WORDS} is the code" in {change["after"] for change in private.document["changes"]}
    assert "would take back" in shown.out
    assert "To do it: the same with --execute" in shown.out
    assert "it stands as" in undone.out
    assert "The launch is on 9 May -> The launch is on 3 May" in after.out.splitlines()[0]
    assert "wrong date" in after.out.splitlines()[0]
    assert hidden.code != DONE


@pytest.mark.usefixtures("served")
def test_what_an_agent_has_made_ahead_does_not_show_what_was_erased(
    database: Installation, new_agent: NewAgent, command: Command
) -> None:
    agent = new_agent().start()
    assert agent.tool("memory_remember", content=f"the {TEST_WORDS} code is 8841", sync=True).get("stored")
    agent.settle()
    answer = agent.tool("recall_memory", query=f"{TEST_WORDS} code")
    ambient = agent.provider._share.ambient
    assert ambient is not None
    agent.provider.queue_prefetch(f"what is the {TEST_WORDS} code?", session_id="s1")
    eventually(lambda: ambient._queued)
    ((queued),) = ambient._queued.values()
    expect(command("erase", "--theme", "coder", "--execute", "--admin-dsn", database.admin_dsn), DONE)
    shown = agent.provider.prefetch(f"what is the {TEST_WORDS} code?", session_id="s1")
    again = agent.tool("recall_memory", query=f"{TEST_WORDS} code")

    assert "8841" in queued.block
    assert "8841" in str(answer["hits"])
    assert "8841" not in shown
    assert again["hits"] == []


@pytest.mark.usefixtures("served")
async def test_a_process_that_runs_explains_no_answer_that_it_gave_before_an_erasure(database: Installation) -> None:
    async with open_memory(Settings()) as memory, administrator(database.admin_dsn) as opened:
        ana = memory.subject_for("whatsapp", PHONE)
        talk = memory.view("support", session="s1", subject=ana)
        await talk.remember("the dog is ill")
        assert await memory.settled(timeout=60)
        before = (await talk.recall(f"my visit to the {TEST_WORDS} clinic")).trace_id
        told = await talk.explain(before)
        await PostgresEraser(opened).erase(WholeSubject(subject=ana))
        with pytest.raises(NotVisible):
            await talk.explain(before)
        after = None
        with anyio.fail_after(60):
            while after is None:  # nothing is told of one given no later than asking when that was takes
                with suppress(NotVisible):
                    after = await talk.explain((await talk.recall("which clinic?")).trace_id)

    assert TEST_WORDS[:4] in " ".join(word.lexeme for word in told.words)
    assert [word.lexeme for word in after.words] == ["clinic"]


async def exported() -> list[bytes]:
    """Return the lines of an export of one memory with a vector of the local embedder's model."""
    model = EmbeddingModel(name=LOCAL_MODEL, dimension=LOCAL_DIMENSION, part_tokens=LOCAL_PARTS.tokens)
    archive, lines = InMemoryArchive(in_use=model), list[bytes]()
    vector = struct.pack(f">{LOCAL_DIMENSION}e", 1.0, *[0.0] * (LOCAL_DIMENSION - 1))
    kept = replace(entry(f"the {TEST_WORDS} is here", 1, theme=Theme("support")), vectors=(vector,))
    await archive.store([kept], vectors=True)
    await export_jsonl(archive, lines.append, vectors=True)
    return lines


def test_the_embedded_database_needs_no_login_to_erase_in_and_takes_vectors_before_it_was_ever_opened(
    home: Path, command: Command, configure: Callable[..., None], tmp_path: Path
) -> None:
    path, again = tmp_path / "all.jsonl", tmp_path / "again.jsonl"
    path.write_bytes(b"".join(anyio.run(exported)))
    with place() as folder:
        configure(state_directory=folder / "state", embedder="local")
        restored = expect(command("import", "jsonl", str(path), "--restore", "--json"), DONE).document
        expect(command("export", "jsonl", "--vectors", "-o", str(again)), DONE)
        done = expect(command("erase", "--theme", "support", "--execute", "--json"), DONE).document

    assert restored["notes"] == []
    assert [line for line in path.read_text().splitlines() if '"kind":"entry"' in line] == [
        line for line in again.read_text().splitlines() if '"kind":"entry"' in line
    ]
    assert done["counts"]["entries"] == 1
    assert done["complete"] is True
