"""Every system against every other: which differences of means are more than noise?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_lowercase

import numpy as np

from surefoot.errors import SurefootError
from surefoot.results import Result, signature
from surefoot.scores import Scores, ScoresLike
from surefoot.stats.corrections import correct as corrected
from surefoot.stats.inference import LEVEL
from surefoot.stats.permutation import t_test


@dataclass(frozen=True, eq=False)
class Pairs(Result):
    """A row for each two systems, the better one first; see `compare_pairs` for the columns."""

    legend: str = ""

    def better_than(self, system: str) -> set[str]:
        """The systems that a system is significantly better than."""
        rows = zip(self["system"].tolist(), self["other"].tolist(), self["significant"].tolist(), strict=True)
        return {other for one, other, significant in rows if one == system and significant}


def compare_pairs(
    scores: ScoresLike, systems: Sequence[str] | None = None, *, correct: str = "holm", level: float = LEVEL
) -> Pairs:
    """Compare the means of every two systems by the paired t test, corrected over all pairs.

    Parameters
    ----------
    scores
        Systems × topics of one effectiveness measure; whatever `Scores.of` takes.
    systems
        The systems to compare; all by default.
    correct
        ``"holm"``, ``"bonferroni"`` or ``"bh"``.
    level
        The significance level of the corrected p.

    Returns
    -------
    Pairs
        Columns ``system, other, difference, p``, the corrected p such as ``p_holm``, and ``significant``.

    Examples
    --------
    >>> scores = Scores([[0.2, 0.4, 0.3, 0.1], [0.3, 0.5, 0.4, 0.3]], ["old", "new"], ["q1", "q2", "q3", "q4"])
    >>> compare_pairs(scores).better_than("new")
    {'old'}

    """
    scores = Scores.of(scores)
    chosen = scores if systems is None else scores.select(systems)
    if len(chosen.systems) < 2:
        raise SurefootError("pairs need at least two systems")
    means = chosen.values.mean(axis=1)
    order = np.argsort(-means, kind="stable")
    one, other = np.triu_indices(len(order), k=1)
    better, worse = order[one], order[other]
    p = np.array([t_test(chosen.values[i], chosen.values[j]) for i, j in zip(better, worse, strict=True)], np.float64)
    adjusted = corrected(p, correct)
    names = np.array(chosen.systems)
    columns = {
        "system": names[better],
        "other": names[worse],
        "difference": means[better] - means[worse],
        "p": p,
        f"p_{correct}": adjusted,
        "significant": adjusted < level,
    }
    size = {"systems": len(names), "topics": len(chosen.topics)}
    made = signature("pairs", measure=scores.measure, test="t", correct=correct, level=level, **size)
    legend = (
        f"letters: the systems with a significantly lower mean (paired t test, {correct} over all pairs, {level:g})"
    )
    return Pairs(made, columns, scores.all_notes, legend)


def letter_of(index: int) -> str:
    """A letter for a system; beyond the alphabet, two.

    >>> letter_of(0), letter_of(25), letter_of(26), letter_of(53)
    ('a', 'z', 'aa', 'bb')
    """
    base = len(ascii_lowercase)
    return ascii_lowercase[index] if index < base else letter_of(index // base - 1) + letter_of(index % base)
