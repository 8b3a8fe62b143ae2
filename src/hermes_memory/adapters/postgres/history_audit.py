"""Reads all of history and its seals, as the owner, for verification."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Final, LiteralString

from hermes_memory.adapters.postgres.administrator import Administrator
from hermes_memory.adapters.postgres.rows import utc
from hermes_memory.domain.chain import ERASED, Link, Seal, examined, microseconds

if TYPE_CHECKING:
    from datetime import datetime

    from hermes_memory.adapters.postgres.rows import Record

ROWS_AHEAD: Final = 500

THEMES: Final[LiteralString] = """
select h.agent_identity from hermes_memory.history h
 union select s.agent_identity from hermes_memory.seals s order by 1"""
LINKS: Final[LiteralString] = """
select h.*, h.metadata::text as metadata_text from hermes_memory.history h where h.agent_identity = $1"""
SEALS: Final[LiteralString] = "select s.* from hermes_memory.seals s where s.agent_identity = $1 order by s.seal"


async def histories(
    administrator: Administrator, theme: str | None = None
) -> AsyncIterator[tuple[str, Sequence[Link], Sequence[Seal]]]:
    """Yield each theme, or the one named, with all its changes, examined, and seals, as they stood at one moment."""
    async with administrator.transaction(isolation="repeatable_read", read_only=True) as connection:
        themes = [record["agent_identity"] for record in await connection.fetch(THEMES)]
        for each in themes:
            if theme in {None, each}:
                rows = connection.cursor(LINKS, each, prefetch=ROWS_AHEAD)
                links = [examined(_link(record)) async for record in rows]
                yield each, links, [_seal(record) for record in await connection.fetch(SEALS, each)]


def _link(record: Record) -> Link:
    return Link(
        id=record["id"],
        fields=(
            *(record["agent_identity"], record["subject"].hex()),
            *(str(record["id"]), str(record["row_id"]), str(record["operation"])),
            *(record["change"], record["target"], record["old_content"], record["new_content"]),
            *(record["origin"], record["tool"], record["session_id"], record["reason"]),
            *(_moment(record["at"]), _moment(record["said_at"]), _moment(record["recorded_at"])),
            *(record["metadata_text"], str(record["merged_into"]) if record["merged_into"] else None),
        ),
        salt=record["salt"],
        row_hash=record["row_hash"],
        seal=record["seal"],
        erasure=record["erasure"],
        record=record["reason"] if record["change"] == ERASED else None,
    )


def _moment(at: datetime | None) -> str | None:
    return None if at is None else microseconds(utc(at))


def _seal(record: Record) -> Seal:
    return Seal(
        number=record["seal"],
        ids=record["ids"],
        count=record["n"],
        root=record["root"],
        prev=record["prev"],
        chained=record["chained"],
        at=utc(record["at"]),
    )
