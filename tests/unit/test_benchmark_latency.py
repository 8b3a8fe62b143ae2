"""The latency benchmark makes up what it says, and sums waits up rightly."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.latency.summary import lines, summed_up
from benchmarks.latency.texts import ENTRY_EVERY, Corpus, Vectors, by_content


def test_rows_are_turns_and_entries_that_all_differ_and_come_the_same_every_time() -> None:
    corpus = Corpus()
    rows = list(corpus.rows(200))

    assert rows == list(corpus.rows(200))
    assert len(by_content(rows)) == 200
    assert sum(row.session is None for row in rows) == 200 // ENTRY_EVERY
    assert all(corpus.sentences[row.sentence] in row.content for row in rows)


def test_no_question_is_asked_twice_so_that_nothing_kept_can_answer_it() -> None:
    corpus = Corpus()
    asked = [question for seed in range(3) for question in corpus.asked(50, seed)]

    assert len(set(asked)) == len(asked)


def test_the_vector_of_a_row_lies_nearest_to_that_of_its_sentence() -> None:
    corpus = Corpus()
    chance = np.random.default_rng(0)
    sentences = chance.standard_normal((len(corpus.sentences), 64))
    sentences /= np.linalg.norm(sentences, axis=1, keepdims=True)
    vectors = Vectors(sentences.tolist())

    for row in corpus.rows(40):
        vector = np.array(vectors.of(row))
        assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-5)
        assert int(np.argmax(sentences @ vector)) == row.sentence
        assert vectors.of(row) == vector.tolist()


def test_waits_are_summed_up_over_all_rounds_and_shown_beside_the_peers() -> None:
    rounds = [
        {
            "waits_ms": [float(number) for number in range(start, start + 50)],
            "answered": 40,
            "own_cpu_ms": cpu,
            "server_cpu_ms": server,
        }
        for start, cpu, server in ((1, 2.0, 5.0), (51, 4.0, None))
    ]
    found = summed_up(rounds)
    sides = {f"ours, {kind}": found for kind in ("recall", "tool", "prefetch")}
    sides["peer, tool"] = {**found, "p50": 2 * found["p50"]}
    table = {line.what: line for line in lines({"sizes": [{"rows": 6_000, "found": sides}]})}

    assert (found["questions"], found["answered"]) == (100, 80)
    assert (found["own_cpu_ms"], found["server_cpu_ms"]) == (3.0, 5.0)
    assert (found["p50"], found["p95"], found["p99"]) == (51.0, 96.0, 100.0)
    assert table["6,000 rows, `recall` of the library: p50, ms"].met is False
    assert table["6,000 rows, the tool `recall_conversation`: p50, ms"].ratio == 0.5
    assert table["6,000 rows, `prefetch` before a turn: p50, ms"].other is None
