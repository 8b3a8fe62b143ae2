"""What is embedded of a row: its content, and for a turn the end of the turn before it as well.

Much of what is said is an answer, and means little without its question: "Seven minutes, since the firewall rule was
removed." A vector of both is found by whoever asks about either.
"""

from __future__ import annotations

from typing import Final

CONTEXT_CHARACTERS: Final = 200
"""Characters taken from the turn before, from its end: what a reply follows on, and too little to drown it."""


def embedded_text(content: str, previous: str | None = None) -> str:
    r"""Return what is embedded of a row.

    Args:
        content: The row's own text.
        previous: For a turn, the text of the one before it in its session, as far as it is still there.

    Example:
        >>> embedded_text("On Friday.", "When do we launch?")
        'When do we launch?\nOn Friday.'
    """
    context = (previous or "")[-CONTEXT_CHARACTERS:].strip()
    return f"{context}\n{content}" if context else content
