"""Contract of `Search`: the text leg scores by exact BM25."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from hermes_memory.domain.bm25 import QueryStatistics
from hermes_memory.domain.coverage import mask_of
from hermes_memory.domain.fusion import Candidate
from hermes_memory.domain.lexemes import indexed_row
from hermes_memory.domain.model import (
    AllScope,
    Caller,
    CurrentScope,
    Kind,
    Role,
    Row,
    Scope,
    SessionId,
    SessionScope,
    SubjectScope,
    Target,
    ThemeScope,
)
from hermes_memory.domain.operations import ById
from hermes_memory.domain.ranking import RankingPolicy, order
from hermes_memory.domain.weights import CosineCalibration
from hermes_memory.ports.reading import SearchSpace, TextMatches
from hermes_memory.testing.making import (
    CURRENT,
    DESK,
    DESK_WITH_ANA,
    DESK_WITH_BEN,
    ENTRIES,
    EVENING,
    MARKETING,
    MORNING,
    PATIENCE,
    PLENTY,
    SALES,
    SALES_DESK,
    TURNS,
    add,
    by_content,
    deliver,
    list_entries,
    read,
    record,
    remove,
    replace,
    said,
    stored,
)
from hermes_memory.testing.store_under_test import StoreUnderTest


@pytest.mark.asyncio
class TextSearchContract:
    """What the text leg of every `Search` keeps. A subclass supplies the fixture `store`."""

    async def test_scores_are_exact_bm25_best_first(self, store: StoreUnderTest) -> None:
        await deliver(store, *(add(content) for content in _NOTES), record(*(said(content) for content in _TALK)))
        rows = [*await list_entries(store), *await _all_turns(store)]
        query = "launch budget zebra"

        matches = await _find(store, query)

        expected = bm25_by_content(store, rows, query)
        assert len(expected) > 5
        assert {hit.row.content: hit.bm25 for hit in matches.hits} == pytest.approx(expected, rel=1e-5)
        assert [hit.bm25 for hit in matches.hits] == sorted((hit.bm25 for hit in matches.hits), reverse=True)

    async def test_the_statistics_are_those_of_the_searched_kinds(self, store: StoreUnderTest) -> None:
        await deliver(store, *(add(content) for content in _NOTES), record(*(said(content) for content in _TALK)))
        entries, turns = list(await list_entries(store)), await _all_turns(store)

        for space, rows in ((CURRENT, [*entries, *turns]), (ENTRIES, entries), (TURNS, turns)):
            matches = await _find(store, "launch zebra unheard", space)
            documents = [store.analyze(indexed_row(row)) for row in rows]
            (launch,) = store.analyze("launch")
            (unheard,) = store.analyze("unheard")

            assert matches.documents == len(rows)
            assert matches.mean_length == pytest.approx(sum(map(len, documents)) / len(rows), rel=1e-5)
            assert matches.document_frequencies[launch] == sum(launch in document for document in documents)
            assert matches.document_frequencies.get(unheard, 0) == 0
            assert {hit.row.content: hit.bm25 for hit in matches.hits} == pytest.approx(
                bm25_by_content(store, rows, "launch zebra"), rel=1e-5
            )

    async def test_any_of_the_lexemes_is_enough(self, store: StoreUnderTest) -> None:
        await deliver(store, add("the launch"), add("the zebra"), add("the rest"))

        matches = await _find(store, "launch zebra quagga")

        assert {hit.row.content for hit in matches.hits} == {"the launch", "the zebra"}

    async def test_no_lexeme_finds_nothing(self, store: StoreUnderTest) -> None:
        await deliver(store, add("the launch"))

        assert list((await _find(store, "")).hits) == []

    async def test_an_empty_store_finds_nothing(self, store: StoreUnderTest) -> None:
        matches = await _find(store, "launch")

        assert (list(matches.hits), matches.documents) == ([], 0)

    async def test_a_lexeme_named_twice_counts_once(self, store: StoreUnderTest) -> None:
        await deliver(store, add("the launch"), add("the rest"))

        once, twice = await _find(store, "launch"), await _find(store, "launch launch")

        assert once.hits[0].bm25 == pytest.approx(twice.hits[0].bm25)

    async def test_hits_are_no_more_than_the_limit_and_the_best(self, store: StoreUnderTest) -> None:
        await deliver(store, *(add(f"launch {'and so on ' * length}") for length in range(1, 8)))

        every = await _find(store, "launch")
        few = await store.search.by_text(DESK, CURRENT, store.analyze("launch"), limit=3, timeout=PATIENCE)

        assert [hit.row.id for hit in few.hits] == [hit.row.id for hit in every.hits][:3]
        assert few.documents == 7

    async def test_a_turn_is_found_by_its_speaker_and_its_date(self, store: StoreUnderTest) -> None:
        at = datetime(1987, 2, 11, 12, 0, tzinfo=UTC)
        await deliver(store, record(said("It is ready.", speaker="Xaver", at=at), said("Good.", role=Role.ASSISTANT)))

        for query in ("Xaver", "1987", "February"):
            assert [hit.row.content for hit in (await _find(store, query)).hits] == ["It is ready."]

    async def test_a_replaced_entry_is_found_by_its_new_words_only(self, store: StoreUnderTest) -> None:
        row = await stored(store, add("the zebra is in the garden"))
        await deliver(store, replace(ById(id=row), "the quagga is in the garden"))

        assert list((await _find(store, "zebra")).hits) == []
        assert [hit.row.id for hit in (await _find(store, "quagga")).hits] == [row]
        assert [hit.row.content for hit in (await _find(store, "garden")).hits] == ["the quagga is in the garden"]

    async def test_a_word_that_survives_a_replacement_scores_by_the_new_text(self, store: StoreUnderTest) -> None:
        row = await stored(store, add("zebra zebra zebra in a long sentence about zebra and other animals"))
        await deliver(store, replace(ById(id=row), "zebra"), add("something else"))

        (hit,) = (await _find(store, "zebra")).hits

        assert hit.bm25 == pytest.approx(
            bm25_by_content(store, list(await list_entries(store)), "zebra")["zebra"], rel=1e-5
        )

    async def test_a_removed_entry_is_not_found(self, store: StoreUnderTest) -> None:
        await deliver(store, add("the zebra"), add("a zebra too"))
        await deliver(store, remove(by_content("the zebra")))

        assert [hit.row.content for hit in (await _find(store, "zebra")).hits] == ["a zebra too"]

    async def test_a_target_narrows_the_entries_and_leaves_turns_and_statistics(self, store: StoreUnderTest) -> None:
        await deliver(
            store, add("launch work"), add("launch Ana", target=Target.USER), record(said("launch said")), add("other")
        )

        wide = await _find(store, "launch")
        narrow = await _find(store, "launch", SearchSpace(scope=CurrentScope(), target=Target.USER))

        scores = {hit.row.content: hit.bm25 for hit in wide.hits}
        assert {hit.row.content: hit.bm25 for hit in narrow.hits} == pytest.approx(
            {content: scores[content] for content in ("launch Ana", "launch said")}
        )
        assert narrow.documents == wide.documents == 4

    async def test_a_session_narrows_the_hits_and_leaves_the_statistics(self, store: StoreUnderTest) -> None:
        evening = Caller(theme=MARKETING, session=EVENING)
        await deliver(store, record(said("launch, morning")), record(said("launch, evening"), caller=evening))

        matches = await _find(store, "launch", SearchSpace(scope=SessionScope(session=EVENING)))
        hidden = await _find(store, "launch", SearchSpace(scope=SessionScope(session=SessionId("x"), hidden=EVENING)))
        both = await _find(store, "launch", SearchSpace(scope=SessionScope(session=EVENING, hidden=MORNING)))

        assert [hit.row.content for hit in matches.hits] == ["launch, evening"]
        assert [hit.row.content for hit in hidden.hits] == ["launch, evening"]
        assert {hit.row.content for hit in both.hits} == {"launch, morning", "launch, evening"}
        assert matches.documents == both.documents == 2

    @pytest.mark.parametrize("scope", [CurrentScope(), AllScope(), SessionScope(session=MORNING)])
    async def test_a_hit_tells_which_of_the_lexemes_it_holds(self, store: StoreUnderTest, scope: Scope) -> None:
        await deliver(store, record(said("launch and budget"), said("budget"), said("zebra launch")), add("budget"))
        query = [*store.analyze("unheard budget"), *store.analyze("budget launch zebra")]

        space = SearchSpace(scope=scope, kinds=frozenset({Kind.TURN}))
        matches = await store.search.by_text(DESK, space, query, limit=PLENTY, timeout=PATIENCE)

        held = {hit.row.content: hit.held for hit in matches.hits}
        assert held == {"launch and budget": 0b0110, "budget": 0b0010, "zebra launch": 0b1100}

    async def test_what_is_found_ranks_as_by_the_definition(self, store: StoreUnderTest) -> None:
        await deliver(store, *(add(content) for content in _NOTES), record(*(said(content) for content in _TALK)))
        rows = [*await list_entries(store), *await _all_turns(store)]
        question = "When is the launch of the zebra within the budget?"
        lexemes = tuple(store.analyze(question))

        matches = await _find(store, question)

        statistics = QueryStatistics(
            lexemes=tuple(dict.fromkeys(lexemes)),
            documents=matches.documents,
            average_length=matches.mean_length,
            frequencies=matches.document_frequencies,
        )
        found = [Candidate(row=hit.row, bm25=hit.bm25, held=hit.held) for hit in matches.hits]
        scores = bm25_by_content(store, rows, question)
        defined = [
            Candidate(row=row, bm25=scores[row.content], held=mask_of(lexeme in words for lexeme in statistics.lexemes))
            for row in rows
            if row.content in scores
            for words in (store.analyze(indexed_row(row)),)
        ]
        ranked, expected = (
            order(candidates, statistics, _UNUSED, EVER, RankingPolicy(), question=question)
            for candidates in (found, defined)
        )
        assert [hit.row.id for hit in ranked] == [hit.row.id for hit in expected]
        assert [hit.score for hit in ranked] == pytest.approx([hit.score for hit in expected], rel=1e-5)

    async def test_what_the_caller_may_not_see_leaves_no_trace_in_the_statistics(self, store: StoreUnderTest) -> None:
        await deliver(store, add("the launch"), add("the rest", DESK_WITH_ANA))
        before = await _find(store, "launch", caller=DESK_WITH_ANA)

        await deliver(store, add("launch of Ben", DESK_WITH_BEN), add("launch of sales", SALES_DESK))

        assert await _find(store, "launch", caller=DESK_WITH_ANA) == before

    async def test_statistics_of_wider_scopes_are_those_of_all_that_is_seen_there(self, store: StoreUnderTest) -> None:
        sales_with_ana = Caller(theme=SALES, subject=DESK_WITH_ANA.subject)
        await deliver(
            store,
            add("the launch of marketing"),
            add("launch, and a launch it was", SALES_DESK),
            add("the launch Ana wants", sales_with_ana),
            add("the launch Ben wants", DESK_WITH_BEN),
            add("a zebra Ana saw", DESK_WITH_ANA),
        )

        for scope in (AllScope(), SubjectScope(), ThemeScope(theme=SALES)):
            rows = list(await list_entries(store, DESK_WITH_ANA, scope))
            matches = await _find(store, "launch zebra", SearchSpace(scope=scope), caller=DESK_WITH_ANA)

            assert matches.documents == len(rows)
            assert {hit.row.content: hit.bm25 for hit in matches.hits} == pytest.approx(
                bm25_by_content(store, rows, "launch zebra"), rel=1e-5
            )


_NOTES = (
    "the launch is in May",
    "the launch budget of the launch is 40 thousand",
    "budget review",
    "a zebra, another zebra, a third zebra and the budget of the zoo",
    "tea at five",
    "nothing of the kind",
)
_TALK = (
    "When do we launch?",
    "Launch is on Friday, if the budget holds and nobody sees a zebra.",
    "Fine.",
    "And the zoo?",
)
_UNUSED = CosineCalibration(unrelated=0.0, related=1.0)
EVER = datetime(2030, 1, 1, tzinfo=UTC)


def bm25_by_content(store: StoreUnderTest, rows: Sequence[Row], query: str) -> dict[str, float]:
    """Score the rows that hold a lexeme of the query, by the definition (Robertson & Zaragoza 2009, k1 .9, b .4)."""
    documents = {row.content: Counter(store.analyze(indexed_row(row))) for row in rows}
    mean_length = sum(document.total() for document in documents.values()) / len(documents)
    scores: defaultdict[str, float] = defaultdict(float)
    for lexeme in set(store.analyze(query)):
        frequency = sum(lexeme in document for document in documents.values())
        idf = math.log(1 + (max(len(documents), 50) - frequency + 0.5) / (frequency + 0.5))
        for content, document in documents.items():
            if tf := document[lexeme]:
                norm = 1 - 0.4 + 0.4 * document.total() / mean_length
                scores[content] += idf * tf * (0.9 + 1) / (tf + 0.9 * norm)
    return dict(scores)


async def _find(
    store: StoreUnderTest, query: str, space: SearchSpace = CURRENT, *, caller: Caller = DESK
) -> TextMatches:
    return await store.search.by_text(caller, space, store.analyze(query), limit=PLENTY, timeout=PATIENCE)


async def _all_turns(store: StoreUnderTest) -> list[Row]:
    """Read every turn of the contract's conversation, found by the year all of them were said in."""
    hits = (await _find(store, "2024", TURNS)).hits
    rows = [await read(store, hit.row.id) for hit in hits]
    return [row for row in rows if row is not None]
