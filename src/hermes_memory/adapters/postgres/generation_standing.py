"""Reads how things stand with the embedding generations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, LiteralString

from hermes_memory.ports.generations import GenerationStanding

if TYPE_CHECKING:
    from hermes_memory.adapters.postgres.rows import Record

STANDING: Final[LiteralString] = "select * from hermes_memory.generation_standing()"


def standing_of(record: Record) -> GenerationStanding:
    """Return a row of `STANDING`."""
    return GenerationStanding(
        generation=record["generation"],
        model=record["model"],
        dimension=record["dimension"],
        part_tokens=record["part_tokens"],
        active=record["active"],
        fed=record["fed"],
        measured=record["measured"],
        embeddable=record["embeddable"],
        embedded=record["embedded"],
        waiting=record["waiting"],
        parked=record["parked"],
        bytes=record["bytes"],
        activated_at=record["activated_at"],
    )
