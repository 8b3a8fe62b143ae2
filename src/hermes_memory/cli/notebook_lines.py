"""How the verbs show what the notebooks hold and the memory does not."""

from __future__ import annotations


def held_line(lines: int) -> str:
    """Say that lines stay out of the memory, and what can be done."""
    return (
        f"{lines:,} line{'' if lines == 1 else 's'} came in talk with somebody, and nobody told whose that is, so it "
        "stays out, and what it may replace stays in: use `hermes-memory add` for what everybody is to know"
    )


def unknown_line(problem: str) -> str:
    """Say that it is not known whose any of the lines are, and what must not be done about it."""
    return (
        f"{problem}. Until then it is not known whose the lines of the notebooks are, and none is read in. "
        "Do not remove the file: lines that are somebody's would be everybody's without it"
    )
