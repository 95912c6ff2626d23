"""Is the mean close enough to normal for T_Risk? Bootstrap replicates of U_Risk against normal quantiles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from surefoot._typing import FloatArray
from surefoot.analysis.design import Design
from surefoot.errors import SurefootError
from surefoot.results import Column, Result, signature
from surefoot.risk.values import Family, Linear
from surefoot.scores import Scores, ScoresLike
from surefoot.stats.normality import LEAST_PPCC, MOST_KURTOSIS, MOST_SKEWNESS, QQ, bootstrap_means, qq


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
        Of the bootstrap.
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
    return Normality(
        signature=signature(
            "normality",
            scores,
            system=system,
            baseline=baseline,
            alpha=alpha,
            value=None if left_out else design.value,
            topics=len(scores.topics),
            n_resamples=n_resamples,
            seed=seed,
        ),
        columns={
            "value": list(values),
            "alpha": [0.0 if kind == "none" else float(alpha) for kind in values],
            "urisk": x.mean(axis=-1),
            "mean": replicates.mean(axis=-1),
            "sd": replicates.std(axis=-1, ddof=1),
            "ppcc": [plot.ppcc for plot in plots.values()],
            "skewness": [plot.skewness for plot in plots.values()],
            "kurtosis": [plot.kurtosis for plot in plots.values()],
            "close": [plot.close for plot in plots.values()],
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
