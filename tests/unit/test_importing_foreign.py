"""What another memory holds is the same each time it is read, another for each owner, and has fitting vectors alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from tests.support.tables import for_each

from hermes_memory.adapters.inmemory import InMemoryStore
from hermes_memory.adapters.inmemory.archive import InMemoryArchive
from hermes_memory.application.exporting.jsonl import export_jsonl
from hermes_memory.application.importing.converting import Converted, Converter
from hermes_memory.application.importing.jsonl import ANOTHER_MODEL, NO_MODEL, JsonlImport
from hermes_memory.application.importing.owners import Owners
from hermes_memory.application.importing.vectors import VectorPassage
from hermes_memory.application.preparing import Preparing
from hermes_memory.application.secret_guard import SecretGuard
from hermes_memory.domain.archive import ArchivedEntry, EmbeddingModel
from hermes_memory.domain.foreign import ForeignEntry, ForeignTurn, Whose
from hermes_memory.domain.identity import IdentityPolicy
from hermes_memory.domain.model import Role, Subject, Target
from hermes_memory.domain.operations import RecordTurns
from hermes_memory.domain.redaction import SecretPolicy
from hermes_memory.ports.embedding import Generation
from hermes_memory.testing.archive_contract import entry
from hermes_memory.testing.making import ANA, MARKETING

AT = datetime(2024, 5, 3, 10, tzinfo=UTC)
LONG = "a word and another one. " * 12
"""Of more than 64 tokens, and of fewer than 256."""
MODEL = EmbeddingModel(name="contract", dimension=4, part_tokens=64)


def preparing() -> Preparing:
    return Preparing(SecretGuard(SecretPolicy.REDACT))


def converted(content: str, *, default: str = "hermes", subject: Subject | None = None) -> Converted:
    """Convert an entry of no agent's that has a vector."""
    owners = Owners(policy=IdentityPolicy(), secret=b"a secret of the installation", default=default, subject=subject)
    converter = Converter("notes", owners, preparing(), now=lambda: AT, turn_chars=1_000)
    item = ForeignEntry(
        place="line 1", key="1", whose=Whose(), target=Target.MEMORY, content=content, vector=(1.0, 0.0, 0.0, 0.0)
    )
    return converter.convert(item)


def test_the_same_file_imported_for_two_owners_becomes_rows_of_two_ids_and_the_same_ones_each_time() -> None:
    once, again, other, hers = (
        converted("a fact", default=theme, subject=subject).operation.stamp.operation
        for theme, subject in (("hermes", None), ("hermes", None), ("marketing", None), ("hermes", ANA))
    )

    assert once == again
    assert len({once, other, hers}) == 3


def test_what_a_file_keeps_in_a_governed_theme_is_the_persons_whom_the_operator_names() -> None:
    theirs, nobodys = (
        Owners(policy=IdentityPolicy(), secret=b"a secret of the installation", default="hermes", subject=subject)
        for subject in (ANA, None)
    )
    governed = [owners.caller(Whose(agent="external-group"), "s1") for owners in (theirs, nobodys)]

    assert [each.theme for each in governed] == ["external-group"] * 2
    assert governed[0].subject == ANA != governed[1].subject


@for_each(
    ("role", "origin"),
    [(Role.USER, "import"), (Role.ASSISTANT, "import"), (Role.SYSTEM, "agent"), (Role.TOOL, "tool")],
)
def test_what_a_tool_has_said_in_another_memory_is_trusted_no_further_than_here(role: Role, origin: str) -> None:
    owners = Owners(policy=IdentityPolicy(), secret=b"a secret of the installation", default="hermes")
    converter = Converter("notes", owners, preparing(), now=lambda: AT, turn_chars=1_000)
    item = ForeignTurn(place="line 1", key="1", whose=Whose(), session="s1", role=role, content="the page says so")
    operation = converter.convert(item).operation

    assert isinstance(operation, RecordTurns)
    assert [draft.origin for draft in operation.turns] == [origin]


@pytest.mark.parametrize(("part_tokens", "taken"), [(64, 1), (None, 2), (256, 2)])
async def test_a_vector_is_taken_over_only_of_a_text_that_is_one_part_of_the_generation_in_use(
    part_tokens: int | None, taken: int
) -> None:
    generation = Generation(number=1, model="contract", dimension=4, part_tokens=part_tokens)
    store = InMemoryStore(analyze=str.split, generation=generation)
    rows = [converted("a fact"), converted(LONG, default="marketing")]
    await store.delivery.apply([each.operation for each in rows])
    passed = await VectorPassage(store.queue, generation).take(rows)

    assert passed == taken
    assert (await store.inspector.counts())["vectors"] == taken


@pytest.mark.parametrize(
    ("in_use", "noted"),
    [
        (MODEL, []),
        (replace(MODEL, part_tokens=256), [ANOTHER_MODEL]),
        (replace(MODEL, part_tokens=None), [ANOTHER_MODEL]),
        (None, [NO_MODEL]),
    ],
)
async def test_vectors_of_an_export_are_kept_where_texts_are_cut_alike(
    in_use: EmbeddingModel | None, noted: list[str]
) -> None:
    source, target = InMemoryArchive(in_use=MODEL), InMemoryArchive(in_use=in_use)
    await source.store([entry("a fact", 1)], vectors=True)
    lines: list[bytes] = []
    await export_jsonl(source, lines.append, vectors=True)
    done = await JsonlImport(target, preparing(), restoring=True).run(b"".join(lines).splitlines(keepends=True))
    told = [each async for each in target.records(MARKETING, vectors=True) if isinstance(each, ArchivedEntry)]

    assert [bool(each.vectors) for each in told] == [not noted]
    assert [note for note in done.notes if "vectors" in note] == noted
