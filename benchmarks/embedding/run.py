"""The run: measure what the plan names, and show it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from benchmarks.embedding.part_sizes import measure_part_sizes
from benchmarks.embedding.throughput import measure_throughput
from benchmarks.kit.figures import shown
from benchmarks.kit.ground import ground
from benchmarks.kit.machine import Load, describe
from benchmarks.kit.report import circumstances
from benchmarks.writes.sides import Ours

PARTS: Final = ("throughput", "sizes")


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is measured.

    Attributes:
        rows: At each latency.
        latencies: Of the endpoint, in milliseconds.
        sizes: Lengths of a part, in tokens.
        parts: Which of `PARTS`.
    """

    rows: int = 3_000
    latencies: tuple[int, ...] = (0, 30, 200)
    sizes: tuple[int, ...] = (32, 64, 96, 128, 192, 256, 384, 512, 1_000)
    parts: tuple[str, ...] = PARTS


async def run(plan: Plan, *, admin_dsn: str | None = None, say: Callable[[str], None] = print) -> dict[str, Any]:
    """Measure and return all results.

    Args:
        admin_dsn: A superuser's connection URL; an embedded Postgres is run when there is none.
        say: Is told of each step.
    """
    load = Load.begin()
    async with ground(admin_dsn) as place:
        results: dict[str, Any] = {
            "taken_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": await describe(place.databases.connection, place.homes),
        }
        if "throughput" in plan.parts:
            ours = Ours(place.databases, place.embeddings, place.homes)
            await ours.install()
            results["throughput"] = [await measure_throughput(ours, each, plan.rows, say) for each in plan.latencies]
        if "sizes" in plan.parts:
            results["sizes"] = await measure_part_sizes(plan.sizes, say)
    results["load"] = load.report()
    return results


def page(results: dict[str, Any]) -> str:
    """Render what readers see."""
    parts = [circumstances(results["machine"], results["load"])]
    if found := results.get("throughput"):
        head = "| Endpoint, ms | Rows a second, first write to last vector | Embed stage alone | Processor, ms a row |"
        parts.append("\n".join([head, "|---:|---:|---:|---:|", *map(_rates, found)]))
    if found := results.get("sizes"):
        head = "| Tokens a part | Rank in the middle | At worst | First | Among ten |"
        parts.append("\n".join([head, "|---:|---:|---:|---:|---:|", *map(_ranks, found)]))
    return "\n\n".join(parts)


def _rates(found: dict[str, Any]) -> str:
    figures = (found["latency_ms"], found["whole_per_second"], found["stage_per_second"], found["processor_ms"])
    return f"| {' | '.join(map(shown, figures))} |"


def _ranks(found: dict[str, Any]) -> str:
    figures = f"{found['tokens']:,} | {found['median']:g} | {found['worst']:,}"
    return f"| {figures} | {found['first']:.0%} | {found['among_ten']:.0%} |"
