"""Fitting a guard: every guard is tried on queries that it did not see, and so is the choice between them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from surefoot._random import generator
from surefoot._typing import FloatArray, IntArray
from surefoot.analysis.intervals import difference_intervals
from surefoot.errors import SurefootError, choose, counted
from surefoot.guard.blends import TREES, Scale
from surefoot.guard.guard import Guard
from surefoot.guard.pairs import Pair
from surefoot.guard.second_stage import FEWEST_QUERIES, fit_second_stage
from surefoot.guard.selection import ALPHA, ERRORS, select
from surefoot.results import Column, Result, signature
from surefoot.risk.statistics import Comparison
from surefoot.scores import Scores

PerQuery = Callable[[FloatArray], FloatArray]
"""From a score of each document to the metric of each query."""

FOLDS = 5
FEWEST = 10
"""Queries below which no guard is chosen, only the candidate left alone."""
RESAMPLES = 2_000
WEIGHTS: Mapping[str, Sequence[float]] = {
    "lean": (0.3, 0.6, 1.0),
    "z": (0.1, 0.2, 0.3, 0.5),
    "minmax": (0.1, 0.2, 0.3, 0.5),
    "ranks": (0.1, 0.2, 0.3, 0.5),
    "cap": (0.05, 0.1, 0.2),
    "fallback": (0.5, 0.75, 1.0),
}
"""The weights tried of each guard."""
LEFT_ALONE, CHOSEN = "none", "chosen"


@dataclass(frozen=True, eq=False)
class GuardFit(Result):
    """A guard with what each way to guard did on queries that it did not see.

    Each row is a kind of guard whose weight was chosen without the queries that it is measured on; the row ``chosen``
    is the whole procedure, with the choice of the kind. Changes are against the candidate left alone.

    ``guard`` is the one chosen on all queries, ``why`` says why; ``outcomes`` holds the metric of each query for the
    baseline, the candidate (``none``), each kind and ``chosen``.
    """

    guard: Guard = field(default_factory=Guard)
    why: str = ""
    outcomes: Mapping[str, FloatArray] = field(default_factory=dict)

    def extra(self) -> dict[str, Any]:
        """The choice, for JSON."""
        return {"guard": str(self.guard), "why": self.why}


def fit_guard(
    baseline_scores: npt.ArrayLike,
    candidate_scores: npt.ArrayLike,
    labels: npt.ArrayLike,
    offsets: npt.ArrayLike,
    *,
    metric: PerQuery | None = None,
    measure: str = "ndcg@10",
    kinds: Sequence[str] | None = None,
    alpha: float = ALPHA,
    seed: int = 0,
    folds: int = FOLDS,
    errors: float = ERRORS,
) -> GuardFit:
    """Fit a guard to scores of queries that the candidate was not trained on.

    Parameters
    ----------
    baseline_scores, candidate_scores
        Both rankers' score of each document, minus infinity for one that the ranker did not return; rows are grouped
        by query.
    labels
        The relevance of each document, 0 or more.
    offsets
        Where each query's rows begin, and the number of rows.
    metric
        From a score of each row to the metric of each query; by default NDCG@10 with gains 2^label - 1.
    measure
        Its name.
    kinds
        The kinds of guards to try; by default all, but for the second stage (``trees``) where there are fewer than
        100 queries.
    alpha
        How many points of the mean a point of F_Risk is worth.
    seed
        Of the folds and of the second stage.
    folds
        Into how many parts the queries are cut, 3 or more; the second stage is fitted about as many times as there
        are pairs of them.
    errors
        By how many standard errors a guard must raise U_Risk; see `surefoot.guard.selection.select`.

    Returns
    -------
    GuardFit
        The guard, and the table of what each kind did out of sample.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.normal(size=600)
    >>> old, new = truth + rng.normal(size=600), truth + rng.normal(size=600)
    >>> fit = fit_guard(old, new, truth > 1, np.arange(0, 601, 10), kinds=["z"])
    >>> str(fit.guard), fit["guard"].tolist()
    ('z 0.5', ['none', 'z', 'chosen'])
    """
    pair = Pair.of(baseline_scores, candidate_scores, offsets)
    grades = _validate_labels(labels, pair)
    if metric is None:
        from surefoot.learn.metrics import Metric

        metric = Metric(cutoff=10).bind(grades, pair.bounds)
    trial = _Trial(pair, grades, metric, tuple(_kinds(kinds, len(pair))), alpha, seed, folds, errors)
    return trial.result(measure)


@dataclass(eq=False)
class _Trial:
    """All guards on one set of queries, cut into folds.

    The second stage is learned, so for each query it is fitted without that query's fold, and for a choice that is made
    without another fold also without that one. The other guards have nothing that depends on labels.
    """

    pair: Pair
    labels: FloatArray
    metric: PerQuery
    kinds: tuple[str, ...]
    alpha: float
    seed: int
    folds: int = FOLDS
    errors: float = ERRORS
    _fitted: dict[frozenset[int], FloatArray] = field(default_factory=dict)

    @cached_property
    def fold(self) -> IntArray:
        """The fold of each query."""
        fold = np.arange(len(self.pair)) % self.folds
        return generator(self.seed).permutation(fold)

    @cached_property
    def designs(self) -> list[Guard]:
        """The guards without labels, the candidate left alone first."""
        scale = Scale.of(self.pair)
        weights = [(kind, weight) for kind in self.kinds if kind in WEIGHTS for weight in WEIGHTS[kind]]
        return [Guard(), *(Guard(kind, weight, scale) for kind, weight in weights)]

    @cached_property
    def names(self) -> list[str]:
        """The kind of each row of `values`."""
        return [guard.kind for guard in self.designs] + [TREES] * (TREES in self.kinds)

    @cached_property
    def designed(self) -> FloatArray:
        """The metric of each guard without labels (rows) on each query."""
        return np.stack([self.of(guard) for guard in self.designs])

    @cached_property
    def baseline(self) -> FloatArray:
        """The baseline's metric on each query."""
        return self.of(Guard(safety=1.0))

    def of(self, guard: Guard) -> FloatArray:
        """The metric of each query under a guard."""
        return np.asarray(self.metric(guard.ranking_scores(self.pair)), np.float64)

    def values(self, without: int | None = None) -> FloatArray:
        """The metric of all guards on each query, learned ones fitted without the query's fold and without this one."""
        if TREES not in self.kinds:
            return self.designed
        learned = np.empty(len(self.pair))
        for fold in range(self.folds):
            left_out = frozenset({fold} if without is None else {fold, without})
            inside = self.fold == fold
            learned[inside] = self.second_stage(left_out)[inside]
        return np.vstack([self.designed, learned])

    def second_stage(self, left_out: frozenset[int]) -> FloatArray:
        """The metric of each query under the second stage that was fitted without these folds."""
        if left_out not in self._fitted:
            queries = np.flatnonzero(~np.isin(self.fold, list(left_out)))
            self._fitted[left_out] = self.of(self.fit_trees(queries))
        return self._fitted[left_out]

    def fit_trees(self, queries: IntArray) -> Guard:
        return fit_second_stage(self.pair.select(queries), self.labels[self.pair.rows(queries)], seed=self.seed)

    def choose(self, values: FloatArray, queries: Any, rows: IntArray) -> int:
        """The row, of these, that is best on these queries."""
        b = self.baseline[queries]
        return int(rows[select(values[np.ix_(rows, queries)], values[0, queries], b, self.alpha, self.errors).index])

    def nested(self) -> Iterator[tuple[str, FloatArray]]:
        """Each kind, and the choice of a kind, with its metric on queries that had no part in choosing it."""
        names = np.array(self.names)
        groups = {kind: np.flatnonzero((names == kind) | (names == LEFT_ALONE)) for kind in self.kinds}
        groups[CHOSEN] = np.arange(names.size)
        outer = self.values()
        found = {kind: outer[0].copy() for kind in groups}
        for fold in range(self.folds if len(self.pair) >= FEWEST else 0):
            inner, inside = self.values(fold), self.fold == fold
            for kind, rows in groups.items():
                found[kind][inside] = outer[self.choose(inner, ~inside, rows), inside]
        yield LEFT_ALONE, outer[0]
        yield from found.items()

    def chosen(self) -> tuple[Guard, str]:
        """The guard chosen on all queries, and why."""
        if len(self.pair) < FEWEST:
            return Guard(), f"{counted(len(self.pair), 'query')} can't tell guards apart; {FEWEST} or more are needed"
        values = self.values()
        selection = select(values, values[0], self.baseline, self.alpha, self.errors)
        if selection.index == 0:
            found = "no guard raises" if self.errors >= 0 else "every guard lowers"
            return Guard(), f"{found} U_Risk by more than its standard error, so the candidate is left alone"
        learned = selection.index == len(self.designs)
        guard = self.fit_trees(np.arange(len(self.pair))) if learned else self.designs[selection.index]
        gain, error = selection.gain[selection.index], selection.error[selection.index]
        return guard, (
            f"{guard} raises U_Risk at alpha {self.alpha:g} by {gain:.4f} ± {error:.4f} (standard error) on queries "
            "that it did not see, the largest lower bound of all guards"
        )

    def result(self, measure: str) -> GuardFit:
        outcomes = {"baseline": self.baseline, **dict(self.nested())}
        guard, why = self.chosen()
        stated = signature(
            "guard", measure=measure, alpha=self.alpha, kinds=self.kinds, queries=len(self.pair), seed=self.seed
        )
        card = {"measure": measure, "queries": len(self.pair), "signature": stated, "why": why}
        return GuardFit(
            stated, table_of(outcomes, measure), guard=replace(guard, card=card), why=why, outcomes=outcomes
        )


def table_of(outcomes: Mapping[str, FloatArray], measure: str) -> dict[str, Column]:
    """What each guard did to the mean and to F_Risk, with 95 % paired intervals, and to losses."""
    baseline, names = outcomes["baseline"], [name for name in outcomes if name != "baseline"]
    scores = Scores(np.stack(list(outcomes.values())), list(outcomes), range(baseline.size), measure)
    compared = Comparison.of(np.stack([outcomes[name] for name in names]), baseline)
    columns: dict[str, list[Any]] = {
        "guard": names,
        "mean": [float(outcomes[name].mean()) for name in names],
        "frisk": np.atleast_1d(compared.frisk).tolist(),
        "losses": np.atleast_1d(compared.losses.n).astype(int).tolist(),
        "loss20": np.atleast_1d(compared.loss20).astype(int).tolist(),
    }
    for risk in ("mean", "frisk"):
        bounds = [_change(scores, name, risk) for name in names]
        for ending, values in zip(("change", "low", "high"), zip(*bounds, strict=True), strict=True):
            columns[f"{risk}_{ending}"] = list(values)
    return dict(columns)


def _change(scores: Scores, name: str, risk: str) -> tuple[float, float, float]:
    """The change against the candidate left alone, with its interval."""
    if np.array_equal(scores[name], scores[LEFT_ALONE]) or len(scores.topics) < 2:
        return 0.0, 0.0, 0.0
    found = difference_intervals(scores, name, LEFT_ALONE, "baseline", measures=[risk], n_resamples=RESAMPLES)
    return float(found["estimate"][0]), float(found["low"][0]), float(found["high"][0])


def _kinds(kinds: Sequence[str] | None, queries: int) -> Iterator[str]:
    if kinds is None:
        yield from (*WEIGHTS, *((TREES,) if queries >= FEWEST_QUERIES else ()))
        return
    for kind in kinds:
        yield choose(kind, (*WEIGHTS, TREES), "the kind of a guard")


def _validate_labels(labels: npt.ArrayLike, pair: Pair) -> FloatArray:
    grades = np.asarray(labels, dtype=np.float64)
    if grades.shape != pair.baseline.scores.shape:
        raise SurefootError(f"{counted(pair.baseline.scores.size, 'document')} need as many labels; got {grades.size}")
    if not ((grades >= 0) & np.isfinite(grades)).all():
        raise SurefootError("labels must be finite numbers of 0 or more")
    return grades
