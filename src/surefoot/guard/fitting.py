"""Fitting a guard: every guard is tried on queries that it did not see, and so is the choice between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from surefoot._random import generator
from surefoot._typing import FloatArray, IntArray, Progress
from surefoot.analysis.intervals import difference_intervals
from surefoot.errors import SurefootError, choose, counted
from surefoot.guard.blends import TREES
from surefoot.guard.certificate import PATH, Budget, Certificate, certify
from surefoot.guard.guard import Guard
from surefoot.guard.pairs import Pair
from surefoot.guard.second_stage import FEWEST_QUERIES
from surefoot.guard.selection import ALPHA
from surefoot.guard.trial import CHOICES, LEFT_ALONE, WEIGHTS, LabelledPair, PerQuery, Trial
from surefoot.results import Column, Result, signature
from surefoot.risk.statistics import Comparison
from surefoot.scores import Scores

COLUMNS = (
    "guard", "mean", "frisk", "losses", "loss20", "mean_change", "mean_low", "mean_high", "frisk_change", "frisk_low",
    "frisk_high",
)  # fmt: skip
RESAMPLES = 2_000
"""Of the intervals in the table."""


@dataclass(frozen=True, eq=False)
class GuardFit(Result):
    """A guard with what each way to guard did on queries that it did not see.

    Each row is a kind of guard whose weight was chosen without the queries that it is measured on; the row ``chosen``
    is the whole procedure, with the choice of the kind. Changes are against the candidate left alone.

    ``guard`` is the one chosen on all queries, ``why`` says why; ``outcomes`` holds the metric of each query for the
    baseline, the candidate (``none``), each kind and ``chosen``. With a budget all of this is about the queries that
    chose the guard, and ``certificate`` about the others. ``path`` has mean and F_Risk of each step from the baseline
    by way of the guard to the candidate left alone: on the queries of the certificate, or on all if there is none.
    """

    guard: Guard = field(default_factory=Guard)
    why: str = ""
    outcomes: Mapping[str, FloatArray] = field(default_factory=dict)
    certificate: Certificate | None = None
    path: Mapping[str, Column] = field(default_factory=dict)

    def with_notes(self, notes: Sequence[str], **card: object) -> GuardFit:
        """The same fit with notes, and more on the guard's card."""
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
    seed: int = 0,
    progress: Progress | None = None,
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
    progress
        Called after each fit of the second stage with the number done, the number of fits, and a message.

    Returns
    -------
    GuardFit
        The guard, and the table of what each kind did out of sample.

    Examples
    --------
    >>> rng = generator(0)
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
    judged = LabelledPair(pair, grades, metric)
    chosen_on, held = _split(len(pair), budget, seed)
    fit = _chosen(Trial(judged, chosen_on, tuple(_kinds(kinds, chosen_on.size)), alpha, seed, progress), measure)
    walked = chosen_on if budget is None else held
    fit = replace(fit, path=_path(fit.guard, judged, walked))
    return fit if budget is None else _certified(fit, judged, held, budget, seed)


def _split(queries: int, budget: Budget | None, seed: int) -> tuple[IntArray, IntArray]:
    """The queries to choose a guard on, and those that are held out to test what a budget asks for.

    Half are held out, or twice as many as the test needs at least, if that is more.
    """
    if budget is None:
        return np.arange(queries), np.arange(0)
    order = generator(seed).permutation(queries)
    held = min(queries, max(queries // 2, 2 * budget.fewest_queries))
    return np.sort(order[held:]), np.sort(order[:held])


def _chosen(trial: Trial, measure: str) -> GuardFit:
    """The guard that a trial chooses, and what each did."""
    guard, why = trial.chosen()
    stated = signature(
        "guard", measure=measure, alpha=trial.alpha, kinds=trial.kinds, queries=len(trial), seed=trial.seed
    )
    outcomes = {"baseline": trial.baseline, **dict(trial.nested())}
    card = {"measure": measure, "queries": len(trial), "signature": stated, "why": why}
    columns = table_of(outcomes, measure)
    return GuardFit(stated, columns, guard=replace(guard, card=card), why=why, outcomes=outcomes)


def _path(guard: Guard, judged: LabelledPair, queries: IntArray) -> dict[str, Column]:
    """Mean and F_Risk of the steps from the baseline to the guard, and of the candidate left alone."""
    steps = {"baseline": judged.baseline}
    steps |= {f"{safety:g}": judged.measured(guard.towards_baseline(safety)) for safety in PATH}
    steps |= {"candidate": judged.measured(Guard())}
    b = judged.baseline[queries]
    return {
        "step": list(steps),
        "mean": [float(x[queries].mean()) for x in steps.values()],
        "frisk": [float(np.maximum(b - x[queries], 0).mean()) for x in steps.values()],
    }


def _certified(fit: GuardFit, judged: LabelledPair, held: IntArray, budget: Budget, seed: int) -> GuardFit:
    """The fit with its guard as bold as the held-out queries allow."""
    guard = fit.guard

    def measure_at(safety: float) -> FloatArray:
        return judged.measured(guard.towards_baseline(safety))[held]

    certificate = certify(measure_at, judged.baseline[held], budget, seed)
    why = _with_promise(fit.why, certificate.safety)
    card = {**guard.card, "why": why, "certificate": certificate.to_card()}
    return replace(fit, guard=replace(guard, safety=certificate.safety, card=card), why=why, certificate=certificate)


def _with_promise(why: str, safety: float) -> str:
    """Why the guard was chosen, and how far a promise moves it."""
    if safety == 1:
        return "nothing can be promised, so the baseline's own ranking is kept"
    moved = f"it is moved {safety:g} of the way towards the baseline" if safety else "nothing more is needed"
    return f"{why}; for the promise {moved}"


def table_of(outcomes: Mapping[str, FloatArray], measure: str) -> dict[str, Column]:
    """What each guard did to the mean and to F_Risk, with 95 % paired intervals, and to losses."""
    baseline, names = outcomes["baseline"], [name for name in outcomes if name != "baseline"]
    if not baseline.size:  # a certificate needs them all
        return {name: [] for name in COLUMNS}
    scores = Scores(np.stack(list(outcomes.values())), list(outcomes), range(baseline.size), measure)
    compared = Comparison.of(np.stack([outcomes[name] for name in names]), baseline)
    changes = np.stack([_changes(scores, name) for name in names])
    counts = {"losses": compared.losses.n, "loss20": compared.loss20}
    return {
        "guard": names,
        "mean": scores.values[1:].mean(axis=1),
        "frisk": compared.frisk,
        **{name: count.astype(np.int64) for name, count in counts.items()},
        **dict(zip(COLUMNS[5:], changes.T, strict=True)),
    }


def _changes(scores: Scores, name: str) -> FloatArray:
    """The changes of the mean and of F_Risk against the candidate left alone, each with its interval."""
    if np.array_equal(scores[name], scores[LEFT_ALONE]) or len(scores.topics) < 2:
        return np.zeros(6)
    found = difference_intervals(
        scores, name, LEFT_ALONE, "baseline", measures=["mean", "frisk"], n_resamples=RESAMPLES
    )
    return np.column_stack([found[column] for column in ("estimate", "low", "high")]).ravel()


def _kinds(kinds: Sequence[str] | None, queries: int) -> Iterator[str]:
    if kinds is None:
        yield from (kind for kind in CHOICES if kind != TREES or queries >= FEWEST_QUERIES)
        return
    for kind in kinds:
        yield choose(kind, (*WEIGHTS, TREES), "the kind of a guard")


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
