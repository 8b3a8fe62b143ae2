"""How things stand with the vectors of each model, as a person reads it."""

from __future__ import annotations

from hermes_memory.ports.generations import GenerationStanding


def standing_line(one: GenerationStanding) -> str:
    """Return one line about a generation."""
    parts = f", parts of {one.part_tokens} tokens" if one.part_tokens else ""
    return (
        f"generation {one.generation} ({state_of(one)}): {one.model}, {one.dimension} dimensions{parts}; "
        f"{one.embedded:,} of {one.embeddable:,} rows ({one.coverage:.1%}), {one.waiting:,} wait, {one.parked:,} "
        f"refused; {one.bytes / 2**20:,.0f} MiB"
    )


def state_of(one: GenerationStanding) -> str:
    """Return whether a generation is used, was, or is to be."""
    if one.active:
        return "in use"
    return "kept" if one.activated_at else "not used yet"


def advice_on(one: GenerationStanding) -> str:
    """Return what an operator can do about a generation that is not in use."""
    drop = f"hermes-memory reembed --drop {one.generation}"
    if one.activated_at:
        return f"back to it: hermes-memory reembed --switch-back; to be rid of it: {drop}"
    return f"to go on with it: hermes-memory reembed with its model; to give it up: {drop}"
