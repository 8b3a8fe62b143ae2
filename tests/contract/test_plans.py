"""No statement of the store looks through a table row by row, or into a partition that it has no business in.

Every statement that stands in the adapter is run by its own way on tables of thousands of rows, as the runtime role,
and the server's counters tell what it touched. A statement that this module does not run is named as missing: run it in
`_everything`, and if it is about more than one theme say so in `OVER_THEMES`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from itertools import product
from typing import Final
from uuid import uuid4

import pytest_asyncio

from hermes_memory.adapters.postgres import history_reader
from hermes_memory.adapters.postgres.folding import PostgresTextIndex
from hermes_memory.adapters.postgres.history_reader import PostgresHistory
from hermes_memory.adapters.postgres.people import PostgresPeople
from hermes_memory.adapters.postgres.seals import PostgresSeals
from hermes_memory.adapters.postgres.store import PostgresStore
from hermes_memory.adapters.postgres.witness import PostgresWitness
from hermes_memory.domain.chain import Head
from hermes_memory.domain.model import (
    AllScope,
    Caller,
    CurrentScope,
    Kind,
    Role,
    RowId,
    Scope,
    SessionId,
    SessionScope,
    SubjectScope,
    Target,
    Theme,
    ThemeScope,
)
from hermes_memory.domain.operations import ById, Operation, RecordDelegation, row_id
from hermes_memory.ports.reading import SearchSpace
from hermes_memory.testing.making import (
    ANA,
    HOME,
    MARKETING,
    PATIENCE,
    SALES,
    add,
    by_content,
    by_substring,
    record,
    remove,
    replace,
    said,
    stamp,
)
from tests.support import statements
from tests.support.filled import ROWS, fill
from tests.support.postgres import TestServer
from tests.support.postgres_store import ANALYZE, Installation, migrated
from tests.support.scans import Looked, watched

DESK: Final = Caller(theme=MARKETING, subject=ANA, session=SessionId("s1"))
HOST: Final = Caller(theme=MARKETING, session=SessionId("s2"))
SCOPES: Final[tuple[Scope, ...]] = (
    CurrentScope(),
    SessionScope(session=SessionId("s1"), hidden=SessionId("contact~1")),
    SubjectScope(),
    AllScope(),
    ThemeScope(theme=SALES),
)
VECTOR: Final = [1.0, 2.0, 3.0, 1.0]

WIDE: Final = (AllScope(), SubjectScope())
OVER_THEMES: Final = {
    "reader.GET": "an id alone tells no theme",
    "reader.STANDING": "rows of several themes are asked about at once",
    "reader.LIST_SUBJECT": "a subject's rows are where they are",
    "reader.LIST_ALL": "all readable themes",
    "reader.PRIVATE_COPIES": "a home's copies, whoever's they are",
    "text_search.BY_TEXT_IN_ALL_THEMES": "all readable themes",
    "text_search.BY_TEXT_OF_SUBJECT": "all themes of a subject",
    "history_reader.OF_ROW": "an id alone tells no theme",
    "history_reader.SAID": "an id alone tells no theme",
    "history_reader.STORED_AT": "ids alone tell no theme",
    "embedding_queue.CLAIM": "the embed stage works for all themes",
    "embedding_queue.STORE": "the embed stage works for all themes",
    "embedding_queue.END": "the embed stage works for all themes",
    "embedding_queue.HOLD": "the embed stage works for all themes",
    "embedding_queue.POSTPONE": "the embed stage works for all themes",
    "embedding_queue.PARK": "the embed stage works for all themes",
    "embedding_queue.BACKLOG": "counts all",
    "inspector.COUNTS": "counts all",
    "generation_standing.STANDING": "counts all",
    "folding.FOLD": "looks for what needs folding",
    "seals.SEAL": "seals what is not sealed",
    "seals.EXPIRE": "looks for what was forgotten long ago",
    "seals.HEADS": "compares the chains of all themes",
    "seals.LAG": "counts what is not sealed",
}
"""Statements that may look into several partitions, and why."""
READS_ALL: Final = {
    "inspector.COUNTS": "counts the rows of every table",
    "generation_standing.STANDING": "counts the rows of every table",
    "embedding_queue.BACKLOG": "counts all jobs",
    "history_reader.RECENT EVERYWHERE": "sorts the changes of all readable themes",
    "history_reader.STOOD EVERYWHERE": "puts all readable themes together as they stood",
}
"""Statements that may read a whole table, and why."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def filled(server: TestServer) -> AsyncIterator[Installation]:
    async with migrated(server) as place:
        await fill(place.admin_dsn)
        yield place


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def seen(filled: Installation) -> dict[str, Looked]:
    """What every statement looked at, under its name, or its text where it has none."""
    async with filled.copy() as place:
        return await _watch(place)


async def _watch(place: Installation) -> dict[str, Looked]:
    with watched() as found, statements.made() as made:
        async with place.store() as store, place.store(exact_rows=0) as by_graph:
            await _everything(place, store)
            await _by_vectors(store)
            await _by_vectors(by_graph)
    names = made | _names()
    return {names.get(text, text): looked for text, looked in found.items()}


async def _everything(place: Installation, store: PostgresStore) -> None:
    await _writes(store)
    await _embeds(place, store)
    await _reads(store)
    await _works(store)


async def _writes(store: PostgresStore) -> None:
    rows = await _apply(store, add("first note", DESK), add("first note", DESK, source=HOME), add("other note", HOST))
    await _apply(store, replace(ById(id=rows[0]), "second note", DESK))
    await _apply(store, replace(by_content("other note"), "third note", HOST))
    await _apply(store, replace(by_substring("third"), "fourth note", DESK))
    await _apply(store, remove(by_content("fourth note"), HOST))
    talk = record(*(said(f"turn {n} word") for n in range(70)), caller=DESK, parent_session=SessionId("s9"))
    await _apply(store, talk, record(said("turn", role=Role.ASSISTANT), caller=HOST))
    await _apply(store, remove(ById(id=row_id(talk.stamp.operation, 7)), DESK))
    await _apply(
        store,
        RecordDelegation(stamp=stamp(HOST), child_session=SessionId("s3"), child_theme=None, task="t", result="r"),
    )
    await store.delivery.outcome(DESK, talk.stamp.operation)


async def _apply(store: PostgresStore, *operations: Operation) -> list[RowId]:
    outcomes = await store.delivery.apply(operations)
    return [outcome.row for outcome in outcomes if outcome.row is not None]


async def _embeds(place: Installation, store: PostgresStore) -> None:
    queue = store.queue
    await queue.active()
    await queue.calibrate(1, unrelated=0.1, related=0.9)
    # A job whose row is gone comes up with the others and is ended.
    await place.administer("""
        update hermes_memory.embedding_jobs_p0 set row_id = gen_random_uuid(), not_before = '2000-01-01'
         where ctid = '(0,1)'""")
    jobs = await queue.claim(8, lease=60.0)
    await queue.hold(jobs[:2], 60.0)
    await queue.complete({job: [VECTOR] for job in jobs[:2]})
    await queue.postpone(jobs[2:4], 1.0)
    await queue.park(jobs[4], "refused")
    await queue.backlog()


async def _reads(store: PostgresStore) -> None:
    reader, history = store.reader, PostgresHistory(store.pool)
    await reader.mirrored(DESK, HOME, timeout=PATIENCE)
    await reader.private_copies(HOME, [(Target.MEMORY, "first note")], timeout=PATIENCE)
    await reader.with_content(DESK, "second note", timeout=PATIENCE)
    await reader.themes(DESK, timeout=PATIENCE)
    await reader.erased_ago(timeout=PATIENCE)
    await PostgresPeople(store.pool).others(ANA, timeout=PATIENCE)
    moment, row = datetime(2024, 1, 2, tzinfo=UTC), RowId(uuid4())
    for scope in SCOPES:
        entries = await reader.entries(DESK, scope, target=Target.MEMORY, limit=20, timeout=PATIENCE)
        await reader.standing(DESK, entries[:3], timeout=PATIENCE)
        for kind in Kind:
            space = SearchSpace(scope=scope, kinds=frozenset({kind}))
            await store.search.by_text(DESK, space, ANALYZE("word own17"), limit=20, timeout=PATIENCE)
        await history.recent(DESK, scope, limit=20, timeout=PATIENCE)
        await history.entries_at(DESK, scope, moment, target=None, limit=20, timeout=PATIENCE)
        row = entries[0].id
    await reader.get(DESK, row, timeout=PATIENCE)
    await history.of_row(DESK, row, limit=5, timeout=PATIENCE)
    await history.of_row(DESK, RowId(uuid4()), limit=5, timeout=PATIENCE)
    await history.of_operation(DESK, stamp(DESK).operation, timeout=PATIENCE)
    await history.stored_at(DESK, [row], moment, timeout=PATIENCE)
    await history.moment(timeout=PATIENCE)


async def _by_vectors(store: PostgresStore) -> None:
    for scope, kind in product(SCOPES, Kind):
        space = SearchSpace(scope=scope, kinds=frozenset({kind}))
        await store.search.by_vector(DESK, space, VECTOR, limit=20, timeout=PATIENCE)
    await store.search.cosines(DESK, [RowId(uuid4()), RowId(uuid4())], VECTOR, timeout=PATIENCE)


async def _works(store: PostgresStore) -> None:
    seals, index = PostgresSeals(store.pool), PostgresTextIndex(store.pool, rest=0.0)
    await store.inspector.verify()
    await store.inspector.counts()
    await store.inspector.generations()
    await seals.seal(50)
    await seals.expire(10)
    await seals.standing([Head(theme=Theme("sales"), seal=3, chained=b"x" * 32)])
    await seals.lag()
    for _ in range(6):
        await index.fold()
    witness = PostgresWitness(store.pool)
    await witness.delivered(HOST, [stamp(HOST).operation])
    await witness.present(HOST, {RowId(uuid4()): "first note"})
    await witness.note_theme(MARKETING, datetime(2024, 1, 2, tzinfo=UTC), datetime(2024, 1, 3, tzinfo=UTC))


def _framed() -> dict[str, str]:
    wheres = {"IN_THEME": history_reader.IN_THEME, "OF_SUBJECT": history_reader.OF_SUBJECT}
    wheres["EVERYWHERE"] = history_reader.EVERYWHERE
    frames = statements.framed()
    return {f"{name} {where}": a + text + b for name, (a, b) in frames.items() for where, text in wheres.items()}


def _names() -> dict[str, str]:
    """Return the name of every statement that stands in the adapter, by its text."""
    return {text: name for name, text in (_framed() | statements.constants()).items()}


def _spreads(name: str) -> bool:
    """Tell whether a statement is about more than one theme."""
    wide = any(str(scope) in name for scope in WIDE) or name.endswith((" OF_SUBJECT", " EVERYWHERE"))
    return wide or name in OVER_THEMES or name.endswith("own_theme=False")


BOUNDED: Final = ("memory_entries", "conversations", "history", "sessions", "embedding_jobs", "inbox")
MOST: Final = 2 * ROWS
"""Rows of such a table that a statement may take up by an index: an index that leads to the wrong rows is no help."""


def _may_read_all(name: str) -> bool:
    # Whether the graph serves a search is tried where searches are; so few and so short vectors are sorted as quickly.
    return name in READS_ALL or (name.startswith("vector_statements.walk_statement") and str(AllScope()) in name)


def _faults(seen: Mapping[str, Looked]) -> list[str]:
    """Say in sentences which statements look where they should not."""
    faults = []
    for name, looked in seen.items():
        if looked.sequential and not _may_read_all(name):
            faults.append(f"{name} reads {', '.join(sorted(looked.sequential))} row by row")
        faults += [
            f"{name} takes up {number} rows of {table}"
            for table, number in looked.fetched.items()
            if table in BOUNDED and number > MOST and name not in READS_ALL
        ]
        spread = [table for table, number in looked.partitions.items() if number > 1]
        if spread and not _spreads(name):
            faults.append(f"{name} looks into several partitions of {', '.join(sorted(spread))}")
    return faults


def test_every_statement_of_the_adapter_was_run(seen: dict[str, Looked]) -> None:
    wanted = set(_names().values()) - {"ledger.CREATE_LEDGER", "ledger.NOTE_IN_LEDGER"}

    missing = sorted(wanted - seen.keys())

    assert not missing, "\n".join(missing)
    assert set(statements.factories().values()) <= {name.split(" ")[0] for name in seen}


def test_no_statement_reads_a_table_row_by_row_or_a_partition_that_is_not_its_own(seen: dict[str, Looked]) -> None:
    faults = _faults(seen)

    assert not faults, "\n".join(faults)


def test_what_is_excused_is_there_and_needs_the_excuse(seen: dict[str, Looked]) -> None:
    assert OVER_THEMES.keys() | READS_ALL.keys() <= seen.keys()


def test_most_statements_were_seen_at_work_on_rows(seen: dict[str, Looked]) -> None:
    assert sum(bool(looked.partitions) for looked in seen.values()) > 60


async def test_a_lost_index_is_noticed(filled: Installation) -> None:
    lost = ("memory_entries_recent", "conversations_lex_key", "embedding_jobs_due", "history_of_row")
    async with filled.copy() as place:
        for index in lost:
            await place.administer(f"drop index hermes_memory.{index}")
        faults = _faults(await _watch(place))

    for table in ("memory_entries", "conversations", "embedding_jobs", "history"):
        assert any(table in fault for fault in faults), (table, faults)
