"""Is a mean close to normal? Bootstrap replicates against normal quantiles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from surefoot._process import generator
from surefoot._typing import FloatArray
from surefoot.analysis.design import Design
from surefoot.errors import SurefootError
from surefoot.results import Column, Result, signature
from surefoot.risk.distributions import probit
from surefoot.risk.moments import CHUNK
from surefoot.risk.values import Family, Linear
from surefoot.scores import Scores, ScoresLike

LEAST_PPCC, MOST_SKEWNESS, MOST_KURTOSIS = 0.995, 0.35, 0.5
"""The bounds of "close to normal". By Edgeworth's expansion, a mean with skewness and excess kurtosis within these
bounds falls beyond 1.96 standard errors on either side with probability 1.1 to 3.6 %, where the normal has 2.5 %."""


def bootstrap_means(values: npt.ArrayLike, n_resamples: int = 10_000, seed: int = 0) -> FloatArray:
    """The means of ``n_resamples`` samples of the topics (the last axis), drawn with replacement.

    The replicates are the new last axis. Leading axes share the draws, so that replicate k of each row saw the same
    topics. Efron, *Bootstrap methods: another look at the jackknife*, Annals of Statistics 1979.

    >>> bootstrap_means([[0.0, 1.0], [1.0, 0.0]], n_resamples=4).sum(axis=0)
    array([1., 1., 1., 1.])
    """
    x = np.asarray(values, dtype=np.float64)
    if x.ndim == 0 or x.shape[-1] < 1 or n_resamples < 1:
        raise SurefootError(f"a bootstrap needs topics and 1 or more resamples; got {x.shape} and {n_resamples}")
    random, topics = generator(seed), x.shape[-1]
    means = np.empty((*x.shape[:-1], n_resamples))
    at_once = max(1, CHUNK // x.size)
    for start in range(0, n_resamples, at_once):
        drawn = random.integers(0, topics, (min(at_once, n_resamples - start), topics))
        means[..., start : start + len(drawn)] = x[..., drawn].mean(axis=-1)
    return means


def normal_quantiles(n: int) -> FloatArray:
    """Where n normal values are expected, in order: the normal quantiles of Filliben's m_1 … m_n.

    These are the medians of n ordered uniform values: m_i = (i - 0.3175) / (n + 0.365), but m_n = 0.5^(1/n) and
    m_1 = 1 - m_n. Filliben, *The probability plot correlation coefficient test for normality*, Technometrics 1975.

    >>> normal_quantiles(3).round(3)
    array([-0.819,  0.   ,  0.819])
    """
    medians = (np.arange(1, n + 1) - 0.3175) / (n + 0.365)
    medians[-1] = 0.5 ** (1 / n)
    medians[0] = 1 - medians[-1]
    return probit(medians)


@dataclass(frozen=True, eq=False)
class QQ:
    """A sample in order against normal quantiles, and how far it is from normal."""

    theoretical: FloatArray
    ordered: FloatArray
    ppcc: float
    skewness: float
    kurtosis: float

    @property
    def close(self) -> bool | None:
        """Whether all three statistics are within the bounds of this module; None if the sample does not vary."""
        if np.isnan(self.ppcc):
            return None
        return self.ppcc >= LEAST_PPCC and abs(self.skewness) <= MOST_SKEWNESS and abs(self.kurtosis) <= MOST_KURTOSIS


def qq(sample: npt.ArrayLike) -> QQ:
    """The normal Q-Q plot of a sample: its points, skewness m_3 / m_2^1.5, kurtosis m_4 / m_2² - 3 and PPCC.

    m_k are the central moments; PPCC, the probability plot correlation coefficient, is the correlation of the ordered
    sample with `normal_quantiles`: 1 on a straight line. NaN where the sample does not vary.

    >>> found = qq([0.1, 0.2, 0.3, 0.4, 0.9])
    >>> round(found.ppcc, 3), round(found.skewness, 3), round(found.kurtosis, 3), found.close
    (0.924, 1.039, -0.331, False)
    """
    ordered = np.sort(np.asarray(sample, dtype=np.float64))
    if ordered.ndim != 1 or ordered.size < 3 or not np.isfinite(ordered).all():
        raise SurefootError(f"a Q-Q plot needs 3 or more finite values in a row; got shape {ordered.shape}")
    theoretical = normal_quantiles(ordered.size)
    deviation = ordered - ordered.mean()
    spread = np.sqrt(np.mean(deviation**2))
    if spread <= 1e-13 * np.abs(ordered).max():
        return QQ(theoretical, ordered, np.nan, np.nan, np.nan)
    z = deviation / spread
    ppcc = (z @ theoretical) / np.sqrt(ordered.size * (theoretical @ theoretical))
    return QQ(theoretical, ordered, float(ppcc), float(np.mean(z**3)), float(np.mean(z**4)) - 3.0)


@dataclass(frozen=True, kw_only=True, eq=False)
class Normality(Result):
    """A row for each kind of value; ``plots`` holds the Q-Q plot of each, ``holds`` whether T_Risk can rely on it."""

    plots: Mapping[str, QQ]

    @property
    def holds(self) -> dict[str, bool | None]:
        """For each kind of value: is the mean close to normal? None where it does not vary."""
        return {kind: plot.close for kind, plot in self.plots.items()}

    def points(self) -> Result:
        """The points of the Q-Q plots: the normal quantiles, and the ordered replicates of each kind of value."""
        theoretical = next(iter(self.plots.values())).theoretical
        columns: dict[str, Column] = {kind: plot.ordered for kind, plot in self.plots.items()}
        return Result(self.signature, {"theoretical": theoretical, **columns}, self.notes)


def normality(
    scores: ScoresLike,
    system: str,
    baseline: str,
    alpha: float = 1.0,
    n_resamples: int = 10_000,
    seed: int = 0,
    *,
    smooth: Family | None = None,
) -> Normality:
    """Bootstrap replicates of U_Risk by plain differences, linear and smooth values, and whether they look normal.

    T_Risk takes the mean of x = v(d) to be close to normally distributed. Here the topics are resampled, the same draws
    for all three values, and the means are compared with a normal distribution. A statistic near its bound may fall on
    either side with another seed: skewness has a standard error of about sqrt(6 / n_resamples).

    Benham, Moffat and Culpepper, *On the pluses and minuses of risk*, ECIR 2020, figure 3 (their alpha-hat is
    1 + alpha).

    Parameters
    ----------
    scores
        Systems × topics of one effectiveness measure.
    system, baseline
        The system, and a system or MEAN, MEDIAN or MAX of each topic to compare it with.
    alpha
        The additional weight of losses.
    n_resamples, seed
        The number of resamples of the bootstrap, and the random seed.
    smooth
        The family of smooth values; fitted to the differences of all systems from the baseline by default.

    Returns
    -------
    Normality
        Rows ``none`` (alpha = 0), ``linear`` and ``smooth``; columns ``value, alpha, urisk`` (of the topics as they
        are), ``mean`` and ``sd`` of the replicates, ``ppcc, skewness, kurtosis, close`` (see `qq`). The notes say what
        they mean.

    Examples
    --------
    >>> scores = Scores(np.random.default_rng(1).random((2, 40)) ** 3, ["old", "new"], range(40))
    >>> found = normality(scores, "new", "old", n_resamples=2000)
    >>> found.holds["linear"], round(found.plots["linear"].skewness, 2)
    (True, -0.15)

    """
    scores = Scores.of(scores)
    design = Design.of(scores, baseline, value=smooth or "smooth")
    values, left_out = _values(scores[system] - scores.baseline(baseline), alpha, design.family)
    x = np.stack(list(values.values()))
    replicates = bootstrap_means(x, n_resamples, seed)
    plots = {kind: qq(row) for kind, row in zip(values, replicates, strict=True)}
    fields = {"alpha": alpha, "value": None if left_out else design.value, "topics": len(scores.topics)}
    pair = {"system": system, "baseline": baseline}
    return Normality(
        signature=signature("normality", scores, **pair, **fields, n_resamples=n_resamples, seed=seed),
        columns={
            "value": list(values),
            "alpha": [0.0 if kind == "none" else float(alpha) for kind in values],
            "urisk": x.mean(axis=-1),
            "mean": replicates.mean(axis=-1),
            "sd": replicates.std(axis=-1, ddof=1),
            **{
                name: [getattr(plot, name) for plot in plots.values()]
                for name in ("ppcc", "skewness", "kurtosis", "close")
            },
        },
        notes=(*scores.all_notes, *left_out, *(_verdict(kind, plot) for kind, plot in plots.items())),
        plots=plots,
    )


def _values(d: FloatArray, alpha: float, smooth: Family) -> tuple[dict[str, FloatArray], list[str]]:
    """The differences, valued in each way, and a note if these scores have no smooth values."""
    values = {"none": d, "linear": Linear(alpha)(d)}
    try:
        values["smooth"] = smooth(alpha)(d)
    except SurefootError as refusal:
        return values, [f"smooth values are left out: {refusal}"]
    return values, []


def _verdict(kind: str, plot: QQ) -> str:
    if plot.close is None:
        return f"{kind}: all topics have the same value, so there is nothing to test"
    statistics = [
        (f"PPCC {plot.ppcc:.4f}", f"below {LEAST_PPCC:g}", plot.ppcc < LEAST_PPCC),
        (f"skewness {plot.skewness:.2f}", f"beyond ±{MOST_SKEWNESS:g}", abs(plot.skewness) > MOST_SKEWNESS),
        (f"excess kurtosis {plot.kurtosis:.2f}", f"beyond ±{MOST_KURTOSIS:g}", abs(plot.kurtosis) > MOST_KURTOSIS),
    ]
    stated = ", ".join(f"{found} ({bound})" if fails else found for found, bound, fails in statistics)
    if plot.close:
        return f"{kind}: the mean is close to normal, as T_Risk assumes: {stated}"
    return f"{kind}: the mean is not close to normal, so T_Risk and its p are rough: {stated}"
