"""What `Archive` and `Snapshot` promise, to be run against every adapter."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Final
from uuid import UUID

from hermes_memory.domain.archive import (
    Archived,
    ArchivedChange,
    ArchivedDelegation,
    ArchivedEntry,
    ArchivedSession,
    ArchivedTheme,
    ArchivedTurn,
    added,
    merged,
)
from hermes_memory.domain.forgotten import MARK_BYTES, forgotten_mark
from hermes_memory.domain.model import NO_METADATA, Subject, Theme
from hermes_memory.ports.archive import Archive
from hermes_memory.testing.making import ANA, MARKETING, SALES

THEN: Final = datetime(2024, 5, 3, 10, 0, 0, 123_456, tzinfo=UTC)
VECTOR: Final = bytes.fromhex("3c00400042003c00")
"""The numbers 1, 2, 3 and 1, as an archive has them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveUnderTest:
    """A fresh, empty archive whose model has four dimensions.

    Attributes:
        told: Reads a theme out, in one snapshot.
        themes: Reads which themes there are.
    """

    archive: Archive
    told: Callable[[Theme, bool], Awaitable[Sequence[Archived]]]
    themes: Callable[[], Awaitable[Sequence[Theme]]]


def _uuid(number: int) -> UUID:
    return UUID(int=number)


def entry(content: str, number: int, *, theme: Theme = MARKETING, subject: Subject | None = None) -> ArchivedEntry:
    """Make an entry that was changed at second `number`."""
    return ArchivedEntry(
        theme=theme,
        subject=subject,
        id=_uuid(number),
        target="memory",
        content=content,
        origin="assistant",
        tool="memory",
        session="s1",
        source=None,
        metadata=NO_METADATA,
        said_at=THEN,
        created_at=THEN,
        updated_at=THEN + timedelta(seconds=number),
        operation=_uuid(1_000 + number),
        vectors=(VECTOR,),
    )


def turn(
    content: str, position: int, *, number: int, subject: Subject | None = None, follows: str | None = None
) -> ArchivedTurn:
    """Make a turn of session s1, embedded after `follows`."""
    return ArchivedTurn(
        theme=MARKETING,
        subject=subject,
        session="s1",
        position=position,
        id=_uuid(number),
        parent=None,
        role="user",
        speaker="Ana",
        content=content,
        occurrence=0,
        origin="user",
        embed=True,
        metadata=NO_METADATA,
        said_at=THEN + timedelta(seconds=number),
        created_at=THEN,
        operation=_uuid(2_000 + number),
        vectors=(VECTOR,),
        follows=None if follows is None else sha256(follows.encode()).digest(),
    )


def session(*, started_at: datetime = THEN, last_at: datetime = THEN, parent: str | None = None) -> ArchivedSession:
    """Make session s1."""
    return ArchivedSession(
        theme=MARKETING, subject=None, session="s1", parent=parent, started_at=started_at, last_at=last_at
    )


THEME: Final = ArchivedTheme(
    theme=MARKETING, first_seen_at=THEN, last_seen_at=THEN + timedelta(days=1), metadata={"colour": "red"}
)
DELEGATION: Final = ArchivedDelegation(
    theme=MARKETING,
    subject=None,
    id=_uuid(500),
    session="s1",
    child_theme="sales",
    child_session="c1",
    task="find a venue",
    result="found",
    created_at=THEN,
)
CHANGE: Final = ArchivedChange(
    theme=MARKETING,
    subject=ANA,
    id=_uuid(600),
    row=_uuid(2),
    change="added",
    target="memory",
    before=None,
    after="her code is zebra",
    origin="assistant",
    tool="memory",
    session="s1",
    operation=_uuid(1_002),
    reason=None,
    at=THEN + timedelta(seconds=2),
    said_at=THEN,
    recorded_at=THEN,
    metadata=NO_METADATA,
    merged_into=None,
    erasure=None,
    digest=None,
)

LAUNCH: Final = added(entry("launch on 3 May", 1), change=_uuid(601), recorded_at=THEN)


class ArchiveContract:
    """The promises. A subclass supplies the async fixture `kept`: fresh and empty each time."""

    async def test_what_was_stored_is_told_as_it_was_and_in_one_order(self, kept: ArchiveUnderTest) -> None:
        last = THEN + timedelta(seconds=21)
        whole: list[Archived] = [
            THEME,
            LAUNCH,
            CHANGE,
            entry("launch on 3 May", 1),
            entry("her code is zebra", 2, subject=ANA),
            session(last_at=last),
            turn("when is the launch", 0, number=20),
            turn("on 3 May", 1, number=21, follows="when is the launch"),
            DELEGATION,
        ]
        shuffled = [whole[place] for place in (2, 5, 1, 6, 4, 0, 8, 7, 3)]
        receipt = await kept.archive.store(shuffled, vectors=True)

        assert list(await kept.told(MARKETING, True)) == whole
        assert [each for each in await kept.told(MARKETING, False) if getattr(each, "vectors", ())] == []
        assert {kind: n for kind, n in receipt.new.items() if n} == {
            "theme": 1,
            "entry": 2,
            "session": 1,
            "turn": 2,
            "delegation": 1,
            "change": 2,
        }
        assert (receipt.known, receipt.altered, list(receipt.missing)) == (0, 0, [])

    async def test_what_is_there_is_left_as_it_is(self, kept: ArchiveUnderTest) -> None:
        whole: list[Archived] = [
            THEME,
            entry("launch on 3 May", 1),
            session(),
            turn("on 3 May", 0, number=20),
            DELEGATION,
            CHANGE,
        ]
        await kept.archive.store(whole, vectors=True)
        before = await kept.told(MARKETING, True)
        again = await kept.archive.store(whole, vectors=True)
        alike: list[Archived] = [entry("launch on 3 May", 9), turn("on 3 May", 0, number=29)]
        equal = await kept.archive.store(alike, vectors=True)
        altered = await kept.archive.store([entry("launch on 9 May", 1)], vectors=True)

        assert (sum(again.new.values()), again.known, again.altered) == (0, len(whole), 0)
        assert (sum(equal.new.values()), equal.known, equal.altered) == (0, 2, 0)
        assert (sum(altered.new.values()), altered.known, altered.altered) == (0, 0, 1)
        after = [each for each in await kept.told(MARKETING, True) if not isinstance(each, ArchivedSession)]
        assert after == [each for each in before if not isinstance(each, ArchivedSession)]

    async def test_an_entry_that_no_change_tells_of_is_told_as_one_that_came_in_now(
        self, kept: ArchiveUnderTest
    ) -> None:
        told, gone = entry("launch on 3 May", 1), replace(CHANGE, id=_uuid(602), change="removed", after=None)
        hers = entry("her code is zebra", 2, subject=ANA)
        later = replace(gone, recorded_at=THEN + timedelta(hours=1))
        await kept.archive.store([THEME, LAUNCH, CHANGE, later], vectors=False)
        await kept.archive.store([told, hers, entry("tea is green", 3), entry("tea is green", 3)], vectors=False)
        changes = [each for each in await kept.told(MARKETING, False) if isinstance(each, ArchivedChange)]
        came = [each for each in changes if each.recorded_at > THEN + timedelta(hours=1)]

        assert len(changes) == 5
        came.sort(key=lambda change: change.row)
        assert came == [
            added(hers, change=came[0].id, recorded_at=came[0].recorded_at),
            added(entry("tea is green", 3), change=came[1].id, recorded_at=came[1].recorded_at),
        ]

    async def test_the_history_of_an_entry_that_is_there_is_left_as_it_is(self, kept: ArchiveUnderTest) -> None:
        told, gone = entry("launch on 3 May", 1), entry("a draft", 2)
        drafted = added(gone, change=_uuid(603), recorded_at=THEN)
        first: Sequence[ArchivedChange | ArchivedEntry] = [LAUNCH, drafted, told, gone]
        await kept.archive.store(first[:2], vectors=False)
        await kept.archive.store(first[:3], vectors=False)
        await kept.archive.store(first, vectors=False)
        before = await kept.told(MARKETING, False)
        later = replace(LAUNCH, recorded_at=THEN + timedelta(hours=1), before=told.content)
        receipt = await kept.archive.store(
            [
                *first[:2],
                replace(later, id=_uuid(604), change="replaced", after="launch on 9 May"),
                replace(later, id=_uuid(605), row=gone.id, change="removed", before=gone.content, after=None),
                replace(told, content="launch on 9 May"),
            ],
            vectors=False,
        )

        assert [getattr(each, "id", None) for each in before] == [None, *(each.id for each in first)]
        assert list(await kept.told(MARKETING, False)) == list(before)
        assert (sum(receipt.new.values()), receipt.known, receipt.altered) == (0, 4, 1)

    async def test_nothing_was_recorded_later_than_it_came_in(self, kept: ArchiveUnderTest) -> None:
        ahead = THEN.replace(year=9_000)
        drafts = [
            replace(LAUNCH, id=_uuid(610 + n), after=f"draft {n}", recorded_at=ahead + timedelta(days=n))
            for n in range(2)
        ]
        await kept.archive.store([*drafts, entry("launch on 3 May", 1)], vectors=False)
        changes = [each for each in await kept.told(MARKETING, False) if isinstance(each, ArchivedChange)]

        assert [change.after for change in changes] == ["draft 0", "draft 1", "launch on 3 May"]
        assert changes[-1].recorded_at < ahead

    async def test_the_history_of_an_entry_that_equals_another_one_ends_with_that_one(
        self, kept: ArchiveUnderTest
    ) -> None:
        twin, other = entry("launch on 3 May", 2), entry("launch on 3 May", 4)
        gone = replace(LAUNCH, id=_uuid(603), row=other.id, change="removed", before="launch on 3 May", after=None)
        await kept.archive.store([twin], vectors=False)
        told: list[Archived] = [LAUNCH, gone, entry("launch on 3 May", 1), other, entry("launch on 3 May", 3)]
        for _ in range(2):
            await kept.archive.store(told, vectors=False)
        changes = [each for each in await kept.told(MARKETING, False) if isinstance(each, ArchivedChange)]
        last = next(each for each in changes if each.merged_into)

        assert last == merged(LAUNCH, twin, change=last.id, recorded_at=last.recorded_at)
        assert last.row == LAUNCH.row
        assert len(changes) == 4

    async def test_what_is_told_twice_at_once_is_stored_once_as_it_was_told_first(self, kept: ArchiveUnderTest) -> None:
        twice: list[Archived] = [
            entry("launch on 3 May", 1),
            entry("launch on 3 May", 1),
            entry("tea is green", 2),
            entry("coffee is black", 2),
            turn("on 3 May", 0, number=20),
            turn("on 3 May", 0, number=20),
            turn("on 9 May", 1, number=20),
        ]
        receipt = await kept.archive.store(twice, vectors=True)
        told = [each for each in await kept.told(MARKETING, True) if isinstance(each, ArchivedEntry | ArchivedTurn)]

        assert {kind: n for kind, n in receipt.new.items() if n} == {"entry": 2, "turn": 1}
        assert (receipt.known, receipt.altered, list(receipt.missing)) == (2, 2, [])
        assert [each.content for each in told] == ["launch on 3 May", "tea is green", "on 3 May"]

    async def test_a_turn_that_was_forgotten_is_not_brought_in(self, kept: ArchiveUnderTest) -> None:
        code = turn("the code is zebra", 0, number=20)
        marked = replace(session(), forgotten=_mark(code))
        await kept.archive.store([marked], vectors=False)
        receipt = await kept.archive.store([code, turn("noted", 1, number=21)], vectors=True)
        await kept.archive.store([marked, session()], vectors=False)
        told = await kept.told(MARKETING, False)

        assert (receipt.new, receipt.known, receipt.altered, list(receipt.missing)) == ({"turn": 1}, 1, 0, [])
        assert [each.content for each in told if isinstance(each, ArchivedTurn)] == ["noted"]
        assert [each.forgotten for each in told if isinstance(each, ArchivedSession)] == [marked.forgotten]

    async def test_what_stands_is_not_forgotten_because_an_archive_has_forgotten_it(
        self, kept: ArchiveUnderTest
    ) -> None:
        code, draft = turn("the code is zebra", 0, number=20), turn("a draft", 1, number=21)
        await kept.archive.store([code], vectors=False)
        await kept.archive.store([replace(session(), forgotten=_mark(draft))], vectors=False)
        both = replace(session(), forgotten=_mark(code) + _mark(draft) + _mark(turn("another", 2, number=22)))
        await kept.archive.store([both], vectors=False)
        await kept.archive.store([both], vectors=False)
        told = await kept.told(MARKETING, False)

        assert [each.content for each in told if isinstance(each, ArchivedTurn)] == [code.content]
        assert [each.forgotten for each in told if isinstance(each, ArchivedSession)] == [both.forgotten[MARK_BYTES:]]

    async def test_a_vector_with_words_of_a_turn_that_is_not_brought_in_is_left_out(
        self, kept: ArchiveUnderTest
    ) -> None:
        talk = _talk("the code", "noted", "thanks")
        await kept.archive.store([replace(session(), forgotten=_mark(talk[0]))], vectors=False)
        await kept.archive.store(talk[:1], vectors=True)
        await kept.archive.store(talk[1:], vectors=True)

        assert await _vectors(kept) == {"noted": (), "thanks": (VECTOR,)}

    async def test_nor_is_it_taken_over_where_another_turn_stands_in_the_place_of_that_one(
        self, kept: ArchiveUnderTest
    ) -> None:
        talk = _talk("the code", "noted", "thanks")
        await kept.archive.store([replace(session(), forgotten=_mark(talk[0]))], vectors=False)
        await kept.archive.store([turn("other", 0, number=30)], vectors=True)
        for each in talk:
            await kept.archive.store([each], vectors=True)

        assert await _vectors(kept) == {"other": (VECTOR,), "noted": (), "thanks": (VECTOR,)}

    async def test_nor_where_that_one_is_brought_in_with_other_words(self, kept: ArchiveUnderTest) -> None:
        talk = _talk("the code is zebra", "noted", "thanks")
        await kept.archive.store([replace(talk[0], content="the code is [redacted]"), *talk[1:]], vectors=True)

        assert await _vectors(kept) == {"the code is [redacted]": (VECTOR,), "noted": (), "thanks": (VECTOR,)}

    async def test_nor_where_nothing_says_which_turn_it_holds_words_of(self, kept: ArchiveUnderTest) -> None:
        first, second = (replace(each, follows=None) for each in _talk("first", "second"))
        await kept.archive.store([first, second], vectors=True)

        assert await _vectors(kept) == {"first": (VECTOR,), "second": ()}

    async def test_a_vector_is_taken_over_where_the_same_words_stand_before_its_turn(
        self, kept: ArchiveUnderTest
    ) -> None:
        await kept.archive.store([turn("first", 0, number=30)], vectors=True)
        for each in _talk("first", "second", "third"):
            await kept.archive.store([each], vectors=True)

        assert await _vectors(kept) == {"first": (VECTOR,), "second": (VECTOR,), "third": (VECTOR,)}

    async def test_a_turn_that_comes_after_another_one_than_before_gets_a_new_vector(
        self, kept: ArchiveUnderTest
    ) -> None:
        await kept.archive.store([turn("other", 0, number=20)], vectors=True)
        await kept.archive.store(_talk("first", "second", number=30), vectors=True)

        assert await _vectors(kept) == {"other": (VECTOR,), "first": (), "second": (VECTOR,)}

    async def test_a_turn_takes_the_next_place_when_its_own_is_taken(self, kept: ArchiveUnderTest) -> None:
        await kept.archive.store([turn("first", 0, number=20), turn("second", 4, number=21)], vectors=True)
        await kept.archive.store([turn("third", 2, number=22), turn("fourth", 9, number=23)], vectors=True)

        told = [each for each in await kept.told(MARKETING, False) if isinstance(each, ArchivedTurn)]
        assert [(each.content, each.position) for each in told] == [
            ("first", 0),
            ("second", 4),
            ("third", 5),
            ("fourth", 9),
        ]

    async def test_the_time_of_a_session_and_of_a_theme_grows_to_what_is_told(self, kept: ArchiveUnderTest) -> None:
        early, late = THEN - timedelta(days=1), THEN + timedelta(days=9)
        for each in (session(parent="s0"), session(started_at=early), session(last_at=late, parent="other")):
            await kept.archive.store([each], vectors=False)
        await kept.archive.store([THEME, replace(THEME, first_seen_at=early, metadata={"size": 3})], vectors=False)
        told = {type(each): each for each in await kept.told(MARKETING, False)}

        assert told[ArchivedSession] == session(started_at=early, last_at=late, parent="s0")
        theme = told[ArchivedTheme]
        assert isinstance(theme, ArchivedTheme)
        assert theme.first_seen_at <= early
        assert dict(theme.metadata) == {"colour": "red", "size": 3}

    async def test_vectors_are_kept_only_when_they_are_of_the_model_in_use(self, kept: ArchiveUnderTest) -> None:
        model = await kept.archive.model()
        await kept.archive.store([entry("foreign", 1)], vectors=False)
        await kept.archive.store([entry("own", 2)], vectors=True)
        told = [each for each in await kept.told(MARKETING, True) if isinstance(each, ArchivedEntry)]

        assert model is not None
        assert model.dimension == 4
        assert [(each.content, each.vectors) for each in told] == [("foreign", ()), ("own", (VECTOR,))]

    async def test_a_vector_that_no_index_takes_is_left_out(self, kept: ArchiveUnderTest) -> None:
        zero, infinite, no_number, short = ("0000" * 4, "7c00" + "3c00" * 3, "7e00" + "3c00" * 3, "3c00" * 3)
        for number, packed in enumerate((zero, infinite, no_number, short), 1):
            bad = bytes.fromhex(packed)
            await kept.archive.store([replace(entry(f"fact {number}", number), vectors=(bad,))], vectors=True)
            said = turn(f"said {number}", number, number=20 + number, follows=f"said {number - 1}")
            await kept.archive.store([turn("said 0", 0, number=20), replace(said, vectors=(VECTOR, bad))], vectors=True)
        told = [each for each in await kept.told(MARKETING, True) if isinstance(each, ArchivedEntry | ArchivedTurn)]

        assert [each.vectors for each in told if each.content != "said 0"] == [()] * 8

    async def test_a_theme_is_known_from_its_rows_on(self, kept: ArchiveUnderTest) -> None:
        await kept.archive.store([entry("one", 1, theme=SALES), entry("two", 2)], vectors=False)

        assert list(await kept.themes()) == [MARKETING, SALES]
        assert {each.theme for each in await kept.told(SALES, False)} == {SALES}
        assert list(await kept.told(Theme("nobody"), False)) == []


def _talk(*contents: str, number: int = 20) -> list[ArchivedTurn]:
    """Make turns that were said one after the other."""
    before = (None, *contents)
    return [
        turn(content, place, number=number + place, follows=before[place]) for place, content in enumerate(contents)
    ]


async def _vectors(kept: ArchiveUnderTest) -> dict[str, tuple[bytes, ...]]:
    """Return the vectors of the turns that are there, by their contents, in their order."""
    told = await kept.told(MARKETING, True)
    return {each.content: each.vectors for each in told if isinstance(each, ArchivedTurn)}


def _mark(turn: ArchivedTurn) -> bytes:
    return forgotten_mark(turn.role, turn.occurrence, sha256(turn.content.encode()).digest())
