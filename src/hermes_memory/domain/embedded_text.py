"""What is embedded of a row: its content, and for a turn the end of the turn before it as well.

Much of what is said is an answer, and means little without its question: "Seven minutes, since the firewall rule was
removed." A vector of both is found by whoever asks about either.
"""

from __future__ import annotations

from typing import Final

from hermes_memory.domain.chunks import ChunkPolicy, chunks, ending, tokens

CONTEXT_CHARACTERS: Final = 200
"""Characters of the turn before that are looked at, from its end."""
CONTEXT_TOKENS: Final = 50
"""Tokens taken of it at most: what a reply follows on, and too little to drown it."""


def embedded_parts(content: str, policy: ChunkPolicy, context: str = "") -> tuple[str, ...]:
    r"""Cut what is embedded of a row into parts. The first one begins with the end of the turn before.

    Args:
        content: The row's own text.
        policy: How long parts are. The context has the room that the first part leaves, and `policy.context` more.
        context: For a turn, the text of the one before it or the end of that.

    Example:
        >>> embedded_parts("On Friday.", ChunkPolicy(), "When do we launch?")
        ('When do we launch?\nOn Friday.',)
    """
    first, *others = chunks(content, policy)
    room = policy.tokens + policy.context - tokens(first) - 1
    before = ending(context[-CONTEXT_CHARACTERS:].strip(), min(room, CONTEXT_TOKENS)).strip()
    return (f"{before}\n{first}" if before else first, *others)
