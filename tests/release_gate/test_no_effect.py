"""Statistics under no effect, against enumeration, permutations, scipy and simulation."""

from collections.abc import Callable
from itertools import combinations, product
from math import ceil, inf, nan, sqrt
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from surefoot.release_gate.checker import tail_of, worst_loss
from surefoot.release_gate.finding import ScoredPair
from surefoot.release_gate.seen import (
    MOST_FLIPPED,
    PRIOR,
    Contrast,
    Evidence,
    contrasts,
    mean_evidence,
    one_sided_p,
    share_evidence,
    sign_test,
    tail_evidence,
)
from tests.release_gate.pairs import pair_of, repeated

NOTHING = Contrast(0.0, 0.0, 1.0)
differences = st.lists(st.sampled_from([-0.5, -0.3, -0.1, 0.0, 0.0, 0.1, 0.2, 0.4]), min_size=2, max_size=9)


def slow_worst(loss: list[float], count: int) -> float:
    return fmean(max(one, 0.0) for one in sorted(loss)[-count:])


def slow_tail(loss: list[float], count: int) -> float:
    return slow_worst(loss, count) - slow_worst([-one for one in loss], count)


def slow_contrast(loss: list[float], statistic: Callable[[list[float]], float]) -> tuple[float, float, float]:
    """Value, spread and p over all signs of the queries that changed."""
    size = [abs(one) for one in loss]
    signs = [(1, -1) if one else (0,) for one in size]
    null = [statistic([s * one for s, one in zip(flips, size, strict=True)]) for flips in product(*signs)]
    value = statistic(loss)
    p = sum(one >= value - 1e-9 for one in null) / len(null)
    return value, sqrt(fmean(one**2 for one in null)), p


@given(differences, st.sampled_from([0.1, 0.25, 0.5, 1.0]))
@settings(max_examples=60)
def test_all_signs_of_few_changes_are_enumerated(delta: list[float], share: float) -> None:
    found, loss = contrasts(pair_of(delta), share), [-one for one in delta]
    count = ceil(len(delta) * share - 1e-9)
    for contrast, statistic in ((found.mean, fmean), (found.tail, lambda one: slow_tail(one, count))):
        assert (contrast.value, contrast.spread, contrast.p) == pytest.approx(slow_contrast(loss, statistic), abs=1e-9)


@given(differences, st.sampled_from([1, 2]))
def test_the_tail_changes_its_sign_with_the_losses(delta: list[float], count: int) -> None:
    loss = np.array(delta)
    assert tail_of(loss, count) == -tail_of(-loss, count) == pytest.approx(slow_tail(delta, count))
    assert worst_loss(loss, count) == pytest.approx(slow_worst(delta, count))


@given(differences)
def test_of_two_opposite_changes_at_most_one_is_beyond_chance(delta: list[float]) -> None:
    one, other = contrasts(pair_of(delta), 0.2), contrasts(pair_of([-x for x in delta]), 0.2)
    assert one.mean.value == pytest.approx(-other.mean.value)
    assert one.mean.spread == pytest.approx(other.mean.spread)
    assert one.mean.p + other.mean.p >= 1
    assert one.tail.p + other.tail.p >= 1


@pytest.mark.parametrize("seed", range(4))
def test_signs_of_more_changes_are_drawn(seed: int) -> None:
    """Fifteen changes: 32,768 signs in the oracle, 4,000 draws in the code."""
    delta = np.random.default_rng(seed).normal(-0.02, 0.1, 15)
    found, loss = contrasts(pair_of(delta), 0.2), (-delta).tolist()
    for contrast, statistic in ((found.mean, fmean), (found.tail, lambda one: slow_tail(one, 3))):
        value, spread, p = slow_contrast(loss, statistic)
        assert contrast.value == pytest.approx(value)
        assert contrast.spread == pytest.approx(spread, rel=0.05)
        assert contrast.p == pytest.approx(p, abs=0.03)


@pytest.mark.parametrize(
    ("topics", "shift"), [(MOST_FLIPPED + 1000, 0.0), (MOST_FLIPPED + 1000, -0.002), (3 * MOST_FLIPPED, -0.001)]
)
def test_many_changes_are_normal(topics: int, shift: float) -> None:
    random = np.random.default_rng(topics)
    loss = -(shift + np.where(random.random(topics) < 0.9, random.standard_normal(topics) * 0.1, 0.0))
    found, count = contrasts(pair_of(-loss), 0.1), topics // 10
    null = []
    for _ in range(400):
        drawn = loss * random.choice([-1.0, 1.0], topics)
        null.append((drawn.mean(), tail_of(drawn, count)))
    for contrast, draws in zip((found.mean, found.tail), np.array(null).T, strict=True):
        assert contrast.spread == pytest.approx(draws.std(), rel=0.12)
        assert contrast.p == pytest.approx((draws >= contrast.value).mean(), abs=0.07)


def permutations_of(own: np.ndarray, base: np.ndarray) -> list[list[tuple[float, int]]]:
    """The losses that each topic can have when its trials are permuted, each with its number of permutations."""
    found = []
    for mine, others in zip(own.T.tolist(), base.T.tolist(), strict=True):
        kept = [one for one in mine if one == one]
        pool = kept + [one for one in others if one == one]
        losses: dict[float, int] = {}
        for chosen in combinations(range(len(pool)), len(kept)):
            rest = [pool[place] for place in range(len(pool)) if place not in chosen]
            loss = round(fmean(rest) - fmean(pool[place] for place in chosen), 12)
            losses[loss] = losses.get(loss, 0) + 1
        found.append(list(losses.items()))
    return found


def slow_p(pair: ScoredPair, statistic: Callable[[list[float]], float]) -> float:
    """The share of all permutations whose statistic is as large as that of the pair."""
    own, base = pair.trials
    value, reached, total = statistic(pair.loss.tolist()), 0, 0
    for permuted in product(*permutations_of(own, base)):
        number = int(np.prod([count for _, count in permuted]))
        total += number
        reached += number * (statistic([loss for loss, _ in permuted]) >= value - 1e-9)
    return reached / total


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["graded", "binary", "uneven", "missing"])
def test_repeats_are_permuted_within_queries(kind: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    own, base = random.random((3, 3)), random.random((2 if kind == "uneven" else 3, 3))
    if kind == "binary":
        own, base = (own > 0.7).astype(float), (base > 0.3).astype(float)
    if kind == "missing":
        own[0, 1] = base[2, 2] = nan
    pair = repeated(own, base)
    found = contrasts(pair, 0.5)
    assert found.mean.p == pytest.approx(slow_p(pair, fmean), abs=0.03)
    assert found.tail.p == pytest.approx(slow_p(pair, lambda loss: slow_worst(loss, 2)), abs=0.03)


def test_the_order_of_topics_and_trials_plays_no_role() -> None:
    random = np.random.default_rng(1)
    own, base = (random.random((3, 20)) > 0.4).astype(float), (random.random((4, 20)) > 0.6).astype(float)
    order = random.permutation(20)
    assert contrasts(repeated(own[::-1, order], base[:, order]), 0.1) == contrasts(repeated(own, base), 0.1)
    delta = random.normal(0, 0.1, 40)
    one, other = contrasts(pair_of(delta), 0.1), contrasts(pair_of(delta[::-1]), 0.1)
    assert (one.mean.p, one.tail.p) == (other.mean.p, other.tail.p)


@pytest.mark.parametrize("limit", [0.0, 0.02, 0.1])
@pytest.mark.parametrize("seed", range(4))
def test_the_mean_is_students_with_two_mirrored_queries(seed: int, limit: float) -> None:
    loss = np.random.default_rng(seed).normal(0.01, 0.1, 25)
    largest = np.abs(loss).max()
    sample = [*loss.tolist(), largest, -largest]
    mean, variance = fmean(sample), stats.sem(sample) ** 2
    prior = (PRIOR * limit) ** 2
    kept = prior / (prior + variance) if limit else 1.0
    expected = stats.t.cdf((limit - kept * mean) / sqrt(kept * variance), len(sample) - 1)
    found = mean_evidence(loss, limit, 0.3)
    assert found.probability == pytest.approx(expected, abs=1e-9)
    assert (found.loss, found.p) == (pytest.approx(loss.mean()), 0.3)


def test_no_spread_gives_certainty_without_an_error() -> None:
    assert mean_evidence(np.zeros(30), 0.02, 1.0).probability == pytest.approx(1)
    assert tail_evidence(0.25, NOTHING).probability == 1


@pytest.mark.parametrize("seed", range(4))
def test_students_p_of_a_mean_loss(seed: int) -> None:
    loss = np.random.default_rng(seed).normal(0.01, 0.1, 12)
    assert one_sided_p(loss) == pytest.approx(stats.ttest_1samp(loss, 0, alternative="greater").pvalue, abs=1e-9)


def test_the_same_loss_on_every_query_is_no_chance() -> None:
    assert one_sided_p(np.full(40, 0.5)) == 0
    assert one_sided_p(np.full(40, -0.5)) == one_sided_p(np.zeros(40)) == one_sided_p(np.array([0.5])) == 1


def test_the_tail_is_normal_with_the_spread_of_no_effect() -> None:
    found = tail_evidence(0.25, Contrast(0.2, 0.04, 0.01))
    assert found.probability == pytest.approx(stats.norm.cdf(0.05 / 0.04))
    assert (found.loss, found.error, found.p) == (0.2, 0.04, 0.01)
    assert found.bound(0.1, 1) == pytest.approx(stats.norm.ppf(0.9, 0.2, 0.04))


@pytest.mark.parametrize(("lost", "won"), [(0, 0), (5, 0), (7, 5), (0, 9), (480, 430), (900, 800), (5200, 5000)])
def test_the_sign_test(lost: int, won: int) -> None:
    expected = stats.binom.sf(lost - 1, lost + won, 0.5) if lost + won else 1.0
    assert sign_test(lost, won) == pytest.approx(expected, abs=2e-4)


def test_a_share_is_normal_after_one_more_loss_and_one_more_win() -> None:
    found = share_evidence(30, 50, 0.5, 0.1)
    share = 31 / 52
    assert found.loss == 0.6
    assert found.probability == pytest.approx(stats.norm.cdf((0.5 - share) / sqrt(share * (1 - share) / 52)))
    assert share_evidence(0, 0, 0.5, 1.0).loss == 0


def test_evidence_over_draws_adds_their_spread_to_the_error() -> None:
    found = Evidence.average([Evidence(0.1, 0.3, 0.8, 0.2), Evidence(0.3, 0.5, 0.4, 0.4)])
    assert found.loss == pytest.approx(0.2)
    assert found.error == pytest.approx(sqrt((0.09 + 0.25) / 2 + 0.01))
    assert (found.probability, found.p) == (pytest.approx(0.6), pytest.approx(0.3))
    assert found.bound(0.5, 1) == pytest.approx(0.2)
    assert found.bound(0.05, -1) > -inf
