"""Rank correlation, correlation with a baseline, and Friedman's test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from surefoot._typing import FloatArray
from surefoot.errors import SurefootError, choose, listed
from surefoot.results import Result, signature
from surefoot.risk.statistics import Correlation
from surefoot.scores import Scores, ScoresLike
from surefoot.stats.agreement.rbo import Values
from surefoot.stats.ranks import average_ranks, chi_square_p, friedman_statistic


@dataclass(frozen=True)
class Kendall:
    """Kendall's tau-b and its two-sided p, and the weighted tau, in which exchanges near the top count more."""

    tau: float
    p: float
    weighted: float


def kendall(first: Values, second: Values) -> Kendall:
    """How far two sets of values put the same items into the same order.

    tau-b = (P - Q) / sqrt((P + Q + T)(P + Q + U)): P pairs in the same order, Q in opposite orders, T tied in the first
    values only, U in the second only (Kendall 1945). Pairs tied in both count nowhere, and equal orders have tau 1,
    ties or not. The weighted tau gives a pair the weight 1 / rank + 1 / rank, ranks from 1 by the larger value, the
    mean of ranking by the first and by the second; its ties count as in tau-b (Vigna, *A weighted correlation index
    for rankings with ties*, WWW 2015). All are NaN where the values of all items are the same.

    Parameters
    ----------
    first, second
        Values by name, which are matched by name, or arrays in the same order. Larger is better.

    Returns
    -------
    Kendall
        tau-b with its p, and the weighted tau.

    Examples
    --------
    >>> found = kendall({"a": 0.3, "b": 0.2, "c": 0.1}, {"c": 4, "a": 9, "b": 3})
    >>> round(found.tau, 4), round(found.p, 4), round(found.weighted, 4)
    (0.3333, 1.0, 0.5455)

    """
    from scipy.stats import kendalltau, weightedtau

    x, y = _aligned(first, second)
    if x.ndim != 1 or x.shape != y.shape or x.size < 2 or np.isnan([x, y]).any():
        raise SurefootError(
            f"Kendall's tau needs two values of the same 2 or more items, none NaN; got shapes {x.shape} and {y.shape}"
        )
    if min(np.ptp(x), np.ptp(y)) == 0:
        return Kendall(np.nan, np.nan, np.nan)
    plain = kendalltau(x, y)
    return Kendall(float(plain.statistic), float(plain.pvalue), float(weightedtau(x, y).statistic))


def _aligned(first: Values, second: Values) -> tuple[FloatArray, FloatArray]:
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        if first.keys() != second.keys():
            raise SurefootError(
                f"both sets of values need the same items; one lacks {listed(first.keys() ^ second.keys())}"
            )
        return np.array(list(first.values()), float), np.array([second[name] for name in first], float)
    if isinstance(first, Mapping) or isinstance(second, Mapping):
        raise SurefootError("give both values by name, or both as arrays")
    return np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)


def correlation(system: npt.ArrayLike, baseline: npt.ArrayLike, method: str = "pearson") -> FloatArray:
    """The correlation of each system with a baseline over topics, which are the last axis.

    ``"pearson"``: r = sum (s - mean s)(b - mean b) / sqrt(sum (s - mean s)² sum (b - mean b)²); ``"spearman"``: the
    same of the ranks, tied scores sharing their mean rank. NaN where a system or the baseline scores all topics alike.

    A baseline close to a system makes it look safe, as it fails where the baseline fails: Dinçer, Ounis and Macdonald,
    *Tackling biased baselines in the risk-sensitive evaluation of retrieval systems*, ECIR 2014.

    >>> correlation([[0.1, 0.2, 0.4], [0.3, 0.2, 0.0]], [0.2, 0.3, 0.5]).round(3)
    array([ 1., -1.])
    """
    s, b = np.asarray(system, dtype=np.float64), np.asarray(baseline, dtype=np.float64)
    if s.ndim == 0 or s.shape[-1] < 2 or b.shape[-1:] != s.shape[-1:]:
        raise SurefootError(f"a correlation needs the same 2 or more topics; got shapes {s.shape} and {b.shape}")
    if choose(method, ("pearson", "spearman"), "method") == "spearman":
        s, b = average_ranks(s), average_ranks(b)
    return np.asarray(Correlation.of(s, b).value)


def baseline_correlations(
    scores: ScoresLike, baseline: str, *, systems: Sequence[str] | None = None, method: str = "pearson"
) -> Result:
    """The `correlation` of each system with a baseline: a system, or MEAN, MEDIAN or MAX over all systems.

    Parameters
    ----------
    scores
        Systems × topics of one effectiveness measure.
    baseline
        A system, or MEAN, MEDIAN or MAX of each topic.
    systems
        The systems to show; all by default.
    method
        ``"pearson"`` or ``"spearman"``.

    Returns
    -------
    Result
        Columns ``system, baseline, correlation``.

    Examples
    --------
    >>> scores = Scores([[0.1, 0.2, 0.4], [0.3, 0.2, 0.1]], ["old", "new"], ["q1", "q2", "q3"])
    >>> baseline_correlations(scores, "old", systems=["new"]).columns["correlation"].round(3)
    array([-0.982])

    """
    scores = Scores.of(scores)
    chosen = scores if systems is None else scores.select(systems)
    found = correlation(chosen.values, scores.baseline(baseline), method)
    undefined = [name for name, r in zip(chosen.systems, found, strict=True) if np.isnan(r)]
    note = (f"no correlation where all topics score alike: {listed(undefined)}",) if undefined else ()
    return Result(
        signature("correlation", measure=scores.measure, baseline=baseline, method=method, topics=len(scores.topics)),
        {"system": chosen.systems, "baseline": [baseline] * len(found), "correlation": found},
        (*scores.all_notes, *note),
    )


@dataclass(frozen=True)
class Friedman:
    """Friedman's test: chi-square statistic, degrees of freedom, p, and Kendall's W (0 no agreement, 1 full)."""

    statistic: float
    df: int
    p: float
    w: float


def friedman(matrix: npt.ArrayLike) -> Friedman:
    """Do treatments (rows) differ consistently over blocks (columns)? Friedman 1937.

    >>> result = friedman([[0.1, 0.2, 0.3], [0.2, 0.3, 0.5], [0.3, 0.5, 0.6]])
    >>> result.df, round(result.statistic, 3), round(result.p, 3), round(result.w, 3)
    (2, 6.0, 0.05, 1.0)
    """
    x = np.asarray(matrix, dtype=np.float64)
    if x.ndim != 2 or x.shape[0] < 3 or x.shape[1] < 2:
        raise SurefootError(f"Friedman's test needs at least 3 treatments and 2 blocks; got {x.shape}")
    treatments, blocks = x.shape
    statistic, df = friedman_statistic(x), treatments - 1
    return Friedman(statistic, df, chi_square_p(statistic, df), statistic / (blocks * df))
