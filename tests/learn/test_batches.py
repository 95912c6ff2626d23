"""An objective batch by batch: what is remembered stands for all queries."""

import math

import numpy as np
import pytest

from surefoot.errors import SurefootError
from surefoot.learn.boosting import BatchObjective
from surefoot.learn.objectives import OBJECTIVES, QueryMetrics, objective_of
from surefoot.risk import georisk
from surefoot.scores import FloatArray
from tests.learn.slow_swaps import weights_of

NAMES = sorted(set(OBJECTIVES) - {"hard", "churn"})


def metrics(queries: int = 60, baselines: int = 1, seed: int = 0) -> tuple[FloatArray, FloatArray]:
    random = np.random.default_rng(seed)
    return random.beta(2, 3, queries), random.beta(2, 3, (baselines, queries))


@pytest.mark.parametrize("name", NAMES)
def test_remembered_queries_are_as_good_as_present_ones(name: str) -> None:
    x, b = metrics()
    whole = BatchObjective(name, 1.0).weigh(x, b)
    batched = BatchObjective(name, 1.0, memory=60)
    for first in range(0, 60, 20):
        last = batched.weigh(x[first : first + 20], b[:, first : first + 20])
    np.testing.assert_array_equal(last.per_query, whole.per_query[40:])
    np.testing.assert_array_equal(last.shared, whole.shared)
    assert batched.remembered.shape == (2, 60)


def test_memory_is_a_window() -> None:
    x, b = metrics()
    objective = BatchObjective("tail", 1.0, memory=10)
    for first in range(0, 60, 20):
        objective.weigh(x[first : first + 20], b[:, first : first + 20])
    np.testing.assert_array_equal(objective.remembered, np.vstack([x, b])[:, -10:])
    objective.weigh(x, b, remember=False)
    assert objective.remembered.shape == (2, 10)
    none = BatchObjective("saro", 1.0, memory=0)
    first, again = (none.weigh(x, b).per_query for _ in range(2))
    np.testing.assert_array_equal(first, again)


def test_the_spread_of_saro_is_that_of_now_unless_it_is_kept() -> None:
    (x, b), (y, _) = metrics(), metrics(seed=1)
    for each, expected in ((True, "differs"), (False, "same")):
        objective = BatchObjective("saro", 1.0, memory=0, each=each)
        objective.weigh(x, b)
        kept = objective.objective.state["kept_spread"]
        objective.weigh(y / 2, b)
        assert (objective.objective.state["kept_spread"] == kept) == (expected == "same")


def worth(name: str, x: FloatArray, b: FloatArray) -> tuple[float, float]:
    """The measure that an objective is for, written out, and by what the objective scales it."""
    d, c = np.sort(x - b[0]), x.size
    if name == "georisk-full":
        geo = georisk(np.vstack([x, b]), 1.0)[0]
        return geo, 2 * c * x.mean() / geo
    if name == "tail":
        return d.mean() + d[: math.ceil(0.1 * c)].sum() / c, c
    return np.where(d > 0, 2 if name == "upside" else 1, 1 if name == "upside" else 2).dot(d) / c, c


@pytest.mark.parametrize("name", ["ucro", "upside", "georisk-full", "tail"])
def test_slopes_are_derivatives_of_the_measure(name: str) -> None:
    x, b = metrics(200)
    weights = objective_of(name, 1.0).lambda_weights(QueryMetrics(x, b))
    found = weights_of(weights, np.tile([1e-3, -1e-3], (200, 1))).mean(axis=1) / 1e-3
    _, scale = worth(name, x, b)
    for query in range(0, 200, 7):
        step = np.zeros(200)
        step[query] = 1e-3
        (above, _), (below, _) = worth(name, x + step, b), worth(name, x - step, b)
        assert found[query] == pytest.approx(scale * (above - below) / 2e-3, rel=2e-3, abs=2e-3)


def test_bad_input() -> None:
    x, b = metrics(4)
    objective = BatchObjective("georisk", 1.0)
    objective.weigh(x, b)
    with pytest.raises(SurefootError, match="this one has 2 baselines, those before it 1 baseline"):
        objective.weigh(x, np.vstack([b, b]))
    with pytest.raises(SurefootError, match="objective saro needs a baseline"):
        BatchObjective("saro").weigh(x, np.zeros((0, 4)))
