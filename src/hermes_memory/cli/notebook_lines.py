"""How the verbs show what the notebooks hold and the memory does not."""

from __future__ import annotations


def held_line(lines: int) -> str:
    """Say that lines stay out of the memory, and what can be done."""
    return (
        f"{lines:,} lines came in talk with somebody and nobody told whose they are, so they stay out, and what they "
        "may replace stays in: use `hermes-memory add` for what everybody is to know"
    )
