"""Rankings, swaps and gradients of the native library: orders, the order of sums, bits by level, refused arguments."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot.lambdas.gradients import GLOBAL, PER_QUERY, Buffers, PairWeights
from surefoot.lambdas.metrics import Metric, Queries
from surefoot.native import kernel
from tests.native.levels import RUNNABLE

FORMS = ("factor", "line", "step", "cubic", "t", "georisk")
METRICS = ("ndcg", "map", "mrr", "err")
SIZES = np.array([1, 0, 2, 3, 5, 16, 17, 31, 40, 130])
SINGLE = np.float32


def queries_of(metric: Any, seed: int, sizes: np.ndarray = SIZES) -> tuple[Queries, np.ndarray, np.ndarray]:
    """Queries, scores, and an order that is not up to date."""
    rng = np.random.default_rng(seed)
    bounds = np.concatenate([[0], np.cumsum(sizes)])
    labels = rng.integers(0, 5, bounds[-1]) * (rng.random(bounds[-1]) < 0.5)
    bound = Metric(metric, max_label=4 if metric == "err" else None).bind(labels, bounds)
    return bound.queries, rng.normal(size=bounds[-1]) * rng.choice([1.0, 100.0]), bound.first_order()


def weights_of(form: Any, seed: int, queries: int = SIZES.size) -> PairWeights:
    rng = np.random.default_rng(seed)
    return PairWeights(form, rng.random((queries, PER_QUERY), SINGLE), rng.random(GLOBAL, SINGLE) + 1)


def gradients_of(
    queries: Queries, scores: np.ndarray, order: np.ndarray, weights: PairWeights, norm: bool = True,
    level: str | None = None,
) -> np.ndarray:  # fmt: skip
    """Gradients and hessians; the order is overwritten."""
    count, out = queries.bounds.size - 1, np.full((2, scores.size), np.nan, SINGLE)
    kernel("rank_queries", level)(queries, scores, order, False, np.empty(count), 0, count)
    buffers = Buffers.of(queries.discounts.shape[1])
    kernel("lambda_gradients", level)(queries, scores, order, weights, 1000, 1.0, norm, 0, count, buffers, *out)
    return out


@given(st.lists(st.integers(0, 40), min_size=1, max_size=300))
def test_documents_are_ranked_by_score_then_row(scores):
    values = np.array(scores, dtype=np.float64)
    order = np.arange(values.size, dtype=np.int32)[::-1].copy()
    queries = Queries(np.array([0, values.size]), values, np.zeros((2, values.size), SINGLE), "ndcg")
    kernel("rank_queries")(queries, values, order, False, np.empty(1), 0, 1)
    assert order.tolist() == np.argsort(-values, kind="stable").tolist()


def summed(values: np.ndarray) -> np.float32:
    """A sum in the order of the kernel: 16 lanes, then 4 with the sum so far in the first, then one by one."""
    total, at = SINGLE(0), 0
    for lanes in (16, 4):
        size = (values.size - at) // lanes * lanes
        if size:
            sums = np.zeros(lanes, SINGLE)
            sums[0] = total
            for row in values[at : at + size].reshape(-1, lanes):
                sums += row
            while sums.size > 1:
                sums = sums[: sums.size // 2] + sums[sums.size // 2 :]
            total, at = sums[0], at + size
    for value in values[at:]:
        total += value
    return total


@pytest.mark.parametrize("size", [2, 4, 5, 8, 16, 17, 20, 21, 33, 64, 119])
def test_gradients_are_sums_of_floats_in_a_fixed_order(size):
    """Of labels that are all relevant, so that each document is paired with all below it; without normalisation."""
    rng = np.random.default_rng(size)
    metric = Metric().bind(rng.integers(1, 5, size), np.array([0, size]))
    scores = np.sort(rng.normal(size=size))[::-1].copy()
    found = gradients_of(metric.queries, scores, metric.first_order(), weights_of("factor", 0, 1), norm=False)
    gain, factor = metric.gains.astype(SINGLE), weights_of("factor", 0, 1).per_query[0, 0]
    (discount, rest), middle = metric.discounts, 0.5 * (scores[0] + scores[-1])
    power = np.empty(size)
    kernel("expf")((scores - middle).astype(SINGLE).astype(np.float64), power)
    power = power.astype(SINGLE)
    gradient, hessian = np.zeros((2, size), SINGLE)
    for i in range(size - 1):
        below = slice(i + 1, size)
        change = (gain[below] - gain[i]) * ((discount[i] - discount[below]) + (rest[i] - rest[below]))
        inverse = SINGLE(1) / (power[i] + power[below])
        loss = np.where(change > 0, power[i], power[below]) * inverse
        curvature = loss * np.where(change > 0, power[below], power[i]) * inverse
        weight = factor * np.abs(change)
        slopes, curved = weight * np.where(change > 0, loss, -loss), weight * curvature
        gradient[below] -= slopes
        hessian[below] += curved
        gradient[i] += summed(slopes)
        hessian[i] += summed(curved)
    assert found.tobytes() == np.stack([gradient, hessian]).tobytes()
    assert np.abs(gradient).min() > 0


@pytest.mark.parametrize("norm", [True, False])
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("form", FORMS)
def test_every_level_gives_the_same_bits(form, metric, norm):
    for seed in range(3):
        queries, scores, order = queries_of(metric, seed)
        found = [gradients_of(queries, scores, order.copy(), weights_of(form, seed), norm, level) for level in RUNNABLE]
        assert len({one.tobytes() for one in found}) == 1
        assert np.abs(found[0][0]).sum() > 0


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("form", FORMS)
def test_pairs_have_the_same_bits_at_every_level(form, metric):
    queries, scores, order = queries_of(metric, 5)
    count, longest = SIZES.size, int(SIZES.max())
    kernel("rank_queries")(queries, scores, order, False, np.empty(count), 0, count)
    weights, found = weights_of(form, 5), set()
    for level in RUNNABLE:
        change, weight = np.zeros((2, count, longest, longest), SINGLE)
        scratch = np.empty(longest, SINGLE), np.empty((2, longest))
        kernel("pair_weights", level)(queries, order, weights, 100, 0, count, *scratch, change, weight)
        found.add(change.tobytes() + weight.tobytes())
    assert len(found) == 1
    assert (weight > 0).any()


def refused(**changed: Any) -> None:
    """All kernels that take queries refuse these arguments."""
    queries, scores, order = queries_of("ndcg", 0)
    given = {"bounds": queries.bounds, "order": order, "first": 0, "end": SIZES.size, "queries": SIZES.size} | changed
    queries = queries._replace(bounds=given["bounds"])
    span, weights = (given["first"], given["end"]), weights_of("line", 0, given["queries"])
    count, longest, values = SIZES.size, int(SIZES.max()), np.empty(SIZES.size)
    scratch = np.empty(longest, SINGLE), np.empty((2, longest)), np.empty((2, count, longest, longest), SINGLE)
    out = np.empty((2, scores.size), SINGLE)
    calls = {
        "rank_queries": (queries, scores, given["order"], False, values, *span),
        "lambda_gradients": (queries, scores, given["order"], weights, 9, 1.0, 1, *span, Buffers.of(longest), *out),
        "pair_weights": (queries, given["order"], weights, 9, *span, *scratch[:2], *scratch[2]),
    }  # fmt: skip
    for name in calls.keys() - ({"rank_queries"} if "queries" in changed else set()):
        with pytest.raises(IndexError, match=name):
            kernel(name)(*calls[name])


def test_what_is_out_of_range_is_refused():
    queries, _, order = queries_of("ndcg", 0)
    for offset in (-1, 130, 1 << 30):
        wrong = order.copy()
        wrong[-1] = offset
        refused(order=wrong)
    for query, bound in ((0, -1), (1, 300), (3, 1 << 40), (10, 246), (5, 0)):
        wrong = queries.bounds.copy()
        wrong[query] = bound
        refused(bounds=wrong)
    refused(first=-1)
    refused(end=SIZES.size + 1)
    refused(queries=SIZES.size - 1)
