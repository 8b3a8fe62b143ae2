"""How a vector search is made: by the sizes of what it looks at, and by nothing else.

Two ways lead to the nearest rows. Every distance can be computed, which finds what there is and takes time by the row.
Or the graph over a partition is walked, which takes time by the step, and passes rows of other themes and people on its
way: the fewer of a partition's rows count, the longer it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from hermes_memory.adapters.postgres.statements import Statement, composed
from hermes_memory.domain.model import AllScope, Scope, SessionScope, SubjectScope

EXACT_ROWS: Final = 8_000
"""Rows of a space up to which every distance is computed. Nothing is missed, and it takes no longer than a walk, which
has to be planned for its values and asked for after the sizes are known."""
EVERY_ROW: Final = 2**62
STEP_COST: Final = 8
"""Distances that can be computed in the time of one step in the graph, which leads to another page of memory."""
WIDTHS: Final = ((25_000, 400),)
WIDEST: Final = 800
"""Width of the search in the graph by rows of the space. A question far from everything in it needs more than one near
to something: its nearest rows lie in several places that no way connects."""
PARTS_A_ROW: Final = 2
"""Parts taken for each row that is wanted. Long texts near the question may be there with all their parts; when they
leave too few rows, the search is made once more in another way."""
WIDTH_OVER_ALL: Final = 3_200
WIDTHS_IN_ALL: Final = (100, 400)
"""Over all themes: the width in all partitions together, and the least and the greatest in one of them."""
FEW_READABLE: Final = 50_000
"""Rows up to which every distance is computed when only some themes can be read: each partition without any of them
would be walked to its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """What a plan depends on.

    Attributes:
        rows: Rows of the kind in the space, as the caller sees it.
        crowd: Rows of the partition that holds the theme, about; counts for a single theme.
        partitions: Partitions of every table.
        everybody: Whether the caller may read nearly all there is, sinks apart.
    """

    rows: int
    crowd: int
    partitions: int
    everybody: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """A walk in the graph.

    Attributes:
        width: Rows held in mind on the way (`hnsw.ef_search`).
        goes_on: Whether it goes on until enough rows have passed the other conditions.
    """

    width: int
    goes_on: bool

    @property
    def settings(self) -> tuple[Statement, ...]:
        """The settings that lead to it. A sort would lead past the graph, and so would a plan for any limit."""
        return (
            "hnsw.iterative_scan = relaxed_order" if self.goes_on else "hnsw.iterative_scan = off",
            composed("hnsw.ef_search = {width}", width=self.width),
            "enable_sort = off",
            "plan_cache_mode = force_custom_plan",
        )


def whole_up_to(scope: Scope, *, everybody: bool, exact_rows: int = EXACT_ROWS) -> int:
    """Return up to how many rows of a kind every distance is computed, whatever else the space's partition holds.

    What belongs to one person is spread over all partitions and a small part of each; a session is small.
    """
    if isinstance(scope, SessionScope | SubjectScope):
        return EVERY_ROW
    if isinstance(scope, AllScope) and not everybody:
        return FEW_READABLE if exact_rows else 0
    return exact_rows


def walk(scope: Scope, sizes: Sizes, limit: int, *, exact_rows: int = EXACT_ROWS) -> Walk | None:
    """Return how to walk the graph, None where every distance is computed.

    Args:
        scope: Where to look.
        sizes: How much there is.
        limit: Rows wanted.
        exact_rows: Rows of a space up to which every distance is computed; 0 for none of its own accord.
    """
    if sizes.rows <= whole_up_to(scope, everybody=sizes.everybody, exact_rows=exact_rows):
        return None
    if isinstance(scope, AllScope):
        least, greatest = WIDTHS_IN_ALL
        width = min(max(WIDTH_OVER_ALL // sizes.partitions, least), greatest)
        # Where nearly every row counts, going on would cost more in every partition than it finds.
        return Walk(width=width, goes_on=not sizes.everybody)
    width = next((width for rows, width in WIDTHS if sizes.rows <= rows), WIDEST)
    steps = max(width, limit * PARTS_A_ROW * max(sizes.crowd, sizes.rows) // max(sizes.rows, 1))
    return None if exact_rows and steps * STEP_COST > sizes.rows else Walk(width=width, goes_on=True)
