"""Fit a guard; all guards, and the choice between them, are measured out of sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from surefoot._typing import FloatArray, IntArray, Progress
from surefoot.analysis.intervals import difference_intervals
from surefoot.errors import SurefootError, counted
from surefoot.guard.certificate import PATH, Budget, Certificate
from surefoot.guard.guard import Guard
from surefoot.guard.pairs import Pair
from surefoot.guard.trial import ALPHA, UNGUARDED, LabelledPair, PerQuery, choose_guard
from surefoot.lambdas.metrics import Metric
from surefoot.results import Column, Result
from surefoot.risk.statistics import Comparison
from surefoot.scores import Scores

COLUMNS = (
    "guard", "mean", "frisk", "losses", "loss20", "mean_change", "mean_low", "mean_high", "frisk_change", "frisk_low",
    "frisk_high",
)  # fmt: skip
RESAMPLES = 2_000
"""Resamples of the intervals in the table."""


@dataclass(frozen=True, eq=False)
class GuardFit(Result):
    """A guard, and the out-of-sample results of the kinds to choose from.

    The first rows are the baseline and the candidate without a guard (``none``). Each other row is a kind of guard
    whose weight was chosen without the queries on which it is measured; the row ``chosen`` is the whole procedure,
    including the choice of the kind. Changes are relative to the candidate without a guard.

    ``guard`` was chosen on all queries, for the reason ``why``. ``outcomes`` holds the metric of each query for the
    baseline, the candidate (``none``), each kind and ``chosen``. With a budget all of this is measured on the queries
    on which the guard was chosen, and ``certificate`` on the others. ``path`` has mean and F_Risk of each step from the
    baseline to the guard, and of the candidate: on the queries of the certificate, or on all if there is none.
    """

    guard: Guard = field(default_factory=Guard)
    why: str = ""
    outcomes: Mapping[str, FloatArray] = field(default_factory=dict)
    certificate: Certificate | None = None
    path: Mapping[str, Column] = field(default_factory=dict)

    def with_notes(self, notes: Sequence[str], **card: object) -> GuardFit:
        """The same fit with further notes, and further entries of the guard's card."""
        guard = replace(self.guard, card={**self.guard.card, **card})
        return replace(self, notes=(*self.notes, *notes), guard=guard)

    def readable(self) -> Result:
        """The rows with each change and its interval in one cell."""
        columns: dict[str, Column] = {
            name: self.columns[name] for name in ("guard", "mean", "frisk", "losses", "loss20")
        }
        for risk in ("mean", "frisk"):
            change = zip(*(self.columns[f"{risk}_{ending}"] for ending in ("change", "low", "high")), strict=True)
            columns[f"change of {risk}"] = [f"{value:+.4f} [{low:+.4f}, {high:+.4f}]" for value, low, high in change]
        return Result(self.signature, columns, self.notes)

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
    anyway: bool = False,
    seed: int = 0,
    progress: Progress | None = None,
) -> GuardFit:
    """Fit a guard to scores of queries that the candidate was not trained on.

    Parameters
    ----------
    baseline_scores, candidate_scores
        Both rankers' score of each document, minus infinity if the ranker did not return it; rows are grouped by
        query.
    labels
        The relevance of each document, 0 or more.
    offsets
        The first row of each query, and the number of rows.
    metric
        From a score of each row to the metric of each query; by default NDCG@10 with gains 2^label - 1.
    measure
        The name of the metric.
    kinds
        The kinds of guards to choose from; by default ``log-rank``, ``z`` and, from 400 queries on, ``second-stage``.
        ``threshold`` ranks a whole query by one of the two rankers.
    alpha
        The exchange rate: how many points of the mean a point of F_Risk is worth.
    budget
        The loss that is allowed. The guard is then chosen on a part of the queries, and its strength is tested on the
        others.
    anyway
        Fit a guard even if the candidate's mean is below the baseline's, which is an error otherwise.
    seed
        Random seed of the folds, the second stage, and the queries that are held out for the test.
    progress
        Called after each fit of the second stage with the number done, the number of fits, and a message.

    Returns
    -------
    GuardFit
        The guard, and the table of all kinds out of sample.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.normal(size=600)
    >>> old, new = truth + rng.normal(size=600), truth + 0.6 * rng.normal(size=600)
    >>> fit = fit_guard(old, new, truth > 1, np.arange(0, 601, 10), kinds=["z"])
    >>> str(fit.guard), fit["guard"].tolist()
    ('z 0.35', ['baseline', 'none', 'z', 'chosen'])
    """
    pair = Pair.of(baseline_scores, candidate_scores, offsets)
    grades = _validate_labels(labels, pair)
    judged = LabelledPair(pair, grades, Metric(cutoff=10).bind(grades, pair.bounds) if metric is None else metric)
    return fit_judged(
        judged, measure, anyway, kinds=kinds, alpha=alpha, budget=budget, seed=seed, progress=progress
    )  # fmt: skip


def fit_judged(judged: LabelledPair, measure: str, anyway: bool = False, **options: Any) -> GuardFit:
    """Fit a guard to a labelled pair; the options are those of `choose_guard`."""
    if not anyway:
        _refuse_worse(judged.baseline.mean(), judged.measured(Guard()).mean())
    choice = choose_guard(judged, measure, **options)
    outcomes = {"baseline": choice.trial.baseline, **dict(choice.trial.nested())}
    return GuardFit(
        choice.guard.card["signature"],
        table_of(outcomes, measure),
        guard=choice.guard,
        why=choice.guard.card["why"],
        outcomes=outcomes,
        certificate=choice.certificate,
        path=_path(choice.guard, judged, choice.queries),
    )


def _refuse_worse(baseline: float, candidate: float) -> None:
    if candidate < baseline:
        raise SurefootError(
            f"the candidate's mean, {candidate:.4f}, is below the baseline's, {baseline:.4f}: keep the baseline. "
            "--anyway (in Python anyway=True) fits a guard nevertheless"
        )


def _path(guard: Guard, judged: LabelledPair, queries: IntArray) -> dict[str, Column]:
    """Mean and F_Risk of the steps from the baseline to the guard, and of the candidate."""
    steps = {"baseline": judged.baseline}
    steps |= {f"{safety:g}": judged.measured(guard.towards_baseline(safety)) for safety in PATH}
    steps |= {"candidate": judged.measured(Guard())}
    rows = np.stack([x[queries] for x in steps.values()])
    compared = Comparison.of(rows, judged.baseline[queries])
    return {"step": list(steps), "mean": rows.mean(axis=1).tolist(), "frisk": compared.frisk.tolist()}


def table_of(outcomes: Mapping[str, FloatArray], measure: str) -> dict[str, Column]:
    """The effect of each guard on the mean and on F_Risk, with 95 % paired intervals, and on losses."""
    baseline = outcomes["baseline"]
    if not baseline.size:  # the certificate needs all queries
        return {name: [] for name in COLUMNS}
    scores = Scores(np.stack(list(outcomes.values())), list(outcomes), range(baseline.size), measure)
    compared = Comparison.of(scores.values, baseline)
    changes = np.stack([_changes(scores, name) for name in outcomes])
    counts = {"losses": compared.losses.n, "loss20": compared.loss20}
    return {
        "guard": list(outcomes),
        "mean": scores.values.mean(axis=1),
        "frisk": compared.frisk,
        **{name: count.astype(np.int64) for name, count in counts.items()},
        **dict(zip(COLUMNS[5:], changes.T, strict=True)),
    }


def _changes(scores: Scores, name: str) -> FloatArray:
    """The changes of the mean and of F_Risk against the candidate, each with its interval."""
    if np.array_equal(scores[name], scores[UNGUARDED]) or len(scores.topics) < 2:
        return np.zeros(6)
    found = difference_intervals(scores, name, UNGUARDED, "baseline", measures=["mean", "frisk"], n_resamples=RESAMPLES)
    return np.column_stack([found[column] for column in ("estimate", "low", "high")]).ravel()


def _validate_labels(labels: npt.ArrayLike, pair: Pair) -> FloatArray:
    try:
        grades = np.asarray(labels, dtype=np.float64)
    except (TypeError, ValueError):
        raise SurefootError("labels must be finite numbers of 0 or more; got something else") from None
    if grades.shape != pair.baseline.scores.shape:
        raise SurefootError(f"{counted(pair.baseline.scores.size, 'document')} need as many labels; got {grades.size}")
    if not ((grades >= 0) & np.isfinite(grades)).all():
        raise SurefootError("labels must be finite numbers of 0 or more")
    return grades
