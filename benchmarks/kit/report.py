"""Results of a run: everything as JSON, and what matters as a Markdown table beside it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from benchmarks.kit.figures import shown

RESULTS: Final = Path(__file__).resolve().parent.parent / "results"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of the table. `met` tells whether `target` is reached, None where there is none."""

    what: str
    ours: object
    other: object = None
    ratio: float | None = None
    target: str = ""
    met: bool | None = None


def at_most(value: float | None, limit: float) -> bool | None:
    """Tell whether a value keeps a limit, None without a value."""
    return None if value is None else value <= limit


def at_least(value: float | None, limit: float) -> bool | None:
    """Tell whether a value reaches a limit, None without a value."""
    return None if value is None else value >= limit


def table(lines: Sequence[Line], *, other: str) -> str:
    """Render the lines as a Markdown table; `other` heads the column of what ours is compared with."""
    rows = [f"| Measured | Ours | {other} | Ratio | Target | Met |", "|---|---:|---:|---:|---|---|"]
    for line in lines:
        cells = (line.what, shown(line.ours), shown(line.other), shown(line.ratio), line.target or "–", _met(line))
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(rows)


def circumstances(machine: dict[str, Any], load: dict[str, Any]) -> str:
    """Say in sentences where and under what load figures were taken."""
    return (
        f"Taken on {machine['cores']} cores ({machine['processor']}, {machine['memory_gib']} GiB, {machine['system']}, "
        f"{machine['file_system']}), Python {machine['python']}, SQLite {machine['sqlite']}, "
        f"Postgres {machine['postgres']}, pgvector {machine['pgvector']}, in {load['seconds']:.0f} seconds. "
        f"The cores were busy to {load['busy_cores']} on average, {load['foreign_cores']} of that by the database "
        f"server and by work that had nothing to do with the run; the load averages at its end were "
        f"{', '.join(f'{value:.1f}' for value in load['load_average'])}."
    )


def save(name: str, results: dict[str, Any], markdown: str, directory: Path = RESULTS) -> tuple[Path, Path]:
    """Write `name`.json and `name`.md."""
    directory.mkdir(parents=True, exist_ok=True)
    raw, page = directory / f"{name}.json", directory / f"{name}.md"
    raw.write_text(json.dumps(results, indent=1, default=str) + "\n", encoding="utf-8")
    page.write_text(markdown.rstrip() + "\n", encoding="utf-8")
    return raw, page


def _met(line: Line) -> Literal["yes", "**no**", "–"]:
    return "–" if line.met is None else "yes" if line.met else "**no**"
