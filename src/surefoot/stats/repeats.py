"""Repeats: how much a system's scores vary between queries, and how much between trials on one query.

The score of trial i on query q is modelled as x_qi = m_q + e_qi: m_q is the expected score on the query, e_qi the noise
of the trial, whose variance may differ from query to query. Queries count equally, however many trials they have.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from surefoot._typing import FloatArray, IntArray
from surefoot.errors import SurefootError, counted, listed
from surefoot.scores import Scores

MOST_NOTES = 5
"""The number of systems with repeats that notes describe one by one."""


@dataclass(frozen=True)
class Spread:
    """The variance of one system's scores, split into queries and trials.

    Parameters
    ----------
    between
        The variance of the queries' expected scores, unbiased, so that it may be below 0; NaN for a single query.
    within
        The variance of a trial around its query's expected score, the mean over queries; unbiased.
    noise_floor
        The expected absolute difference of two independent trials on a query, the mean over queries; unbiased.
    """

    between: float
    within: float
    noise_floor: float

    @property
    def share_within(self) -> float:
        """The share of trials in the variance of a single score, 0 to 1; NaN where nothing varies."""
        total = max(self.between, 0.0) + self.within
        return self.within / total if total > 0 else float("nan")


def spread_of_trials(trials: FloatArray) -> Spread:
    """Split the variance of a system's trials, and find its noise floor.

    Parameters
    ----------
    trials
        Trials × queries, NaN where a query has fewer trials than another. Queries with one trial say nothing about
        the noise, and count for the variance between queries only.

    Returns
    -------
    Spread
        With the same number of trials on each query, ``within`` is the mean square within groups of the one-way
        analysis of variance, and ``between`` its estimate (MSB - MSW) / trials.

    Examples
    --------
    >>> spread_of_trials(np.array([[0.0, 1.0], [0.5, 1.0]]))
    Spread(between=0.25, within=0.0625, noise_floor=0.25)
    """
    counts = trial_counts(trials)
    repeated = counts > 1
    if not repeated.any():
        raise SurefootError("no query has two trials or more; repeat the system")
    own = trials[:, counts > 0]
    counts, repeated = counts[counts > 0], repeated[counts > 0]
    variances = _variances(own, counts)
    within = float(variances[repeated].mean())
    noise = np.where(repeated, variances, within) / counts  # of each query's mean
    means = np.nansum(own, axis=0) / counts
    between = float(means.var(ddof=1) - noise.mean()) if len(means) > 1 else float("nan")
    return Spread(between, within, float(_differences(own[:, repeated], counts[repeated]).mean()))


def trial_counts(trials: FloatArray) -> IntArray:
    """The number of trials of each query."""
    return np.asarray((~np.isnan(trials)).sum(axis=0), dtype=np.int64)


def standard_errors(trials: FloatArray) -> FloatArray:
    """The standard error of each query's mean over its trials; NaN where it has only one.

    >>> standard_errors(np.array([[0.1, 0.5], [0.3, np.nan]]))
    array([0.1, nan])
    """
    counts = trial_counts(trials)
    return np.sqrt(np.where(counts > 1, _variances(trials, counts), np.nan) / np.maximum(counts, 1))


def _variances(trials: FloatArray, counts: IntArray) -> FloatArray:
    """The unbiased variance of each query's trials; 0 where there is only one."""
    means = np.nansum(trials, axis=0) / np.maximum(counts, 1)
    return np.asarray(np.nansum((trials - means) ** 2, axis=0) / np.maximum(counts - 1, 1))


def _differences(trials: FloatArray, counts: IntArray) -> FloatArray:
    """The mean absolute difference over all pairs of each query's trials.

    Sorted, the i-th of n trials is the larger one in i - 1 pairs and the smaller one in n - i.
    """
    ordered = np.sort(trials, axis=0)  # NaN comes last
    weights = 2 * np.arange(1, len(trials) + 1)[:, None] - counts - 1
    return np.asarray(np.nansum(weights * ordered, axis=0) / (counts * (counts - 1) / 2))


def notes_on_repeats(scores: Scores) -> Iterator[str]:
    """Describe the repeats of each system: number of trials, noise floor, variances, gaps."""
    systems, one = sorted(scores.trials), "item" if scores.noun == "items" else "query"
    for system in systems[:MOST_NOTES]:
        trials = scores.trials[system]
        counts, spread = trial_counts(trials), spread_of_trials(trials)
        fewest, most = int(counts.min()), int(counts.max())
        number = f"{fewest} to {most}" if fewest < most else f"{most}"
        note = f"{system}: mean of {number} trials; it differs from itself by {spread.noise_floor:.3g} per {one}"
        if spread.share_within == spread.share_within:
            share = round(100 * spread.share_within)
            note += f"; variance of a score: {100 - share} % between {scores.noun}, {share} % between trials"
        yield note
        lacking = [scores.topics[index] for index in np.flatnonzero(counts < most).tolist()]
        if lacking:
            yield f"{system}: fewer trials on {counted(len(lacking), 'topic')}: {listed(lacking, most=5)}"
    if len(systems) > MOST_NOTES:
        yield f"means over trials too: {listed(systems[MOST_NOTES:])}"


HALVES = ("odd trials", "even trials")


def split_trials(scores: Scores, system: str) -> Scores:
    """The trials of one system as two systems: the first, third, ... trial against the others.

    >>> scores = Scores([[0.5]], ["a"], ["q1"], trials={"a": [[0.4], [0.6]]})
    >>> split_trials(scores, "a").values.tolist()
    [[0.4], [0.6]]
    """
    trials = scores.trials.get(system)
    if trials is None or len(trials) < 2:
        repeated = f"; repeated are {listed(scores.trials)}" if scores.trials else ""
        raise SurefootError(f"{system} needs two trials or more to be compared with itself{repeated}")
    halves = [trials[0::2], trials[1::2]]
    kept = np.flatnonzero(np.all([~np.isnan(half).all(axis=0) for half in halves], axis=0)).tolist()
    if not kept:
        raise SurefootError(f"no query has two trials of {system}")
    names = [f"{system} ({half})" for half in HALVES]
    parts = {name: half[:, kept] for name, half in zip(names, halves, strict=True)}
    means = [np.nanmean(part, axis=0) for part in parts.values()]
    return Scores(means, names, [scores.topics[place] for place in kept], scores.measure, scores.notes, trials=parts)
