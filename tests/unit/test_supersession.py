from __future__ import annotations

import random
import time

from hypothesis import given
from hypothesis import strategies as st
from tests.support.ranking_rows import entry, hit, turn
from tests.support.tables import for_each

from hermes_memory.domain.model import Subject
from hermes_memory.domain.supersession import collapse, corrections_first, corrects, in_order


def test_better_scores_come_first_then_newer_rows_then_ids() -> None:
    hits = [
        hit(entry(1), 0.2),
        hit(entry(2, days=-1), 0.5),
        hit(entry(4), 0.5),
        hit(entry(3), 0.5),
        hit(turn(5, position=7), 0.5),
    ]

    assert [each.row.id.int for each in in_order(hits)] == [5, 3, 4, 2, 1]


@given(
    st.lists(
        st.tuples(st.sampled_from([0.0, 0.1, 0.5]), st.integers(-2, 0), st.sampled_from(["a b 1", "a b 2", "c d e"])),
        max_size=12,
    ),
    st.randoms(use_true_random=False),
)
def test_the_order_does_not_depend_on_the_order_of_arrival(
    found: list[tuple[float, int, str]], shuffler: random.Random
) -> None:
    hits = [hit(entry(number, text, days=days), score) for number, (score, days, text) in enumerate(found)]
    shuffled = shuffler.sample(hits, len(hits))

    assert in_order(hits) == in_order(shuffled)
    assert corrections_first(collapse(hits)) == corrections_first(collapse(shuffled))


def test_identical_texts_leave_one_the_newest_with_the_best_score() -> None:
    hits = [
        hit(turn(1, "Use port 5433", days=-2), 0.9),
        hit(turn(2, "use  PORT 5433\u200b", days=-1), 0.4),
        hit(entry(3, "something else"), 0.5),
    ]

    first, second = collapse(hits)

    assert (first.row.id.int, first.score, first.copies) == (2, 0.9, 2)
    assert (second.row.id.int, second.copies) == (3, 1)


def test_the_same_words_of_two_people_are_two_statements() -> None:
    hits = [hit(turn(1, "I live in Berlin", speaker="Ana")), hit(turn(2, "I live in Berlin", speaker="Bob"))]

    assert len(collapse(hits)) == 2


def test_twenty_equal_exchanges_take_one_place() -> None:
    hits = [hit(turn(number, "the same answer", position=number), 0.9) for number in range(20)]

    (only,) = collapse(hits)

    assert only.copies == 20
    assert only.row.id.int == 19


CORRECTIONS = [
    ("counter is 3", "counter is 9"),
    ("Launch moved to 3 May", "Launch moved to 9 May"),
    ("The launch is on 3 May", "The launch moved to 9 May"),
    ("The staging database runs on db-fra-03", "The staging database runs on db-fra-07"),
    ("We deploy on Fridays", "We no longer deploy on Fridays; deploys now happen on Tuesday"),
    ("The API owner is Ana", "The API owner is Bob"),
    ("The user prefers dark mode", "The user prefers light mode"),
    ("Python version in CI is 3.11", "CI now uses Python 3.13"),
    ("We use Redis for sessions", "We replaced Redis with Valkey for sessions"),
    ("Das Budget beträgt 40.000 Euro", "Das Budget beträgt jetzt 55.000 Euro"),
    ("El lanzamiento es el 3 de mayo", "El lanzamiento se ha cambiado al 9 de mayo"),
    ("Релиз назначен на 3 мая", "Релиз перенесли на 9 мая"),
    ("发布日期是5月3日", "发布日期改为5月9日"),
    ("交货期是三十天，从收到定金开始算。", "交货期改为四十五天，因为工厂换了生产线。"),
    ("老周负责海运，小何负责空运和快递。", "现在小何也负责海运，老周调到仓库去了。"),
    (
        "Stundensatz für Beratung: 140 Euro, Anfahrt wird nicht berechnet.",
        "Stundensatz für Beratung beträgt ab April 155 Euro, Anfahrt weiterhin ohne Berechnung.",
    ),
]
INDEPENDENT = [
    ("Ana works at Siemens", "Ana likes hiking in the mountains"),
    ("Redis runs on port 6379", "Postgres runs on port 5432"),
    ("Use tabs in Go files", "Use spaces in Python files"),
    ("The launch is on 3 May", "The budget meeting is on 9 May"),
    ("Bug E40213 was fixed by raising the timeout", "Bug PAY-1187 is still open in the backlog"),
    ("发布日期是5月3日", "我们使用PostgreSQL数据库"),
    ("交货期是三十天，从收到定金开始算。", "交货地点在上海港，老周负责安排。"),
    ("包装箱上必须印上易碎标志和箱号。", "现在小何也负责海运，老周调到仓库去了。"),
    ("Stundensatz für Beratung: 140 Euro", "Kontenrahmen SKR04 für alle neuen Mandanten"),
    ("The launch is on 3 May", "Is the launch on 9 May?"),
    ("Launch moved to 3 May", "On 3 May, as noted."),
]


@for_each(("old", "new"), CORRECTIONS)
def test_a_correction_comes_before_what_it_corrects_however_relevant_that_is(old: str, new: str) -> None:
    outdated, other, correction = entry(1, old, days=-5), entry(2, "unrelated words", days=-3), entry(3, new)

    ordered = corrections_first([hit(outdated, 0.9), hit(other, 0.6), hit(correction, 0.3)])

    assert [each.row.id.int for each in ordered] == [3, 1, 2]
    assert ordered[1].superseded_by == correction.id
    assert ordered[0].superseded_by is ordered[2].superseded_by is None


@for_each(("old", "new"), INDEPENDENT)
def test_statements_about_different_things_keep_their_order(old: str, new: str) -> None:
    assert not corrects(entry(2, new), entry(1, old, days=-5))


@for_each(("old", "new"), CORRECTIONS)
def test_the_older_never_corrects_the_newer(old: str, new: str) -> None:
    assert not corrects(entry(1, old, days=-5), entry(2, new))


def test_within_a_session_the_later_turn_corrects() -> None:
    earlier = turn(1, "Launch moved to 3 May", position=2)
    later = turn(2, "Launch moved to 9 May", position=6)

    assert corrects(later, earlier)
    assert not corrects(earlier, later)


def test_a_chain_of_corrections_ends_with_the_first_statement() -> None:
    hits = [hit(entry(number, f"counter is {number}", days=number), 1 - number / 10) for number in range(1, 5)]

    ordered = corrections_first(hits)

    assert [each.row.id.int for each in ordered] == [4, 3, 2, 1]
    assert {each.superseded_by.int for each in ordered[1:] if each.superseded_by} == {4}


def test_other_speakers_themes_and_persons_correct_nothing() -> None:
    ana = turn(1, "I moved to flat 3", speaker="Ana", days=-1)
    subject = Subject(b"s" * 32)

    assert not corrects(turn(2, "I moved to flat 9", speaker="Bob"), ana)
    assert corrects(turn(2, "I moved to flat 9", speaker="Ana"), ana)
    assert not corrects(entry(2, "counter is 9", theme="b"), entry(1, "counter is 3", days=-1))
    assert not corrects(entry(2, "counter is 9", subject=subject), entry(1, "counter is 3", days=-1))


def test_many_near_identical_candidates_are_ordered_in_bounded_time() -> None:
    hits = [
        hit(entry(number, f"counter {number % 7} of the build farm is {number} " + "filler " * 200, days=number), 0.5)
        for number in range(300)
    ]
    started = time.thread_time()
    ordered = corrections_first(collapse(hits))
    cost = time.thread_time() - started

    assert len(ordered) == 300
    assert cost < 10
