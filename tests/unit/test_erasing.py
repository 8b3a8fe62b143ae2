"""An erasure in home and store: what stays, and has to do with what goes, is told to the operator."""

from __future__ import annotations

from typing import Final

from tests.contract.test_store_inmemory import Levers

from hermes_memory.adapters.inmemory.spool import InMemorySpool
from hermes_memory.application.erase import LINKED, READ, SHARED, Erasing
from hermes_memory.domain.erasure import Erasure, WholeSession, WholeSubject
from hermes_memory.domain.model import Caller, SessionId
from hermes_memory.testing.making import ANA, DESK, MARKETING, add, by_content, next_moment, record, replace, said

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
