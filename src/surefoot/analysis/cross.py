"""Every system as the baseline in turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from surefoot import risk
from surefoot._typing import FloatArray, IntArray
from surefoot.analysis.design import Design
from surefoot.results import Column, Result, signature
from surefoot.risk.values import FITTED, Family
from surefoot.scores import Scores, ScoresLike
from surefoot.stats.agreement import Friedman, friedman


@dataclass(frozen=True, eq=False, kw_only=True)
class CrossTable(Result):
    """A row for each system and baseline; the same as matrices; Friedman's test over them."""

    systems: tuple[str, ...]
    urisk: FloatArray
    ranks: IntArray
    friedman: Friedman | None

    def extra(self) -> dict[str, object]:
        """Friedman's test, for JSON."""
        test = self.friedman
        return {"friedman": test and {"statistic": test.statistic, "df": test.df, "p": test.p, "w": test.w}}

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
        Systems × topics of one effectiveness measure; whatever `Scores.of` takes.
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
        Columns ``system, baseline, alpha, urisk, rank``. Ranks run over the systems other than the baseline, equal
        U_Risk sharing the better rank; a system against itself has U_Risk 0 and no rank. In Friedman's test systems are
        the treatments and baselines the blocks, the zero diagonal kept, as in ECIR 2014 (table 2): a small p says that
        the baselines *agree* on the order, W how far (0 to 1). Whether the choice of the baseline changes the order is
        the question of `baseline_choice`.

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
    chosen = scores if systems is None else scores.select(systems)
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
        signature=signature("cross", measure=scores.measure, **fields),
        columns=columns,
        notes=(*scores.all_notes, _finding(test)),
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
    """The ranks of U_Risk against one baseline: 1 for the largest, equals sharing it; 0 for the baseline's own row."""
    others = np.delete(urisk, own)
    ranks = 1 + np.count_nonzero(others > urisk[:, np.newaxis], axis=1)
    ranks[own] = 0
    return np.asarray(ranks, dtype=np.int64)


def _finding(test: Friedman | None) -> str:
    if test is None:
        return "Friedman's test needs at least 3 systems"
    if np.isnan(test.p):
        return "Friedman's test is undefined: all systems tie against every baseline"
    verdict = "agree" if test.p < 0.05 else "do not agree significantly"
    return (
        f"Friedman: chi-square {test.statistic:.2f} ({test.df} df), p = {test.p:.2g}, W = {test.w:.2f}: the baselines "
        f"{verdict} on the order of the systems"
    )
