"""Measures what recall finds, through the public API on an embedded Postgres."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, median
from time import perf_counter
from typing import Any, Final

from benchmarks.kit.workplace import workplace
from benchmarks.recall.corpus import Question, Theme, themes
from hermes_memory import Settings, open_memory
from hermes_memory.application.memory import Memory
from hermes_memory.domain.fusion import Ranked
from hermes_memory.domain.ranking import DEFAULT_FLOOR, UNASKED_FLOOR

LIMIT: Final = 20
CATEGORIES: Final = {
    "fact": "a note, asked for in other words",
    "identifier": "an identifier, a code, a path, a number",
    "session": "something an agent did or said",
    "other": "another language than the memory's",
    "correction": "a value that was corrected",
    "all": "all of these",
}


async def store(memory: Memory, theme: Theme) -> None:
    """Store what a theme remembers."""
    for each in theme.memories:
        view = memory.view(theme.name, session=each.session)
        metadata = {"id": each.id}
        if each.session is None:
            await view.remember(each.text, at=each.at, metadata=metadata)
        else:
            await view.capture_turn(each.text, role=each.role, speaker=each.speaker, at=each.at, metadata=metadata)


async def ask(memory: Memory, theme: str, scope: str, question: Question) -> dict[str, Any]:
    """Ask one question and judge the answer."""
    started = perf_counter()
    result = await memory.view(theme).recall(question.text, limit=LIMIT, scope=scope)
    taken = perf_counter() - started
    if result.degraded:
        raise RuntimeError(f"a degraded answer says nothing of recall: {result.degraded}")
    return {"category": question.category, "seconds": taken, **judged(question, theme, result.hits)}


def judged(question: Question, theme: str, hits: Sequence[Ranked]) -> dict[str, Any]:
    """Tell how good an answer is: recall at 1, 5 and 10, reciprocal rank, and what the scores would let through."""
    ids = [hit.row.metadata["id"] if hit.row.theme == theme else None for hit in hits]
    places = [place for place, name in enumerate(ids) if name in question.answers]
    top = hits[0].score if hits else 0.0
    if not question.answers:
        return {"top": top}
    found: dict[str, Any] = {
        f"recall@{k}": sum(place < k for place in places) / len(question.answers) for k in (1, 5, 10)
    }
    found["mrr"] = 1 / (places[0] + 1) if places else 0.0
    found["best"] = max((hits[place].score for place in places), default=0.0)
    if question.outdated is not None:
        old = ids.index(question.outdated) if question.outdated in ids else len(ids)
        found["above"] = float(bool(places) and places[0] < old)
    return found


async def measure(embedder: str, directory: Path) -> dict[str, Any]:
    """Store the corpus and ask all questions, each within its theme and in all themes together."""
    home, state = directory / "home", directory / "state"
    home.mkdir()
    settings = Settings(home=home, state_directory=state, embedder=embedder, spool_sync="NORMAL")
    async with open_memory(settings) as memory:
        corpus = list(themes())
        for theme in corpus:
            await store(memory, theme)
        if not await memory.settled(timeout=300):
            raise RuntimeError("not everything was stored and embedded in time")
        questions = [(theme.name, question) for theme in corpus for question in theme.questions]
        return {
            "embedder": embedder,
            "memories": sum(len(theme.memories) for theme in corpus),
            "within": [await ask(memory, name, "current", question) for name, question in questions],
            "across": [await ask(memory, name, "all", question) for name, question in questions],
        }


def summary(asked: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the mean figures by category, and those of the floors."""
    answered = [one for one in asked if "top" not in one]
    groups: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for one in answered:
        groups[one["category"]].append(one)
        groups["all"].append(one)
    names = ("recall@1", "recall@5", "recall@10", "mrr")
    nothing, near = ([one["top"] for one in asked if one["category"] == name] for name in ("nothing", "near"))
    return {
        "by_category": {
            name: {"n": len(group), **{figure: fmean(one[figure] for one in group) for figure in names}}
            for name, group in groups.items()
        },
        "correction_above": fmean(one["above"] for one in answered if "above" in one),
        "nothing": len(nothing),
        "near": len(near),
        "floors": {
            floor: {
                "stopped": fmean(top < floor for top in nothing),
                "near_stopped": fmean(top < floor for top in near),
                "lost": fmean(one["best"] < floor for one in answered),
            }
            for floor in (DEFAULT_FLOOR, UNASKED_FLOOR)
        },
        "median_ms": median(one["seconds"] for one in asked) * 1_000,
    }


def page(results: dict[str, Any]) -> str:
    """Render the summaries as Markdown tables."""
    within, across = results["summary"]["within"], results["summary"]["across"]
    lines = [
        "| Asked for | Questions | R@1 | R@5 | R@10 | MRR | R@5 in all themes |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for name, described in CATEGORIES.items():
        own, wide = within["by_category"][name], across["by_category"][name]
        figures = (own["recall@1"], own["recall@5"], own["recall@10"], own["mrr"], wide["recall@5"])
        lines.append(f"| {described} | {own['n']} | " + " | ".join(f"{figure:.2f}" for figure in figures) + " |")
    lines += ["", f"The correction stands above what it corrects in {within['correction_above']:.0%} of the pairs.", ""]
    asked = f"{within['nothing']} questions about nothing stored", f"{within['near']} about its subject, unanswered"
    lines += [f"| Floor | {asked[0]}, stopped | {asked[1]}, stopped | True answers lost |", "|---:|---:|---:|---:|"]
    for floor, found in within["floors"].items():
        shares = [f"{found[name]:.0%}" for name in ("stopped", "near_stopped", "lost")]
        lines.append(f"| {floor:g} | {' | '.join(shares)} |")
    return "\n".join(lines)


def run(embedder: str) -> dict[str, Any]:
    """Run the whole benchmark in a directory of its own."""
    with workplace() as directory:
        results = asyncio.run(measure(embedder, directory))
    return {**results, "summary": {name: summary(results[name]) for name in ("within", "across")}}
