"""Draws what was measured: one picture a question, from the files in `benchmarks/results` and from nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

from charts import Chart, Series, bars, lines

ROOT: Final = Path(__file__).resolve().parents[2]
FOLDER: Final = ROOT / "docs" / "_static" / "plots"
_QUESTIONS: Final[Mapping[str, str]] = {
    "fact": "a note",
    "identifier": "an identifier",
    "session": "what was said",
    "other": "other language",
    "correction": "a corrected value",
    "all": "all of these",
}
_DELAYS: Final = (0, 30, 200)


def themes_plot() -> str:
    """Draw the share of the nearest rows that is found, by the size of the theme."""
    records = _results("filtered")["before"]
    places = [one["place"] for one in records if one["side"] == "ours" and one["place"].startswith("theme of ")]

    def found(side: str, kind: str) -> list[float | None]:
        of = {one["place"]: one[f"recall_{kind}"] for one in records if one["side"] == side}
        return [of.get(place) for place in places]

    return lines(
        Chart(
            title="Of the ten nearest rows of a theme, how many are found",
            places=[place.removeprefix("theme of ") for place in places],
            below="share of the theme in all rows",
            aside="recall@10",
            series=[
                Series(name="ours, near questions", values=found("ours", "near"), dashed=True, colour=0),
                Series(name="ours, far", values=found("ours", "far"), colour=0),
                Series(name="peer, near", values=found("peer", "near"), dashed=True, colour=1),
                Series(name="peer, far", values=found("peer", "far"), colour=1),
            ],
        )
    )


def questions_plot() -> str:
    """Draw how many of the answering rows are among the first five, by what is asked for."""
    names = ("recall", "recall-quality", "recall-none")
    both, quality, words = (_results(name)["summary"]["within"]["by_category"] for name in names)
    return bars(
        Chart(
            title="Of the rows that answer, how many are among the first five",
            places=[*_QUESTIONS.values()],
            below="asked for",
            aside="recall@5",
            series=[
                Series(name="words and meaning", values=[both[kind]["recall@5"] for kind in _QUESTIONS], colour=0),
                Series(name="with e5-small", values=[quality[kind]["recall@5"] for kind in _QUESTIONS], colour=3),
                Series(name="words alone", values=[words[kind]["recall@5"] for kind in _QUESTIONS], colour=2),
            ],
        )
    )


def words_plot() -> str:
    """Draw what a search by words costs the server, by the rows of the theme, in the largest table measured."""
    size = max(_results("text")["sizes"], key=lambda one: one["rows"])
    shares = [one["theme"] for one in size["folded"]][::-1]

    def costs(records: Sequence[Mapping[str, Any]]) -> list[float | None]:
        of = {one["theme"]: one["processor"]["mean"] for one in records}
        return [of.get(share) for share in shares]

    return lines(
        Chart(
            title=f"What a search by words costs among {size['rows']:,} rows, behind row-level security",
            places=[f"{round(float(share.removeprefix('share')) * size['rows']):,}" for share in shares],
            below="rows of the theme",
            aside="processor, ms a question",
            series=[
                Series(name="BM25 over blocks of postings", values=costs(size["folded"]), colour=0),
                Series(name="GIN and ts_rank", values=costs(size["gin"]["wall"]), colour=3),
            ],
            logarithmic=True,
        )
    )


def vectors_plot() -> str:
    """Draw how many rows get a vector each second, by how long the embedding endpoint takes."""
    runs = _results("writes")["throughput"]["runs"]

    def rates(side: str) -> list[float | None]:
        of = [[one for one in runs if one["side"] == side and one["latency_ms"] == delay] for delay in _DELAYS]
        return [median(one["embedded_per_second"] for one in group) if group else None for group in of]

    return bars(
        Chart(
            title="Messages that get a vector each second",
            places=[f"{delay} ms" for delay in _DELAYS],
            below="time the embedding endpoint takes to answer",
            aside="messages a second",
            series=[
                Series(name="ours", values=rates("ours"), colour=0),
                Series(name="peer", values=rates("peer"), colour=1),
            ],
            logarithmic=True,
        )
    )


PLOTS: Final[Mapping[str, Callable[[], str]]] = {
    "themes": themes_plot,
    "questions": questions_plot,
    "words": words_plot,
    "vectors": vectors_plot,
}


def plots() -> Iterator[tuple[Path, str]]:
    """Yield each picture's place and contents, as they ought to be."""
    for name, draw in PLOTS.items():
        yield FOLDER / f"{name}.svg", draw()


def _results(name: str) -> dict[str, Any]:
    results: dict[str, Any] = json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text(encoding="utf-8"))
    return results
