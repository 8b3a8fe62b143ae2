"""What `Eraser` promises, to be run against every adapter."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from uuid import uuid4

from hermes_memory.domain.erasure import OneEntry, Told, WholeSession, WholeSubject, WholeTheme
from hermes_memory.domain.model import Caller, OperationId, RowId, SessionId, Subject, Target, Theme
from hermes_memory.domain.operations import ById, RecordDelegation
from hermes_memory.ports.erasure import Eraser
from hermes_memory.ports.history import HistoryReader
from hermes_memory.testing.making import (
    ANA,
    ANA_DIRECTLY,
    BEN_DIRECTLY,
    DESK,
    DESK_WITH_ANA,
    HOME,
    MARKETING,
    PATIENCE,
    PLENTY,
    SALES_DESK,
    TURNS,
    add,
    by_content,
    contents,
    deliver,
    embed_all,
    read,
    record,
    remove,
    replace,
    said,
    stamp,
    stored,
)
from hermes_memory.testing.store_under_test import StoreUnderTest

CLARA = Subject(b"c" * 32)
DESK_WITH_CLARA = Caller(theme=MARKETING, subject=CLARA, session=SessionId("hers"))
TALK = SessionId("talk")
TALKING = Caller(theme=MARKETING, session=TALK)
TALKING_WITH_ANA = Caller(theme=MARKETING, subject=ANA, session=TALK)


@dataclass(frozen=True, slots=True, kw_only=True)
class EraserUnderTest:
    """A fresh, empty store with its history, and what erases from it."""

    store: StoreUnderTest
    history: HistoryReader
    eraser: Eraser


class EraserContract:
    """The promises. A subclass supplies the async fixture `erasing`: fresh and empty each time."""

    async def test_with_a_session_goes_what_it_knew_of_a_forgotten_turn(self, erasing: EraserUnderTest) -> None:
        store, code = erasing.store, record(said("the code is zebra"), caller=TALKING)
        gone = await stored(store, code)
        await deliver(store, remove(ById(id=gone), TALKING))
        foretold = await erasing.eraser.count(WholeSession(session=TALK))
        done = await erasing.eraser.erase(WholeSession(session=TALK))
        anew = await stored(store, record(*code.turns, caller=TALKING))
        told = await erasing.history.of_row(TALKING, gone, limit=PLENTY, timeout=PATIENCE)

        assert (foretold["turns"], foretold["sessions"], foretold["changes"]) == (0, 1, 1)
        assert [proof for proof in done.proofs if proof.remaining] == []
        assert [(change.erased, change.session, change.said_at) for change in told] == [(True, None, None)]
        assert await read(store, anew, TALKING) is not None

    async def test_a_person_goes_from_every_theme_and_nobody_else_does(self, erasing: EraserUnderTest) -> None:
        store, eraser = erasing.store, erasing.eraser
        hers = [await stored(store, add("tea", DESK_WITH_ANA)), await stored(store, add("code", ANA_DIRECTLY))]
        others = [await stored(store, add("coffee", BEN_DIRECTLY)), await stored(store, add("launch"))]
        await deliver(store, record(said("hello"), said("again"), caller=ANA_DIRECTLY))
        await embed_all(store, {"": (1.0, 0.0, 0.0, 0.0)})
        erasure = WholeSubject(subject=ANA)
        foretold = await eraser.count(erasure)
        told: list[int] = []
        done = await eraser.erase(erasure, told.append)
        again = await eraser.erase(erasure)

        assert (foretold["entries"], foretold["turns"], foretold["changes"], foretold["vectors"]) == (2, 2, 2, 4)
        assert told == sorted(told)
        assert told[-1] == sum(done.counts.values())
        assert {name: count for name, count in done.counts.items() if count} == {
            name: count for name, count in foretold.items() if count
        }
        assert [proof for proof in done.proofs if proof.remaining] == []
        assert sum(again.counts.values()) == 0
        assert foretold.keys() == done.counts.keys() == again.counts.keys()
        assert sum((await eraser.count(erasure)).values()) == 0
        for row, caller in zip(hers, (DESK_WITH_ANA, ANA_DIRECTLY), strict=True):
            assert await read(store, row, caller) is None
            assert list(await erasing.history.of_row(caller, row, limit=PLENTY, timeout=PATIENCE)) == []
        assert [
            await read(store, row, caller) is not None for row, caller in zip(others, (BEN_DIRECTLY, DESK), strict=True)
        ]
        found = await store.search.by_text(ANA_DIRECTLY, TURNS, store.analyze("hello"), limit=9, timeout=PATIENCE)
        assert (list(found.hits), found.documents) == ([], 0)

    async def test_all_subjects_of_a_person_go_together(self, erasing: EraserUnderTest) -> None:
        store, eraser = erasing.store, erasing.eraser
        await store.merge(ANA, CLARA)
        await deliver(
            store,
            *(add("tea", DESK_WITH_CLARA), add("coffee", BEN_DIRECTLY), add("code", ANA_DIRECTLY)),
            record(said("hello"), caller=DESK_WITH_CLARA),
        )
        named = WholeSubject(subject=ANA)
        erasure = WholeSubject(subject=ANA, also=await eraser.companions(named))
        foretold = await eraser.count(erasure)
        done = await eraser.erase(erasure)

        assert erasure.also == {CLARA}
        assert (foretold["entries"], foretold["turns"], foretold["changes"]) == (2, 1, 2)
        assert {name: count for name, count in done.counts.items() if count} == {
            name: count for name, count in foretold.items() if count
        }
        assert [proof for proof in done.proofs if proof.remaining] == []
        assert await contents(store, DESK_WITH_CLARA) == set()
        assert await contents(store, BEN_DIRECTLY) == {"coffee"}
        assert await eraser.companions(named) == frozenset()

    async def test_a_theme_goes_and_is_listed_no_more(self, erasing: EraserUnderTest) -> None:
        store = erasing.store
        await deliver(store, add("launch"), add("tea", DESK_WITH_ANA), add("price", SALES_DESK), record(said("hello")))
        await erasing.eraser.erase(WholeTheme(theme=MARKETING))

        assert await contents(store) == set()
        assert await contents(store, SALES_DESK) == {"price"}
        assert list(await store.reader.themes(SALES_DESK, timeout=PATIENCE)) == ["sales"]

    async def test_what_another_theme_asked_of_an_erased_one_and_was_answered_goes_with_it(
        self, erasing: EraserUnderTest
    ) -> None:
        store, eraser = erasing.store, erasing.eraser
        sales, talk = SALES_DESK.theme, SessionId("asked")
        await deliver(
            store,
            *(_delegated(DESK, sales, talk), _delegated(DESK_WITH_ANA, sales, None)),
            *(_delegated(DESK, None, talk), _delegated(DESK, Theme("support"), SessionId("other"))),
            _delegated(SALES_DESK, None, None),
        )
        talks = [WholeSession(session=talk, theme=theme) for theme in (Theme("support"), sales, MARKETING)]
        foretold = [(await eraser.count(talk))["delegations"] for talk in talks]
        of_talk = await eraser.erase(WholeSession(session=talk, theme=sales))
        counted = await eraser.count(WholeTheme(theme=sales))
        done = await eraser.erase(WholeTheme(theme=sales))

        assert foretold == [0, 1, 2]
        assert of_talk.counts["delegations"] == 1
        assert (counted["delegations"], done.counts["delegations"]) == (2, 2)
        assert {proof.remaining for proof in done.proofs if proof.store == "delegations"} == {0}
        assert (await eraser.count(WholeTheme(theme=MARKETING)))["delegations"] == 2

    async def test_how_long_ago_something_was_erased_is_told_and_nothing_else_of_it(
        self, erasing: EraserUnderTest
    ) -> None:
        reader = erasing.store.reader
        await deliver(erasing.store, add("tea", DESK_WITH_ANA))
        before = await reader.erased_ago(timeout=PATIENCE)
        await erasing.eraser.count(WholeSubject(subject=ANA))
        counted = await reader.erased_ago(timeout=PATIENCE)
        await erasing.eraser.erase(WholeSubject(subject=ANA))
        ago = await reader.erased_ago(timeout=PATIENCE)

        assert (before, counted) == (None, None)
        assert ago is not None
        assert ago >= 0

    async def test_the_texts_of_an_entry_are_told_with_whose_they_were(self, erasing: EraserUnderTest) -> None:
        store, eraser = erasing.store, erasing.eraser
        hers = await stored(store, add("tea", DESK_WITH_ANA, target=Target.USER))
        await deliver(store, add("tea", BEN_DIRECTLY), add("tea"), add("tea", DESK_WITH_ANA))

        assert await eraser.texts(OneEntry(row=hers)) == {
            Told(theme=MARKETING, subject=ANA, target=Target.USER, text="tea")
        }

    async def test_a_conversation_goes_with_what_was_noted_in_it(self, erasing: EraserUnderTest) -> None:
        store = erasing.store
        survivor = await stored(store, add("the date is open"))
        await deliver(
            store,
            add("decided in the talk", TALKING),
            record(said("we talked"), caller=TALKING),
            record(said("we wrote")),
            replace(by_content("the date is open"), "3 May, said in the talk", TALKING),
            replace(by_content("3 May, said in the talk"), "9 May"),
        )
        erasure = WholeSession(session=SessionId("as the host calls it"), theme=MARKETING, hidden=TALK)
        counted = await erasing.eraser.count(erasure)
        done = await erasing.eraser.erase(erasure)

        assert (counted["entries"], counted["turns"], counted["changes"]) == (1, 1, 4)
        assert {name: done.counts[name] for name in counted} == dict(counted)
        assert await contents(store) == {"9 May"}
        told = await erasing.history.of_row(DESK, survivor, limit=PLENTY, timeout=PATIENCE)
        assert [(change.erased, change.before, change.after) for change in told] == [(True, None, None)] * 3
        found = await store.search.by_text(DESK, TURNS, store.analyze("talked wrote"), limit=9, timeout=PATIENCE)
        assert [hit.row.content for hit in found.hits] == ["we wrote"]

    async def test_one_entry_goes_with_its_history_and_its_texts_are_told_before(
        self, erasing: EraserUnderTest
    ) -> None:
        store, eraser = erasing.store, erasing.eraser
        row = await stored(store, add("draft", source=HOME))
        await deliver(store, replace(by_content("draft"), "fair copy", source=HOME), add("other"))
        erasure = OneEntry(row=row)
        texts, mirrored = await eraser.texts(erasure), await eraser.mirrored(erasure)
        done = await eraser.erase(erasure)
        nothing = await eraser.erase(OneEntry(row=RowId(uuid4())))

        assert texts == {
            Told(theme=MARKETING, subject=None, target=Target.MEMORY, text=text) for text in ("draft", "fair copy")
        }
        assert mirrored == 1
        assert (done.counts["entries"], done.counts["changes"]) == (1, 2)
        assert sum(nothing.counts.values()) == 0
        assert await contents(store) == {"other"}
        assert await eraser.texts(WholeTheme(theme=MARKETING)) == frozenset()
        assert await eraser.companions(WholeSubject(subject=ANA)) == frozenset()
        assert await eraser.settle(30.0)

    async def test_a_write_is_waited_for_from_before_it_asks_what_is_still_wanted(
        self, erasing: EraserUnderTest
    ) -> None:
        settled = []

        async def wanted(operations: Sequence[OperationId]) -> Collection[OperationId]:
            settled.append(await erasing.eraser.settle(0.2))
            return operations

        await erasing.store.delivery.apply([add("the code is 8841")], wanted=wanted)
        settled.append(await erasing.eraser.settle(PATIENCE))

        assert settled == [False, True]

    async def test_with_an_entry_goes_the_history_of_others_that_an_undo_could_bring_its_texts_back_from(
        self, erasing: EraserUnderTest
    ) -> None:
        store, eraser = erasing.store, erasing.eraser
        forgotten = await stored(store, add("the code is 8841"))
        await deliver(store, remove(by_content("the code is 8841")))
        row = await stored(store, add("the code is 8841"))
        merged = await stored(store, add("the code is unknown"))
        await deliver(store, replace(by_content("the code is unknown"), "the code is 8841"))
        corrected = await stored(store, add("the code is open"))
        await deliver(
            store,
            replace(by_content("the code is 8841"), "the code is 9999"),
            replace(by_content("the code is open"), "the code is 8841"),
            replace(by_content("the code is 8841"), "the code is secret"),
        )
        hers, sales = await stored(store, add("the code is 8841", DESK_WITH_ANA)), Caller(theme=SALES_DESK.theme)
        theirs, other = await stored(store, add("the code is 8841", sales)), await stored(store, add("launch"))
        erasure = OneEntry(row=row)
        foretold = await eraser.count(erasure)
        done = await eraser.erase(erasure)

        assert foretold["changes"] == 2 + 2 + 2 + 3
        assert done.counts["changes"] == foretold["changes"]
        assert [proof for proof in done.proofs if proof.remaining] == []
        for gone in (forgotten, row, merged, corrected):
            told = await erasing.history.of_row(DESK, gone, limit=PLENTY, timeout=PATIENCE)
            assert {(change.erased, change.before, change.after) for change in told} == {(True, None, None)}
        for caller, kept in ((DESK_WITH_ANA, hers), (sales, theirs), (DESK, other)):
            told = await erasing.history.of_row(caller, kept, limit=PLENTY, timeout=PATIENCE)
            assert [change.erased for change in told] == [False]
        assert await contents(store) == {"the code is secret", "launch"}

    async def test_with_an_entry_no_history_of_its_words_in_another_target_goes(self, erasing: EraserUnderTest) -> None:
        store, eraser = erasing.store, erasing.eraser
        row = await stored(store, add("the code is 8841"))
        kept = await stored(store, add("the code is 8841", target=Target.USER))
        erasure = OneEntry(row=row)
        foretold = await eraser.count(erasure)
        done = await eraser.erase(erasure)

        assert (foretold["changes"], done.counts["changes"]) == (1, 1)
        told = await erasing.history.of_row(DESK, kept, limit=PLENTY, timeout=PATIENCE)
        assert [(change.erased, change.after) for change in told] == [(False, "the code is 8841")]
        assert await contents(store) == {"the code is 8841"}

    async def test_what_was_noted_for_everybody_in_talk_with_a_person_is_counted(
        self, erasing: EraserUnderTest
    ) -> None:
        store, eraser = erasing.store, erasing.eraser
        await deliver(store, add("contact: open"), add("plan: open"), add("launch", DESK), add("open", SALES_DESK))
        before = await eraser.shared(WholeSubject(subject=ANA))
        await deliver(
            store,
            record(said("I am on 555"), caller=TALKING_WITH_ANA),
            replace(by_content("contact: open"), "contact: 555", TALKING_WITH_ANA),
            replace(by_content("plan: open"), "plan: call 555", TALKING_WITH_ANA),
            replace(by_content("plan: call 555"), "plan: none"),
            add("price", Caller(theme=SALES_DESK.theme, session=TALK)),
        )
        gone = await stored(store, record(said("aside"), caller=TALKING))
        await deliver(store, remove(ById(id=gone), TALKING))

        assert before == 0
        assert await eraser.shared(WholeSubject(subject=ANA)) == 2
        assert await eraser.shared(WholeTheme(theme=MARKETING)) == 0
        assert (await eraser.erase(WholeSubject(subject=ANA))).counts["entries"] == 0
        assert await eraser.shared(WholeSubject(subject=ANA)) == 0


def _delegated(caller: Caller, theme: Theme | None, session: SessionId | None) -> RecordDelegation:
    return RecordDelegation(
        stamp=stamp(caller), child_session=session, child_theme=theme, task="ask about tea", result="it is green"
    )
