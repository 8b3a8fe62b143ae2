"""How good an answer is as a whole: what its best row has of its own, above what every question finds.

Something is always near. How near depends on the question, on the model and on how much there is to choose from, so
that no fixed level tells a near row from company. The bulk of what was found tells it: where a question is answered,
a row or a few stand out from the others, and where it is not, the best one is the first of many alike. And the more
texts there are, the nearer the best of them comes by chance.

That the scores of an answer are to be held against those of what else was found is the ground of query performance
prediction (Zhou and Croft, "Query Performance Prediction in Web Search Environments", 2007; Shtok et al., "Predicting
Query Performance by Query-Drift Estimation", 2012). The median is taken for the bulk, as a few that fit do not move it.

Words are taken more evenly than for the ranking. There a word that every row holds tells nothing, as it parts none from
the others; here it says that the memory is about what was asked.
"""

from __future__ import annotations

from collections.abc import Iterable
from statistics import NormalDist, median
from typing import Final

from hermes_memory.domain.bm25 import QueryStatistics
from hermes_memory.domain.weights import CosineCalibration

NEAREST: Final = 100
"""How many of the best cosines are looked at: as many as a search by meaning brings, so that it does not matter how
many more the words have found."""
LEAST_WEIGHT: Final = 0.5
"""What a word of the question weighs at least, as a share of the one that weighs most."""
PRIOR_ROWS: Final = 4
"""How many rows the level of the model counts for: the median of two or three rows is the answer itself."""
FEW_TEXTS: Final = 30
"""How many texts come no nearer by chance than the floors allow for: as many as the memories had that set them."""
SPREADS: Final = 5
"""How many standard deviations of the cosines of unrelated texts lie between the levels of a model: 4.5 to 6.3."""


def raised(calibration: CosineCalibration, cosines: Iterable[float | None], texts: int) -> CosineCalibration:
    """Return the calibration for one question: what is unrelated to it begins where the bulk of the found rows lies.

    With k cosines, 100 at most, of median m, the levels u and r of the model, and n texts:

        bulk      = (4 · u + k · m) / (4 + k)
        chance    = u + (r - u) / 5 · (a(n) - a(30)), where a(n) = Φ⁻¹(1 - 1/n)
        unrelated = the higher of both, but not below u, nor above (u + r) / 2

    a(n) is about where the largest of n independent normal values lies, in standard deviations from their mean (Gumbel,
    "Statistics of Extremes", 1958). The upper bound keeps a memory that speaks of one thing alone from hiding what it
    says about it.

    Args:
        calibration: The one of the model.
        cosines: Those of the rows found; what is no cosine does not count.
        texts: How many were searched in, at least 0.

    Example:
        >>> raised(CosineCalibration(unrelated=0.0, related=0.8), [0.7, 0.3, 0.2, 0.3], 4).unrelated
        0.15
    """
    found = sorted((one for one in cosines if one is not None and -1 <= one <= 1), reverse=True)[:NEAREST]
    if not found:
        return calibration
    low, high = calibration.unrelated, calibration.related
    bulk = (PRIOR_ROWS * low + len(found) * median(found)) / (PRIOR_ROWS + len(found))
    chance = low + (high - low) / SPREADS * (_farthest(max(texts, FEW_TEXTS)) - _farthest(FEW_TEXTS))
    return CosineCalibration(unrelated=min(max(bulk, chance), (low + high) / 2), related=high)


def _farthest(count: int) -> float:
    return -NormalDist().inv_cdf(1 / count)  # the same as of 1 - 1 / count, also where that is no less than 1.0


class Evened(dict[int, float]):
    """By which factor a row's words count for more, or less, once no word of the question weighs next to nothing.

    With the idf w of each word, the factor of the words held is

        (sum of max(w, W / 2) over those held / over all) / (sum of w over those held / over all)

    where W is the highest idf of all. Factors are computed once for each mask of words held; see `Candidate.held`. That
    of a row of which the words are not known is 1.

    Example:
        Of "What do you know about Periwinkle?" one word is held by all ten texts and one by none:

        >>> held_by = {"periwinkl": 10}
        >>> ten = QueryStatistics(lexemes=("know", *held_by), documents=10, average_length=5, frequencies=held_by)
        >>> round(Evened(ten)[0b10], 2), Evened(ten)[0b11], Evened(ten)[0]
        (1.31, 1.0, 1.0)
    """

    def __init__(self, statistics: QueryStatistics) -> None:
        super().__init__()
        self._weights = list(statistics.weights.values())
        least = LEAST_WEIGHT * max(self._weights, default=0.0)
        self._evened = [max(weight, least) for weight in self._weights]
        self._factor = sum(self._weights) / sum(self._evened) if self._weights else 1.0

    def __missing__(self, held: int) -> float:
        weight, evened = (
            sum(one for index, one in enumerate(weights) if held >> index & 1)
            for weights in (self._weights, self._evened)
        )
        factor = self[held] = self._factor * evened / weight if weight else 1.0
        return factor
