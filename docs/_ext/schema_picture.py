"""Draws the tables of the memory as an SVG, from the catalogue of a migrated database.

Nothing of a table is written here but where it stands and what it refers to: names, columns, types and keys are the
database's own. There are no foreign keys in the schema, so `REFERENCES` says which columns hold the key of another
table; one that names a column that does not exist is an error.

Run it after changing a table: `python docs/_ext/schema_picture.py`. A test says when that was forgotten.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Final

import asyncpg

from hermes_memory.adapters.embedded_postgres import EmbeddedPostgres
from hermes_memory.adapters.postgres.migrator import migrate

PICTURE: Final = Path(__file__).resolve().parents[1] / "_static" / "schema.svg"
LANES: Final[Sequence[Sequence[str]]] = (
    ("memory_agents", "memory_agent_edges", "history", "seals"),
    ("sessions", "conversations", "memory_entries"),
    ("turn_vectors_gN", "entry_vectors_gN", "embedding_jobs", "term_blocks", "folding", "inbox"),
    (
        "embedding_models",
        "installation",
        "schema_migrations",
        "theme_grants",
        "sinks",
        "subject_members",
        "memory_maintenance_log",
    ),
)
"""Where each table stands: lanes from left to right, each from top to bottom. Others follow in the last one."""
REFERENCES: Final[Mapping[str, str]] = {
    "memory_agent_edges.agent_identity": "memory_agents",
    "sessions.agent_identity": "memory_agents",
    "conversations.session_id": "sessions",
    "memory_entries.agent_identity": "memory_agents",
    "turn_vectors_gN.row_id": "conversations",
    "entry_vectors_gN.row_id": "memory_entries",
    "embedding_jobs.generation": "embedding_models",
    "embedding_jobs.row_id": "memory_entries",
    "term_blocks.packed": "memory_entries",
    "installation.active_generation": "embedding_models",
    "history.seal": "seals",
    "history.row_id": "memory_entries",
}
"""Columns that hold what another table is found by. A job or a block of the text index may also mean a turn."""
_COLUMNS: Final = """
select regexp_replace(c.relname, '_g[0-9]+$', '_gN') as table, a.attname as column,
       regexp_replace(format_type(a.atttypid, null), ' with time zone', '') as type,
       coalesce(a.attnum = any(i.indkey), false) as key
  from pg_class c
  join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  left join pg_index i on i.indrelid = c.oid and i.indisprimary
 where c.relnamespace = 'hermes_memory'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
 order by c.relname, a.attnum"""
_SHORT: Final[Mapping[str, str]] = {
    "double precision": "double",
    "integer": "int",
    "boolean": "bool",
    "timestamp": "timestamptz",
}
_LEGEND: Final = "Bold: the primary key. A line leads from a column to the table whose rows it names, by value."
_WIDTH: Final = 214
_GAP: Final = 76
_ROW: Final = 15
_HEAD: Final = 22
_SPACE: Final = 20
_MARGIN: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column: its name, its type without length, and whether it is part of the primary key."""

    name: str
    type: str
    key: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A table in its place, in pixels from the upper left."""

    name: str
    columns: tuple[Column, ...]
    lane: int
    top: int

    @property
    def left(self) -> int:
        """Where it begins."""
        return _MARGIN + self.lane * (_WIDTH + _GAP)

    @property
    def height(self) -> int:
        """How tall it is."""
        return _HEAD + _ROW * len(self.columns) + 6

    def middle_of(self, column: str) -> int:
        """Return how far down the middle of a column's line is.

        Raises:
            ValueError: There is no such column.
        """
        names = [one.name for one in self.columns]
        if column not in names:
            raise ValueError(f"{self.name} has no column {column}")
        return self.top + _HEAD + _ROW * names.index(column) + _ROW // 2 + 2


async def tables_of(dsn: str) -> dict[str, tuple[Column, ...]]:
    """Read the tables of a migrated database with their columns. The tables of a generation count as those of `gN`."""
    connection = await asyncpg.connect(dsn)
    try:
        rows = await connection.fetch(_COLUMNS)
    finally:
        await connection.close()
    tables: dict[str, dict[str, Column]] = {}
    for row in rows:
        column = Column(name=row["column"], type=_short(row["type"]), key=row["key"])
        tables.setdefault(row["table"], {})[column.name] = column
    return {name: tuple(columns.values()) for name, columns in tables.items()}


def drawn(tables: Mapping[str, tuple[Column, ...]]) -> str:
    """Return the picture.

    Raises:
        ValueError: A reference names a table or a column that does not exist.
    """
    boxes = {box.name: box for box in _placed(tables)}
    height = max(box.top + box.height for box in boxes.values()) + 44
    width = 2 * _MARGIN + _SPACE + len(LANES) * _WIDTH + (len(LANES) - 1) * _GAP
    font = 'font-family="system-ui, sans-serif" font-size="11"'
    lines = (_line(boxes, column, table) for column, table in REFERENCES.items())
    parts = (part for box in boxes.values() for part in _box(box))
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" {font}>',
            "  <title>Tables of the schema hermes_memory</title>",
            f'  <rect width="{width}" height="{height}" rx="12" fill="#ffffff"/>',
            *lines,
            *parts,
            f'  <text x="{_MARGIN}" y="{height - 18}" fill="#22303f">{_LEGEND}</text>',
            "</svg>\n",
        ]
    )


def _placed(tables: Mapping[str, tuple[Column, ...]]) -> Iterator[Box]:
    known = {name for lane in LANES for name in lane}
    others = sorted(tables.keys() - known)
    for number, lane in enumerate(LANES):
        top = _MARGIN
        for name in [*lane, *(others if number == len(LANES) - 1 else ())]:
            if name not in tables:
                raise ValueError(f"there is no table {name}")
            box = Box(name=name, columns=tables[name], lane=number, top=top)
            yield box
            top += box.height + _SPACE


def _box(box: Box) -> Iterator[str]:
    x, y = box.left, box.top
    yield f'  <rect x="{x}" y="{y}" width="{_WIDTH}" height="{box.height}" rx="6" fill="#eef2f7" stroke="#7c95b3"/>'
    outline = f"M{x} {y + _HEAD} V{y + 6} a6 6 0 0 1 6 -6 H{x + _WIDTH - 6} a6 6 0 0 1 6 6 V{y + _HEAD} Z"
    yield f'  <path d="{outline}" fill="#2f5d8a"/>'
    yield f'  <text x="{x + 9}" y="{y + 15}" fill="#ffffff" font-weight="600" font-size="12">{escape(box.name)}</text>'
    for column in box.columns:
        base = box.middle_of(column.name) + 4
        weight = ' font-weight="700"' if column.key else ""
        yield f'  <text x="{x + 9}" y="{base}" fill="#22303f"{weight}>{escape(column.name)}</text>'
        yield (f'  <text x="{x + _WIDTH - 9}" y="{base}" fill="#5b6b7c" text-anchor="end">{escape(column.type)}</text>')


def _line(boxes: Mapping[str, Box], reference: str, target: str) -> str:
    """Draw a curve from a column to the head of a table: on the side that faces it, or outside of a common lane."""
    name, column = reference.split(".")
    if name not in boxes or target not in boxes:
        raise ValueError(f"{reference} leads to {target}, and one of them does not exist")
    source, end = boxes[name], boxes[target]
    to_the_left = source.lane > end.lane
    x1 = source.left if to_the_left else source.left + _WIDTH
    x2 = end.left if source.lane < end.lane else end.left + _WIDTH
    y1, y2 = source.middle_of(column), end.top + _HEAD // 2
    bend = -36 if to_the_left else 36
    back = 36 if x2 == end.left + _WIDTH else -36
    curve = f"M{x1} {y1} C{x1 + bend} {y1} {x2 + back} {y2} {x2} {y2}"
    dot = f'<circle cx="{x2}" cy="{y2}" r="3" fill="#c07a2b"/>'
    return f'  <path d="{curve}" fill="none" stroke="#c07a2b" stroke-width="1.3"/>{dot}'


def _short(type_: str) -> str:
    base = re.sub(r"\[\]$", "", type_)
    return _SHORT.get(base, base) + type_[len(base) :]


def _of_a_new_database() -> str:
    folder = Path(tempfile.mkdtemp(prefix="hermes-memory-schema-"))
    folder.chmod(0o755)  # the account that runs Postgres must come in
    server = EmbeddedPostgres(folder / "postgres", state_directory=folder / "state")
    try:
        return asyncio.run(_of(server.acquire().dsn()))
    finally:
        server.release()
        shutil.rmtree(folder)


async def _of(dsn: str) -> str:
    await migrate(dsn, runtime_role="hermes_memory_app", partitions=1, generation=("any", 8))
    return drawn(await tables_of(dsn))


if __name__ == "__main__":
    PICTURE.write_text(_of_a_new_database(), encoding="utf-8")
