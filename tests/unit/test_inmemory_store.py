"""What the in-memory store shows beyond the contract of the store ports."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import pytest

from hermes_memory.adapters.inmemory import InMemoryStore
from hermes_memory.domain.errors import DeliveryRejected, InvalidInput
from hermes_memory.domain.model import (
    DIRECT_MESSAGES,
    Caller,
    CurrentScope,
    Kind,
    OperationId,
    Origin,
    Role,
    SessionId,
    Subject,
    Target,
    Theme,
)
from hermes_memory.domain.operations import AddEntry, RecordDelegation, RecordTurns, Stamp, TurnDraft
from hermes_memory.ports.embedding import EmbeddingBacklog, Generation
from hermes_memory.ports.reading import SearchSpace

WHEN = datetime(2024, 5, 3, tzinfo=UTC)
LAB, RESEARCH = Theme("lab"), Theme("research")
ANA = Subject(b"a" * 32)
MORNING, CHILD = SessionId("morning"), SessionId("child")
GENERATION = Generation(number=1, model="small", dimension=2)


def words(text: str) -> list[str]:
    return text.lower().split()


def stamp(number: int, *, subject: Subject | None = None, session: SessionId = MORNING) -> Stamp:
    caller = Caller(theme=LAB, subject=subject, session=session)
    return Stamp(operation=OperationId(UUID(int=number)), caller=caller, origin=Origin.AGENT, accepted_at=WHEN)


def note(number: int, content: str) -> AddEntry:
    return AddEntry(stamp=stamp(number), target=Target.MEMORY, content=content, at=WHEN)


def delegation(number: int, child_theme: Theme | None, *, subject: Subject | None = None) -> RecordDelegation:
    return RecordDelegation(
        stamp=stamp(number, subject=subject), child_session=CHILD, child_theme=child_theme, task="look", result="seen"
    )


@pytest.mark.parametrize("theme", [None, LAB])
async def test_a_child_session_of_the_callers_theme_knows_its_parent(theme: Theme | None) -> None:
    store = InMemoryStore(analyze=words)
    handed_over = delegation(1, theme, subject=ANA)

    await store.delivery.apply([handed_over, handed_over])

    assert store.delegations == (handed_over,)
    assert store.parent_session(LAB, ANA, CHILD) == MORNING
    assert store.parent_session(LAB, None, CHILD) is None


async def test_a_delegation_writes_no_session_of_another_theme() -> None:
    store = InMemoryStore(analyze=words)

    await store.delivery.apply([delegation(1, RESEARCH, subject=ANA)])

    assert [store.parent_session(theme, ANA, CHILD) for theme in (RESEARCH, LAB)] == [None, None]


async def test_turns_may_name_the_parent_of_their_session_and_the_first_to_name_it_is_right() -> None:
    store = InMemoryStore(analyze=words)
    draft = TurnDraft(role=Role.USER, content="hello", at=WHEN, origin=Origin.USER)

    for number, parent in enumerate((MORNING, SessionId("evening"))):
        talk = RecordTurns(stamp=stamp(number, session=CHILD), turns=(draft,), parent_session=parent)
        await store.delivery.apply([talk])

    assert store.parent_session(LAB, None, CHILD) == MORNING


async def test_without_a_generation_nothing_waits_and_nothing_is_near() -> None:
    store = InMemoryStore(analyze=words)

    await store.delivery.apply([note(1, "a note")])

    near = await store.search.by_vector(
        Caller(theme=LAB), SearchSpace(scope=CurrentScope()), (1.0,), limit=9, timeout=1.0
    )
    assert await store.queue.active() is None
    assert list(await store.queue.claim(9, lease=1.0)) == []
    assert await store.queue.backlog() == EmbeddingBacklog(waiting=0, parked=0)
    assert list(near) == []


async def test_a_vector_of_another_dimension_is_refused_and_none_of_its_batch_is_kept() -> None:
    store = InMemoryStore(analyze=words, generation=GENERATION)
    await store.delivery.apply([note(1, "one"), note(2, "two")])
    jobs = await store.queue.claim(9, lease=1.0)

    with pytest.raises(InvalidInput, match="dimension"):
        await store.queue.complete({jobs[0]: [(1.0, 0.0)], jobs[1]: [(1.0,)]})

    assert (await store.inspector.counts())["vectors"] == 0


async def test_a_vector_without_a_direction_is_near_to_nothing() -> None:
    store = InMemoryStore(analyze=words, generation=GENERATION)
    await store.delivery.apply([note(1, "one")])
    jobs = await store.queue.claim(9, lease=1.0)
    await store.queue.complete({jobs[0]: [(1.0, 0.0)]})

    cosines = await store.search.cosines(Caller(theme=LAB), [jobs[0].row], (0.0, 0.0), timeout=1.0)

    assert dict(cosines) == {}


async def test_a_calibration_of_another_generation_leaves_the_active_one_alone() -> None:
    store = InMemoryStore(analyze=words, generation=GENERATION)

    await store.queue.calibrate(2, unrelated=0.0, related=1.0)

    assert await store.queue.active() == GENERATION


def test_a_governed_theme_cannot_be_granted() -> None:
    store = InMemoryStore(analyze=words)

    with pytest.raises(InvalidInput, match="governed"):
        store.grant(LAB, DIRECT_MESSAGES)


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
async def test_a_number_that_is_not_finite_is_rejected(number: float) -> None:
    store = InMemoryStore(analyze=words)
    addition = AddEntry(
        stamp=stamp(1), target=Target.MEMORY, content="fine", at=WHEN, metadata={"deep": [{"n": number}]}
    )

    with pytest.raises(DeliveryRejected):
        await store.delivery.apply([addition])

    assert (await store.inspector.counts())["entries"] == 0


async def test_only_the_searched_kinds_are_looked_through() -> None:
    store = InMemoryStore(analyze=words)
    await store.delivery.apply([note(1, "a note")])

    matches = await store.search.by_text(
        Caller(theme=LAB),
        SearchSpace(scope=CurrentScope(), kinds=frozenset({Kind.TURN})),
        words("note"),
        limit=9,
        timeout=1.0,
    )

    assert (list(matches.hits), matches.documents) == ([], 0)
