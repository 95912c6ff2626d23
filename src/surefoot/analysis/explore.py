"""One system against one baseline, topic by topic: where the risk comes from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from surefoot._typing import FloatArray
from surefoot.analysis.design import Design, Population, notes_on_few_topics, notes_on_unequal_judging, signature_of
from surefoot.errors import SurefootError, choose, counted, listed
from surefoot.results import Result, plain
from surefoot.risk.population import zscores
from surefoot.risk.values import Family, validate_alpha
from surefoot.scores import Scores, ScoresLike
from surefoot.stats.inference import LEVEL, TInference, t_inference, topic_inference
from surefoot.stats.repeats import standard_errors

BIN_ENDS = {"relative": (0.25, 0.5, 0.75, 1.0), "absolute": (0.1, 0.2, 0.3, 0.4, 0.5)}
"""The ends of the bins on either side of 0, by kind of change."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Exploration(Result):
    """A row for each topic, the worst first, and the inference over all of them."""

    inference: TInference

    def select(self, topics: Sequence[str]) -> Exploration:
        """The rows of some topics, in the order named; the inference is still over all topics."""
        index = {topic: row for row, topic in enumerate(self["topic"].tolist())}
        unknown = [topic for topic in topics if topic not in index]
        if unknown:
            raise SurefootError(f"no topic {listed(unknown)}; there are {listed(index)}")
        rows = [index[topic] for topic in topics]
        return replace(self, columns={name: self[name][rows] for name in self.columns})

    def with_columns(self, more: Result, names: Sequence[str]) -> Exploration:
        """Add columns and notes of another result on the same topics."""
        row_of = {topic: row for row, topic in enumerate(more["topic"].tolist())}
        rows = [row_of[topic] for topic in self["topic"].tolist()]
        columns = {**self.columns, **{name: more[name][rows] for name in names}}
        return replace(self, columns=columns, notes=(*self.notes, *more.notes))

    def extra(self) -> dict[str, float | None]:
        """The values over all topics, for JSON."""
        found = self.inference
        values = {"urisk": found.urisk, "trisk": found.trisk, "p": found.p, "critical": found.critical}
        return {name: plain(value) for name, value in values.items()}


def explore(
    scores: ScoresLike,
    system: str,
    baseline: str,
    alpha: float = 1.0,
    *,
    population: Population = None,
    value: str | Family = "linear",
    level: float = LEVEL,
) -> Exploration:
    """Which topics did the system make worse or better, and for which is the change more than noise?

    Parameters
    ----------
    scores
        Systems × topics of one effectiveness measure; anything that `Scores.of` takes.
    system, baseline
        The system, and a system or MEAN, MEDIAN or MAX of each topic to compare it with.
    alpha
        The additional weight of losses.
    population, value
        As in `surefoot.evaluate`.
    level
        The significance level, two-sided.

    Returns
    -------
    Exploration
        Columns ``topic, system_score, baseline_score, delta, x, z, tr, tj, significant``, the worst topic first.
        x = v(delta); z is the score of `surefoot.risk.zscores` within the population; T_R and T_J follow SIGIR 2014;
        ``significant`` is "loss" or "win" where T_J exceeds the critical value of Student's t at the level. This is
        exploratory: among many topics some exceed it by chance. The scores of a system with repeats are means over
        trials, and ``system_se`` or ``baseline_se`` is their standard error, NaN for topics with one trial.

    Examples
    --------
    >>> scores = Scores([[0.2, 0.4, 0.4], [0.3, 0.1, 0.5]], ["old", "new"], ["q1", "q2", "q3"])
    >>> explore(scores, system="new", baseline="old", alpha=5).columns["topic"].tolist()
    ['q2', 'q1', 'q3']

    """
    scores = Scores.of(scores)
    alpha = validate_alpha(alpha)
    design = Design.of(scores, baseline, [system], population, value)
    own, base = design.rows[0], scores.baseline(baseline, None if population == "PAIR" else design.population)
    z = [zscores(matrix)[row] for matrix, rows, _ in design.populations() for row in rows]
    topics = topic_inference(own, base, alpha, design.family)
    inference = t_inference(own, base, alpha, design.family, level)
    verdict = np.select([topics.tj < -inference.critical, topics.tj > inference.critical], ["loss", "win"], "")
    order = np.argsort(topics.x, kind="stable")
    columns = {
        "topic": np.array(scores.topics),
        "system_score": own,
        "baseline_score": base,
        "delta": own - base,
        "x": topics.x,
        "z": z[0] if z else np.full(len(scores.topics), np.nan),
        "tr": topics.tr,
        "tj": topics.tj,
        "significant": verdict,
    }
    pair = {"system_se": system, "baseline_se": baseline}
    columns |= {key: standard_errors(scores.trials[name]) for key, name in pair.items() if name in scores.trials}
    signature = signature_of("explore", [design], np.array(alpha), system=system, level=level)
    ordered = {name: column[order] for name, column in columns.items()}
    undefined = ["z is undefined: the system is not in the population, or some scores are below 0"]
    unequal = notes_on_unequal_judging(scores, [system], [baseline])
    notes = (
        *scores.all_notes,
        *unequal,
        *_findings(ordered, inference),
        *notes_on_few_topics(len(scores.topics), np.array([alpha]), ["p"]),
        *(undefined if np.isnan(ordered["z"]).any() else []),
    )
    return Exploration(signature=signature, columns=ordered, notes=notes, inference=inference)


def _findings(columns: dict[str, FloatArray], inference: TInference) -> list[str]:
    if np.isnan(inference.trisk):
        return ["T_R and T_J are undefined: all values are alike, or there is only one topic"]
    found = []
    for verdict in ("loss", "win"):
        topics = columns["topic"][columns["significant"] == verdict]
        found.append(f"{counted(len(topics), f'significant {verdict}')}{': ' if len(topics) else ''}{listed(topics)}")
    p = "p < 0.001" if inference.p < 0.0005 else f"p {inference.p:.3f}"
    test = f"U_Risk {inference.urisk:.4f}, T_Risk {inference.trisk:.4f}, {p}"
    return [*found, f"{test}; a topic is significant where |T_J| > {inference.critical:.4f}"]


def score_changes(system: npt.ArrayLike, baseline: npt.ArrayLike, change: str = "relative") -> FloatArray:
    """The change of each query's score: relative, (s - b) / b, or absolute, s - b.

    Rounded to nine decimals, so that a change of a whole bin falls into the bin that ends there. A relative change is 0
    where both scores are 0, and infinite where only the baseline's is.

    >>> score_changes([0.2, 0.3, 0.0, 0.1], [0.4, 0.2, 0.0, 0.0])
    array([-0.5,  0.5,  0. ,  inf])
    """
    s, b = np.asarray(system, dtype=np.float64), np.asarray(baseline, dtype=np.float64)
    d = s - b
    if choose(change, BIN_ENDS, "change") == "absolute":
        return np.asarray(d.round(9))
    if not (s >= 0).all() or not (b >= 0).all():
        raise SurefootError("a relative change is undefined for scores below 0; show the absolute change")
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.where(b > 0, d / b, np.where(d > 0, np.inf, 0.0)).round(9)
    return np.asarray(np.where((d != 0) & (relative == 0), np.sign(d) * 1e-9, relative))  # a tiny change is not a tie


def change_counts(system: npt.ArrayLike, baseline: npt.ArrayLike, change: str = "relative") -> npt.NDArray[np.int64]:
    """How many queries are hurt, unchanged and helped, by size of the change, the largest loss first.

    For relative changes the bins are [-100 %, -75 %), [-75 %, -50 %), [-50 %, -25 %), [-25 %, 0), exactly 0, (0, 25 %],
    (25 %, 50 %], (50 %, 75 %], (75 %, 100 %] and beyond, which has gains over a baseline of 0. Absolute losses also
    have a bin beyond the last end.

    >>> change_counts([0.2, 0.3, 0.0, 0.1], [0.4, 0.2, 0.0, 0.0])
    array([0, 0, 1, 0, 1, 0, 1, 0, 0, 1])
    """
    d, ends = score_changes(system, baseline, change), BIN_ENDS[change]
    helped = np.bincount(np.searchsorted(ends, d[d > 0], side="left"), minlength=len(ends) + 1)
    hurt = np.bincount(np.searchsorted(ends, -d[d < 0], side="left"), minlength=len(ends) + (change == "absolute"))
    return np.concatenate([hurt[::-1], [np.count_nonzero(d == 0)], helped])


def change_labels(change: str = "relative") -> list[str]:
    """Labels of the bins of `change_counts`, of relative changes in percent.

    >>> change_labels()[3:6]
    ['−25 to 0', '0', '0 to 25']
    """
    ends = ["0", *(f"{100 * end if change == 'relative' else end:g}" for end in BIN_ENDS[change])]
    hurt = [f"−{high} to {'−' if low != '0' else ''}{low}" for low, high in pairwise(ends)]
    helped = [f"{low} to {high}" for low, high in pairwise(ends)]
    hurt += [f"beyond −{ends[-1]}"] if change == "absolute" else []
    return [*hurt[::-1], "0", *helped, f"beyond {ends[-1]}"]
