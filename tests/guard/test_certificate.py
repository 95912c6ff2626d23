"""Certificates: the path, the tests, the words, and that promises are kept."""

import numpy as np
import pytest
from scipy import stats

from surefoot.errors import SurefootError
from surefoot.guard.certificate import PATH, TAIL, THRESHOLDS, Budget, certify, queries_needed
from surefoot.guard.fitting import fit_guard
from surefoot.stats.mean_bounds import betting_p_value, fixed_capital


def population(seed=0, size=4000):
    """A baseline, and a candidate that gains a little on most queries and loses on some."""
    rng = np.random.default_rng(seed)
    b = rng.beta(3, 3, size)
    change = np.where(rng.random(size) < 0.25, -rng.beta(1, 5, size), rng.beta(1, 8, size))
    return b, np.clip(b + change, 0, 1)


def path(b, c):
    return lambda safety: safety * b + (1 - safety) * c


def test_the_last_step_that_passes_before_one_fails_is_promised():
    b, c = population(size=1500)
    found = certify(path(b, c), b, Budget(0.02))
    passed = int(found["certified"].sum())
    assert (found["p"][:passed] <= 0.1).all()
    assert found["p"][passed] > 0.1
    assert np.isnan(found["p"][passed + 1 :]).all()
    assert found.safety == PATH[passed - 1]
    assert 0 < found.safety < 1
    own = path(b, c)(found.safety)
    assert found.cost == pytest.approx(1 - own.mean() / c.mean())
    assert f"costs {100 * found.cost:.1f} % of the mean" in found.words
    assert "at most 0.020 with 90 % confidence" in found.words
    assert "come at random from the same source" in found.words


def test_a_budget_that_the_guard_keeps_costs_nothing():
    b, c = population()
    assert certify(path(b, c), b, Budget(0.2)).safety == 0.0
    assert certify(path(b, c), b, Budget(0.2)).cost == 0.0


@pytest.mark.parametrize("of", ["frisk", "loss20", "tail"])
def test_too_few_queries_say_how_many_are_needed(of):
    b, c = population(size=20)
    budget = Budget(0.01, of)
    found = certify(path(b, c), b, budget)
    assert found.safety == 1.0
    assert f"the test needs {budget.fewest_queries:,} at least" in found.words
    never = np.full(budget.fewest_queries, 0.5)
    assert budget.p_value(never, never) <= 0.1
    assert budget.p_value(never[1:], never[1:]) > 0.1


def test_queries_that_lose_too_much_get_no_promise():
    b, _ = population(size=600)
    found = certify(lambda safety: b * 0.5, b, Budget(0.05))
    assert found.safety == 1.0
    assert "even the safest blend breaks the budget" in found.words


def test_how_many_queries_would_be_enough():
    b, c = population(size=400)
    x = path(b, c)(0.75)
    budget = Budget(0.016)
    assert budget.measured(x, b) < 0.016
    assert budget.p_value(x, b) > 0.1
    needed = queries_needed(x, b, budget)
    assert needed > 400
    assert f"about {needed:,} like these" in certify(lambda safety: x, b, budget).words


def test_the_measures_of_a_budget():
    b = np.array([0.5] * 8 + [0.4, 0.8])
    x = np.array([0.6] * 8 + [0.2, 0.7])
    assert Budget(0.1).measured(x, b) == pytest.approx(0.03)
    assert Budget(0.1, "loss20").measured(x, b) == pytest.approx(0.1)
    assert Budget(0.1, "tail").measured(x, b) == pytest.approx(0.2)
    assert Budget(0.1, "loss20").p_value(x, b) == pytest.approx(stats.binom.cdf(1, 10, 0.1))
    assert Budget(0.1).p_value(x, b) == pytest.approx(float(betting_p_value(np.maximum(b - x, 0), 0.1)))


@pytest.mark.parametrize("of", ["frisk", "tail"])
def test_an_approximate_budget_assumes_the_largest_loss_seen(of):
    """Losses in units of the largest: halved losses, a halved budget and a halved largest loss give the same test."""
    b, c = population(size=200)
    largest = Budget(0.02, of, approximate=True).largest_loss(c[np.newaxis], b)
    assert largest == np.maximum(b - c, 0).max() < 1
    half = b + (c - b) / 2
    whole = Budget(0.04, of).p_value(c, b, largest)
    assert Budget(0.02, of).p_value(half, b, largest / 2) == pytest.approx(whole)
    assert whole < Budget(0.04, of).p_value(c, b)
    assert Budget(0.04, of).p_value(c, b, 0.04) == 0


def test_an_approximate_certificate_says_what_it_assumes():
    b, c = population(size=150)
    strict, approximate = (certify(path(b, c), b, Budget(0.02, approximate=way)) for way in (False, True))
    assert approximate.safety < strict.safety
    largest = np.maximum(b - path(b, c)(0.0), 0).max()
    assert (
        f"Approximate: no query is assumed to lose more than {largest:.3f}, the largest loss seen" in approximate.words
    )
    assert "approximate=True" in approximate.signature
    assert "Approximate" not in strict.words


def test_few_losses_say_nothing_about_the_largest():
    b = np.full(150, 0.5)
    c = np.concatenate([np.full(4, 0.4), np.full(146, 0.6)])
    budget = Budget(0.02, approximate=True)
    assert budget.largest_loss(c[np.newaxis], b) == 1
    assert certify(path(b, c), b, budget).safety == certify(path(b, c), b, Budget(0.02)).safety


def test_a_measure_beyond_1_is_refused():
    with pytest.raises(SurefootError, match=r"a query lost 3; .* between 0 and 1"):
        Budget(0.1).p_value(np.zeros(50), np.full(50, 3.0))


@pytest.mark.parametrize("approximate", [False, True])
@pytest.mark.parametrize(("of", "limit"), [("frisk", 0.02), ("loss20", 0.1), ("tail", 0.15)])
def test_promises_are_kept(of, limit, approximate):
    """Of 200 samples with replacement, at most the error and what chance adds with 99.9 % break the budget."""
    b, c = population()
    budget, walk = Budget(limit, of, approximate=approximate), path(b, c)
    broken = {safety: budget.measured(walk(safety), b) > limit for safety in PATH}
    assert any(broken.values())
    assert not all(broken.values())
    rng, failures, promises = np.random.default_rng(1), 0, 0
    for _ in range(200):
        drawn = rng.integers(b.size, size=300)
        found = certify(lambda safety, drawn=drawn: walk(safety)[drawn], b[drawn], budget)
        failures += found.safety < 1 and broken[found.safety]
        promises += found.safety < 1
    assert failures <= 20 + 3.1 * np.sqrt(200 * 0.09)
    assert promises > 100


def test_the_tail_is_that_of_the_worst_tenth():
    """By brute force over thresholds the tail's mean is the least of t + E max(L - t, 0) / TAIL."""
    loss = np.random.default_rng(0).random(1000)
    x = np.full(1000, 1.0)
    grid = np.linspace(0, 1, 5001)
    least = min(t + np.maximum(loss - t, 0).mean() / TAIL for t in grid)
    assert Budget(0.5, "tail").measured(x - loss, x) == pytest.approx(least, abs=1e-3)


def test_a_fit_with_a_budget_chooses_and_tests_on_different_queries():
    rng = np.random.default_rng(0)
    truth = rng.normal(size=(500, 10))
    old, new = truth + rng.normal(size=truth.shape), truth + 0.8 * rng.normal(size=truth.shape)
    fit = fit_guard(
        old.ravel(), new.ravel(), truth.ravel() > 1, np.arange(0, 5001, 10), kinds=["z"], budget=Budget(0.05)
    )
    assert fit.certificate.queries + fit.outcomes["none"].size == 500
    assert fit.guard.safety == fit.certificate.safety < 1
    assert fit.guard.card["certificate"]["limit"] == 0.05
    assert fit.extra()["certificate"]["words"] == fit.certificate.words
    assert len(fit.path["mean"]) == len(PATH) + 2
    assert fit.path["frisk"][1:-1] == pytest.approx(fit.certificate["frisk"])


@pytest.mark.parametrize(
    ("limit", "ending"),
    [
        (0.9, "over the candidate; for the promise nothing more is needed"),
        (0.02, "over the candidate; for the promise it is moved 0.3 of the way towards the baseline"),
        (0.002, "nothing can be promised, so the baseline's own ranking is kept"),
    ],
)
def test_why_a_guard_is_what_it_is_tells_of_the_promise(limit, ending):
    rng = np.random.default_rng(0)
    truth = rng.normal(size=(600, 10))
    old, new = rng.normal(size=truth.shape), truth + 1.2 * rng.normal(size=truth.shape)
    fit = fit_guard(
        old.ravel(), new.ravel(), truth.ravel() > 1, np.arange(0, 6001, 10), kinds=["z"], budget=Budget(limit)
    )
    assert fit.why.endswith(ending)
    assert fit.guard.card["why"] == fit.why
    assert "left alone" not in fit.why


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"limit": 0.0}, "between 0.0001 and 1"),
        ({"limit": 1.5}, "between 0.0001 and 1"),
        ({"limit": 0.1, "of": "urisk"}, "must be one of frisk"),
        ({"limit": 0.1, "confidence": 1.0}, "confidence must lie"),
    ],
)
def test_budgets_that_are_none(words, message):
    with pytest.raises(SurefootError, match=message):
        Budget(**words)


def test_the_test_of_the_tail_averages_bets_before_the_maximum():
    b, c = population(size=300)
    loss, limit = np.maximum(b - c, 0), 0.3
    paths = []
    for threshold in limit * np.arange(THRESHOLDS) / THRESHOLDS:
        x = np.maximum(loss - threshold, 0) / (1 - threshold)
        mean = TAIL * (limit - threshold) / (1 - threshold)
        paths.append(np.exp(fixed_capital(x, mean, 0.1)))
        assert np.exp(-max(np.log(paths[-1]).max(), 0)) == pytest.approx(float(betting_p_value(x, mean)))
    found = Budget(limit, "tail").p_value(c, b)
    assert found == pytest.approx(1 / np.mean(paths, axis=0).max())
    assert 1 / np.mean([path.max() for path in paths]) < found < 1
