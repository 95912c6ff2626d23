"""Fitting a guard: every guard is tried on queries that it did not see, and so is the choice between them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from surefoot._random import generator
from surefoot._typing import BoolArray, FloatArray, IntArray
from surefoot.analysis.intervals import difference_intervals
from surefoot.errors import SurefootError, choose, counted
from surefoot.guard.blends import TREES, Scale
from surefoot.guard.certificate import Budget, Certificate, certify
from surefoot.guard.guard import Guard
from surefoot.guard.pairs import Pair
from surefoot.guard.second_stage import FEWEST_QUERIES, fit_second_stage
from surefoot.guard.selection import ALPHA, select
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
    "lean": (0.1, 0.2, 0.3, 0.45, 0.6, 0.8, 1.0, 1.5, 2.0),
    "z": (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6, 0.7),
    "minmax": (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6, 0.7),
    "ranks": (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6, 0.7),
    "cap": (0.02, 0.05, 0.1, 0.2, 1 / 3, 0.5),
    "fallback": (0.25, 0.5, 0.75, 1.0),
}
"""The weights tried of each guard."""

CHOICES = ("lean", "z", TREES)
"""The kinds that one is chosen from unless others are named: each one more makes the choice noisier, and on the
collection that the rule was made on (see docs/guard.md) the others added nothing."""

LEFT_ALONE, CHOSEN = "none", "chosen"


@dataclass(frozen=True, eq=False)
class GuardFit(Result):
    """A guard with what each way to guard did on queries that it did not see.

    Each row is a kind of guard whose weight was chosen without the queries that it is measured on; the row ``chosen``
    is the whole procedure, with the choice of the kind. Changes are against the candidate left alone.

    ``guard`` is the one chosen on all queries, ``why`` says why; ``outcomes`` holds the metric of each query for the
    baseline, the candidate (``none``), each kind and ``chosen``. With a budget all of this is about the queries that
    chose the guard, and ``certificate`` about the others.
    """

    guard: Guard = field(default_factory=Guard)
    why: str = ""
    outcomes: Mapping[str, FloatArray] = field(default_factory=dict)
    certificate: Certificate | None = None

    def with_notes(self, notes: Sequence[str], **card: object) -> GuardFit:
        """The same fit with notes, and more on the guard's card."""
        guard = replace(self.guard, card={**self.guard.card, **card})
        return replace(self, notes=(*self.notes, *notes), guard=guard)

    def extra(self) -> dict[str, Any]:
        """The choice, for JSON."""
        certified = {} if self.certificate is None else {"certificate": self.certificate.to_card()}
        return {"guard": str(self.guard), "why": self.why, **certified}


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
    budget: Budget | None = None,
    seed: int = 0,
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
        The kinds of guards to choose from; by default ``lean``, ``z`` and, from 100 queries on, the second stage
        (``trees``). All others are tried and shown too.
    alpha
        How many points of the mean a point of F_Risk is worth.
    budget
        What may be lost. The guard is then chosen on a part of the queries, and how bold it may be is tested on the
        others.
    seed
        Of folds, of the second stage, and of which queries are held out for the test.

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
    ('z 0.6', ['none', 'lean', 'z', 'minmax', 'ranks', 'cap', 'fallback', 'chosen'])
    """
    pair = Pair.of(baseline_scores, candidate_scores, offsets)
    grades = _validate_labels(labels, pair)
    if metric is None:
        from surefoot.learn.metrics import Metric

        metric = Metric(cutoff=10).bind(grades, pair.bounds)
    everything = _Everything(pair, grades, metric)
    chosen_on, held = _split(len(pair), budget, seed)
    kinds = tuple(_kinds(kinds, chosen_on.size))
    fit = _Trial(everything, chosen_on, kinds, alpha, seed).result(measure)
    return fit if budget is None else _certified(fit, everything, held, budget, seed)


def _split(queries: int, budget: Budget | None, seed: int) -> tuple[IntArray, IntArray]:
    """The queries to choose a guard on, and those that are held out to test what a budget asks for.

    Half are held out, or twice as many as the test needs at least, if that is more.
    """
    if budget is None:
        return np.arange(queries), np.arange(0)
    order = np.random.default_rng(seed).permutation(queries)
    held = min(queries, max(queries // 2, 2 * budget.fewest_queries()))
    return np.sort(order[held:]), np.sort(order[:held])


def _certified(fit: GuardFit, everything: _Everything, held: IntArray, budget: Budget, seed: int) -> GuardFit:
    """The fit with its guard as bold as the held-out queries allow."""
    guard = fit.guard

    def measure_at(safety: float) -> FloatArray:
        return everything.measured(guard.towards_baseline(safety))[held]

    certificate = certify(measure_at, everything.baseline[held], budget, seed)
    certified = replace(guard, safety=certificate.safety, card={**guard.card, "certificate": certificate.to_card()})
    return replace(fit, guard=certified, certificate=certificate)


@dataclass(eq=False)
class _Everything:
    """Both rankings of all queries, and how to measure a guard on them."""

    pair: Pair
    labels: FloatArray
    metric: PerQuery

    def measured(self, guard: Guard) -> FloatArray:
        """The metric of each query under a guard."""
        return np.asarray(self.metric(guard.ranking_scores(self.pair)), np.float64)

    @cached_property
    def baseline(self) -> FloatArray:
        """The baseline's metric on each query; its ties, unlike those of a guard, know no candidate."""
        scored = self.pair.baseline
        return np.asarray(self.metric(scored.falling(scored.order)), np.float64)


@dataclass(eq=False)
class _Trial:
    """All guards on some queries, cut into folds.

    The second stage is learned, so for each query it is fitted without that query's fold, and for a choice that is made
    without another fold also without that one. The other guards have nothing that depends on labels.
    """

    everything: _Everything
    queries: IntArray
    kinds: tuple[str, ...]
    alpha: float
    seed: int
    _fitted: dict[frozenset[int], FloatArray] = field(default_factory=dict)

    def __len__(self) -> int:
        return self.queries.size

    @cached_property
    def fold(self) -> IntArray:
        """The fold of each query."""
        return generator(self.seed).permutation(np.arange(len(self)) % FOLDS)

    @cached_property
    def designs(self) -> list[Guard]:
        """The guards without labels, the candidate left alone first."""
        scale = Scale.of(self.everything.pair.select(self.queries)) if len(self) else Scale()
        return [Guard(), *(Guard(kind, weight, scale) for kind in WEIGHTS for weight in WEIGHTS[kind])]

    @cached_property
    def names(self) -> npt.NDArray[np.str_]:
        """The kind of each row of `values`."""
        return np.array([guard.kind for guard in self.designs] + [TREES] * (TREES in self.kinds))

    @cached_property
    def eligible(self) -> IntArray:
        """The rows of `values` that one is chosen from."""
        return np.flatnonzero(np.isin(self.names, (LEFT_ALONE, *self.kinds)))

    @cached_property
    def designed(self) -> FloatArray:
        """The metric of each guard without labels (rows) on each query."""
        return np.stack([self.of(guard) for guard in self.designs])

    @cached_property
    def baseline(self) -> FloatArray:
        """The baseline's metric on each query."""
        return self.everything.baseline[self.queries]

    def of(self, guard: Guard) -> FloatArray:
        """The metric of each query under a guard."""
        return self.everything.measured(guard)[self.queries]

    def values(self, without: int | None = None) -> FloatArray:
        """The metric of all guards on each query, learned ones fitted without the query's fold and without this one."""
        if TREES not in self.kinds:
            return self.designed
        learned = np.empty(len(self))
        for fold in range(FOLDS):
            left_out = frozenset({fold} if without is None else {fold, without})
            inside = self.fold == fold
            learned[inside] = self.second_stage(left_out)[inside]
        return np.vstack([self.designed, learned])

    def second_stage(self, left_out: frozenset[int]) -> FloatArray:
        """The metric of each query under the second stage that was fitted without these folds."""
        if left_out not in self._fitted:
            self._fitted[left_out] = self.of(self.fit_trees(self.queries[~np.isin(self.fold, list(left_out))]))
        return self._fitted[left_out]

    def fit_trees(self, queries: IntArray) -> Guard:
        """The second stage of these queries."""
        pair, labels = self.everything.pair, self.everything.labels
        return fit_second_stage(pair.select(queries), labels[pair.rows(queries)], seed=self.seed)

    def choose(self, values: FloatArray, queries: BoolArray, rows: IntArray) -> int:
        """The row, of these, that is best on these queries."""
        b = self.baseline[queries]
        return int(rows[select(values[np.ix_(rows, queries)], values[0, queries], b, self.alpha).index])

    def nested(self) -> Iterator[tuple[str, FloatArray]]:
        """Each kind, and the choice of a kind, with its metric on queries that had no part in choosing it."""
        kinds = dict.fromkeys(self.names[1:].tolist())
        groups = {kind: np.flatnonzero((self.names == kind) | (self.names == LEFT_ALONE)) for kind in kinds}
        groups[CHOSEN] = self.eligible
        outer = self.values()
        found = {kind: outer[0].copy() for kind in groups}
        for fold in range(FOLDS if len(self) >= FEWEST else 0):
            inner, inside = self.values(fold), self.fold == fold
            for kind, rows in groups.items():
                found[kind][inside] = outer[self.choose(inner, ~inside, rows), inside]
        yield LEFT_ALONE, outer[0]
        yield from found.items()

    def chosen(self) -> tuple[Guard, str]:
        """The guard chosen on all queries, and why."""
        if len(self) < FEWEST:
            return Guard(), f"{counted(len(self), 'query')} can't tell guards apart; {FEWEST} or more are needed"
        values = self.values()[self.eligible]
        selection = select(values, values[0], self.baseline, self.alpha)
        if selection.index == 0:
            return Guard(), "no guard raises U_Risk by more than its standard error, so the candidate is left alone"
        row = int(self.eligible[selection.index])
        guard = self.fit_trees(self.queries) if row == len(self.designs) else self.designs[row]
        gain, error = selection.gain[selection.index], selection.error[selection.index]
        return guard, (
            f"{guard} raises U_Risk at alpha {self.alpha:g} by {gain:.4f} ± {error:.4f} (standard error) on queries "
            "that it did not see, the largest lower bound of all guards"
        )

    def result(self, measure: str) -> GuardFit:
        """The table, the guard and why."""
        guard, why = self.chosen()
        stated = signature(
            "guard", measure=measure, alpha=self.alpha, kinds=self.kinds, queries=len(self), seed=self.seed
        )
        outcomes = {"baseline": self.baseline, **dict(self.nested())} if len(self) else {}
        card = {"measure": measure, "queries": len(self), "signature": stated, "why": why}
        columns = table_of(outcomes, measure) if outcomes else {}
        return GuardFit(stated, columns, guard=replace(guard, card=card), why=why, outcomes=outcomes)


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
        yield from (kind for kind in CHOICES if kind != TREES or queries >= FEWEST_QUERIES)
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
