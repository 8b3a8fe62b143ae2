"""Writes what is generated of the pages: the settings, the verbs of the command, the tools, and what was measured.

Pictures of what was measured are whole files, made from the results by `plots`.

A page keeps its own words around a part between two comments, `<!-- begin NAME -->` and `<!-- end NAME -->`.
Run it after changing one of them: `python docs/_ext/reference_pages.py`. A test says when that was forgotten.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, Final

from plots import plots
from pydantic.fields import FieldInfo

from hermes_memory.cli.main import add_verbs
from hermes_memory.hermes.tools import tool_schemas
from hermes_memory.ports.metrics import Happening, Metric, Timing
from hermes_memory.settings import Settings
from hermes_memory.settings.names import variable_of
from hermes_memory.settings.ranges import described

ROOT: Final = Path(__file__).resolve().parents[2]
MEASURED: Final[Mapping[str, Mapping[str, str]]] = {
    "writes": {
        "burst of 4,000 rows, orderly end: rows lost": "Lost of a burst of 4,000 messages, at an orderly end",
        "burst of 4,000 rows, kill -9 right after: rows lost": "The same, when the process is killed",
        "rows delivered a second, endpoint at 30 ms": "Messages stored a second",
        "rows embedded a second, endpoint at 30 ms": "Messages with a vector a second, endpoint at 30 ms",
        "rows embedded a second, endpoint at 200 ms": "The same, endpoint at 200 ms",
        "50 sessions: connections": "Database connections of 50 sessions",
        "50 sessions: threads": "Threads of 50 sessions",
        "accept in a row, FULL: p50, ms": "Accepting an exchange, median, ms",
    },
    "filtered": {
        "recall@10, worst theme": "Of the ten nearest, found in the worst theme",
        "answers with fewer rows than there are": "Answers with fewer rows than there are, of the same questions",
    },
    "latency": {
        "6,000 rows, the tool `recall_conversation`: p50, ms": "A tool's answer among 6,000 messages, median, ms",
        "6,000 rows, `prefetch` before a turn: p50, ms": "Recall before a turn, the same, median, ms",
    },
}
"""Lines of the benchmarks' results that the README shows, and what they are called there."""
SECTIONS: Final[Mapping[str, str]] = {
    "home": "Home",
    "dsn": "Store",
    "embedder": "Embedding",
    "capture_turns": "Writing",
    "prefetch": "Recall",
    "allowed_themes": "Identity",
    "metrics_listen": "Watching",
}
"""The first setting of each section, in the order in which the settings are declared, and the section's title."""
_COMPUTED_DEFAULTS: Final[Mapping[str, str]] = {"home": "`~/.hermes`"}
_KINDS: Final[Mapping[bool, str]] = {True: "counter", False: "gauge"}


def settings_part() -> str:
    """Describe every setting: one table a section."""
    tables: list[tuple[str, list[Sequence[str]]]] = []
    for name, field in Settings.model_fields.items():
        if name in SECTIONS:
            tables.append((SECTIONS[name], []))
        tables[-1][1].append(_setting(name, field))
    header = ("Setting", "Environment variable", "Values", "Default", "Meaning")
    return "\n".join(f"### {title}\n\n{_table(header, rows)}" for title, rows in tables)


def verbs_part() -> str:
    """Describe every verb of the command: what it does, its arguments and options."""
    parser = argparse.ArgumentParser(prog="hermes-memory")
    add_verbs(parser)
    return "\n".join(_below(parser, ""))


def tools_part() -> str:
    """Describe every tool: what the model reads of it, and its arguments."""
    return "\n".join(_tool(schema) for schema in tool_schemas())


def measured_part() -> str:
    """Show the most telling figures of the benchmarks that have both sides, and when and how busy each run was.

    Raises:
        ValueError: The results of a benchmark are not those of a whole run.
    """
    rows = [(title, *figures, f"`{name}`") for name in MEASURED for title, figures in _measured(name)]
    runs = "".join(f"- `{name}`: {_circumstances(name)}\n" for name in MEASURED)
    return f"{_table(('', 'Ours', 'Peer', 'Ratio', 'Run'), rows)}\n{runs}"


def metrics_part() -> str:
    """Describe every number, time and happening that is measured."""
    numbers = [
        (_shown(f"{metric}_total" if metric.counts else metric), _KINDS[metric.counts], metric.place, metric.help)
        for metric in Metric
    ]
    times = _families(Timing, "histogram", "")
    happenings = _families(Happening, "counter", "_total")
    header = ("Metric", "Type", "Labels", "Meaning")
    return "\n".join(
        (
            f"## Numbers\n\n{_table(('Metric', 'Type', 'Of', 'Meaning'), numbers)}",
            f"## Times\n\nAll are of the process.\n\n{_table(header, times)}",
            f"## Happenings\n\nAll are of the process.\n\n{_table(header, happenings)}",
        )
    )


def _families(members: Iterable[Timing] | Iterable[Happening], kind: str, ending: str) -> list[Sequence[str]]:
    rows: dict[str, tuple[str, dict[str, list[str]]]] = {}
    for member in members:
        _, labels = rows.setdefault(member.family, (member.help, {}))
        for label, value in member.labels.items():
            labels.setdefault(label, []).append(value)
    return [
        (
            _shown(f"{family}{ending}"),
            kind,
            "; ".join(f"`{label}`: {', '.join(values)}" for label, values in labels.items()) or "none",
            meaning,
        )
        for family, (meaning, labels) in rows.items()
    ]


def _shown(name: str) -> str:
    return f"`hermes_memory_{name}`"


PARTS: Final[Mapping[str, tuple[str, Callable[[], str]]]] = {
    "settings": ("docs/reference/configuration.md", settings_part),
    "verbs": ("docs/reference/cli.md", verbs_part),
    "tools": ("docs/reference/tools.md", tools_part),
    "metrics": ("docs/reference/metrics.md", metrics_part),
    "measured": ("README.md", measured_part),
}


def renewed(page: str, name: str, part: str) -> str:
    """Return a page with one of its parts replaced.

    Raises:
        ValueError: The page has no such part.
    """
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    before, found, rest = page.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise ValueError(f"there is no part {name!r} in the page")
    return f"{before}{begin}\n\n{part}\n{end}{after}"


def pages() -> Iterator[tuple[Path, str]]:
    """Yield each page that has a generated part, and each picture, with its contents as they ought to be."""
    for name, (file, make) in PARTS.items():
        path = ROOT / file
        yield path, renewed(path.read_text(encoding="utf-8"), name, make())
    yield from plots()


def _measured(name: str) -> list[tuple[str, list[str]]]:
    results = (ROOT / f"benchmarks/results/{name}.md").read_text(encoding="utf-8")
    cells = [[cell.strip() for cell in line.split("|")[1:5]] for line in results.splitlines() if line.startswith("|")]
    figures = {what: shown for what, *shown in cells}
    if missing := MEASURED[name].keys() - figures.keys():
        raise ValueError(f"benchmarks/results/{name}.md is not of a whole run, it lacks: {sorted(missing)}")
    return [(title, figures[what]) for what, title in MEASURED[name].items()]


def _circumstances(name: str) -> str:
    results = json.loads((ROOT / f"benchmarks/results/{name}.json").read_text(encoding="utf-8"))
    load, machine = results["load"], results["machine"]
    cores = f"{machine['cores']} cores, of which the database and other work took {load['foreign_cores']:.1f}"
    return f"{results['taken_at'][:10]}, {cores}; load average {load['load_average'][0]:.0f}"


def _setting(name: str, field: FieldInfo) -> Sequence[str]:
    return (
        f"`{name}`",
        "`HERMES_HOME`" if name == "home" else f"`{variable_of(name)}`",
        described(field, choice=lambda word: f"`{word}`"),
        _COMPUTED_DEFAULTS.get(name) or _default(field.default),
        field.description or "",
    )


def _default(value: object) -> str:
    if value is None:
        return "unset"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ", ".join(f"`{one}`" for one in value) or "none"
    if isinstance(value, Enum):
        return f"`{value.value}`"
    if isinstance(value, int | float):
        return f"{value:,}"
    return f"`{value}`" if isinstance(value, str | Path) else "none"


def _below(parser: argparse.ArgumentParser, prefix: str) -> Iterator[str]:
    """Describe the verbs below a parser, each followed by those below it."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            summaries = {choice.dest: choice.help or "" for choice in action._choices_actions}
            for name, verb in action.choices.items():
                yield _verb(f"{prefix}{name}", summaries[name], verb)
                yield from _below(verb, f"{prefix}{name} ")


def _verb(name: str, summary: str, parser: argparse.ArgumentParser) -> str:
    rows = [
        (f"`{_spelling(action)}`", _sentence((action.help or "") % vars(action)))
        for action in parser._actions
        if not isinstance(action, argparse._HelpAction | argparse._SubParsersAction)
    ]
    table = f"\n\n{_table(('Argument', 'Meaning'), rows)}" if rows else "\n"
    return f"### `hermes-memory {name}`\n\n{_sentence(summary)}{table}"


def _spelling(action: argparse.Action) -> str:
    if not action.option_strings:
        return str(action.metavar or action.dest.upper())
    if action.nargs == 0:
        return action.option_strings[-1]
    value = "|".join(action.choices) if action.choices else action.metavar or action.dest.upper()
    return f"{action.option_strings[-1]} {value}"


def _tool(schema: Mapping[str, Any]) -> str:
    parameters = schema["parameters"]
    rows = [
        (f"`{name}`", _argument_type(of), _argument_default(name, of, parameters), of.get("description", ""))
        for name, of in parameters["properties"].items()
    ]
    sentences = "\n".join(re.split(r"(?<=[.?!]) (?=[A-Z])", schema["description"]))
    table = _table(("Argument", "Type", "Default", "Meaning"), rows)
    return f"### `{schema['name']}`\n\n{sentences}\n\n{table}"


def _argument_type(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return ", ".join(f"`{choice}`" for choice in schema["enum"])
    if "maximum" in schema:
        return f"{schema['type']}, {schema['minimum']} to {schema['maximum']}"
    longest = f", at most {schema['maxLength']:,} characters" if "maxLength" in schema else ""
    return f"{schema['type']}{longest}"


def _argument_default(name: str, schema: Mapping[str, Any], parameters: Mapping[str, Any]) -> str:
    if name in parameters.get("required", ()):
        return "required"
    return _default(schema["default"]) if "default" in schema else "unset"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}." if text else ""


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


if __name__ == "__main__":
    for path, text in pages():
        path.write_text(text, encoding="utf-8")
