"""Evaluations as papers arrange them: letters of significant differences, measures side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from string import ascii_lowercase
from typing import Any

import numpy as np
import numpy.typing as npt

from surefoot.analysis.evaluate import Evaluation
from surefoot.errors import SurefootError
from surefoot.results import Column, Highlights, Result, signature
from surefoot.scores import Scores, ScoresLike
from surefoot.stats.inference import LEVEL
from surefoot.stats.inference import correct as corrected
from surefoot.stats.permutation import t_test

ALPHABET = len(ascii_lowercase)
LABELS = ("letter", "system", "baseline", "alpha")
"""The columns that identify a row of an evaluation, for every measure."""


@dataclass(frozen=True, eq=False)
class Pairs(Result):
    """A row for each pair of systems, the better one first; see `compare_pairs` for the columns."""

    legend: str = ""

    def better_than(self, system: str) -> set[str]:
        """The systems that a system is significantly better than."""
        rows = zip(self["system"].tolist(), self["other"].tolist(), self["significant"].tolist(), strict=True)
        return {other for one, other, significant in rows if one == system and significant}


def compare_pairs(
    scores: ScoresLike, systems: Sequence[str] | None = None, *, correct: str = "holm", level: float = LEVEL
) -> Pairs:
    """Compare the means of each pair of systems by the paired t test, corrected over all pairs.

    Parameters
    ----------
    scores
        Systems × topics of one effectiveness measure; anything that `Scores.of` takes.
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
    made = signature("pairs", scores, test="t", correct=correct, level=level, **size)
    legend = (
        f"letters: the systems with a significantly lower mean (paired t test, {correct} over all pairs, p < {level:g})"
    )
    return Pairs(made, columns, scores.all_notes, legend)


def letter_of(index: int) -> str:
    """The letter of a system; after z follow aa, bb and so on.

    >>> letter_of(0), letter_of(25), letter_of(26), letter_of(53)
    ('a', 'z', 'aa', 'bb')
    """
    rounds, place = divmod(index, ALPHABET)
    return (letter_of(rounds - 1) if rounds else "") + ascii_lowercase[place]


def letter_columns(columns: Sequence[str]) -> list[str]:
    """Add the columns of letters.

    >>> letter_columns(["system", "mean", "p"])
    ['letter', 'system', 'mean', 'better_than', 'p']
    """
    return ["letter", *(kept for one in columns for kept in ((one, "better_than") if one == "mean" else (one,)))]


def with_letters(result: Evaluation, correct: str = "holm") -> Evaluation:
    """Add the letter of each system, and those of the systems that it is significantly better than.

    Letters are in the order in which tables show the systems. After z follow aa, bb and so on, separated by commas.

    Parameters
    ----------
    result
        A result of `surefoot.evaluate`.
    correct
        The correction over all pairs, as in `surefoot.analysis.compare_pairs`.

    Returns
    -------
    Evaluation
        With two more columns: ``letter``, and ``better_than``, which LaTeX prints as superscripts of the means.

    Examples
    --------
    >>> from surefoot import evaluate, Scores
    >>> scores = Scores([[0.2, 0.4, 0.3, 0.1], [0.3, 0.5, 0.4, 0.3]], ["old", "new"], ["q1", "q2", "q3", "q4"])
    >>> with_letters(evaluate(scores))["better_than"].tolist()
    ['', 'b']

    """
    names: list[str] = result["system"].tolist()
    order = dict.fromkeys(result.readable()["system"].tolist())
    letters = {system: letter_of(index) for index, system in enumerate(order)}
    shown = list(dict.fromkeys(names))
    pairs = {one.measure: compare_pairs(one, shown, correct=correct, level=result.level) for one in result.scores}
    found, between = [], "" if len(order) <= ALPHABET else ","
    for system, measure in zip(names, result.columns.get("measure", [*pairs] * len(names)), strict=True):
        better = pairs[str(measure)].better_than(system)
        found.append(between.join(letter for other, letter in letters.items() if other in better))
    columns: dict[str, Column] = {"letter": [letters[system] for system in names]}
    for name, column in result.columns.items():
        columns |= {name: column, "better_than": found} if name == "mean" else {name: column}
    return replace(result, columns=columns, notes=(*result.notes, next(iter(pairs.values())).legend))


@dataclass(frozen=True, eq=False)
class SideBySide(Result):
    """Several measures beside each other; ``few`` are the columns that tables for people show by default."""

    few: tuple[str, ...] = ()

    def brief(self) -> list[str]:
        """The columns of a table of `evaluate`, for each measure."""
        return list(self.few)


def side_by_side(result: Evaluation, columns: Sequence[str] | None = None) -> Result:
    """The measures beside each other: a row for each system and alpha, a group of columns for each measure.

    Parameters
    ----------
    result
        A result of `surefoot.evaluate` for several measures.
    columns
        The columns for each measure; all by default, of which tables for people show those of `evaluate`.

    Returns
    -------
    Result
        Columns such as ``urisk (nDCG@10)``; the rows in the order of the first measure's means.

    Examples
    --------
    >>> from surefoot import evaluate, Scores
    >>> both = [Scores([[0.2], [0.4]], ["old", "new"], ["q1"], measure) for measure in ("AP", "RR")]
    >>> print(*side_by_side(evaluate(both), ["system", "mean"]).columns, sep=", ")
    system, mean (AP), mean (RR)

    """
    whole = result.readable()
    labels = [name for name in LABELS if name in whole.columns]
    rows: dict[str, dict[tuple[Any, ...], int]] = {}
    for index, row in enumerate(whole):
        rows.setdefault(str(row.get("measure", "")), {})[tuple(row[name] for name in labels)] = index
    first = next(iter(rows.values()))
    places = {measure: [own[key] for key in first] for measure, own in rows.items()}
    chosen = list(columns or whole.columns)
    few = chosen if columns else whole.brief()
    shown = [name for name in chosen if name not in (*labels, "measure")]

    def by_measure(columns: Mapping[str, Any]) -> dict[str, npt.NDArray[Any]]:
        """The columns of each measure under names of their own."""
        return {
            f"{name} ({measure})": np.asarray(columns[name])[index]
            for measure, index in places.items() for name in shown if name in columns
        }  # fmt: skip

    marks = whole.highlights()
    made = {name: whole[name][list(first.values())] for name in labels if name in chosen} | by_measure(whole.columns)
    names = {f"{name} ({measure})": (name, measure) for measure in rows for name in shown}
    heads = {column: marks.headings.get(name, name.replace("_", " ")) for column, (name, _) in names.items()}
    raised = marks.superscripts.items()
    style = Highlights(
        by_measure(marks.best),
        by_measure(marks.significant),
        marks.legend,
        {**marks.headings, **heads},
        {f"{one} ({measure})": f"{other} ({measure})" for one, other in raised for measure in rows},
        {column: measure for column, (_, measure) in names.items()},
    )
    brief = tuple(name for name in made if names.get(name, (name,))[0] in few)
    return SideBySide(whole.signature, made, whole.notes, emphasis=style, few=brief)
