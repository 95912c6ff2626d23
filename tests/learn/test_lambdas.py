"""The gradients of pairs: LightGBM's lambdarank written out, the fast kernels against it, what no ranking may change.

How close is close? The oracle's gradients are float32 sums of either sign, so a document's error is measured against
the largest gradient (or hessian) of its query: CLOSE of that, or CLOSE of its own size. Measured: at most
6e-6 of both together, most of it the oracle's own rounding as it adds up long queries.
LightGBM's sigmoid is a table whose steps are 5e-5 of an exponent wide; that alone moves gradients by up to 5e-5.
"""

from functools import cache
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest
from hypothesis import given as drawing
from hypothesis import settings
from hypothesis import strategies as st

from surefoot.errors import SurefootError
from surefoot.lambdas.gradients import LambdaGradients
from surefoot.lambdas.metrics import Metric
from surefoot.learn.boosting import RiskObjective
from surefoot.learn.data import RankingData
from surefoot.learn.objectives import OBJECTIVES
from surefoot.learn.settings import PairOptions
from tests.learn.lightgbm_oracle import STEADY, Documents, Oracle, made_up, read, trees
from tests.learn.slow_swaps import gradients_of, metric_of, worth_of

CLOSE, BY_TABLE = 1e-5, 1e-4
SETTINGS: list[dict[str, Any]] = [
    {},
    {"norm": False},
    {"sigmoid": 2.0},
    {"label_gain": (0.0, 1.0, 2.0, 7.0, 20.0)},
    {"truncation": 1},
    {"truncation": None},
    {"truncation": None, "norm": False, "sigmoid": 0.3},
]


def as_data(docs: Documents) -> RankingData:
    names = tuple(str(query) for query in range(docs.sizes.size))
    return RankingData(docs.X.astype(np.float32), docs.labels.astype(np.float32), docs.bounds, names)


def fast(
    docs: Documents, scores: np.ndarray, name: str = "lambdamart", alpha: float = 1.0, threads: int = 1, **options: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Gradients and hessians of an objective, in arrays of their own."""
    weight = options.pop("weight", None)
    baseline = options.pop("baseline", None)
    chosen = {key: options.pop(key) for key in list(options) if key in PairOptions.__dataclass_fields__}
    objective = RiskObjective(name, alpha, baseline, pairs=PairOptions(**chosen), n_jobs=threads, **options)
    objective.bind(as_data(docs), weight)
    gradients, hessians = objective.gradients(scores)
    return gradients.copy(), hessians.copy()


def assert_close(got: np.ndarray, expected: np.ndarray, docs: Documents, tolerance: float = CLOSE) -> None:
    largest = np.array([np.abs(part).max(initial=0) for part in np.split(expected, docs.bounds[1:-1])])
    allowed = tolerance * (np.abs(expected) + np.repeat(largest, docs.sizes)) + 1e-30
    over = np.abs(got - expected) - allowed
    assert (over <= 0).all(), f"document {over.argmax()}: {got[over.argmax()]:g}, not {expected[over.argmax()]:g}"


@cache
def corpus(name: str, folder: Path) -> Documents:
    files = {"mq2008": "mq2008/S1.txt.gz", "mslr": "mslr-sample/fold1.train.5k.txt.gz"}
    return read(folder / files[name])


def assert_same_model(docs: Documents, rounds: int, **chosen: Any) -> None:
    params = {**STEADY, "num_leaves": 15, "min_data_in_leaf": 10}
    theirs: dict[str, Any] = {
        "objective": "lambdarank",
        "lambdarank_norm": chosen.get("norm", True),
        "sigmoid": chosen.get("sigmoid", 1.0),
        "lambdarank_truncation_level": chosen.get("truncation", 30) or 100_000,
    }
    if "label_gain" in chosen:
        theirs["label_gain"] = list(chosen["label_gain"])
    built_in = lgb.train({**params, **theirs}, docs.dataset(), rounds)
    ours = lgb.train({**params, "objective": Oracle(**chosen)}, docs.dataset(), rounds)
    assert trees(ours) == trees(built_in)
    assert ours.num_trees() == rounds


@pytest.mark.parametrize("chosen", SETTINGS, ids=str)
def test_the_oracle_trains_the_very_trees_of_lightgbm(chosen: dict[str, Any]) -> None:
    assert_same_model(made_up(), 40, **chosen)


@pytest.mark.parametrize("chosen", SETTINGS[:4], ids=str)
@pytest.mark.parametrize("name", ["mq2008", "mslr"])
def test_the_oracle_trains_the_very_trees_of_lightgbm_on_public_data(
    name: str, chosen: dict[str, Any], data: Path
) -> None:
    assert_same_model(corpus(name, data), 40 if name == "mq2008" else 15, **chosen)


def test_the_oracle_would_notice_another_arithmetic() -> None:
    docs, params = made_up(), {**STEADY, "num_leaves": 15, "min_data_in_leaf": 10}
    exact = lgb.train({**params, "objective": Oracle(table=False)}, docs.dataset(), 40)
    built_in = lgb.train({**params, "objective": "lambdarank"}, docs.dataset(), 40)
    assert trees(exact) != trees(built_in)


@pytest.mark.parametrize("norm", [True, False])
@pytest.mark.parametrize(("name", "other"), [("ucro", "mrr"), ("ucro", "map"), ("tail", "mrr")])
def test_risk_in_another_metric_adds_its_own_part(name: str, other: str, norm: bool) -> None:
    """Pair by pair: the change of NDCG, and alpha times the change of the other metric below the baseline."""
    docs = made_up()
    random = np.random.default_rng(3)
    scores, baseline = random.normal(size=(2, docs.labels.size))
    got = fast(docs, scores, name, 2.0, baseline=baseline, norm=norm, risk_metric=other)
    data = as_data(docs)
    metrics = {key: PairOptions(metric=key).trained_metric.bind(data.labels, data.bounds) for key in ("ndcg", other)}  # type: ignore[arg-type]
    worth = worth_of(name, 2.0, metrics[other](scores), metrics[other](baseline)[None])

    def part(key: str, of_pair: Any) -> np.ndarray:
        return gradients_of(
            scores, docs.labels, docs.bounds, lambda ranked: metric_of(key, ranked, 30), of_pair, norm=norm
        )

    expected = part("ndcg", lambda _, change: change) + part(other, lambda q, change: worth(q, change) - change)
    for ours, theirs in zip(got, expected, strict=True):
        assert_close(ours, theirs, docs, 1e-4)


def test_objectives_that_do_not_part_risk_from_reward_have_one_metric() -> None:
    docs = made_up()
    scores = np.random.default_rng(3).normal(size=docs.labels.size)
    for name in ("georisk", "faro", "upside", "trisk", "smooth"):
        with pytest.raises(SurefootError, match=f"objective {name} does not separate risk from reward"):
            fast(docs, scores, name, 1.0, baseline=-scores, risk_metric="mrr")


def edges() -> Documents:
    """Queries of one and two documents, without relevant ones, with nothing else."""
    labels = np.array([1, 0, 1, 2, 0, 0, 0, 0, 0, 3, 3, 0, 4, 4, 4], float)
    return Documents(np.zeros((15, 1)), labels, np.array([1, 1, 2, 2, 3, 3, 3]))


def large() -> Documents:
    """Two queries so long that a random order is not sorted by insertion."""
    docs = made_up(6, 1500, seed=2)
    return Documents(docs.X, docs.labels, np.array([docs.labels.size - 1200, 1200]))


SETS = {"made up": made_up(40, 60, seed=1), "edges": edges(), "large": large()}
SCORES = {
    "normal": lambda rng, n: rng.normal(size=n),
    "small": lambda rng, n: rng.normal(size=n) * 1e-3,
    "ties": lambda rng, n: rng.integers(0, 4, n) * 0.5,
    "equal": lambda rng, n: np.full(n, 0.3),
    "nearly equal": lambda rng, n: rng.normal(size=n).round(1) * 1e-6,
    "far from zero": lambda rng, n: rng.normal(size=n) + 1e6,
    "spread": lambda rng, n: rng.uniform(-35, 35, n),
    "wide": lambda rng, n: rng.uniform(-1e3, 1e3, n),
}


@pytest.mark.parametrize("chosen", SETTINGS, ids=str)
@pytest.mark.parametrize("kind", SCORES)
@pytest.mark.parametrize("name", SETS)
def test_the_fast_kernel_is_lambdarank(name: str, kind: str, chosen: dict[str, Any]) -> None:
    docs = SETS[name]
    scores = SCORES[kind](np.random.default_rng(5), docs.labels.size)
    gradients, hessians = fast(docs, scores, **chosen)
    exact = Oracle(**chosen, table=False).of(scores, docs.labels, docs.bounds)
    floor = 1e-30 if kind != "wide" else 1e-12  # beyond a table of ±50 nothing is left to compare
    assert_close(
        np.where(np.abs(gradients) > floor, gradients, 0), np.where(np.abs(exact[0]) > floor, exact[0], 0), docs
    )
    assert_close(np.where(hessians > floor, hessians, 0), np.where(exact[1] > floor, exact[1], 0), docs)
    if kind not in ("wide", "spread"):
        table = Oracle(**chosen).of(scores, docs.labels, docs.bounds)
        assert_close(gradients, table[0], docs, BY_TABLE)
        assert_close(hessians, table[1], docs, BY_TABLE)


def test_ten_trees_of_the_fast_kernel_are_lightgbms() -> None:
    docs, params = made_up(), {**STEADY, "num_leaves": 15, "min_data_in_leaf": 10}
    ours = lgb.train({**params, "objective": RiskObjective("lambdamart")}, docs.dataset(), 10)
    built_in = lgb.train({**params, "objective": "lambdarank"}, docs.dataset(), 10)
    np.testing.assert_allclose(ours.predict(docs.X), built_in.predict(docs.X), atol=2e-4)


SMALL = made_up(25, 14, seed=3)
BASELINES = np.random.default_rng(8).normal(size=(3, SMALL.labels.size)) + SMALL.labels / 2
TOLERANCE = {"georisk": 1e-4, "georisk-full": 0.03}


def some(name: str, baselines: np.ndarray) -> Any:
    """As many baselines as the objective takes."""
    if name == "lambdamart":
        return None
    return baselines if name in ("georisk", "georisk-full", "tstar-faro") else baselines[0]


@pytest.mark.parametrize("metric", ["ndcg", "map", "mrr", "err"])
@pytest.mark.parametrize("name", sorted(set(OBJECTIVES) - {"churn"}))
def test_every_objective_under_every_metric_pulls_as_written_out_pair_by_pair(name: str, metric: Any) -> None:
    scores = np.random.default_rng(4).normal(size=SMALL.labels.size)
    given, alpha = some(name, BASELINES), 1.0 if name == "smooth" else 2.0
    chosen: dict[str, Any] = {"metric": metric, "truncation": 8, "sigmoid": 1.5}
    if metric == "err":
        chosen["max_label"] = 4
    got = fast(SMALL, scores, name, alpha, baseline=given, **chosen)
    form = Metric(metric, ideal=8, max_label=4 if metric == "err" else None)
    x = form(scores, SMALL.labels, SMALL.bounds)
    b = (
        np.array([form(one, SMALL.labels, SMALL.bounds) for one in np.atleast_2d(given)])
        if given is not None
        else x[:0]
    )
    slow = gradients_of(
        scores, SMALL.labels, SMALL.bounds, lambda ranked: metric_of(metric, ranked, ideal=8),
        worth_of(name, alpha, x, b), 8, 1.5,
    )  # fmt: skip
    assert_close(got[0], slow[0], SMALL, TOLERANCE.get(name, CLOSE))
    assert_close(got[1], slow[1], SMALL, TOLERANCE.get(name, CLOSE))


@pytest.mark.parametrize("norm", [True, False])
def test_churn_pulls_as_written_out_pair_by_pair(norm: bool) -> None:
    """Its metric is NDCG plus alpha times an NDCG whose gains are the discounts of the baseline's ranks."""
    rng = np.random.default_rng(6)
    n = 12
    docs = Documents(np.zeros((n, 1)), rng.integers(0, 3, n).astype(float), np.array([n]))
    scores, baseline = rng.normal(size=n), rng.normal(size=n).round(1)
    place = np.empty(n)
    place[np.argsort(-baseline, kind="stable")] = np.arange(n)
    agreement = 1 / np.log2(2 + place)

    def mixed(rows: list[int]) -> float:
        discounts = 1 / np.log2(2 + np.arange(n))
        return metric_of("ndcg", [int(docs.labels[row]) for row in rows]) + 0.7 * float(
            (agreement[rows] * discounts).sum() / (discounts**2).sum()
        )

    order = np.argsort(-scores)
    pull, total = np.zeros(n), 0.0
    for i in range(n):
        for j in range(i + 1, n):
            rows = order.copy()
            rows[[i, j]] = rows[[j, i]]
            change = mixed(list(rows)) - mixed(list(order))
            high, low = (order[j], order[i]) if change > 0 else (order[i], order[j])
            apart = scores[high] - scores[low]
            force = abs(change) / (1 + np.exp(apart)) / (0.01 + abs(apart) if norm else 1)
            pull[[high, low]] += [-force, force]
            total += 2 * force
    expected = pull * (np.log2(1 + total) / total if norm else 1)
    got, _ = fast(docs, scores, "churn", 0.7, baseline=baseline, norm=norm)
    assert_close(got, expected, docs)


OBJECTIVE = st.sampled_from(sorted(OBJECTIVES))
SEED = st.integers(0, 10**6)


def drawn(seed: int) -> tuple[Documents, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    docs = made_up(20, 12, seed)
    return docs, rng.normal(size=docs.labels.size), rng.normal(size=(2, docs.labels.size))


@settings(max_examples=30)
@drawing(SEED, OBJECTIVE, st.sampled_from([0.0, 1.0]))
def test_the_pulls_of_a_query_cancel_out_and_curve_upwards(seed: int, name: str, alpha: float) -> None:
    docs, scores, baselines = drawn(seed)
    gradients, hessians = fast(docs, scores, name, alpha, baseline=some(name, baselines))
    for part in np.split(gradients.astype(float), docs.bounds[1:-1]):
        assert abs(part.sum()) <= 1e-5 * np.abs(part).sum()
    assert (hessians >= 0).all()
    assert np.isfinite(gradients).all()


@settings(max_examples=30)
@drawing(SEED, OBJECTIVE)
def test_the_order_of_queries_and_of_rows_does_not_matter(seed: int, name: str) -> None:
    docs, scores, baselines = drawn(seed)
    rng = np.random.default_rng(seed)
    queries = rng.permutation(docs.sizes.size)
    rows = np.concatenate([rng.permutation(np.arange(docs.bounds[q], docs.bounds[q + 1])) for q in queries])
    shuffled = Documents(docs.X[rows], docs.labels[rows], docs.sizes[queries])
    one = fast(docs, scores, name, 1.0, baseline=some(name, baselines))
    two = fast(shuffled, scores[rows], name, 1.0, baseline=some(name, baselines[:, rows]))
    assert_close(two[0], one[0][rows], shuffled)
    assert_close(two[1], one[1][rows], shuffled)


@settings(max_examples=30)
@drawing(SEED, OBJECTIVE, st.sampled_from([-300.0, 0.125, 4.0, 1e5]))
def test_a_constant_added_to_a_querys_scores_changes_nothing(seed: int, name: str, constant: float) -> None:
    docs, scores, baselines = drawn(seed)
    shifted = scores + np.repeat(constant * np.arange(docs.sizes.size), docs.sizes)
    one = fast(docs, scores, name, 1.0, baseline=some(name, baselines))
    two = fast(docs, shifted, name, 1.0, baseline=some(name, baselines))
    assert_close(two[0], one[0], docs)


@pytest.mark.parametrize("name", sorted(OBJECTIVES))
def test_threads_change_no_bit(name: str) -> None:
    docs = made_up(60, 90, seed=9)
    rng = np.random.default_rng(9)
    scores, baselines = rng.normal(size=docs.labels.size), rng.normal(size=(2, docs.labels.size))
    one = fast(docs, scores, name, 1.0, 1, baseline=some(name, baselines))
    for threads in (2, 3):
        more = fast(docs, scores, name, 1.0, threads, baseline=some(name, baselines))
        np.testing.assert_array_equal(more, one)


@pytest.mark.parametrize("docs", [large(), made_up(20, 12)], ids=["sorted anew", "sorted by insertion"])
def test_an_old_order_leaves_no_trace(docs: Documents) -> None:
    rng = np.random.default_rng(1)
    objective = RiskObjective("lambdamart", n_jobs=2)
    objective.bind(as_data(docs))
    for distinct in (50, 3, 50, 1):
        scores = rng.integers(0, distinct, docs.labels.size) * 1.0
        np.testing.assert_array_equal(objective.gradients(scores), fast(docs, scores))


def test_weights_multiply() -> None:
    docs, scores, _ = drawn(3)
    plain = fast(docs, scores)
    by_query = np.random.default_rng(0).random(docs.sizes.size).astype(np.float32)
    by_row = np.repeat(by_query, docs.sizes)
    for weight in (by_query, by_row):
        weighted = fast(docs, scores, weight=weight)
        np.testing.assert_array_equal(weighted[0], plain[0] * by_row)
        np.testing.assert_array_equal(weighted[1], plain[1] * by_row)
    with pytest.raises(
        SurefootError, match=f"weights: one for each of {docs.labels.size} documents or of 20 queries; got 3"
    ):
        fast(docs, scores, weight=[1, 2, 3])


@pytest.mark.parametrize("name", sorted(OBJECTIVES))
def test_queries_without_documents_and_sets_without_queries(name: str) -> None:
    docs = Documents(np.zeros((3, 1)), np.array([0.0, 1, 2]), np.array([3]))
    holes = Documents(docs.X, docs.labels, np.array([0, 3, 0, 0]))
    scores = np.array([0.3, 0.2, 0.1])
    if name in ("lambdamart", "ucro", "churn", "smooth"):  # whatever counts queries counts the empty ones too
        one = fast(docs, scores, name, baseline=some(name, scores[None]))
        np.testing.assert_array_equal(fast(holes, scores, name, baseline=some(name, scores[None])), one)
    nothing = Documents(np.zeros((0, 1)), np.zeros(0), np.zeros(0, np.int64))
    for empty in (nothing, Documents(nothing.X, nothing.labels, np.array([0]))):
        assert fast(empty, np.zeros(0), name, baseline=np.zeros(0))[0].size == 0


def test_settings_are_checked() -> None:
    for chosen, words in (
        ({"truncation": 0}, "truncation must be 1 or more, or None for all pairs; got 0"),
        ({"sigmoid": 0.0}, "sigmoid must be above 0; got 0"),
        ({"empty": "skip"}, "empty must be one of zero, one, drop; got 'skip'"),
    ):
        with pytest.raises(SurefootError, match=words):
            PairOptions(**chosen)  # type: ignore[arg-type]


def test_lambdas_hold_the_metric_of_each_query() -> None:
    docs, scores, _ = drawn(1)
    lambdas = LambdaGradients(Metric(ideal=5).bind(docs.labels, docs.bounds), PairOptions().loop, n_jobs=2)
    np.testing.assert_array_equal(lambdas.rank(scores), Metric(ideal=5)(scores, docs.labels, docs.bounds))
