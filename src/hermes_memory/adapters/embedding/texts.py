"""What every embedder does to a text before it leaves: bound its length and mend what cannot be encoded."""

from __future__ import annotations

DEFAULT_MAX_CHARS = 8_000


def prepared(text: str, max_chars: int) -> str:
    """Return at most the first `max_chars` characters of a text, fit to be encoded as UTF-8.

    A lone surrogate becomes U+FFFD: tokenisers and JSON parsers refuse it, and one odd character is no reason to
    leave a memory without a vector.
    """
    cut = text[:max_chars]
    try:
        cut.encode()
    except UnicodeEncodeError:
        return cut.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return cut
