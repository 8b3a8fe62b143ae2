"""The weights of ranking, as settings give them."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest

from hermes_memory.bootstrap.container import _ranking
from hermes_memory.domain.errors import ConfigurationError, InvalidInput
from hermes_memory.domain.weights import RankingWeights
from hermes_memory.settings import Settings


def test_some_weights_can_be_set_by_name_and_the_others_stay_as_measured() -> None:
    weights = RankingWeights.named({"session": 0.0, "before": 1}, half_life=timedelta(days=2))

    assert (weights.session, weights.before, weights.half_life) == (0.0, 1, timedelta(days=2))
    assert weights.words == RankingWeights().words


@pytest.mark.parametrize(
    ("weights", "told"),
    [
        ({"sesion": 0.1}, "no weight 'sesion'.*session"),
        ({"half_life": 3.0}, "no weight 'half_life'"),
        ({"time": -1}, "not negative"),
    ],
)
def test_weights_that_make_no_sense_are_refused_in_a_sentence(
    tmp_path: Path, weights: dict[str, float], told: str
) -> None:
    with pytest.raises(InvalidInput, match=told):
        RankingWeights.named(weights)
    with pytest.raises(ConfigurationError, match=f"ranking_weights: .*{told}"):
        Settings(home=tmp_path, ranking_weights=weights)


def test_the_weights_of_a_home_are_those_that_rank(tmp_path: Path) -> None:
    (tmp_path / "hermes-memory.json").write_text(json.dumps({"ranking_weights": {"asking": 0.5}, "half_life_days": 7}))

    weights = _ranking(Settings(home=tmp_path)).weights

    assert (weights.asking, weights.half_life, weights.cosine) == (0.5, timedelta(days=7), RankingWeights().cosine)
