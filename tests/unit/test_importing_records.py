"""Records of a file are kept as live writes are: clean, within bounds and without secrets."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from io import BytesIO
from typing import Any
from uuid import UUID

import pytest
from tests.support.tables import for_each

from hermes_memory.adapters.inmemory.archive import InMemoryArchive
from hermes_memory.application.accept import NAME_MAX_CHARS, REASON_MAX_CHARS
from hermes_memory.application.exporting.jsonl import Writer, export_jsonl
from hermes_memory.application.importing import jsonl
from hermes_memory.application.importing.jsonl import Imported, JsonlImport
from hermes_memory.application.importing.records import RecordPreparing
from hermes_memory.application.preparing import Preparing
from hermes_memory.application.secret_guard import SecretGuard
from hermes_memory.domain.archive import (
    FORMAT_VERSION,
    Archived,
    ArchivedChange,
    ArchivedEntry,
    ArchivedSession,
    ArchivedTurn,
    EmbeddingModel,
    added,
)
from hermes_memory.domain.archive_lines import json_line, line_of
from hermes_memory.domain.chain import TAKEN
from hermes_memory.domain.model import Origin, Role, Theme
from hermes_memory.domain.redaction import SecretPolicy
from hermes_memory.domain.sessions import SessionNames
from hermes_memory.testing.archive_contract import CHANGE, DELEGATION, THEME, entry, session, turn
from hermes_memory.testing.making import MARKETING

HEAD = json_line({"kind": "hermes-memory", "version": FORMAT_VERSION, "theme": None, "vectors": None})
CONTACTS = ("sms:+15550100", "agent:main:whatsapp:dm:+4915550104711", "ana@example.org", "-1001234567890")
WRITTEN = (ArchivedEntry, ArchivedTurn, ArchivedChange)
FOREIGN = (Origin.TOOL, Origin.AGENT)
BY_ROLE = {Role.TOOL: "tool", Role.SYSTEM: "agent"}
NAMES = SessionNames(secret=b"a secret of the installation")
WHOLE: Sequence[Archived] = (
    THEME,
    entry("a fact", 1),
    session(parent="s0"),
    turn("yes", 0, number=2),
    DELEGATION,
    CHANGE,
)


def preparing(policy: SecretPolicy = SecretPolicy.REDACT) -> Preparing:
    return Preparing(SecretGuard(policy), sessions=NAMES)


async def imported(
    records: Sequence[Archived], policy: SecretPolicy = SecretPolicy.REDACT, *, restoring: bool = False
) -> tuple[Imported, list[Any]]:
    archive = InMemoryArchive()
    done = await JsonlImport(archive, preparing(policy), restoring=restoring).run([HEAD, *map(line_of, records)])
    themes = {record.theme for record in records}
    return done, [kept for theme in themes async for kept in archive.records(Theme(theme), vectors=False)]


async def test_names_and_reasons_of_a_file_are_cleaned_cut_and_without_secrets() -> None:
    hostile = "\x1b[31mBob password=hunter2"
    said = replace(turn("yes", 0, number=1), speaker=hostile, session="s1 password=hunter2")
    change = replace(CHANGE, tool=hostile, reason=f"password=hunter2 {'long ' * REASON_MAX_CHARS}")
    fact = replace(entry("a fact", 3), tool="t" * 9_999)
    done, kept = await imported([said, change, fact, replace(DELEGATION, child_theme="x" * 9_999)])

    text = json.dumps([json.loads(line_of(each)) for each in kept], ensure_ascii=False)
    assert (done.refused, done.mended) == ([], 4)
    assert "hunter2" not in text
    assert "\x1b" not in text
    assert {len(each.reason or "") <= REASON_MAX_CHARS for each in kept if isinstance(each, ArchivedChange)} == {True}
    assert all(len(getattr(each, "tool", None) or "") <= NAME_MAX_CHARS for each in kept)
    assert [(each.speaker or "").startswith("Bob") for each in kept if isinstance(each, ArchivedTurn)] == [True]


async def test_the_record_of_an_erasure_names_all_memories_that_stayed_as_in_the_file() -> None:
    named = " ".join(["2", "ab" * 32, *(str(UUID(int=number)) for number in range(2_000))])
    bare: dict[str, Any] = dict.fromkeys(TAKEN)
    erased = replace(CHANGE, **{**bare, "change": "erased", "target": "", "reason": named})
    done, kept = await imported([erased])

    assert [each.reason for each in kept if isinstance(each, ArchivedChange)] == [named]
    assert done.mended == 0


@pytest.mark.parametrize("restoring", [False, True])
async def test_a_speaker_in_a_file_is_named_without_the_key_of_a_contact(restoring: bool) -> None:
    told = ["+49 151 50607080", "Bob <bob@example.org>", "Ana"]
    turns = [replace(turn(f"yes {n}", n, number=n + 1), speaker=speaker) for n, speaker in enumerate(told)]
    done, kept = await imported(turns, restoring=restoring)

    assert (done.refused, done.mended) == ([], 2)
    assert [each.speaker for each in kept if isinstance(each, ArchivedTurn)] == [None, "Bob", "Ana"]


@for_each("contact", CONTACTS)
async def test_a_contact_becomes_no_name_of_an_agent_and_the_other_lines_go_on(contact: str) -> None:
    done, kept = await imported([replace(DELEGATION, child_theme=contact), entry("another fact", 2)])

    assert [(each.line, "is the key of a person or group" in each.reason) for each in done.refused] == [(2, True)]
    assert not any(contact in each.reason for each in done.refused)
    assert done.new["entry"] == 1
    assert not any(contact in str(each) for each in kept)


@pytest.mark.parametrize("field", ["speaker", "content"])
async def test_a_line_with_a_secret_is_refused_where_such_texts_are(field: str) -> None:
    changes: dict[str, Any] = {field: "password=hunter2"}
    secret = replace(turn("yes", 0, number=1), **changes)
    done, _ = await imported([secret, replace(CHANGE, reason="password=hunter2")], SecretPolicy.REFUSE)

    assert [each.line for each in done.refused] == [2, 3]
    assert not done.new.total()


@for_each(
    "name",
    [
        *("20260503_101500_12345678", "20260503_101500_ab12cd", "8f14e45f-ceea-467f-a0e6-0123456789ab"),
        *("1714732800.123456", f"contact~{'0a' * 16}"),
    ],
)
@for_each("record", WHOLE, ids=lambda each: type(each).__name__)
def test_what_live_writes_keep_is_left_as_it_is(record: Any, name: str) -> None:
    if hasattr(record, "session"):
        record = replace(record, session=name)

    assert RecordPreparing(preparing()).prepared(record) == record


@for_each("name", ["1714730400", "root@server.example.com", "agent:main:telegram:dm:123456"])
@for_each("record", WHOLE, ids=lambda each: type(each).__name__)
def test_a_session_that_is_named_by_a_contact_is_kept_as_live_writes_keep_it(record: Any, name: str) -> None:
    fields = [each for each in ("session", "parent", "child_session") if hasattr(record, each)]
    prepared = RecordPreparing(preparing()).prepared(replace(record, **dict.fromkeys(fields, name)))

    assert {getattr(prepared, each) for each in fields} <= {NAMES(name)}
    assert name not in repr(prepared)


@for_each("role", Role)
@for_each("origin", Origin)
async def test_no_record_is_trusted_further_than_an_import_by_what_its_file_says(origin: Origin, role: Role) -> None:
    fact = replace(entry("payments go to Eve", 3), origin=origin, source="0" * 32)
    said = replace(turn("payments go to Eve", 0, number=4), origin=origin, role=role)
    change = replace(CHANGE, origin=origin)
    done, kept = await imported([fact, said, change])
    written = {each.id: each for each in kept if isinstance(each, WRITTEN)}
    kept_fact, kept_turn, kept_change = (written.pop(each.id) for each in (fact, said, change))
    (came,) = written.values()
    believed = origin in (*FOREIGN, Origin.IMPORT)  # none of them is trusted further than an import
    known: dict[str, Any] = {"origin": origin if believed else "import", "tool": "memory" if believed else None}

    assert done.unvouched == 3 - believed
    assert kept_fact == replace(fact, **known, source=None, vectors=())
    assert kept_turn.origin == (BY_ROLE.get(role, known["origin"]) if origin not in FOREIGN else origin)
    assert kept_turn == replace(said, origin=kept_turn.origin, vectors=())
    assert kept_change == replace(change, **known)
    assert isinstance(came, ArchivedChange)
    assert (came.origin, came.tool) == (known["origin"], known["tool"])


@for_each("origin", Origin)
async def test_what_an_operator_restores_is_kept_as_the_file_has_it(origin: Origin) -> None:
    fact = replace(entry("a fact", 3), origin=origin, source="0" * 32)
    records: Sequence[ArchivedEntry | ArchivedTurn | ArchivedChange] = [
        added(fact, change=CHANGE.row, recorded_at=CHANGE.recorded_at),
        replace(CHANGE, origin=origin),
        fact,
        replace(turn("yes", 0, number=4), origin=origin),
    ]
    done, kept = await imported(records, restoring=True)

    assert done.unvouched == 0
    assert [each for each in kept if isinstance(each, WRITTEN)] == [
        each if isinstance(each, ArchivedChange) else replace(each, vectors=()) for each in records
    ]


@pytest.mark.parametrize("restoring", [False, True])
async def test_a_file_that_nobody_vouches_for_makes_no_session_drop_what_is_said_next(restoring: bool) -> None:
    marked = replace(session(), forgotten=b"m" * 32)
    done, kept = await imported([marked], restoring=restoring)

    assert done.unvouched == (not restoring)
    assert [each for each in kept if isinstance(each, ArchivedSession)] == [marked if restoring else session()]


async def test_vectors_of_a_file_that_nobody_vouches_for_are_not_taken_over() -> None:
    model = EmbeddingModel(name="contract", dimension=4, part_tokens=384)
    source, lines = InMemoryArchive(in_use=model), list[bytes]()
    await source.store([entry("a fact", 1)], vectors=True)
    await export_jsonl(source, lines.append, vectors=True)
    whole = b"".join(lines).splitlines(keepends=True)
    told: list[list[bool]] = []
    for restoring in (False, True):
        target = InMemoryArchive(in_use=model)
        await JsonlImport(target, preparing(), restoring=restoring).run(whole)
        records = [each async for each in target.records(MARKETING, vectors=True)]
        told.append([bool(each.vectors) for each in records if isinstance(each, ArchivedEntry)])

    assert told == [[False], [True]]


async def test_a_vector_of_a_text_that_is_mended_is_not_taken_over_nor_that_of_the_turn_after_it() -> None:
    secret = "the password=hunter2"
    follows = sha256(secret.encode()).digest()
    records: Sequence[ArchivedEntry | ArchivedTurn] = [
        entry(secret, 1),
        entry("a fact", 2),
        turn(secret, 0, number=3),
        replace(turn("noted", 1, number=4), follows=follows),
        turn("thanks", 2, number=5, follows="noted"),
    ]
    model = EmbeddingModel(name="contract", dimension=4, part_tokens=384)
    told = {"model": model.name, "dimension": model.dimension, "part_tokens": model.part_tokens}
    head = json_line({**json.loads(HEAD), "vectors": told})
    archive = InMemoryArchive(in_use=model)
    done = await JsonlImport(archive, preparing(), restoring=True).run([head, *map(line_of, records)])
    kept = [each async for each in archive.records(MARKETING, vectors=True)]
    texts = [each for each in kept if isinstance(each, ArchivedEntry | ArchivedTurn)]

    assert done.mended == 2
    assert [each.content for each in texts if each.vectors] == ["a fact", "thanks"]


async def test_a_line_that_is_too_long_is_refused_in_pieces_and_the_rest_is_imported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(jsonl, "LINE_MAX_BYTES", 2_000)
    long = replace(entry("x" * 9_999, 1))
    body = b"".join((HEAD, line_of(long), line_of(entry("a fact", 2)), b"y" * 2_001))
    lines = list(jsonl.bounded_lines(BytesIO(body)))
    done = await JsonlImport(InMemoryArchive(), preparing()).run(lines)
    whole = await JsonlImport(InMemoryArchive(), preparing()).run(BytesIO(body))

    assert max(map(len, lines)) == 2_001
    assert [each.line for each in done.refused] == [each.line for each in whole.refused] == [2, 4]
    assert "longer than 2,000 bytes" in done.refused[0].reason
    assert (done.read, done.new["entry"]) == (whole.read, whole.new["entry"]) == (3, 1)


async def test_the_end_vouches_for_a_line_that_was_refused_for_its_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonl, "LINE_MAX_BYTES", 2_000)
    written: list[bytes] = []
    writer = Writer(written.append)
    for line in (HEAD, line_of(entry("x" * 9_999, 1)), line_of(entry("a fact", 2))):
        writer.line(line)
    writer.end()
    done = await JsonlImport(InMemoryArchive(), preparing()).run(jsonl.bounded_lines(BytesIO(b"".join(written))))

    assert (done.whole, len(done.refused), done.new["entry"]) == (True, 1, 1)


async def test_an_import_ends_with_the_end_of_its_file_though_that_was_changed_since() -> None:
    written: list[bytes] = []
    writer = Writer(written.append)
    for line in (HEAD, line_of(entry("a fact", 1))):
        writer.line(line)
    writer.end()
    files = {"whole": written, "changed": [HEAD, line_of(entry("another", 1)), written[-1]], "cut": written[:-1]}
    ended = {}
    for name, lines in files.items():
        archive = InMemoryArchive()
        done = await JsonlImport(archive, preparing()).run(b"".join(lines).splitlines(keepends=True))
        ended[name] = done.whole, archive.noted[-1][1]

    assert ended == {"whole": (True, True), "changed": (False, True), "cut": (False, False)}
