"""Is there a system effect at all? Permutation tests of risk beside Student's t and Wilcoxon's test.

The null hypothesis of the permutation tests: on each topic, the two scores could as well have come the other way round.
Exchanging them flips the sign of the difference d, so what U_Risk would be without a system effect is known, at any
alpha: below 0, since losses weigh more. T_Risk in contrast is compared with 0. Tests take ``alternative``: "two-sided",
or "worse" for the system alone being worse.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, stdtr

from surefoot.analysis.design import Baseline, Population, Setting, signature_of
from surefoot.analysis.figures import Columns
from surefoot.errors import SurefootError, choose
from surefoot.results import Result
from surefoot.risk import alphas_of, sweep_of
from surefoot.risk.statistics import CHUNK
from surefoot.risk.values import Family, Linear
from surefoot.scores import FloatArray, Scores
from surefoot.stats.inference import correct as corrected
from surefoot.stats.inference import t_inference

ALTERNATIVES = ("two-sided", "worse")
TESTS = ("trisk", "t", "wilcoxon", "flip", "max", "swap")
ROUNDING = 1e-12
"""Statistics that differ by less than this share are taken to be equal."""


def t_test(
    system: npt.ArrayLike,
    baseline: npt.ArrayLike,
    alpha: npt.ArrayLike = 0.0,
    value: Family = Linear,
    alternative: str = "two-sided",
) -> FloatArray:
    """The p of T_Risk under E[v(d)] = 0; at alpha = 0, of the paired t test.

    >>> float(t_test([0.2, 0.5, 0.3], [0.4, 0.1, 0.2]).round(3))
    0.622
    """
    found = t_inference(system, baseline, alpha, value)
    if choose(alternative, ALTERNATIVES, "alternative") == "two-sided":
        return found.p
    return np.asarray(stdtr(max(found.df, 1), found.trisk))


def wilcoxon_test(system: npt.ArrayLike, baseline: npt.ArrayLike, alternative: str = "two-sided") -> FloatArray:
    """The p of Wilcoxon's signed-rank test, by scipy: are the differences symmetric about 0?

    Topics without a difference are left out (Wilcoxon's own rule); differences that agree to 12 decimals share their
    rank. The null distribution is exact for up to 50 topics without ties, else normal with the correction for ties. NaN
    where no topic differs.

    >>> float(wilcoxon_test([0.2, 0.5, 0.3, 0.7], [0.4, 0.1, 0.2, 0.4]))
    0.375
    """
    from scipy.stats import wilcoxon

    choose(alternative, ALTERNATIVES, "alternative")
    side: Literal["less", "two-sided"] = "less" if alternative == "worse" else "two-sided"
    d = _differences(system, baseline).round(12)
    p = np.full(d.shape[:-1], np.nan)
    for place in np.ndindex(p.shape):
        some = d[place][d[place] != 0]
        if some.size:
            exact = some.size <= 50 and np.unique(np.abs(some)).size == some.size
            method: Literal["exact", "approx"] = "exact" if exact else "approx"
            p[place] = wilcoxon(some, alternative=side, method=method).pvalue
    return p


@dataclass(frozen=True)
class FlipTest:
    """U_Risk, what it would be on average without a system effect, p, and p adjusted for all systems tested."""

    urisk: FloatArray
    centre: FloatArray
    p: FloatArray
    p_max: FloatArray
    exact: bool


def flip_test(
    system: npt.ArrayLike,
    baseline: npt.ArrayLike,
    alpha: npt.ArrayLike = 1.0,
    value: Family = Linear,
    *,
    alternative: str = "two-sided",
    n_resamples: int = 10_000,
    seed: int = 0,
) -> FlipTest:
    """The sign-flip permutation test: U_Risk against all that it could be if d were as likely -d on each topic.

    Of v(d) only the odd part o(d) = (v(d) - v(-d)) / 2 changes its sign with d; the even part stays and is the
    ``centre``, the mean of U_Risk over all flips. So p counts the flips with |sum ±o| at least |sum o| ("worse": with
    sum ±o at most sum o). For linear values o(d) = (1 + alpha / 2) d: **the test is the same at every alpha**. All
    systems share their flips. ``p_max`` compares each with the largest |sum ±o| / sqrt(sum o²) of any system, which
    bounds the chance of any false alarm among them, as Dunnett's test does (Westfall and Young 1993, single step).

    If there are no more flips than ``n_resamples`` all are counted and p is exact, else p = (1 + count) / (1 + n). NaN
    where no topic differs.

    >>> found = flip_test([0.2, 0.5, 0.3, 0.7], [0.4, 0.1, 0.2, 0.4], alpha=5)
    >>> float(found.urisk.round(6)), float(found.centre.round(6)), float(found.p), found.exact
    (-0.1, -0.625, 0.375, True)
    """
    choose(alternative, ALTERNATIVES, "alternative")
    d, sweep = _differences(system, baseline), alphas_of(alpha)
    odd, even = _odd_and_even(d, sweep, value)
    # Linear values make the same test at every alpha, so one of them is enough.
    tested = odd.reshape(sweep.size, -1, d.shape[-1])[: 1 if value is Linear else None]
    p, p_max, exact = _flipped(tested, alternative, n_resamples, seed)
    shape = odd.shape[:-1]
    return FlipTest(
        urisk=(odd + even).mean(axis=-1),
        centre=even.mean(axis=-1),
        p=np.broadcast_to(p, (sweep.size, p.shape[1])).reshape(shape),
        p_max=np.broadcast_to(p_max, (sweep.size, p.shape[1])).reshape(shape),
        exact=exact,
    )


def _odd_and_even(d: FloatArray, alphas: FloatArray, value: Family) -> tuple[FloatArray, FloatArray]:
    """The parts of v(d) that change their sign with d, and that don't; the axes of alpha lead."""
    families = [value(float(alpha)) for alpha in alphas.ravel()]
    there, back = np.stack([v(d) for v in families]), np.stack([v(-d) for v in families])
    shape = alphas.shape + d.shape
    return ((there - back) / 2).reshape(shape), ((there + back) / 2).reshape(shape)


def _flipped(odd: FloatArray, alternative: str, n: int, seed: int) -> tuple[FloatArray, FloatArray, bool]:
    """Both p of each alpha and system of an array alphas × systems × topics."""
    alphas, systems, _ = odd.shape
    odd = odd.reshape(alphas * systems, -1)
    length = np.sqrt(np.square(odd).sum(axis=1))
    unit = odd / np.where(length > 0, length, 1.0)[:, np.newaxis]
    unit = unit[:, (unit != 0).any(axis=0)]
    observed = _extremity(unit.sum(axis=1), alternative) - ROUNDING
    single, largest, drawn = np.zeros(len(odd)), np.zeros(len(odd)), 0
    for flips in _patterns(unit.shape[1], n, seed, len(odd)):
        extremity = _extremity((1.0 - 2.0 * flips) @ unit.T, alternative)
        extremity[:, length == 0] = -np.inf  # what is no test is no rival either
        most = extremity.reshape(-1, alphas, systems).max(axis=2).repeat(systems, axis=1)
        single += (extremity >= observed).sum(axis=0)
        largest += (most >= observed).sum(axis=0)
        drawn += len(flips)
    exact = _enumerable(unit.shape[1], n)
    p, p_max = (np.where(length > 0, _p_of(count, drawn, exact), np.nan) for count in (single, largest))
    return p.reshape(alphas, systems), p_max.reshape(alphas, systems), exact


@dataclass(frozen=True)
class SwapTest:
    """The difference of two systems' GeoRisk and its p, at each alpha."""

    difference: FloatArray
    p: FloatArray
    exact: bool


def swap_test(
    matrix: npt.ArrayLike,
    row: int,
    other: int,
    alpha: npt.ArrayLike = 1.0,
    value: Family = Linear,
    *,
    alternative: str = "two-sided",
    n_resamples: int = 10_000,
    seed: int = 0,
) -> SwapTest:
    """The topic-swap permutation test: do two systems of a population differ in GeoRisk?

    On each topic the two rows exchange their scores or not. The topics' totals and the grand total stay as they are;
    the two systems' totals, expectations and GeoRisk don't. Counting and p as in `flip_test`.

    >>> scores = [[0.05, 0.15, 0.55, 0.30], [0.40, 0.35, 0.20, 0.10], [0.30, 0.30, 0.10, 0.20]]
    >>> found = swap_test(scores, 0, 1, alpha=[0, 5])
    >>> found.difference.round(4), found.p
    (array([ 0.0006, -0.0484]), array([1.  , 0.75]))
    """
    choose(alternative, ALTERNATIVES, "alternative")
    x, sweep = np.asarray(matrix, dtype=np.float64), alphas_of(alpha)
    if x.ndim != 2 or x.min() < 0:
        raise SurefootError("the swap test takes a matrix of systems × topics with scores of 0 or more")
    totals, pair = x.sum(axis=0), x[[row, other]]
    differs = pair[0] != pair[1]
    count, drawn = np.zeros(sweep.size), 0
    difference = _georisk_difference(pair[:, np.newaxis], totals, sweep.ravel(), value)[:, 0]
    observed = _extremity(difference, alternative) - ROUNDING
    for swaps in _patterns(int(differs.sum()), n_resamples, seed, 4 * x.shape[1]):
        swapped = np.repeat(pair[:, np.newaxis], len(swaps), axis=1)
        swapped[..., differs] = np.where(swaps, swapped[::-1][..., differs], swapped[..., differs])
        found = _georisk_difference(swapped, totals, sweep.ravel(), value)
        count += (observed <= _extremity(found, alternative).T).sum(axis=0)
        drawn += len(swaps)
    exact = _enumerable(int(differs.sum()), n_resamples)
    p = _p_of(count, drawn, exact) if differs.any() else np.full(sweep.size, np.nan)
    return SwapTest(difference.reshape(sweep.shape), p.reshape(sweep.shape), exact)


def _georisk_difference(pair: FloatArray, totals: FloatArray, alphas: FloatArray, value: Family) -> FloatArray:
    """GeoRisk of the first less that of the second, alphas × resamples, of two × resamples × topics."""
    own, topics = pair.sum(axis=-1), pair.shape[-1]
    expected = own[..., np.newaxis] / (totals.sum() or 1.0) * totals
    root = np.sqrt(expected)
    inverse = np.divide(1.0, root, out=np.zeros_like(root), where=root > 0)
    if value is Linear:
        z = (pair - expected) * inverse
        plain, losses = z.sum(axis=-1), np.minimum(z, 0.0).sum(axis=-1)
        zrisk = plain + alphas[:, np.newaxis, np.newaxis] * losses
    else:
        zrisk = np.stack([(value(float(alpha))(pair - expected) * inverse).sum(axis=-1) for alpha in alphas])
    georisk = np.sqrt(own / topics * ndtr(zrisk / topics))
    return np.asarray(georisk[:, 0] - georisk[:, 1])


def _differences(system: npt.ArrayLike, baseline: npt.ArrayLike) -> FloatArray:
    s, b = np.asarray(system, dtype=np.float64), np.asarray(baseline, dtype=np.float64)
    if s.ndim == 0 or s.shape[-1] == 0 or b.shape[-1:] != s.shape[-1:]:
        raise SurefootError(f"system and baseline need scores on the same topics; got shapes {s.shape} and {b.shape}")
    return np.asarray(s - b)


def _extremity(statistic: FloatArray, alternative: str) -> FloatArray:
    """How much a statistic speaks against the null."""
    return np.abs(statistic) if alternative == "two-sided" else -statistic


def _enumerable(topics: int, n_resamples: int) -> bool:
    return topics < 63 and 1 << topics <= n_resamples


def _patterns(topics: int, n_resamples: int, seed: int, width: int) -> Iterator[npt.NDArray[np.bool_]]:
    """Which topics to exchange: all patterns if they are no more than ``n_resamples``, else so many by chance.

    They come in chunks, bounded for work that needs ``width`` numbers a pattern.
    """
    if n_resamples < 1:
        raise SurefootError(f"n_resamples must be at least 1; got {n_resamples}")
    exact = _enumerable(topics, n_resamples)
    count = 1 << topics if exact else n_resamples
    at_once = max(1, CHUNK // max(topics, width))
    random = np.random.default_rng(seed)
    for start in range(0, count, at_once):
        codes = np.arange(start, min(start + at_once, count))
        if exact:
            yield (codes[:, np.newaxis] >> np.arange(topics)) & 1 == 1
        else:
            yield random.integers(0, 2, (len(codes), topics), dtype=np.int8) == 1


def _p_of(count: FloatArray, drawn: int, exact: bool) -> FloatArray:
    return count / drawn if exact else (1 + count) / (1 + drawn)


def run_tests(
    scores: Scores,
    baseline: Baseline,
    alpha: npt.ArrayLike = 1.0,
    *,
    tests: Sequence[str] = TESTS,
    alternative: str = "two-sided",
    systems: Sequence[str] | None = None,
    population: Population = None,
    value: str | Family = "linear",
    correct: str | None = None,
    n_resamples: int = 10_000,
    seed: int = 0,
) -> Result:
    """Every system against the baseline by several tests, a row for each system and alpha.

    Columns: ``system, baseline, alpha, urisk, centre`` (what U_Risk would be without a system effect), ``trisk``, and
    of each test its p: ``p_trisk`` (T_Risk against 0), ``p_t`` (paired t, alpha = 0), ``p_wilcoxon``, ``p_flip``,
    ``p_max`` (adjusted for all systems), ``p_swap`` (GeoRisk of system and baseline). ``correct`` adds columns
    such as ``p_flip_holm``, adjusted over all systems, and over the alphas where the test depends on them. NaN where
    there is nothing to test.

    >>> draws = np.random.default_rng(1).random((3, 30)) ** 2
    >>> result = run_tests(Scores(draws, ["old", "new", "other"], range(30)), "old", alpha=5)
    >>> [(row["system"], round(row["p_trisk"], 3), round(row["p_flip"], 3)) for row in result.rows()[1:]]
    [('new', 0.017, 0.713), ('other', 0.009, 0.826)]
    """
    for test in tests:
        choose(test, TESTS, "tests")
    alphas = sweep_of(alpha)
    # What is adjusted for other systems counts all of them, whichever are shown.
    setting = Setting.of(scores, baseline, None if correct or "max" in tests else systems, population, value)
    if setting.baselines is None:
        raise SurefootError("tests need a baseline; name one")
    found = _columns(setting, alphas, tests, alternative, n_resamples, seed)
    if correct is not None:
        found |= _corrections(found, setting.family, correct)
    shape = (len(alphas), len(setting.systems))
    shown = [setting.systems.index(name) for name in (scores if systems is None else scores.select(systems)).systems]
    columns = {name: np.broadcast_to(column, shape).T[shown].ravel() for name, column in found.items()}
    stated = signature_of(
        "tests", [setting], alphas, alternative=alternative, correct=correct, n_resamples=n_resamples, seed=seed
    )
    return Result(stated, columns, (*scores.notes, *_notes(setting, alphas, tests)))


def _columns(
    setting: Setting, alphas: FloatArray, tests: Sequence[str], alternative: str, n_resamples: int, seed: int
) -> Columns:
    rows, baselines = setting.rows, np.broadcast_to(np.asarray(setting.baselines), setting.rows.shape)
    family = setting.family
    flips = flip_test(rows, baselines, alphas, family, alternative=alternative, n_resamples=n_resamples, seed=seed)
    p: dict[str, Callable[[], FloatArray]] = {
        "trisk": lambda: t_test(rows, baselines, alphas, family, alternative),
        "t": lambda: t_test(rows, baselines, 0.0, Linear, alternative),
        "wilcoxon": lambda: wilcoxon_test(rows, baselines, alternative),
        "flip": lambda: flips.p,
        "max": lambda: flips.p_max,
        "swap": lambda: _swaps(setting, alphas, alternative, n_resamples, seed),
    }
    return {
        "system": np.array(setting.systems),
        "baseline": np.array(setting.baseline_names),
        "alpha": alphas[:, np.newaxis],
        "urisk": flips.urisk,
        "centre": flips.centre,
        "trisk": t_inference(rows, baselines, alphas, family).trisk,
        **{f"p_{test}": p[test]() for test in tests},
    }


def _swaps(setting: Setting, alphas: FloatArray, alternative: str, n_resamples: int, seed: int) -> FloatArray:
    """The p of the swap test, alphas × systems; NaN where system and baseline are not two rows of the population."""
    p = np.full((len(alphas), len(setting.systems)), np.nan)
    if setting.scores.values.min() < 0:
        return p
    how = {"alternative": alternative, "n_resamples": n_resamples, "seed": seed}
    for matrix, rows, places in setting.matrices():
        for row, place in zip(rows, places, strict=True):
            other = _row_of_baseline(setting, place)
            if other is not None:
                p[:, place] = swap_test(matrix, row, other, alphas, setting.family, **how).p  # type: ignore[arg-type]
    return p


def _row_of_baseline(setting: Setting, place: int) -> int | None:
    """Where the baseline of a system stands in its population; nowhere, if it is virtual or outside."""
    if setting.population == "PAIR":
        return 1
    members = list(setting.population or setting.scores.systems)
    name = setting.baseline_names[place]
    return members.index(name) if name in members else None


def _corrections(found: Columns, family: Family, method: str) -> Columns:
    """The p values adjusted; those that are the same at every alpha are one test and count once."""
    result: Columns = {}
    for name in found:
        if name.startswith("p_") and name != "p_max":
            same = name in ("p_t", "p_wilcoxon") or (name == "p_flip" and family is Linear)
            p = np.atleast_2d(found[name])[: 1 if same else None]
            result[f"{name}_{method}"] = corrected(p, method)
    return result


def _notes(setting: Setting, alphas: FloatArray, tests: Sequence[str]) -> list[str]:
    notes = []
    if alphas.max() > 0:
        notes.append(
            "p_trisk compares T_Risk with 0; without a system effect U_Risk would be about the figure under centre, "
            "and p_flip compares with that"
        )
        if setting.family is Linear and {"flip", "max"} & set(tests):
            notes.append("p_flip and p_max are the same at every alpha: exchanging scores never changes |d|")
    if "swap" in tests and not set(setting.baseline_names) <= set(setting.scores.systems):
        notes.append("p_swap is undefined against a virtual baseline: it is no row of the population")
    return notes
