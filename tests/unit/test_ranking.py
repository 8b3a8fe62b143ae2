from __future__ import annotations

import math

from tests.support.ranking_rows import CALIBRATION, NOW, STATISTICS, entry, turn

from hermes_memory.domain.bm25 import QueryStatistics, bm25
from hermes_memory.domain.fusion import Candidate, Fusion, Ranked
from hermes_memory.domain.lexemes import Analyzer, indexed_row
from hermes_memory.domain.model import Row
from hermes_memory.domain.postings import document
from hermes_memory.domain.ranking import RankingPolicy, order

BEST = STATISTICS.best_bm25


def answer(query: str, rows: list[Row]) -> list[Ranked]:
    """Search rows for real, without a vector leg."""
    analyzer = Analyzer(stem=lambda word: word.removesuffix("s"))
    documents = [document(number, analyzer.analyze(indexed_row(row))) for number, row in enumerate(rows)]
    lexemes = analyzer.query_lexemes(query)
    statistics = QueryStatistics(
        lexemes=lexemes,
        documents=len(rows),
        average_length=sum(each.length for each in documents) / len(rows),
        frequencies={lexeme: sum(lexeme in each.counts for each in documents) for lexeme in lexemes},
    )
    scored = [(row, bm25(each.counts, each.length, statistics)) for row, each in zip(rows, documents, strict=True)]
    candidates = [Candidate(row=row, bm25=score) for row, score in scored if score > 0]
    return order(candidates, statistics, CALIBRATION, NOW, RankingPolicy())


def test_a_question_finds_its_answer_among_entries_and_turns() -> None:
    rows: list[Row] = [
        entry(1, "The office door PIN is 8841"),
        entry(2, "Retros happen on Friday"),
        turn(3, "The reports database listens on port 5433", position=0),
        turn(4, "Thanks, noted", position=1),
    ]

    assert answer("which port does the reports database use?", rows)[0].row.id.int == 3
    assert answer("what is the PIN of the office door", rows)[0].row.id.int == 1


def test_an_exact_token_inside_a_long_question_is_found() -> None:
    rows: list[Row] = [entry(number, f"Note about topic {number} on the host") for number in range(1, 30)]
    rows.append(entry(99, "E40213: disk full, we grew the volume"))

    hits = answer("what did we do about error E40213 last week on the database host", rows)

    assert hits[0].row.id.int == 99


def test_a_correction_is_the_first_hit_although_the_outdated_note_fits_better() -> None:
    rows: list[Row] = [
        entry(1, "The launch date is 3 May", days=-9),
        entry(2, "The launch moved to 9 May because the venue was full", days=-1),
        entry(3, "Retros happen on Friday"),
    ]

    assert [hit.row.id.int for hit in answer("what is the launch date?", rows)] == [2, 1]


def test_the_same_exchange_many_times_leaves_room_for_other_hits() -> None:
    rows: list[Row] = [turn(number, "When is the launch?", position=number) for number in range(20)]
    rows.append(entry(50, "Launch is planned for May"))

    assert {hit.row.id.int for hit in answer("launch", rows)} == {19, 50}


def test_scores_that_are_no_numbers_change_nothing_for_the_others() -> None:
    candidates = [
        Candidate(row=entry(1, "one"), bm25=math.nan, cosine=math.nan),
        Candidate(row=entry(2, "two"), bm25=0.9 * BEST, cosine=math.nan),
        Candidate(row=entry(3, "three"), bm25=math.nan, cosine=0.9),
    ]

    assert [hit.row.id.int for hit in order(candidates, STATISTICS, CALIBRATION, NOW, RankingPolicy())] == [2, 3, 1]


def test_rank_fusion_is_available_by_name() -> None:
    candidates = [Candidate(row=entry(1, "one"), bm25=1.0), Candidate(row=entry(2, "two"), bm25=2.0, cosine=0.1)]
    policy = RankingPolicy(fusion=Fusion("rrf"))

    hits = order(candidates, STATISTICS, CALIBRATION, NOW, policy)

    assert [hit.row.id.int for hit in hits] == [2, 1]


def test_nothing_found_is_no_answer() -> None:
    assert order([], STATISTICS, CALIBRATION, NOW, RankingPolicy()) == []


def test_who_asks_by_an_identifier_gets_the_row_with_it_and_not_a_newer_one_about_another() -> None:
    rows: list[Row] = [
        turn(number, f"order LH-100{number} paid: 3 x floor lamp", position=number, days=number - 60)
        for number in range(40, 50)
    ]

    assert answer("LH-10042", rows)[0].row.id.int == 42
    assert answer("which order was paid: floor lamp", rows)[0].row.id.int == 49


def test_who_asks_by_a_date_or_version_gets_the_correction_first() -> None:
    rows: list[Row] = [entry(1, "Launch of Halo v2.1 is in May", days=-9), entry(2, "Launch of Halo v2.2 is in June")]

    assert answer("is the launch of Halo v2.1 in May?", rows)[0].row.id.int == 2


def test_who_asks_for_a_numbered_thing_gets_it_and_not_a_newer_one_of_another_number() -> None:
    rows: list[Row] = [
        entry(1, "Key 41 of the server room is with Wanda", days=-9),
        entry(2, "Key 47 of the server room is with Miguel", days=-5),
        entry(3, "Key 53 of the server room is with the caretaker"),
    ]

    assert answer("Who has key 41?", rows)[0].row.id.int == 1
    assert answer("Who has key 47?", rows)[0].row.id.int == 2


def test_who_asks_whether_an_amount_still_holds_gets_the_correction_first() -> None:
    rows: list[Row] = [entry(1, "The rent is 900 euros", days=-9), entry(2, "The rent is 950 euros")]

    assert answer("is the rent 900 euros?", rows)[0].row.id.int == 2


def test_a_row_that_states_something_comes_before_one_that_only_asks() -> None:
    rows: list[Row] = [
        turn(1, "How long do we keep the nightly backups?", position=0),
        turn(2, "The nightly backups we keep for 35 days.", position=1),
    ]

    assert answer("how long do we keep the nightly backups", rows)[0].row.id.int == 2
