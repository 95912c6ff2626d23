"""What objectives make of a swap, against computing the whole measure again after each; and what must hold for all."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surefoot.errors import SurefootError
from surefoot.learn.boosting import RiskObjective
from surefoot.learn.data import RankingData
from surefoot.learn.objectives import OBJECTIVES, GeoRisk, GeoRiskFull, LambdaMART, QueryMetrics, Tail, objective_of
from surefoot.learn.settings import PairOptions
from tests.learn.slow_swaps import alphas, georisk_change, georisk_surrogate, weights_of, worth_of

SEVERAL = ("georisk", "georisk-full", "tstar-faro")
NAMES = sorted(set(OBJECTIVES) - {"churn"})


def weights(objective: LambdaMART, metrics: QueryMetrics, query: int, steps: np.ndarray) -> np.ndarray:
    """The weights of changes of a query's metric."""
    found = objective.lambda_weights(metrics)
    return weights_of(found._replace(per_query=found.per_query[[query]]), steps[np.newaxis])[0]


def scene(seed: int, queries: int = 60, baselines: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Metrics of a model and of baselines that find the same queries hard."""
    rng = np.random.default_rng(seed)
    values = np.clip(rng.beta(2, 2, queries) + rng.normal(0, 0.2, (1 + baselines, queries)), 0.02, 1)
    return values[0], values[1:]


def steps_of(value: float, seed: int, count: int = 20) -> np.ndarray:
    """Changes that leave a metric above 0 and, as LightGBM's form may, bring it a little above 1."""
    rng = np.random.default_rng(seed)
    return rng.uniform(-0.9 * value, 1.1 - value, count).astype(np.float32).astype(float)


WANG = [  # the model's metric, its change, the baseline's, and the changes of reward and of risk that this is
    ("above, falls, stays above", 0.8, -0.1, 0.5, -0.1, 0.0),
    ("above, falls below", 0.8, -0.4, 0.5, -0.3, 0.1),
    ("above, rises", 0.8, 0.1, 0.5, 0.1, 0.0),
    ("below, rises, stays below", 0.2, 0.1, 0.5, 0.0, -0.1),
    ("below, rises above", 0.2, 0.5, 0.5, 0.2, -0.3),
    ("below, falls", 0.2, -0.1, 0.5, 0.0, 0.1),
    ("at the baseline, falls", 0.5, -0.1, 0.5, 0.0, 0.1),
    ("at the baseline, rises", 0.5, 0.1, 0.5, 0.1, 0.0),
    ("falls to the baseline", 0.7, -0.2, 0.5, -0.2, 0.0),
    ("rises to the baseline", 0.3, 0.2, 0.5, 0.0, -0.2),
]


@pytest.mark.parametrize("alpha", [0.0, 1.0, 7.0])
@pytest.mark.parametrize("case", WANG, ids=lambda case: case[0])
def test_ucro_in_each_of_wangs_cases(case: tuple[Any, ...], alpha: float) -> None:
    _, x, change, b, reward, risk = case
    metrics = QueryMetrics(np.array([x]), np.array([[b]]))
    expected = abs(reward - (1 + alpha) * risk)
    assert weights(objective_of("ucro", alpha), metrics, 0, np.array([change]))[0] == pytest.approx(expected, 1e-6)


@pytest.mark.parametrize("case", WANG, ids=lambda case: case[0])
def test_equation_9_counts_a_swap_whole_by_where_it_ends(case: tuple[Any, ...]) -> None:
    _, x, change, b, *_ = case
    metrics = QueryMetrics(np.array([x]), np.array([[b]]))
    expected = abs(change) * (3 if round(x + change - b, 9) < 0 else 1)
    assert weights(objective_of("ucro-eq9", 2.0), metrics, 0, np.array([change]))[0] == pytest.approx(expected, 1e-6)


ALPHAS = [0.0, 0.5, 1.0, 5.0, 20.0]
SINGLE = [(name, alpha) for name in NAMES if name not in (*SEVERAL, "smooth") for alpha in ALPHAS]


@pytest.mark.parametrize(("name", "alpha"), [*SINGLE, ("smooth", 0.0), ("smooth", 1.0)])
def test_a_weight_is_the_change_of_the_whole_measure(name: str, alpha: float) -> None:
    x, baselines = scene(1)
    objective, metrics = objective_of(name, alpha), QueryMetrics(x, baselines)
    worth = worth_of(name, alpha, x, baselines)
    for query in range(x.size):
        steps = steps_of(x[query], query)
        expected = np.abs([worth(query, step) for step in steps])
        np.testing.assert_allclose(weights(objective, metrics, query, steps), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("share", [0.01, 0.1, 0.5, 1.0])
def test_the_tail_of_any_share(share: float) -> None:
    x, baselines = scene(2, 30)
    worth = worth_of("tail", 3.0, x, baselines, share=share)
    for query in range(x.size):
        steps = steps_of(x[query], query)
        got = weights(Tail(3.0, share=share), QueryMetrics(x, baselines), query, steps)
        np.testing.assert_allclose(got, np.abs([worth(query, step) for step in steps]), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("baselines", [1, 4])
def test_tstar_faro_stands_against_the_mean(baselines: int) -> None:
    x, b = scene(3, baselines=baselines)
    worth = worth_of("tstar-faro", 4.0, x, b)
    for query in range(x.size):
        got = weights(objective_of("tstar-faro", 4.0), QueryMetrics(x, b), query, np.array([0.1]))
        assert got[0] == pytest.approx(worth(query, 0.1), 1e-5)


@pytest.mark.parametrize("spread", ["sd", "se"])
@pytest.mark.parametrize("name", ["saro", "saro-eq9", "faro"])
def test_the_spread_is_estimated_after_the_first_tree_and_kept_or_each_time(name: str, spread: Any) -> None:
    once, each = objective_of(name, 2.0, spread=spread), objective_of(name, 2.0, spread=spread, each=True)
    x, b = scene(4)
    later, _ = scene(5)
    steps = np.array([-0.15, 0.2])

    def assert_worth(objective: LambdaMART, x: np.ndarray, **options: Any) -> None:
        worth = worth_of(name, 2.0, x, b, spread=spread, **options)
        for query in (0, 7, 30):
            got = weights(objective, QueryMetrics(x, b), query, steps)
            np.testing.assert_allclose(got, np.abs([worth(query, step) for step in steps]), rtol=1e-5)

    half = objective_of({"saro": "ucro", "saro-eq9": "ucro-eq9"}.get(name, "ucro"), 1.0)
    for objective in (once, each):
        before = weights(objective, QueryMetrics(x, b, started=False), 3, steps)
        if name == "faro":
            np.testing.assert_allclose(before, 2 * np.abs(steps), rtol=1e-6)
        else:
            np.testing.assert_array_equal(before, weights(half, QueryMetrics(x, b), 3, steps))
        assert objective.state == {}
        assert_worth(objective, x)
    assert_worth(once, later, kept=x - b[0])
    assert_worth(each, later)
    resumed = objective_of(name, 2.0, spread=spread)
    resumed.state = once.state
    assert_worth(resumed, later, kept=x - b[0])
    weights(once, QueryMetrics(x, b, started=False), 3, steps)  # another training begins
    assert_worth(once, later)


@pytest.mark.parametrize("name", ["saro", "saro-eq9", "faro"])
def test_jforests_spread_is_that_of_the_baseline_and_fixed_before_the_first_tree(name: str) -> None:
    objective = objective_of(name, 2.0, spread="jforests")
    (x, b), (later, _), steps = scene(4), scene(5), np.array([-0.15, 0.2])
    for started, now in ((False, x), (True, x), (True, later)):
        worth = worth_of(name, 2.0, now, b, spread="jforests")
        for query in (0, 7, 30):
            got = weights(objective, QueryMetrics(now, b, started=started), query, steps)
            np.testing.assert_allclose(got, np.abs([worth(query, step) for step in steps]), rtol=1e-5)
        assert objective.state == {"kept_spread": pytest.approx(3 * b[0].std(ddof=1))}


def test_what_follows_from_jforests_spread() -> None:
    """SARO(alpha) nears U-CRO(alpha / 2), and FARO a constant factor, as alpha grows."""
    x, b = scene(6, 400)
    apart = []
    for alpha in (1.0, 10.0, 100.0):
        found = objective_of("saro", alpha, spread="jforests").alphas(x - b[0], QueryMetrics(x, b))  # type: ignore[attr-defined]
        factors = 1 + found
        apart.append((np.abs(found / (alpha / 2) - 1).max(), np.quantile(factors, 0.95) / np.quantile(factors, 0.05)))
    assert apart[0][0] > apart[1][0] > apart[2][0] < 0.05
    assert apart[1][1] > apart[2][1] < 1.05


def test_t_risk_drops_what_would_punish_an_improvement() -> None:
    """A query that leads far raises the spread more than the mean."""
    x, b = np.array([0.5, 0.45, 0.55, 0.5, 0.9]), np.full((1, 5), 0.4)
    got = [weights(objective_of("trisk", 1.0), QueryMetrics(x, b), query, np.array([0.02]))[0] for query in range(5)]
    assert got[4] == 0
    assert min(got[:4]) > 0


def test_alphas_lie_between_0_and_alpha_and_are_highest_for_losses() -> None:
    x, b = scene(6)
    objective = objective_of("saro", 3.0)
    found = objective.alphas(x - b[0], QueryMetrics(x, b))  # type: ignore[attr-defined]
    np.testing.assert_allclose(found, alphas(3.0, x - b[0]))
    assert (np.diff(found[np.argsort(x - b[0])]) <= 0).all()
    assert 0 < found.min() < 1.5 < found.max() < 3


@pytest.mark.parametrize("name", ["saro", "saro-eq9", "faro", "tstar-faro"])
def test_no_spread_leaves_half_of_alpha(name: str) -> None:
    """One query, or a model as good as the baseline everywhere: nothing tells queries apart."""
    for x in (np.array([0.4]), np.full(5, 0.4)):
        got = weights(objective_of(name, 4.0), QueryMetrics(x, x[None]), 0, np.array([-0.1]))
        assert got[0] == pytest.approx(0.3, 1e-6)


@pytest.mark.parametrize("alpha", [0.0, 1.0, 5.0, 20.0])
@pytest.mark.parametrize("baselines", [1, 3, 6])
@pytest.mark.parametrize("queries", [20, 60, 300])
def test_georisks_surrogate(queries: int, baselines: int, alpha: float) -> None:
    """Relative error: below 2e-5; but at alpha = 20 swaps in 20 queries leave the series' reach: 0.01."""
    x, b = scene(queries + baselines, queries, baselines)
    objective, metrics = GeoRisk(alpha), QueryMetrics(x, b)
    tolerance = 2e-5 if alpha <= 5 else {20: 1e-2}.get(queries, 2e-5)
    for query in range(0, queries, 4):
        steps = steps_of(x[query], query)
        expected = np.array([georisk_surrogate(x, b, alpha, query, step) for step in steps])
        np.testing.assert_allclose(weights(objective, metrics, query, steps), np.abs(expected), rtol=tolerance)
        assert (np.sign(expected) == np.sign(steps)).all(), "the surrogate itself never punishes an improvement"


@pytest.mark.parametrize("queries", [1, 2, 3, 5, 10])
def test_georisk_of_a_handful_of_queries_has_the_right_sign_and_a_finite_size(queries: int) -> None:
    for seed in range(10):
        x, b = scene(seed, queries, 2)
        for alpha in (0.0, 5.0, 50.0):
            for query in range(queries):
                got = weights(GeoRisk(alpha), QueryMetrics(x, b), query, steps_of(x[query], seed))
                assert np.isfinite(got).all()
                assert (got > 0).all()


@pytest.mark.parametrize("alpha", [0.0, 1.0, 2.0, 5.0])
@pytest.mark.parametrize(("queries", "median", "most"), [(60, 0.03, 0.06), (300, 0.002, 0.006)])
def test_georisk_in_full_is_the_change_of_georisk(queries: int, median: float, most: float, alpha: float) -> None:
    """Errors are shares of dM. What the O(1) form leaves out: the curve of other queries' z, and that they cross 0."""
    errors = []
    for baselines in (1, 5):
        x, b = scene(7, queries, baselines)
        for query in range(0, queries, queries // 20):
            steps = steps_of(x[query], query, 10)
            got = weights(GeoRiskFull(alpha), QueryMetrics(x, b), query, steps)
            true = np.array([georisk_change(x, b, alpha, query, step) for step in steps])
            errors += (np.abs(got - np.maximum(true * np.sign(steps), 0)) / np.abs(steps)).tolist()
    assert np.median(errors) < median
    assert np.quantile(errors, 0.95) < most


def test_georisk_in_full_drops_what_would_punish_an_improvement() -> None:
    x, b = scene(8, 300, 6)
    queries = np.flatnonzero(x > b.max(axis=0))[:20]
    true = np.array([georisk_change(x, b, 20.0, query, 0.02) for query in queries])
    assert (true < -0.01).any(), "a better total raises what is expected everywhere else"
    got = np.array([weights(GeoRiskFull(20.0), QueryMetrics(x, b), query, np.array([0.02]))[0] for query in queries])
    assert (got[true < -1e-3] == 0).all()
    assert (got[true > 1e-3] > 0).all()


def test_georisk_of_a_model_that_finds_nothing_is_lambdamart() -> None:
    for baselines in (np.zeros((2, 3)), np.full((2, 3), 0.5)):
        got = weights(GeoRisk(2.0), QueryMetrics(np.zeros(3), baselines), 0, np.array([0.1, 0.3]))
        np.testing.assert_allclose(got, [0.1, 0.3])


def test_georisk_where_only_the_model_can_score() -> None:
    """Nothing is expected of a query on which all have 0, until the swap."""
    x, b = scene(9, 40, 2)
    x[5], b[:, 5] = 0, 0
    steps = np.array([0.05, 0.3])
    expected = [georisk_surrogate(x, b, 2.0, 5, step) for step in steps]
    np.testing.assert_allclose(weights(GeoRisk(2.0), QueryMetrics(x, b), 5, steps), expected, rtol=2e-5)


@settings(max_examples=60)
@given(st.sampled_from(NAMES), st.sampled_from([0.0, 0.3, 1.0, 4.0]), st.integers(0, 10**6))
def test_objectives_are_consistent(name: str, alpha: float, seed: int) -> None:
    """sign(dM') = sign(dM): in the kernels, a weight above 0. The whole GeoRisk drops what is not."""
    alpha = min(alpha, 1.0) if name == "smooth" else alpha
    x, b = scene(seed, 25, 3 if name in SEVERAL else 1)
    for query in (0, 11, 24):
        steps = np.r_[steps_of(x[query], seed), 1e-5, -1e-5, 0.0]
        got = weights(objective_of(name, alpha), QueryMetrics(x, b), query, steps)
        assert got[-1] == 0
        assert (got[:-1] >= 0).all() if name in ("georisk-full", "trisk") else (got[:-1] > 0).all()


def small(seed: int = 0) -> tuple[RankingData, np.ndarray, np.ndarray]:
    """Queries, every fourth without a relevant document; scores of a model and of two baselines."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 12, 24)
    bounds = np.r_[0, np.cumsum(sizes)]
    labels = rng.integers(0, 3, bounds[-1]).astype(np.float32)
    for query in range(0, 24, 4):
        labels[bounds[query] : bounds[query + 1]] = 0
    data = RankingData(np.zeros((bounds[-1], 0), np.float32), labels, bounds, tuple(map(str, range(24))))
    return data, rng.normal(size=bounds[-1]), rng.normal(size=(2, bounds[-1]))


def bound(name: str, alpha: float, empty: Any = "zero", seed: int = 0, **options: Any) -> RiskObjective:
    data, _, rows = small(seed)
    baseline = None if name == "lambdamart" else rows if name in SEVERAL else rows[0]
    objective = RiskObjective(name, alpha, baseline, pairs=PairOptions(empty=empty), n_jobs=1, **options)
    objective.bind(data)
    return objective


@pytest.mark.parametrize("empty", ["zero", "one", "drop"])
@pytest.mark.parametrize("name", sorted(set(OBJECTIVES) - {"smooth", "trisk", "georisk", "georisk-full", "lambdamart"}))
def test_without_risk_every_objective_is_lambdamart_bit_for_bit(name: str, empty: Any) -> None:
    _, scores, _ = small()
    plain = [part.copy() for part in bound("lambdamart", 0).gradients(scores)]
    np.testing.assert_array_equal(bound(name, 0.0, empty).gradients(scores), plain)


def test_what_an_empty_query_counts() -> None:
    data, scores, _ = small()
    vacant = [query for query in range(24) if query % 4 == 0]
    zero, one, drop = (bound("georisk", 2.0, empty) for empty in ("zero", "one", "drop"))
    for objective in (zero, one, drop):
        objective.gradients(scores)
    assert not zero.x[vacant].any()
    assert not zero.baselines[:, vacant].any()
    assert (one.x[vacant] == 1).all()
    assert (one.baselines[:, vacant] == 1).all()
    others = np.setdiff1d(np.arange(24), vacant)
    assert drop.counted.tolist() == others.tolist()
    kept = RiskObjective("georisk", 2.0, drop.baselines[:, others], n_jobs=1)
    kept.bind(data.select(others))
    rows = np.isin(data.query_of_row, others)
    np.testing.assert_allclose(drop.gradients(scores)[0][rows], kept.gradients(scores[rows])[0], rtol=1e-6)
    for empty, objective in (("zero", zero), ("one", one)):
        assert np.abs(objective.gradients(scores)[0] - drop.gradients(scores)[0]).max() > 1e-4, empty
    assert not drop.gradients(scores)[0][~rows].any()


def test_empty_queries_and_the_spread() -> None:
    _, scores, _ = small()
    spreads = {}
    for empty in ("zero", "one", "drop"):
        objective = bound("saro", 2.0, empty)
        objective.gradients(scores)
        spreads[empty] = objective.objective.state["kept_spread"]
        d = (objective.x - objective.baselines[0])[objective.counted]
        assert spreads[empty] == pytest.approx(np.std(np.where(d < 0, 3 * d, d), ddof=1))
    assert spreads["zero"] == spreads["one"] < spreads["drop"]


def test_copies_share_their_state_and_pickles_keep_it() -> None:
    _, scores, _ = small()
    objective = bound("saro", 2.0)
    gradients = objective.gradients(scores)[0].copy()
    assert copy.deepcopy(objective) is objective
    again = pickle.loads(pickle.dumps(objective))
    assert again.objective == objective.objective
    assert again.objective.state == objective.objective.state != {}
    np.testing.assert_array_equal(again.gradients(scores)[0], gradients)
    np.testing.assert_array_equal(again(scores, "any data set: it was bound by hand")[0], gradients)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_trained_objective_can_be_pickled(threads: int) -> None:
    import lightgbm as lgb

    data, scores, rows = small()
    objective = RiskObjective("saro", 1.0, rows[0], n_jobs=threads)
    dataset = lgb.Dataset(scores[:, None], data.labels, group=data.sizes, params={"verbose": -1})
    lgb.train({"objective": objective, "verbose": -1, "num_threads": 1}, dataset, 3)
    again = pickle.loads(pickle.dumps(objective))
    np.testing.assert_array_equal(again(scores, dataset)[0], objective(scores, dataset)[0])


MISTAKES: list[tuple[Any, str]] = [
    (lambda: objective_of("risk", 1.0), "objective must be one of lambdamart, ucro, .*; got 'risk'"),
    (lambda: objective_of("ucro", 1.0, spread="se"), "objective ucro has the options alpha; got spread"),
    (lambda: objective_of("saro", 1.0, spread="iqr"), "spread must be one of sd, se, jforests; got 'iqr'"),
    (lambda: objective_of("tail", 1.0, share=0), "share must be above 0 and at most 1; got 0"),
    (lambda: objective_of("ucro", -1.0), "alpha must be a number of 0 or more, .*; got -1"),
    (lambda: objective_of("smooth", 9.0), "does not increase everywhere"),
    (lambda: bound_with("ucro", None), "objective ucro needs a baseline"),
    (lambda: bound_with("georisk", None), "objective georisk needs a baseline"),
    (
        lambda: bound_with("saro", np.zeros((2, 24))),
        "got 2 baselines: choose one, virtual_baseline MEAN",
    ),
    (lambda: bound_with("churn", np.zeros(24)), "churn needs one baseline that scores documents"),
    (lambda: bound_with("churn", small()[2]), "churn needs one baseline that scores documents"),
    (lambda: bound_with("churn", small()[1], metric="map"), "churn adds gains of ndcg; it can't be trained for map"),
]


def bound_with(name: str, baseline: Any, **chosen: Any) -> None:
    data, scores, _ = small()
    objective = RiskObjective(name, 1.0, baseline, pairs=PairOptions(**chosen), n_jobs=1)
    objective.bind(data)
    objective.gradients(scores)


@pytest.mark.parametrize(("make", "words"), MISTAKES, ids=[words for _, words in MISTAKES])
def test_mistakes_are_named(make: Any, words: str) -> None:
    with pytest.raises(SurefootError, match=words):
        make()
