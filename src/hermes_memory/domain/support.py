"""How good an answer is as a whole: what its best row has of its own, above what every question finds.

Something is always near. How near depends on the question, on the model and on how much there is to choose from, so
that no fixed level tells a near row from company. The bulk of what was found tells it: where a question is answered,
a row or a few stand out from the others, and where it is not, the best one is the first of many alike.

That the scores of an answer are to be held against those of what else was found is the ground of query performance
prediction (Zhou and Croft, "Query Performance Prediction in Web Search Environments", 2007; Shtok et al., "Predicting
Query Performance by Query-Drift Estimation", 2012). The median is taken for the bulk, as a few that fit do not move it.
"""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median
from typing import Final

from hermes_memory.domain.weights import CosineCalibration

NEAREST: Final = 100
"""How many of the best cosines are looked at: as many as a search by meaning brings, so that it does not matter how
many more the words have found."""
PRIOR_ROWS: Final = 4
"""How many rows the level of the model counts for: the median of two or three rows is the answer itself."""


def raised(calibration: CosineCalibration, cosines: Iterable[float | None]) -> CosineCalibration:
    """Return the calibration for one question: what is unrelated to it begins where the bulk of the found rows lies.

    With n cosines, 100 at most, of median m, and the levels u and r of the model:

        unrelated = (4 · u + n · m) / (4 + n), but not below u, nor above (u + r) / 2

    The upper bound keeps a memory that speaks of one thing alone from hiding what it says about it.

    Args:
        calibration: The one of the model.
        cosines: Those of the rows found; what is no cosine does not count.

    Example:
        >>> raised(CosineCalibration(unrelated=0.0, related=0.8), [0.7, 0.3, 0.2, 0.3]).unrelated
        0.15
    """
    found = sorted((one for one in cosines if one is not None and -1 <= one <= 1), reverse=True)[:NEAREST]
    if not found:
        return calibration
    low, high = calibration.unrelated, calibration.related
    bulk = (PRIOR_ROWS * low + len(found) * median(found)) / (PRIOR_ROWS + len(found))
    return CosineCalibration(unrelated=min(max(low, bulk), (low + high) / 2), related=high)
