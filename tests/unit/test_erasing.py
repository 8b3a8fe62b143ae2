"""An erasure in home and store: what stays, and has to do with what goes, is told to the operator."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest
from tests.contract.test_store_inmemory import Levers
from tests.support.tables import for_each

from hermes_memory.adapters.inmemory.spool import InMemorySpool
from hermes_memory.adapters.spool.sqlite_spool import SqliteSpool
from hermes_memory.application.erase import (
    COMPANIONS,
    LINKED,
    REACHING,
    READ,
    SHARED,
    UNFORGOTTEN,
    UNLOOKED,
    UNUSABLE,
    Erasing,
)
from hermes_memory.domain.erasure import Erasure, OneEntry, WholeSession, WholeSubject, WholeTheme
from hermes_memory.domain.errors import ConfigurationError, HermesMemoryError, StoreUnavailable
from hermes_memory.domain.model import Caller, SessionId, Subject, Target
from hermes_memory.domain.operations import ByContent, ById, Operation, row_id
from hermes_memory.ports.spool import Kept, Spool
from hermes_memory.testing.making import (
    ANA,
    BEN,
    DESK,
    MARKETING,
    PLENTY,
    SALES_DESK,
    add,
    by_content,
    by_substring,
    next_moment,
    record,
    remove,
    replace,
    said,
)

TALK: Final = SessionId("talk")
WITH_ANA: Final = Caller(theme=MARKETING, subject=ANA, session=TALK)


async def notes_of(erasing: Erasing, erasure: Erasure) -> list[tuple[str, ...]]:
    """Return the notes of the dry run and of the certificate."""
    return [(await erasing.preview(erasure)).notes, (await erasing.execute(erasure)).notes]


async def test_a_certificate_tells_what_stays_of_a_persons_talk_and_what_names_a_conversation() -> None:
    store, spool = Levers().store, InMemorySpool()
    erasing = Erasing(store.eraser, [spool], set_aside=lambda: 0, now=next_moment)
    await store.delivery.apply(
        [
            add("contact: open"),
            record(said("I am on 555"), caller=WITH_ANA),
            replace(by_content("contact: open"), "contact: 555", WITH_ANA),
        ]
    )
    spool.put(record(said("from the talk"), caller=DESK, parent_session=TALK))
    of_ana = await notes_of(erasing, WholeSubject(subject=ANA))
    of_talk = await notes_of(erasing, WholeSession(session=TALK))

    assert [SHARED.format(1) in notes for notes in of_ana] == [True, True]
    assert [LINKED.format(1) in notes for notes in of_ana] == [False, False]
    assert [LINKED.format(1) in notes for notes in of_talk] == [True, True]
    assert not any(READ.format(0) in notes for notes in (*of_ana, *of_talk))


async def test_whoever_is_one_person_with_the_subject_named_goes_too_also_from_the_spool() -> None:
    levers, spool = Levers(), InMemorySpool()
    clara = Subject(b"c" * 32)
    await levers.merge(ANA, clara)
    reached: list[int] = []
    erasing = Erasing(levers.store.eraser, [spool], set_aside=lambda: 0, now=next_moment, progress=reached.append)
    await levers.store.delivery.apply([add("shoe size is 44", Caller(theme=MARKETING, subject=clara))])
    spool.put(add("shoe size was 43", Caller(theme=MARKETING, subject=clara)))
    told = [await erasing.preview(WholeSubject(subject=ANA)), await erasing.execute(WholeSubject(subject=ANA))]

    assert [(each.counts["entries"], each.counts["waiting"]) for each in told] == [(1, 1), (1, 1)]
    assert [COMPANIONS.format(1) in each.notes for each in told] == [True, True]
    assert told[1].complete
    assert reached[-1] == sum(told[1].counts.values()) - told[1].counts["waiting"]
    assert not any((await erasing.preview(WholeSubject(subject=clara))).counts.values())


@pytest.fixture(params=["in memory", "in files"])
def spool(request: pytest.FixtureRequest, tmp_path: Path) -> Spool:
    return (
        InMemorySpool()
        if request.param == "in memory"
        else SqliteSpool(directory=tmp_path, destination="0123456789abcdef", synchronous="NORMAL")
    )


def keep(spool: Spool, waiting: Sequence[Operation], dead: Sequence[Operation]) -> None:
    for operation in (*waiting, *dead):
        spool.put(operation)
    for operation in dead:
        spool.bury(operation.stamp.operation, "refused")


def bodies(spool: Spool) -> dict[object, bytes]:
    return {kept.id: kept.body for kept in spool.kept(PLENTY)}


def like(text: str, caller: Caller) -> list[Operation]:
    """Return what a caller may write in the words of a text, or to change it."""
    return [
        add(text, caller),
        replace(by_substring(text[1:-1]), "coffee", caller, upsert=True),
        replace(by_content("water"), text, caller),
        remove(by_content(text), caller),
    ]


async def test_of_an_entry_only_writes_of_its_own_theme_and_subject_are_dropped_and_others_stay_to_the_byte(
    spool: Spool,
) -> None:
    store = Levers().store
    erasing = Erasing(store.eraser, [spool], set_aside=lambda: 0, now=next_moment)
    with_ben = Caller(theme=MARKETING, subject=BEN, session=TALK)
    her_sales = Caller(theme=SALES_DESK.theme, subject=ANA, session=TALK)
    (made,) = await store.delivery.apply([add("tea at four", WITH_ANA)])
    assert made.row is not None
    others = (with_ben, her_sales, SALES_DESK, DESK)
    keep(spool, *([each for caller in others for each in like("tea at four", caller)] for _ in ("waiting", "dead")))
    theirs = bodies(spool)
    keep(spool, like("tea at four", WITH_ANA), like("tea at four", WITH_ANA))
    foretold = await erasing.preview(OneEntry(row=made.row))
    done = await erasing.execute(OneEntry(row=made.row))
    left = bodies(spool)
    spool.close()

    assert (foretold.counts["waiting"], foretold.counts["dead"]) == (4, 4)
    assert (done.counts["waiting"], done.counts["dead"]) == (4, 4)
    assert left == theirs
    assert done.complete


async def test_a_certificate_tells_of_what_somebody_wrote_that_may_mean_an_entry_of_everybody(spool: Spool) -> None:
    store = Levers().store
    erasing = Erasing(store.eraser, [spool], set_aside=lambda: 0, now=next_moment)
    (made,) = await store.delivery.apply([add("tea at four")])
    assert made.row is not None
    keep(spool, like("tea at four", WITH_ANA), [])
    notes = await notes_of(erasing, OneEntry(row=made.row))
    left = bodies(spool)
    spool.close()

    assert [REACHING.format(2) in told for told in notes] == [True, True]
    assert len(left) == 4


async def test_of_an_entry_also_goes_what_follows_on_a_write_that_goes(spool: Spool) -> None:
    erasing = Erasing(Levers().store.eraser, [spool], set_aside=lambda: 0, now=next_moment)
    waiting = add("tea at four", WITH_ANA)
    row = row_id(waiting.stamp.operation)
    with_ben = Caller(theme=MARKETING, subject=BEN, session=TALK)
    others = [
        replace(by_content("tea at five"), "juice", with_ben, upsert=True),
        replace(by_content("water at six"), "juice", WITH_ANA, upsert=True),
    ]
    keep(spool, others, [])
    theirs = bodies(spool)
    follow_on = [
        replace(by_content("tea at four"), "tea at five", WITH_ANA, upsert=True),
        replace(by_substring("five"), "water at six", WITH_ANA, upsert=True),
        replace(ById(id=row), "milk", WITH_ANA),
        replace(by_substring("mil"), "cocoa", WITH_ANA),
    ]
    keep(spool, [waiting, *follow_on], [])
    foretold = await erasing.preview(OneEntry(row=row))
    done = await erasing.execute(OneEntry(row=row))
    left = bodies(spool)
    spool.close()

    assert (foretold.counts["waiting"], done.counts["waiting"]) == (5, 5)
    assert left == theirs


async def test_of_an_entry_also_goes_what_follows_on_a_write_that_went_before_it_was_accepted() -> None:
    spool, waiting = InMemorySpool(), add("tea at four", WITH_ANA)
    row = row_id(waiting.stamp.operation)
    meanwhile = [
        replace(by_content("tea at four"), "tea at five", WITH_ANA, upsert=True),
        replace(by_content("water at six"), "juice", WITH_ANA, upsert=True),
    ]
    spool.put(waiting)
    erasing = Erasing(
        Levers().store.eraser,
        [spool],
        set_aside=lambda: 0,
        now=next_moment,
        progress=lambda _: keep(spool, meanwhile, []),
    )
    done = await erasing.execute(OneEntry(row=row))

    assert done.counts["waiting"] == 2
    assert [kept.operation for kept in spool.kept(PLENTY)] == meanwhile[1:]


async def test_a_certificate_tells_of_what_was_to_be_forgotten_and_is_not(spool: Spool) -> None:
    erasing = Erasing(Levers().store.eraser, [spool], set_aside=lambda: 0, now=next_moment)
    told = {}
    for erasure in (WholeSession(session=TALK), WholeSubject(subject=ANA), WholeTheme(theme=MARKETING)):
        keep(spool, [remove(by_content("the code is 8841"), WITH_ANA), add("tea", WITH_ANA)], [])
        told[erasure] = await notes_of(erasing, erasure)
    spool.close()

    assert [[UNFORGOTTEN.format(1) in notes for notes in both] for both in told.values()] == [
        *([[True, True]] * 2),
        [False, False],
    ]


async def test_of_an_entry_no_write_of_its_words_in_another_target_is_dropped(spool: Spool) -> None:
    erasing = Erasing(Levers().store.eraser, [spool], set_aside=lambda: 0, now=next_moment)
    waiting = add("tea at four", WITH_ANA)
    row = row_id(waiting.stamp.operation)
    four, five = (ByContent(target=Target.USER, content=f"tea at {hour}") for hour in ("four", "five"))
    others: list[Operation] = [
        add("tea at four", WITH_ANA, target=Target.USER),
        replace(four, "tea at five", WITH_ANA),
        remove(five, WITH_ANA),
        remove(four, WITH_ANA),
    ]
    keep(spool, [waiting, replace(ById(id=row), "tea at five", WITH_ANA)], [])
    dropped = set(bodies(spool))
    keep(spool, others, [])
    theirs = {each: body for each, body in bodies(spool).items() if each not in dropped}
    notes = await notes_of(erasing, OneEntry(row=row))
    left = bodies(spool)
    spool.close()

    assert left == theirs
    assert not any(note.endswith(UNFORGOTTEN.removeprefix("{}")) for told in notes for note in told)


async def test_a_certificate_tells_of_what_was_to_be_forgotten_by_a_text_that_an_entry_said_before(
    spool: Spool,
) -> None:
    store = Levers().store
    erasing = Erasing(store.eraser, [spool], set_aside=lambda: 0, now=next_moment)
    (made, *_) = await store.delivery.apply(
        [add("tea at four"), replace(by_content("tea at four"), "tea at five"), add("tea at four")]
    )
    assert made.row is not None
    keep(spool, [remove(by_content("tea at four")), remove(ById(id=made.row))], [])
    notes = await notes_of(erasing, OneEntry(row=made.row))
    spool.close()

    assert [UNFORGOTTEN.format(1) in told for told in notes] == [True, True]


@pytest.mark.parametrize("erasure", [WholeTheme(theme=MARKETING), WholeSession(session=TALK, theme=MARKETING)])
async def test_of_a_theme_and_of_a_conversation_in_it_nothing_of_another_theme_is_dropped(
    spool: Spool, erasure: Erasure
) -> None:
    store = Levers().store
    erasing = Erasing(store.eraser, [spool], set_aside=lambda: 0, now=next_moment)
    her_sales = Caller(theme=SALES_DESK.theme, subject=ANA, session=TALK)
    keep(spool, like("tea at four", her_sales), like("tea at four", SALES_DESK))
    theirs = bodies(spool)
    keep(spool, like("tea at four", WITH_ANA), like("tea at four", WITH_ANA))
    done = await erasing.execute(erasure)
    left = bodies(spool)
    spool.close()

    assert (done.counts["waiting"], done.counts["dead"]) == (4, 4)
    assert left == theirs


class ReadSpool(InMemorySpool):
    """A spool in which somebody reads all the time, so that its files cannot be cleaned."""

    def scrub(self, timeout: float) -> bool:
        return False


async def test_a_certificate_is_not_complete_while_the_files_of_a_spool_could_not_be_cleaned() -> None:
    erasing = Erasing(Levers().store.eraser, [InMemorySpool(), ReadSpool()], set_aside=lambda: 0, now=next_moment)
    told = await erasing.preview(WholeSession(session=TALK)), await erasing.execute(WholeSession(session=TALK))

    assert [READ.format(1) in certificate.notes for certificate in told] == [False, True]
    assert not told[1].complete
    assert {proof.store: proof.remaining for proof in told[1].proofs}["spool files"] == 1


class UncleanableSpool(InMemorySpool):
    """A spool whose files cannot be used any more when they are to be cleaned."""

    def __init__(self, trouble: HermesMemoryError) -> None:
        super().__init__()
        self._trouble = trouble

    def scrub(self, timeout: float) -> bool:
        raise self._trouble


class LostSpool(UncleanableSpool):
    """A spool that cannot be used at all any more once it was looked through."""

    def __init__(self, trouble: HermesMemoryError) -> None:
        super().__init__(trouble)
        self._looked = False

    def kept(self, limit: int, *, after: int = 0) -> Sequence[Kept]:
        if self._looked:
            raise self._trouble
        self._looked = True
        return super().kept(limit, after=after)


TROUBLES: Final = (StoreUnavailable("it is locked"), ConfigurationError("it is another user's"))


@for_each("trouble", TROUBLES)
@for_each(("kind", "unlooked"), [(UncleanableSpool, 0), (LostSpool, 1)])
async def test_a_spool_that_cannot_be_used_once_the_database_has_erased_costs_the_certificate_its_completeness_alone(
    kind: type[UncleanableSpool], unlooked: int, trouble: HermesMemoryError
) -> None:
    store, usable = Levers().store, InMemorySpool()
    erasing = Erasing(store.eraser, [kind(trouble), usable], set_aside=lambda: 0, now=next_moment)
    await store.delivery.apply([record(said("I am on 555"), caller=WITH_ANA)])
    usable.put(record(said("I wait"), caller=WITH_ANA))
    certificate = await erasing.execute(WholeSession(session=TALK))
    remaining = {proof.store: proof.remaining for proof in certificate.proofs}

    assert (certificate.counts["turns"], certificate.counts["waiting"]) == (1, 1)
    assert not certificate.complete
    assert (remaining["spools"], remaining["spool files"]) == (unlooked, 1)
    assert (UNLOOKED.format(1) in certificate.notes) == bool(unlooked)
    assert {READ.format(1), UNUSABLE.format(trouble)} <= set(certificate.notes)
