"""Out-of-sample results of all guards, and the choice between them, by nested cross-validation.

Guards are compared by U_Risk. With few queries the largest U_Risk is mostly chance, so the gain of each guard is shrunk
towards the gain that its kind and weight had on average over other pairs of rankers. If no guard has a gain, the
candidate stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from surefoot._process import generator
from surefoot._typing import BoolArray, FloatArray, IntArray, Progress
from surefoot.errors import choose, counted
from surefoot.guard.certificate import Budget, Certificate, certify
from surefoot.guard.guard import SECOND_STAGE, THRESHOLD, Guard, fit_second_stage
from surefoot.guard.pairs import Pair
from surefoot.results import signature
from surefoot.risk.values import Linear

ALPHA = 0.5
"""How many points of the mean a point of F_Risk is worth."""

STRENGTHS = (0.25, 0.5, 0.75, 1.0)
"""Strengths of a recipe's second stage, from weak to strong."""

PRICE = 0.01
"""The fraction of the mean that the second stage may cost out of bag. Out-of-bag scores are optimistic, because a bag
keeps the iteration that is best on the queries that it holds out; so the cost of guarding is overestimated.
docs/studies/recipe.md has by how much."""

PerQuery = Callable[[FloatArray], FloatArray]
"""From a score of each document, minus infinity if it is not returned, to the metric of each query."""

FOLDS = 5
FITS = FOLDS * (FOLDS + 1) // 2
"""Fits of the second stage: without each fold, and without each pair of folds."""
FEWEST = 10
"""The smallest number of queries on which a guard is chosen."""

WEIGHTS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6, 0.7)
"""The weights that are tried."""

PEAKS = {"log-rank": 0.35, "z": 0.3}
"""The kinds with a weight, and the weight that gained most over the development pairs of docs/studies/guard.md."""

PRIOR_GAIN, PRIOR_QUERIES = 0.3, 80
"""The prior gain of U_Risk at the peak, in units of the candidate's F_Risk, and how many queries it counts as."""

LEARNED = (SECOND_STAGE, THRESHOLD)
"""The kinds that are fitted to judged queries."""
USUAL = (*PEAKS, SECOND_STAGE)
"""The kinds to choose from by default; the second stage from `SECOND_STAGE_PAYS` queries on."""
CHOICES = (*PEAKS, *LEARNED)
SECOND_STAGE_PAYS = 400
"""The number of queries from which the second stage was better than the others."""

LARGEST_THRESHOLD = float(np.finfo(np.float64).max)
"""The threshold that gives every query to the candidate; JSON has no infinity."""

UNGUARDED, CHOSEN = "none", "chosen"


@dataclass(eq=False)
class LabelledPair:
    """Both rankings of all queries, and how to measure a guard on them."""

    pair: Pair
    labels: FloatArray
    metric: PerQuery
    baseline_run: FloatArray | None = None
    """The baseline's metric on each query, if its ties are broken by its run."""

    def measured(self, guard: Guard) -> FloatArray:
        """The metric of each query under a guard."""
        return np.asarray(self.metric(guard.ranking_scores(self.pair)), np.float64)

    @cached_property
    def baseline(self) -> FloatArray:
        """The baseline's metric on each query; its ties are not broken by the candidate."""
        if self.baseline_run is not None:
            return self.baseline_run
        return np.asarray(self.metric(self.pair.baseline.falling()), np.float64)


@dataclass(eq=False)
class Trial:
    """All guards on some queries, in folds.

    Learned kinds are fitted for each query without that query's fold, and for a choice that leaves out another fold
    also without that one. The other guards do not depend on labels.
    """

    judged: LabelledPair
    queries: IntArray
    kinds: tuple[str, ...]
    alpha: float
    seed: int
    progress: Progress | None = None
    _fitted: dict[tuple[str, frozenset[int]], Guard] = field(default_factory=dict)

    def __len__(self) -> int:
        return self.queries.size

    @cached_property
    def fold(self) -> IntArray:
        """The fold of each query."""
        return generator(self.seed).permutation(np.arange(len(self)) % FOLDS)

    @cached_property
    def designs(self) -> list[Guard]:
        """The guards that need no labels; the candidate is the first."""
        weighted = [kind for kind in self.kinds if kind not in LEARNED]
        return [Guard(), *(Guard(kind, weight) for kind in weighted for weight in WEIGHTS)]

    @cached_property
    def learned(self) -> list[str]:
        """The kinds that are fitted to judged queries."""
        return [kind for kind in self.kinds if kind in LEARNED]

    @cached_property
    def names(self) -> npt.NDArray[np.str_]:
        """The kind of each row of `values`."""
        return np.array([*(guard.kind for guard in self.designs), *self.learned])

    @cached_property
    def prior(self) -> FloatArray:
        """The expected gain of each row of `values`, in units of the candidate's F_Risk; 0 without a study."""
        gains = [expected_gain(guard) for guard in self.designs]
        return np.array(gains + [PRIOR_GAIN if kind == SECOND_STAGE else 0.0 for kind in self.learned])

    @cached_property
    def designed(self) -> FloatArray:
        """The metric of each guard that needs no labels (rows) on each query."""
        return np.stack([self.of(guard) for guard in self.designs])

    @cached_property
    def baseline(self) -> FloatArray:
        """The baseline's metric on each query."""
        return self.judged.baseline[self.queries]

    def of(self, guard: Guard) -> FloatArray:
        """The metric of each query under a guard."""
        return self.judged.measured(guard)[self.queries]

    def values(self, without: int | None = None) -> FloatArray:
        """The metric of all guards on each query, learned ones fitted without the query's fold and without this one."""
        learned = np.empty((len(self.learned), len(self)))
        for fold in range(FOLDS):
            left_out = frozenset({fold} if without is None else {fold, without})
            inside = self.fold == fold
            for row, kind in zip(learned, self.learned, strict=True):
                row[inside] = self.of(self.fitted_without(left_out, kind))[inside]
        return np.vstack([self.designed, learned])

    def fitted_without(self, left_out: frozenset[int], kind: str = SECOND_STAGE) -> Guard:
        """The guard of this kind, fitted to the queries of all folds but these."""
        if (kind, left_out) not in self._fitted:
            self._fitted[kind, left_out] = self.fit(kind, ~np.isin(self.fold, list(left_out)))
            done, fits = len(self._fitted), FITS * len(self.learned)
            if self.progress is not None:
                self.progress(done, fits, f"Fitting guards: {kind}, {done} of {fits}")
        return self._fitted[kind, left_out]

    def fit(self, kind: str, inside: BoolArray | slice = slice(None)) -> Guard:
        """The guard of this kind, fitted to these queries."""
        if kind == SECOND_STAGE:
            return self.fit_trees(self.queries[inside])
        gains, highest = Linear(self.alpha)(self.designed[0] - self.baseline), self.judged.pair.baseline.highest
        found = best_threshold(gains[inside], highest[self.queries][inside])
        return Guard(kind, threshold=min(found, LARGEST_THRESHOLD))

    def strongest(self) -> tuple[Guard, FloatArray]:
        """The strongest second stage whose cost in the mean is acceptable, and its metric on unseen queries.

        Whether it helps on a few hundred queries is mostly chance, so only its cost decides.
        """
        unguarded, strength = self.of(Guard()), 0.0
        chosen = unguarded
        for stronger in STRENGTHS:
            found = self._unseen(stronger)
            if found.mean() < (1 - PRICE) * unguarded.mean():
                break
            chosen, strength = found, stronger
        cost = f"costs at most {100 * PRICE:.0f} % of the mean out of bag"
        if not strength:
            return Guard(card={"why": f"no strength of the second stage {cost}, so nothing is changed"}), chosen
        why = f"at strength {strength:g}, the largest of {', '.join(map(str, STRENGTHS))} that {cost}"
        guard = self.fit_trees(self.queries).blended(strength)
        return replace(guard, card={"strength": strength, "why": why}), chosen

    def _unseen(self, strength: float) -> FloatArray:
        """The metric of each query under the second stage of this strength that was fitted without its fold."""
        pair, scores = self.judged.pair, np.zeros(self.judged.labels.size)
        for fold in range(FOLDS):
            own, fitted = self.queries[self.fold == fold], self.fitted_without(frozenset({fold}))
            scores[pair.rows(own)] = fitted.blended(strength).ranking_scores(pair.select(own))
        return np.asarray(self.judged.metric(scores)[self.queries])

    def fit_trees(self, queries: IntArray) -> Guard:
        """The second stage of these queries."""
        pair, labels = self.judged.pair, self.judged.labels
        return fit_second_stage(pair.select(queries), labels[pair.rows(queries)], seed=self.seed)

    def choose(self, values: FloatArray, queries: BoolArray | slice, rows: IntArray) -> tuple[int, Selection]:
        """The row that is selected among these on these queries."""
        found = select(values[rows][:, queries], self.baseline[queries], self.prior[rows], self.alpha)
        return int(rows[found.index]), found

    def nested(self) -> Iterator[tuple[str, FloatArray]]:
        """The out-of-sample metric of each kind, and of the choice between all kinds."""
        kinds = dict.fromkeys(self.names[1:].tolist())
        groups = {kind: np.flatnonzero((self.names == kind) | (self.names == UNGUARDED)) for kind in kinds}
        groups[CHOSEN] = np.arange(self.names.size)
        outer = self.values()
        found = {kind: outer[0].copy() for kind in groups}
        for fold in range(FOLDS if len(self) >= FEWEST else 0):
            inner, inside = self.values(fold), self.fold == fold
            for kind, rows in groups.items():
                found[kind][inside] = outer[self.choose(inner, ~inside, rows)[0], inside]
        yield UNGUARDED, outer[0]
        yield from found.items()

    def chosen(self) -> tuple[Guard, str]:
        """The guard chosen on all queries, and why."""
        if len(self) < FEWEST:
            return Guard(), f"{counted(len(self), 'query')} can't show which guard is best; {FEWEST} or more are needed"
        row, selection = self.choose(self.values(), slice(None), np.arange(self.names.size))
        if row == 0:
            return Guard(), "no guard raises U_Risk, so none is taken"
        guard = self.designs[row] if row < len(self.designs) else self.fit(str(self.names[row]))
        return guard, (
            f"it has the largest U_Risk at alpha {self.alpha:g} after shrinkage; before shrinkage, on the queries that "
            f"chose it: {selection.gain:+.4f} ± {selection.error:.4f} (standard error) over the candidate"
            f"{self._use_of_the_candidate(guard)}"
        )

    def _use_of_the_candidate(self, guard: Guard) -> str:
        """How many queries a threshold ranks by the candidate, as a clause; empty for other kinds."""
        if guard.kind != THRESHOLD:
            return ""
        number, of = int(guard.takes_candidate(self.judged.pair)[self.queries].sum()), counted(len(self), "query")
        if not number:
            return f"; it ranks none of {of} by the candidate, so serving it is serving the baseline"
        return f"; it ranks {number:,} of {of} by the candidate"


def best_threshold(gains: FloatArray, numbers: FloatArray) -> float:
    """The threshold below which the gains have the largest sum, the first of equal ones; infinite if that is of all.

    >>> best_threshold(gains=np.array([-0.2, 0.4, 0.0]), numbers=np.array([9.0, 3.0, 5.0]))
    5.0
    """
    order = np.argsort(numbers, kind="stable")
    edges, first = np.unique(numbers[order], return_index=True)
    sums = np.concatenate([[0.0], np.cumsum(gains[order])])[np.append(first, numbers.size)]
    return float(np.append(edges, np.inf)[np.argmax(sums)])


@dataclass(frozen=True)
class Selection:
    """The row of the selected guard, and its gain in U_Risk over the candidate with its standard error."""

    index: int
    gain: float
    error: float


def expected_gain(guard: Guard) -> float:
    """The prior of a guard's gain in U_Risk: a parabola that is 0 without a weight and largest at the kind's peak.

    >>> expected_gain(Guard("z", 0.3)), expected_gain(Guard())
    (0.3, 0.0)
    """
    share = guard.weight / PEAKS[guard.kind] if guard.kind in PEAKS else 0.0
    return PRIOR_GAIN * share * (2 - share)


def select(guarded: FloatArray, baseline: FloatArray, prior: FloatArray, alpha: float = ALPHA) -> Selection:
    """Select among guards (rows) by their metric on each query and their prior; row 0 is the candidate.

    >>> b, c = np.full(40, 0.5), np.linspace(0.3, 0.9, 40)
    >>> select(np.stack([c, np.maximum(c, 0.45), c - 0.2]), b, prior=np.array([0, 0.3, 0.3])).index
    1
    """
    values = Linear(alpha)(guarded - baseline)  # their mean is U_Risk
    changes = values - values[0]
    gains = changes.mean(axis=-1)
    risk = np.maximum(baseline - guarded[0], 0.0).mean()
    index = int(np.argmax(baseline.size * gains + PRIOR_QUERIES * risk * prior))
    error = changes[index].std(ddof=1) / np.sqrt(baseline.size)
    return Selection(index, float(gains[index]), float(error))


@dataclass(frozen=True, eq=False)
class GuardChoice:
    """The guard that a trial chose, with the reason on its card, and its certificate if there was a budget.

    ``queries`` are those of the certificate, or else those of the trial.
    """

    trial: Trial
    guard: Guard
    queries: IntArray
    certificate: Certificate | None = None


def choose_guard(
    judged: LabelledPair,
    measure: str,
    *,
    kinds: Sequence[str] | None = None,
    alpha: float = ALPHA,
    budget: Budget | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> GuardChoice:
    """Choose a guard; the parameters are those of `fit_guard`."""
    chosen_on, held = _split(len(judged.pair), budget, seed)
    trial = Trial(judged, chosen_on, tuple(_kinds(kinds, chosen_on.size)), alpha, seed, progress)
    guard, why = trial.chosen()
    stated = signature("guard", measure=measure, alpha=alpha, kinds=trial.kinds, queries=len(trial), seed=seed)
    guard = replace(guard, card={"measure": measure, "queries": len(trial), "signature": stated, "why": why})
    if budget is None:
        return GuardChoice(trial, guard, chosen_on)
    certificate = certify(
        lambda safety: judged.measured(guard.towards_baseline(safety))[held], judged.baseline[held], budget, seed
    )
    card = {"why": _with_promise(why, certificate.safety), "certificate": certificate.to_card()}
    guard = replace(guard, safety=certificate.safety, card={**guard.card, **card})
    return GuardChoice(trial, guard, held, certificate)


def _split(queries: int, budget: Budget | None, seed: int) -> tuple[IntArray, IntArray]:
    """The queries to choose a guard on, and those that are held out to test a budget.

    Half are held out, or twice as many as the test needs at least, if that is more and the budget not approximate.
    """
    if budget is None:
        return np.arange(queries), np.arange(0)
    order = generator(seed).permutation(queries)
    held = queries // 2 if budget.approximate else min(queries, max(queries // 2, 2 * budget.fewest_queries))
    return np.sort(order[held:]), np.sort(order[:held])


def _with_promise(why: str, safety: float) -> str:
    """The reason for the choice, and how far the certificate moves the guard."""
    if safety == 1:
        return "nothing can be promised, so the baseline's own ranking is kept"
    moved = f"it is moved {safety:g} of the way towards the baseline" if safety else "nothing more is needed"
    return f"{why}; for the promise {moved}"


def _kinds(kinds: Sequence[str] | None, queries: int) -> Iterator[str]:
    if kinds is None:
        yield from (kind for kind in USUAL if kind != SECOND_STAGE or queries >= SECOND_STAGE_PAYS)
        return
    for kind in kinds:
        yield choose(kind, CHOICES, "the kind of a guard")
