"""Every system as the baseline in turn, and how far the order of the systems depends on that choice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from surefoot import risk
from surefoot._typing import FloatArray, IntArray
from surefoot.analysis.design import Design
from surefoot.errors import SurefootError
from surefoot.results import Column, Result, signature
from surefoot.risk.values import FITTED, Family
from surefoot.scores import Scores, ScoresLike
from surefoot.stats.bootstrap import bootstrap_weights
from surefoot.stats.inference import LEVEL, correct
from surefoot.stats.ranks import Friedman, friedman, kendall

Ranks = npt.NDArray[np.int16]


@dataclass(frozen=True, eq=False, kw_only=True)
class CrossTable(Result):
    """A row for each system and baseline; the same as matrices; Friedman's test over them."""

    systems: tuple[str, ...]
    urisk: FloatArray
    ranks: IntArray
    friedman: Friedman | None

    def extra(self) -> dict[str, object]:
        """Friedman's test, for JSON."""
        return {"friedman": self.friedman and asdict(self.friedman)}

    def readable(self) -> Result:
        """Systems × baselines of U_Risk with the rank in brackets, as ECIR 2014 prints it."""
        label = "system"
        while label in self.systems:
            label += "_"
        columns: dict[str, Column] = {label: self.systems}
        for column, baseline in enumerate(self.systems):
            columns[baseline] = [
                f"{value:.4f} ({rank})" if rank else "0"
                for value, rank in zip(self.urisk[:, column], self.ranks[:, column], strict=True)
            ]
        return Result(self.signature, columns, self.notes)


def cross(
    scores: ScoresLike, alpha: float = 1.0, *, systems: Sequence[str] | None = None, value: str | Family = "linear"
) -> CrossTable:
    """U_Risk of every system against every other, ranked for each baseline, with Friedman's test.

    Parameters
    ----------
    scores
        Systems × topics of one effectiveness measure; anything that `Scores.of` takes.
    alpha
        The additional weight of losses.
    systems
        The systems to compare; all by default.
    value
        ``"linear"``, ``"smooth"`` or ``"monotone"`` (fitted to the differences at hand), or a family of value
        functions.

    Returns
    -------
    CrossTable
        Columns ``system, baseline, alpha, urisk, rank``. Ranks run over the systems other than the baseline; systems
        with equal U_Risk share the better rank. A system against itself has U_Risk 0 and no rank. In Friedman's test
        systems are the treatments and baselines the blocks, with the zero diagonal, as in ECIR 2014 (table 2): a small
        p says that the baselines *agree* on the order, and W how far (0 to 1). `baseline_choice` tests whether the
        choice of the baseline changes the order.

    Examples
    --------
    >>> scores = Scores([[0.2, 0.4], [0.3, 0.1], [0.3, 0.5]], ["a", "b", "c"], ["q1", "q2"])
    >>> cross(scores, alpha=1).urisk.round(3)
    array([[ 0.  ,  0.05, -0.2 ],
           [-0.25,  0.  , -0.4 ],
           [ 0.1 ,  0.2 ,  0.  ]])

    """
    scores = Scores.of(scores)
    alpha = risk.validate_alpha(alpha)
    chosen = scores.select(systems)
    rows, names = chosen.values, chosen.systems
    design = fitted_design(chosen, value)
    urisk = np.stack([risk.urisk(rows, baseline, alpha, design.family) for baseline in rows], axis=1)
    ranks = np.stack([ranks_against(column, own) for own, column in enumerate(urisk.T)], axis=1)
    test = friedman(urisk) if len(names) >= 3 else None
    columns: dict[str, Column] = {
        "system": np.repeat(names, len(names)),
        "baseline": np.tile(names, len(names)),
        "alpha": np.full(len(names) ** 2, float(alpha)),
        "urisk": urisk.ravel(),
        "rank": [rank or None for rank in ranks.ravel().tolist()],
    }
    fields = {"alpha": alpha, "value": design.value, "systems": len(names), "topics": len(scores.topics)}
    return CrossTable(
        signature=signature("cross", scores, **fields),
        columns=columns,
        notes=(*scores.all_notes, _friedman_note(test)),
        systems=names,
        urisk=urisk,
        ranks=ranks,
        friedman=test,
    )


def fitted_design(scores: Scores, value: str | Family) -> Design:
    """The systems with a value function, fitted (if it is) to the differences of all systems from all others."""
    if isinstance(value, str) and value in FITTED:
        rows = scores.values
        value = FITTED[value].fitted((rows[:, np.newaxis] - rows)[~np.eye(len(rows), dtype=np.bool_)])
    return Design.of(scores, value=value)


def ranks_against(urisk: FloatArray, own: int) -> IntArray:
    """The ranks of U_Risk against one baseline: 1 for the largest, ties share the better; 0 for the baseline itself."""
    others = np.delete(urisk, own)
    ranks = 1 + np.count_nonzero(others > urisk[:, np.newaxis], axis=1)
    ranks[own] = 0
    return np.asarray(ranks, dtype=np.int64)


def _friedman_note(test: Friedman | None) -> str:
    if test is None:
        return "Friedman's test needs at least 3 systems"
    if np.isnan(test.p):
        return "Friedman's test is undefined: all systems tie against every baseline"
    verdict = "agree" if test.p < 0.05 else "do not agree significantly"
    return (
        f"Friedman: chi-square {test.statistic:.2f} ({test.df} df), p = {test.p:.2g}, W = {test.w:.2f}: the baselines "
        f"{verdict} on the order of the systems"
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class BaselineChoice(Result):
    """A row for each baseline; ``taus`` between the orders under each pair of baselines; see `baseline_choice`.

    ``differences`` has a row for each pair of baselines and each other system: its rank under the first minus its rank
    under the second, the bootstrap's p, and p corrected.
    """

    systems: tuple[str, ...]
    taus: FloatArray
    differences: Result


def baseline_choice(
    scores: ScoresLike,
    alpha: float = 1.0,
    *,
    systems: Sequence[str] | None = None,
    value: str | Family = "linear",
    n_resamples: int = 10_000,
    seed: int = 0,
) -> BaselineChoice:
    """Whether the order of the systems by U_Risk depends on the baseline, beyond what topics do by chance.

    For each pair of baselines, the other systems are ranked under the first and under the second. Kendall's tau
    measures how far the two orders agree. Topics are then drawn with replacement, and the systems are ranked again: a
    rank difference that has the same sign in nearly all resamples is due to the baseline, not to the sample. Its p is
    twice the fraction of resamples in which the sign differs or the difference is 0. All p are corrected together
    (Benjamini and Hochberg).

    Friedman's test (`cross`) does not answer this question: its small p says that the baselines *agree*.

    Parameters
    ----------
    scores
        Systems × topics of one effectiveness measure.
    alpha
        The additional weight of losses.
    systems
        The systems to compare; each is also a baseline. All by default.
    value
        As in `cross`.
    n_resamples, seed
        The number of resamples of the bootstrap, and the random seed.

    Returns
    -------
    BaselineChoice
        Columns ``baseline, mean`` (its effectiveness), ``tau`` and ``tau_min`` (the mean and the least Kendall's tau
        with the orders under the other baselines), ``least_like`` (the baseline with the least tau), ``changed`` (the
        number of significant rank differences to other baselines) and ``compared`` (the number of those tested).

    Examples
    --------
    >>> scores = Scores(np.random.default_rng(3).random((4, 30)), "abcd", range(30))
    >>> found = baseline_choice(scores, alpha=5, n_resamples=200)
    >>> found["compared"].tolist(), found["changed"].tolist()
    ([6, 6, 6, 6], [0, 0, 0, 0])

    """
    scores = Scores.of(scores)
    alpha = risk.validate_alpha(alpha)
    chosen = scores.select(systems)
    if len(chosen.systems) < 4:
        raise SurefootError(f"two baselines and two systems to order are needed; got {len(chosen.systems)} systems")
    design = fitted_design(chosen, value)
    valued = design.family(alpha)(chosen.values[:, np.newaxis] - chosen.values)
    names = chosen.systems
    observed = valued.mean(axis=-1)
    differences = _differences(names, observed, _replicates(valued, n_resamples, seed), n_resamples)
    taus = np.eye(len(names))
    for one, two in combinations(range(len(names)), 2):
        common = _others(len(names), one, two)
        taus[one, two] = taus[two, one] = kendall(observed[common, one], observed[common, two]).tau
    fields = {"alpha": alpha, "value": design.value, "systems": len(names), "topics": len(scores.topics)}
    return BaselineChoice(
        signature=signature("baseline-choice", scores, **fields, n_resamples=n_resamples, seed=seed),
        columns=_columns(chosen, taus, differences),
        notes=(*scores.all_notes, _choice_note(taus, differences)),
        systems=names,
        taus=taus,
        differences=differences,
    )


def _others(count: int, one: int, two: int) -> list[int]:
    return [row for row in range(count) if row not in (one, two)]


def _replicates(valued: FloatArray, n_resamples: int, seed: int) -> Iterator[FloatArray]:
    """U_Risk in each resample, resamples × systems × baselines."""
    count, topics = valued.shape[0], valued.shape[-1]
    most = max(1, 4_000_000 // count**2)
    for weights in bootstrap_weights(topics, n_resamples, seed):
        for start in range(0, len(weights), most):
            drawn = weights[start : start + most]
            yield np.moveaxis(valued @ drawn.T / topics, -1, 0)


def _differences(
    names: Sequence[str], observed: FloatArray, replicates: Iterator[FloatArray], n_resamples: int
) -> Result:
    """The rank differences between each pair of baselines; p counts resamples with another sign, or difference 0."""
    count = len(names)
    pairs = list(combinations(range(count), 2))
    found = np.stack([_rank_difference(_ranks(observed[np.newaxis]), *pair)[0] for pair in pairs])
    sign, opposed = np.sign(found), np.zeros(found.shape)
    for urisk in replicates:
        ranks = _ranks(urisk)
        for index, pair in enumerate(pairs):
            opposed[index] += np.count_nonzero(_rank_difference(ranks, *pair) * sign[index] <= 0, axis=0)
    p = np.minimum(1.0, 2 * (1 + opposed) / (1 + n_resamples))
    return Result(
        "rank differences",
        {
            "baseline": [names[one] for one, _ in pairs for _ in range(count - 2)],
            "other_baseline": [names[two] for _, two in pairs for _ in range(count - 2)],
            "system": [names[row] for pair in pairs for row in _others(count, *pair)],
            "rank_difference": found.ravel(),
            "p": p.ravel(),
            "p_bh": correct(p.ravel(), "bh"),
        },
    )


def _ranks(urisk: FloatArray) -> Ranks:
    """The ranks under each baseline, 0 for the largest U_Risk and the last for the baseline; resamples lead."""
    own = np.arange(urisk.shape[1])
    urisk = urisk.copy()
    urisk[:, own, own] = -np.inf
    return (-urisk).argsort(axis=1, kind="stable").argsort(axis=1).astype(np.int16)


def _rank_difference(ranks: Ranks, one: int, two: int) -> Ranks:
    """The ranks under one baseline minus those under another, of the systems that are neither."""
    common = _others(ranks.shape[1], one, two)
    first, second = ranks[:, common, one], ranks[:, common, two]
    first = first - (ranks[:, two, one, np.newaxis] < first)
    return first - second + (ranks[:, one, two, np.newaxis] < second)


def _columns(scores: Scores, taus: FloatArray, differences: Result) -> dict[str, Column]:
    names = scores.systems
    apart = np.where(np.eye(len(names), dtype=np.bool_), np.inf, taus)
    significant = differences["p_bh"] < LEVEL
    mine = [(differences["baseline"] == name) | (differences["other_baseline"] == name) for name in names]
    return {
        "baseline": names,
        "mean": scores.values.mean(axis=1),
        "tau": (taus.sum(axis=1) - 1) / (len(names) - 1),
        "tau_min": apart.min(axis=1),
        "least_like": [names[index] for index in apart.argmin(axis=1)],
        "changed": [int(np.count_nonzero(significant & own)) for own in mine],
        "compared": [int(np.count_nonzero(own)) for own in mine],
    }


def _choice_note(taus: FloatArray, differences: Result) -> str:
    above = taus[np.triu_indices_from(taus, 1)]
    changed, compared = int(np.count_nonzero(differences["p_bh"] < LEVEL)), len(differences)
    verdict = "changes the order" if changed else "does not change the order beyond chance"
    return (
        f"the choice of the baseline {verdict}: {changed} of {compared} rank differences between two baselines are "
        f"significant (bootstrap over topics, Benjamini-Hochberg, {100 * LEVEL:g} %); mean tau {above.mean():.2f}, "
        f"least {above.min():.2f}"
    )
