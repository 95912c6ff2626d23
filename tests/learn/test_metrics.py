"""Metrics of rankings and how swaps change them, against slow definitions and against other tools."""

from itertools import pairwise

import ir_measures
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, ndcg_score

from surefoot.errors import SurefootError
from surefoot.lambdas.gradients import LambdaGradients, by_factor
from surefoot.lambdas.metrics import Metric, is_empty
from surefoot.learn.settings import PairOptions
from tests.learn.slow_swaps import exchanged, metric_of, ranking

NAMES = ("ndcg", "map", "mrr", "err")


def queries(seed: int, most: int = 30, ties: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores, labels and bounds of queries of all sorts: tiny, without relevant documents, with nothing else."""
    rng = np.random.default_rng(seed)
    sizes = np.r_[1, 1, 2, 3, rng.integers(1, most, 6)]
    bounds = np.r_[0, np.cumsum(sizes)]
    labels = rng.integers(0, 5, bounds[-1]) * (rng.random(bounds[-1]) < 0.5)
    labels[bounds[4] : bounds[5]] = 0
    labels[bounds[5] : bounds[6]] = 3
    scores = rng.integers(0, 4, bounds[-1]).astype(float) if ties else rng.normal(size=bounds[-1])
    return scores, labels, bounds


def slow(name: str, scores: np.ndarray, labels: np.ndarray, bounds: np.ndarray, **settings: int) -> list[float]:
    parts = [slice(begin, stop) for begin, stop in pairwise(bounds)]
    return [
        metric_of(name, [int(labels[part][place]) for place in ranking(scores[part])], **settings) for part in parts
    ]


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", NAMES)
def test_a_metric_is_what_its_definition_says(name: str, seed: int, ties: bool) -> None:
    scores, labels, bounds = queries(seed, ties=ties)
    np.testing.assert_allclose(Metric(name, max_label=4)(scores, labels, bounds), slow(name, scores, labels, bounds))


@pytest.mark.parametrize("name", NAMES)
def test_a_metric_of_an_order_is_that_of_the_scores_behind_it(name: str) -> None:
    scores, labels, bounds = queries(5, ties=True)
    metric = Metric(name, max_label=4).bind(labels, bounds, "one")
    order = np.concatenate([ranking(scores[begin:stop]) for begin, stop in pairwise(bounds)]).astype(np.int32)
    np.testing.assert_array_equal(metric.of_order(order), metric(scores))


@pytest.mark.parametrize("settings", [{"ideal": 3}, {"cutoff": 1}, {"cutoff": 5}, {"cutoff": 100}])
def test_ndcg_with_a_cutoff_or_a_cut_ideal(settings: dict[str, int]) -> None:
    scores, labels, bounds = queries(7)
    np.testing.assert_allclose(
        Metric(**settings)(scores, labels, bounds), slow("ndcg", scores, labels, bounds, **settings)
    )


def test_training_ndcg_can_pass_one() -> None:
    assert Metric(ideal=1)([3.0, 2.0], [1, 1], np.array([0, 2]))[0] == pytest.approx(1 + 1 / np.log2(3))


def test_other_tools_agree() -> None:
    scores, labels, bounds = queries(11, most=60)
    qrels, run = {}, {}
    for q in range(bounds.size - 1):
        part = slice(bounds[q], bounds[q + 1])
        qrels[str(q)] = {f"d{row}": int(label) for row, label in enumerate(labels[part])}
        run[str(q)] = {f"d{row}": float(score) for row, score in enumerate(scores[part])}
    theirs = {"map": ir_measures.AP, "mrr": ir_measures.RR}
    for name, measure in theirs.items():
        by_query = {m.query_id: m.value for m in ir_measures.iter_calc([measure], qrels, run)}
        ours = Metric(name)(scores, labels, bounds)
        np.testing.assert_allclose(ours, [by_query[str(q)] for q in range(bounds.size - 1)], atol=1e-6)
    for q in range(bounds.size - 1):
        part = slice(bounds[q], bounds[q + 1])
        if part.stop - part.start < 2 or not labels[part].any():
            continue
        gains = 2.0 ** labels[part] - 1
        for k in (1, 5, 10):
            ours = Metric(cutoff=k)(scores, labels, bounds)[q]
            assert ours == pytest.approx(ndcg_score([gains], [scores[part]], k=k))
        ap = average_precision_score(labels[part] >= 1, scores[part])
        assert Metric("map")(scores, labels, bounds)[q] == pytest.approx(ap)


def test_err_by_hand() -> None:
    """A grade of 2 on a scale to 2 satisfies with chance 3/4, a grade of 1 with chance 1/4."""
    value = Metric("err", max_label=2)([3.0, 2.0, 1.0], [1, 0, 2], np.array([0, 3]))[0]
    assert value == pytest.approx(1 / 4 + 3 / 4 * 3 / 4 / 3)


def test_label_gain_replaces_the_powers_of_two() -> None:
    plain, powers = Metric(label_gain=(0, 1, 2)), Metric()
    scores, labels, bounds = np.array([1.0, 2, 3]), np.array([2, 0, 1]), np.array([0, 3])
    assert plain(scores, labels, bounds)[0] == pytest.approx((1 + 2 / 2) / (2 + 1 / np.log2(3)))
    assert Metric(label_gain=(0, 1, 3))(scores, labels, bounds) == powers(scores, labels, bounds)


@given(st.lists(st.integers(0, 4), min_size=2, max_size=25), st.sampled_from(NAMES), st.sampled_from([None, 1, 5]))
def test_the_change_of_each_swap_is_that_of_making_it(ranked: list[int], name: str, ideal: int | None) -> None:
    n, metric = len(ranked), Metric(name, ideal=ideal, max_label=4)
    lambdas = LambdaGradients(metric.bind(ranked, np.array([0, n])), PairOptions(truncation=None).loop)
    changes = lambdas.pairs(by_factor(np.ones(1))).change[0]
    now = metric_of(name, ranked, ideal)
    for rank in range(n - 1):
        change = changes[rank, rank + 1 :]
        made = [metric_of(name, exchanged(ranked, rank, other), ideal) - now for other in range(rank + 1, n)]
        np.testing.assert_allclose(change, made, rtol=1e-5, atol=3e-7)
        equal = np.array(ranked[rank + 1 :]) == ranked[rank]
        assert not change[equal].any(), "equal labels must not pull at each other at all"


def test_which_queries_are_empty() -> None:
    bounds = np.array([0, 2, 2, 3, 5])
    assert is_empty([0, 1, 0, 0, 2], bounds).tolist() == [False, True, True, False]
    assert is_empty([], np.array([0])).tolist() == []


def test_a_query_without_documents_is_zero() -> None:
    assert Metric()([1.0, 0.5], [1, 0], np.array([0, 0, 2, 2])).tolist() == [0.0, 1.0, 0.0]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Metric("dcg"), "metric must be one of ndcg, map, mrr, err; got 'dcg'"),  # type: ignore[arg-type]
        (lambda: Metric("map", cutoff=3), "belongs to ndcg, not to map"),
        (lambda: Metric("err", label_gain=(0, 1)), "belongs to ndcg, not to err"),
        (lambda: Metric()([1.0], [1, 0], np.array([0, 2])), "2 documents need as many scores; got 1"),
        (lambda: Metric()([1.0, np.nan], [1, 0], np.array([0, 2])), "score of document 2 is not a number"),
        (lambda: Metric()([1.0], [31], np.array([0, 1])), "label 31 has no gain; labels go up to 30"),
        (lambda: Metric(label_gain=(0, 1))([1.0], [2], np.array([0, 1])), "up to 1, as label_gain has that many"),
        (lambda: Metric("err")([1.0], [25], np.array([0, 1])), "err takes labels up to 24; got 25"),
    ],
)
def test_mistakes_are_named(make: object, words: str) -> None:
    with pytest.raises(SurefootError, match=words.replace("(", r"\(")):
        make()  # type: ignore[operator]
