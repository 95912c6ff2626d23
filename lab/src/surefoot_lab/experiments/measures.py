"""The measures of the papers' tables: functions of sums over queries, so that resampling is a matrix product."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from surefoot._typing import FloatArray
from surefoot.risk.statistics import large_losses
from surefoot.stats.bootstrap import bootstrap_weights, percentile_interval

Sums = FloatArray
"""Gain, loss, wins, losses, large losses and queries of each resample (last axis)."""

GAIN, LOSS, WINS, LOSSES, LARGE, QUERIES = range(6)


def _ratio(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """Infinite where only the denominator is 0, NaN where both are."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(numerator / denominator)


MEASURES: dict[str, Callable[[Sums], FloatArray]] = {
    "gain": lambda sums: (sums[GAIN] - sums[LOSS]) / sums[QUERIES],
    "reward": lambda sums: sums[GAIN] / sums[QUERIES],
    "risk": lambda sums: sums[LOSS] / sums[QUERIES],
    "reward_risk": lambda sums: _ratio(sums[GAIN], sums[LOSS]),
    "risk_reward": lambda sums: _ratio(sums[LOSS], sums[GAIN]),
    "wins": lambda sums: sums[WINS],
    "losses": lambda sums: sums[LOSSES],
    "win_loss": lambda sums: _ratio(sums[WINS], sums[LOSSES]),
    "loss_win": lambda sums: _ratio(sums[LOSSES], sums[WINS]),
    "loss20": lambda sums: sums[LARGE],
}
"""U_Gain; F_Reward, F_Risk, their ratios; queries won and lost, their ratios; queries that lost more than 20 %."""


def summands(system: FloatArray, baseline: FloatArray) -> FloatArray:
    """The summands of each query, in six rows."""
    d = system - baseline
    large = large_losses(d, baseline)
    return np.stack([np.maximum(d, 0), np.maximum(-d, 0), d > 0, d < 0, large, np.ones_like(d)])


def measures_against(
    system: FloatArray, baselines: FloatArray, names: Iterable[str], weights: FloatArray | None = None
) -> dict[str, FloatArray]:
    """Each measure against each baseline (row), averaged over the baselines; with weights, on each resample.

    >>> found = measures_against(np.array([0.2, 0.5]), np.array([[0.4, 0.1], [0.2, 0.4]]), ["risk", "wins", "losses"])
    >>> {name: round(float(value), 6) for name, value in found.items()}
    {'risk': 0.05, 'wins': 1.0, 'losses': 0.5}
    """
    sums = [_summed(summands(system, baseline), weights) for baseline in baselines]
    return {name: np.mean([MEASURES[name](own) for own in sums], axis=0) for name in names}


def _summed(rows: FloatArray, weights: FloatArray | None) -> Sums:
    return np.asarray(rows.sum(axis=1) if weights is None else rows @ weights.T)


def measure_intervals(
    system: FloatArray, baselines: FloatArray, names: Iterable[str], n_resamples: int, seed: int
) -> dict[str, tuple[float, float]]:
    """Percentile intervals of the mean score and of each measure, by resampling queries."""
    wanted = list(names)
    drawn: dict[str, list[FloatArray]] = {name: [] for name in ("mean", *wanted)}
    for weights in bootstrap_weights(system.size, n_resamples, seed):
        drawn["mean"].append(weights @ system / system.size)
        for name, values in measures_against(system, baselines, wanted, weights).items():
            drawn[name].append(values)
    found: dict[str, tuple[float, float]] = {}
    for name, chunks in drawn.items():
        with np.errstate(invalid="ignore"):  # between two infinite ratios
            low, high = percentile_interval(np.concatenate(chunks))
        found[name] = float(low), float(high)
    return found


def mean_loss(system: FloatArray, baselines: FloatArray) -> FloatArray:
    """The loss of each query, averaged over the baselines."""
    return np.asarray(np.maximum(baselines - system, 0).mean(axis=0))
