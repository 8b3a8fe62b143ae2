"""Plain patterns of names, in which a star stands for any text and nothing else is special."""

from __future__ import annotations


def fits(pattern: str, name: str) -> bool:
    """Tell whether a name fits a pattern, in time linear in both.

    >>> fits("skill-bench-*", "skill-bench-7"), fits("bench", "work-bench")
    (True, False)
    """
    first, *rest = pattern.split("*")
    if not rest:
        return name == pattern
    *middle, last = rest
    if not name.startswith(first):
        return False
    position = len(first)
    for piece in middle:
        found = name.find(piece, position)
        if found < 0:
            return False
        position = found + len(piece)
    return name.endswith(last) and len(name) - len(last) >= position
