"""The filtered benchmark makes up what it says, knows the exact answers, and judges by them."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.filtered import binary
from benchmarks.filtered.asking import everything
from benchmarks.filtered.summary import targets
from benchmarks.filtered.truth import Nearest, recall
from benchmarks.filtered.world import NAMED, SINK, World, deleted, key_of, theme_name, uuids

ROWS = 3_000


def test_themes_hold_the_shares_that_they_are_named_after() -> None:
    world = World(ROWS)
    sizes = {part.theme: part.rows for part in world.parts if not part.subject}

    assert sum(part.rows for part in world.parts) == pytest.approx(ROWS, rel=0.02)
    for share, size in NAMED.items():
        assert sizes[theme_name(share)] == max(1, round(ROWS * size))
    assert all(part.subject for part in world.parts if part.theme == SINK)


def test_the_same_rows_come_every_time_as_unit_vectors_under_keys_of_their_own() -> None:
    first, second = list(World(ROWS).blocks()), list(World(ROWS).blocks())
    keys = np.concatenate([block.keys for block in first])
    ids = uuids(keys)

    assert all(np.array_equal(one.vectors, other.vectors) for one, other in zip(first, second, strict=True))
    assert np.allclose([np.linalg.norm(block.vectors, axis=1).mean() for block in first], 1.0, atol=1e-5)
    assert len(set(keys.tolist())) == len(keys)
    assert [key_of(row.tobytes()) for row in ids] == keys.tolist()


def test_near_questions_have_nearer_rows_than_far_ones() -> None:
    world = World(ROWS)
    theme = next(block for block in world.blocks() if block.part.theme == theme_name("40 %"))
    near, far = ((questions @ theme.vectors.T).max(axis=1).mean() for questions in (world.near(0, 8), world.far(0, 8)))

    assert near > far + 0.1


def test_the_exact_answer_is_that_of_looking_at_all_rows_at_once() -> None:
    chance = np.random.default_rng(1)
    questions, vectors = (chance.standard_normal((count, 8), dtype=np.float32) for count in (3, 50))
    nearest = Nearest(questions, 7)
    for start in range(0, 50, 9):
        nearest.see(np.arange(start, min(start + 9, 50)), vectors[start : start + 9])

    assert nearest.seen == 50
    for number, question in enumerate(questions):
        assert nearest.keys(number) == np.argsort(-(vectors @ question))[:7].tolist()


def test_the_answer_after_deletions_holds_none_of_what_is_gone_and_what_was_added() -> None:
    world, share = World(ROWS), 0.1
    (biggest, *_) = everything(world, 2)
    for block in world.blocks():
        biggest.see(block, share)
    for block in world.more(share):
        biggest.see_more(block)
    rows = round(ROWS * 0.4)
    kept = np.array(biggest.after.keys(0))

    assert biggest.before.seen == rows
    assert biggest.after.seen == rows
    assert not deleted(kept[(kept & 0xFFFFFFFF) < rows], share).any()
    assert biggest.after.keys(0) != biggest.before.keys(0)


def test_recall_counts_what_there_is_and_no_more() -> None:
    assert recall([1, 2, 9], [1, 2, 3], 3) == pytest.approx(2 / 3)
    assert recall([4, 3, 2, 1], [1, 2, 3, 4], 2) == 0.0
    assert recall([5], [5], 10) == 1.0
    assert recall([], [], 10) == 1.0


def test_rows_are_written_as_the_server_reads_them() -> None:
    copied = binary.copied(
        [binary.integers(np.array([7])), binary.texts(["ab"]), binary.vectors(np.array([[1.0]], np.float32), "f2")]
    ).read()

    fields = b"\0\3" + b"\0\0\0\x08" + (7).to_bytes(8, "big") + b"\0\0\0\2ab" + b"\0\0\0\6\0\1\0\0\x3c\0"
    assert copied == binary.SIGNATURE + fields + b"\xff\xff"


def test_a_target_is_missed_by_the_worst_theme_and_a_single_missing_row() -> None:
    record = {
        "side": "ours",
        "rows": 10_000,
        "answers": 4,
        "recall_near": 1.0,
        "recall_far": 0.99,
        "recall_at_depth": 1.0,
        "changed": 0,
        "fewer": 0,
        "wall_ms": {"p50": 1.0, "p99": 9.0, "mean": 2.0},
        "cpu_ms": None,
    }
    worse = {**record, "place": "theme of 10 %", "recall_far": 0.9, "fewer": 1}
    places = [{**record, "place": "theme of 20 %"}, worse, {**record, "place": "all themes"}]
    lines = {line.what: line for line in targets({"before": places})}

    assert (lines["recall@10, worst theme"].ours, lines["recall@10, worst theme"].met) == (0.9, False)
    assert lines["recall@10, all themes"].met is True
    assert lines["answers with fewer rows than there are"].met is False
    assert lines["answers that changed later"].met is True
    assert lines["p99, themes to 100,000 rows, ms (the server's processor –)"].met is True
