"""The benchmark of the text leg runs from end to end, and finds what exact BM25 finds."""

from __future__ import annotations

from benchmarks.text.run import Plan, page, run

from tests.support.postgres import TestServer


async def test_the_text_benchmark_measures_a_small_corpus_from_end_to_end() -> None:
    told: list[str] = []
    with TestServer() as server:
        results = await run(
            Plan(rows=(1_000,), questions=3, partitions=2), admin_dsn=server.superuser_dsn, say=told.append
        )

    (size,) = results["sizes"]
    assert [found["overlap@10"] for found in (*size["unfolded"], *size["folded"])] == [1.0] * 6
    assert size["folding"]["steps"] >= 1
    assert [each["readers"] for each in size["readers"]] == [1, 2, 4]
    assert {found["theme"] for found in size["gin"]["wall"]} == {found["theme"] for found in size["folded"]}
    assert "| 40.00%, 400 rows | blocks, folded |" in page(results)
    assert told
