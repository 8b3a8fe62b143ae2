"""Contract of `Reader`: rows by id, by list and by the home they mirror."""

from __future__ import annotations

from dataclasses import replace as copy
from datetime import timedelta

import pytest

from hermes_memory.domain.model import (
    AllScope,
    Caller,
    CurrentScope,
    ReadPolicy,
    Row,
    RowId,
    Scope,
    SessionId,
    SessionScope,
    SubjectScope,
    Target,
    Theme,
    ThemeScope,
    Turn,
)
from hermes_memory.domain.operations import AddEntry, ById, Operation
from hermes_memory.testing.making import (
    ANA,
    ANA_DIRECTLY,
    BEN_DIRECTLY,
    DESK,
    DESK_WITH_ANA,
    DESK_WITH_BEN,
    EVENING,
    HOME,
    MARKETING,
    MORNING,
    OTHER_HOME,
    PATIENCE,
    PLENTY,
    SALES,
    SALES_DESK,
    add,
    deliver,
    list_entries,
    read,
    read_entry,
    record,
    remove,
    replace,
    said,
    stored,
)
from hermes_memory.testing.store_under_test import StoreUnderTest


@pytest.mark.asyncio
class ReadingContract:
    """What every `Reader` keeps. A subclass supplies the fixture `store`."""

    async def test_an_unknown_row_and_one_that_is_not_the_callers_look_alike(self, store: StoreUnderTest) -> None:
        row = await stored(store, add("the code is 8841", DESK_WITH_ANA))
        unknown = RowId(add("x").stamp.operation)

        assert await read(store, unknown, DESK_WITH_BEN) is None
        assert await read(store, row, DESK_WITH_BEN) is None
        assert await read(store, row, DESK) is None
        assert await read(store, row, DESK_WITH_ANA) is not None

    async def test_a_row_of_another_theme_is_read_where_it_may_be(self, store: StoreUnderTest) -> None:
        row = await stored(store, add("price list", SALES_DESK))

        found = await read(store, row, DESK)

        assert found is not None
        assert found.theme == SALES

    async def test_entries_come_most_recently_changed_first(self, store: StoreUnderTest) -> None:
        first, second, third = await deliver(store, add("first"), add("second"), add("third"))
        assert first.row is not None
        await deliver(store, replace(ById(id=first.row), "first again"))

        listed = await list_entries(store)

        assert [entry.id for entry in listed] == [first.row, third.row, second.row]

    async def test_a_list_is_no_longer_than_its_limit(self, store: StoreUnderTest) -> None:
        await deliver(store, *(add(f"note {number}") for number in range(5)))

        listed = await store.reader.entries(DESK, CurrentScope(), limit=2, timeout=PATIENCE)

        assert [entry.content for entry in listed] == ["note 4", "note 3"]

    async def test_entries_can_be_narrowed_to_a_target(self, store: StoreUnderTest) -> None:
        await deliver(store, add("about work"), add("about Ana", target=Target.USER), record(said("a turn")))

        for target, expected in ((Target.USER, "about Ana"), (Target.MEMORY, "about work")):
            listed = await store.reader.entries(DESK, CurrentScope(), target=target, limit=PLENTY, timeout=PATIENCE)
            assert [entry.content for entry in listed] == [expected]

    @pytest.mark.parametrize(
        ("scope", "expected"),
        [
            (CurrentScope(), {"mine", "mine, evening", "mine, Ana"}),
            (SessionScope(session=MORNING), {"mine", "mine, Ana"}),
            (SessionScope(session=EVENING), {"mine, evening"}),
            (SessionScope(session=EVENING, hidden=MORNING), {"mine", "mine, evening", "mine, Ana"}),
            (SessionScope(session=SessionId("nothing"), hidden=EVENING), {"mine, evening"}),
            (SubjectScope(), {"mine, Ana", "sales, Ana", "direct, Ana"}),
            (AllScope(), {"mine", "mine, evening", "mine, Ana", "sales", "sales, Ana"}),
            (ThemeScope(theme=SALES), {"sales", "sales, Ana"}),
            (ThemeScope(theme=ANA_DIRECTLY.theme), {"direct, Ana"}),
            (ThemeScope(theme=Theme("nobody")), set()),
        ],
        ids=lambda value: type(value).__name__,
    )
    async def test_a_scope_holds_what_it_says(self, store: StoreUnderTest, scope: Scope, expected: set[str]) -> None:
        await deliver(
            store,
            add("mine"),
            add("mine, evening", Caller(theme=MARKETING, session=EVENING)),
            add("mine, Ana", DESK_WITH_ANA),
            add("mine, Ben", DESK_WITH_BEN),
            add("sales", SALES_DESK),
            add("sales, Ana", Caller(theme=SALES, subject=DESK_WITH_ANA.subject, session=MORNING)),
            add("direct, Ana", ANA_DIRECTLY),
            add("direct, Ben", BEN_DIRECTLY),
        )

        await store.grant(ANA, SALES)

        listed = await list_entries(store, DESK_WITH_ANA, scope)

        assert {entry.content for entry in listed} == expected

    async def test_the_scope_of_a_subject_is_empty_for_a_caller_without_one(self, store: StoreUnderTest) -> None:
        await deliver(store, add("mine"), add("mine, Ana", DESK_WITH_ANA))

        assert list(await list_entries(store, DESK, SubjectScope())) == []

    async def test_entries_of_a_content_are_those_of_exactly_that_text_in_the_callers_theme(
        self, store: StoreUnderTest
    ) -> None:
        await deliver(
            store,
            add("the code is 8841"),
            add("the code is 8841", target=Target.USER),
            add("the code is 8841", DESK_WITH_ANA),
            add("the code is 8841", DESK_WITH_BEN),
            add("the code is 8841", SALES_DESK),
            add("the code is 8841, too"),
            record(said("the code is 8841")),
        )
        found = {
            caller: await store.reader.with_content(caller, "the code is 8841", timeout=PATIENCE)
            for caller in (DESK, DESK_WITH_ANA)
        }

        assert [entry.target for entry in found[DESK]] == [Target.USER, Target.MEMORY]
        assert [entry.subject for entry in found[DESK_WITH_ANA]] == [ANA, None, None]
        assert list(await store.reader.with_content(DESK, "the code", timeout=PATIENCE)) == []

    async def test_the_mirror_of_a_home_is_the_callers_theme_and_exact_subject(self, store: StoreUnderTest) -> None:
        await deliver(
            store,
            add("mirrored", source=HOME),
            add("mirrored for Ana", DESK_WITH_ANA, source=HOME),
            add("mirrored elsewhere", source=OTHER_HOME),
            add("mirrored by sales", SALES_DESK, source=HOME),
            add("said by hand"),
            add("about Ana", target=Target.USER, source=HOME),
        )

        for_nobody = await store.reader.mirrored(DESK, HOME, timeout=PATIENCE)
        for_ana = await store.reader.mirrored(DESK_WITH_ANA, HOME, timeout=PATIENCE)

        assert {entry.content for entry in for_nobody} == {"mirrored", "about Ana"}
        assert {entry.content for entry in for_ana} == {"mirrored for Ana"}

    async def test_a_mirror_is_listed_whole(self, store: StoreUnderTest) -> None:
        await deliver(store, *(add(f"note {number}", source=HOME) for number in range(300)))

        assert len(await store.reader.mirrored(DESK, HOME, timeout=PATIENCE)) == 300

    async def test_private_copies_are_those_some_subject_has_from_this_home(self, store: StoreUnderTest) -> None:
        memory, user = Target.MEMORY, Target.USER
        await deliver(
            store,
            add("in the theme", source=HOME),
            add("of Ana", DESK_WITH_ANA, source=HOME),
            add("of Ben, directly", BEN_DIRECTLY, target=user, source=HOME),
            add("of Ana, elsewhere", DESK_WITH_ANA, source=OTHER_HOME),
            add("of Ana, by hand", DESK_WITH_ANA),
        )
        asked = [
            (memory, "in the theme"),
            (memory, "of Ana"),
            (user, "of Ana"),
            (user, "of Ben, directly"),
            (memory, "of Ana, elsewhere"),
            (memory, "of Ana, by hand"),
            (memory, "unknown"),
        ]

        private = await store.reader.private_copies(HOME, asked, timeout=PATIENCE)

        assert private == frozenset({(memory, "of Ana"), (user, "of Ben, directly")})
        assert await store.reader.private_copies(HOME, [], timeout=PATIENCE) == frozenset()

    async def test_a_private_copy_that_was_removed_is_none(self, store: StoreUnderTest) -> None:
        row = await stored(store, add("of Ana", DESK_WITH_ANA, source=HOME))
        await deliver(store, remove(ById(id=row), DESK_WITH_ANA))

        private = await store.reader.private_copies(HOME, [(Target.MEMORY, "of Ana")], timeout=PATIENCE)

        assert private == frozenset()

    async def test_what_is_as_it_was_read_is_unchanged(self, store: StoreUnderTest) -> None:
        await store.grant(ANA, SALES)
        await deliver(store, add("mine"), add("Ana's", DESK_WITH_ANA), add("of sales", SALES_DESK))
        entries = [*await list_entries(store, DESK_WITH_ANA), *await list_entries(store, DESK_WITH_ANA, AllScope())]
        turn = await read(store, await stored(store, record(said("a turn"))))
        assert turn is not None
        # Another home begins to mirror it: that is no change.
        await deliver(store, add("mine", source=HOME))

        standing = await store.reader.standing(DESK_WITH_ANA, [*entries, turn], timeout=PATIENCE)

        assert len(entries) == 5
        assert standing.unchanged == {turn.id, *(entry.id for entry in entries)}

    async def test_what_was_forgotten_or_changed_since_is_not_unchanged(self, store: StoreUnderTest) -> None:
        forgotten, changed, restored, kept = await deliver(store, *(add(f"note {number}") for number in range(4)))
        before = await list_entries(store)
        assert forgotten.row is not None
        assert changed.row is not None
        assert restored.row is not None
        await deliver(
            store,
            remove(ById(id=forgotten.row)),
            replace(ById(id=changed.row), "another note"),
            replace(ById(id=restored.row), "for a moment"),
            replace(ById(id=restored.row), "note 2"),
        )

        standing = await store.reader.standing(DESK, before, timeout=PATIENCE)

        assert standing.unchanged == {kept.row}

    async def test_what_the_caller_may_not_read_by_id_is_not_unchanged(self, store: StoreUnderTest) -> None:
        await deliver(store, add("mine"), add("Ana's", DESK_WITH_ANA), add("of sales", SALES_DESK))
        rows = await list_entries(store, DESK_WITH_ANA, AllScope())

        for policy in ReadPolicy:
            await store.set_policy(policy)
            for caller in (DESK_WITH_ANA, DESK, DESK_WITH_BEN, SALES_DESK, ANA_DIRECTLY):
                readable = {row.id for row in rows if await read(store, row.id, caller) is not None}
                standing = await store.reader.standing(caller, rows, timeout=PATIENCE)
                assert standing.unchanged == readable, (policy, caller)

    async def test_a_row_of_another_text_theme_or_subject_is_not_the_one_that_is_stored(
        self, store: StoreUnderTest
    ) -> None:
        entry = await read_entry(store, await stored(store, add("mine")))
        turn = await read(store, await stored(store, record(said("a turn"))))
        assert isinstance(turn, Turn)

        others: list[Row] = [
            copy(entry, content="yours"),
            copy(entry, theme=SALES),
            copy(entry, subject=DESK_WITH_ANA.subject),
            copy(turn, content="another turn"),
        ]
        for other in others:
            assert (await store.reader.standing(DESK, [other], timeout=PATIENCE)).unchanged == frozenset()

    async def test_the_newest_marks_tell_of_every_entry_that_is_stored_or_changed_in_the_theme(
        self, store: StoreUnderTest
    ) -> None:
        row = await stored(store, add("mine"))
        seen = [await newest(store)]
        operations: list[Operation] = [
            add("mine as well"),
            replace(ById(id=row), "mine, changed"),
            # Their writer's clock is behind, or they were long on their way.
            *(behind(add(f"note {number}"), days=number) for number in range(1, 11)),
        ]
        for operation in operations:
            await deliver(store, operation)
            seen.append(await newest(store))

        assert len(set(seen)) == len(seen) == 13

    async def test_the_newest_marks_do_not_tell_of_what_is_said_nor_of_what_others_store(
        self, store: StoreUnderTest
    ) -> None:
        await deliver(store, add("mine"), add("Ana's", DESK_WITH_ANA))
        before = await newest(store), await newest(store, DESK_WITH_ANA)
        await deliver(
            store,
            record(said("a turn"), said("another")),
            record(said("a turn"), caller=DESK_WITH_ANA),
            add("of sales", SALES_DESK),
            add("Ben's", DESK_WITH_BEN),
            add("Ana's elsewhere", ANA_DIRECTLY),
            add("mine", source=HOME),
        )

        assert (await newest(store), await newest(store, DESK_WITH_ANA)) == before
        assert before[0] != before[1]

    async def test_themes_are_listed_by_name_without_the_sinks(self, store: StoreUnderTest) -> None:
        await deliver(store, record(said("hi"), caller=SALES_DESK), add("mine"), add("direct", ANA_DIRECTLY))

        assert list(await store.reader.themes(DESK, timeout=PATIENCE)) == [MARKETING, SALES]
        await store.grant(ANA, MARKETING)
        assert list(await store.reader.themes(ANA_DIRECTLY, timeout=PATIENCE)) == [MARKETING]


def behind(operation: AddEntry, *, days: int) -> AddEntry:
    """Return an operation as if it had been accepted days before."""
    early = operation.stamp.accepted_at - timedelta(days=days)
    return copy(operation, at=early, stamp=copy(operation.stamp, accepted_at=early))


async def newest(store: StoreUnderTest, caller: Caller = DESK) -> tuple[int, ...]:
    """Return the marks of the caller's newest entries."""
    return (await store.reader.standing(caller, [], timeout=PATIENCE)).newest
