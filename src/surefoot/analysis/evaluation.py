"""The rows of an evaluation, how they are shown, and how papers arrange them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from surefoot._typing import BoolArray, FloatArray
from surefoot.analysis.tests import ALPHABET, Pairs, letter_of
from surefoot.results import Arranged, Column, Highlights, Result
from surefoot.risk.measures import registered
from surefoot.scores import Scores
from surefoot.stats.inference import LEVEL

JUDGED = "judged@k"
"""The column of the mean fraction of judged documents, k being the measure's cutoff."""
FEW_COLUMNS = 8
"""A table of so many columns shows all of them."""
DETAILS = ("frisk", "freward", "se", "zrisk", "georisk", "wins", "ties")
"""The columns that a terminal shows only on request; judged@k, which only runs have, takes the place of T_Risk."""
LABELS = ("letter", "system", "baseline", "alpha")
"""The columns that identify a row of an evaluation, for every measure."""


def brief_columns(columns: Mapping[str, Column]) -> list[str]:
    """The columns that a terminal shows by default: details only with their interval, the baseline if there are two.

    >>> brief_columns({"system": ["a"], "baseline": ["b"], "alpha": [1], **dict.fromkeys(("mean", "urisk", "p"), [0])})
    ['system', 'baseline', 'alpha', 'mean', 'urisk', 'p']
    """
    if len(columns) <= FEW_COLUMNS:
        return list(columns)
    details = (*DETAILS, "trisk") if JUDGED in columns else DETAILS
    hidden = {name for name in details if f"{name}_low" not in columns}
    if len(set(columns.get("baseline", ()))) == 1:
        hidden.add("baseline")
    return [name for name in columns if name not in hidden]


@dataclass(frozen=True, eq=False)
class Evaluation(Result):
    """One row for each measure, system and alpha; see `evaluate` for the columns."""

    level: float = LEVEL
    scores: tuple[Scores, ...] = ()

    def _blocks(self) -> list[tuple[str, str]]:
        """The measure of each row, and its baseline where every system has several."""
        measures = list(map(str, self.columns.get("measure", [""] * len(self))))
        baselines = list(map(str, self.columns.get("baseline", [""] * len(self))))
        if len({*zip(self.columns["system"], baselines, strict=True)}) == len({*self.columns["system"]}):
            baselines = [""] * len(self)
        return list(zip(measures, baselines, strict=True))

    def readable(self) -> Evaluation:
        """The rows by measure, baseline (where each system has several) and alpha, the best mean first."""
        blocks = self._blocks()
        places = {block: place for place, block in enumerate(dict.fromkeys(blocks))}
        index = np.array([places[block] for block in blocks])
        order = np.lexsort((-np.asarray(self.columns["mean"]), np.asarray(self.columns["alpha"]), index))
        found = self.take(order)
        if JUDGED not in found.columns:
            return found
        names = [name for name in found.columns if name != JUDGED]
        names.insert(names.index("mean") + 1, JUDGED)
        return replace(found, columns={name: found.columns[name] for name in names})

    def highlights(self) -> Highlights:
        """The best values of each measure and alpha, and where T_Risk is significant by the corrected p, if any."""
        groups = [*zip(self._blocks(), self["alpha"].tolist(), strict=True)]
        own = self["system"] == self["baseline"] if "baseline" in self.columns else np.zeros(len(self), np.bool_)
        best = {
            # The baseline's own row says nothing about measures against the baseline.
            measure.name: _best(
                self[measure.name] * (1 if measure.higher_is_better else -1),
                groups,
                own if measure.needs == "baseline" else np.zeros_like(own),
            )
            for measure in registered()
            if measure.higher_is_better is not None and measure.name in self.columns
        }
        if "p" not in self.columns:
            return Highlights(best, {}, "")
        method = next((method for method in ("holm", "bonferroni", "bh") if f"p_{method}" in self.columns), None)
        significant = self[f"p_{method}" if method else "p"] < self.level
        return Highlights(best, {"trisk": significant}, f"p < {self.level:g}, {method or 'not corrected'}")

    def brief(self) -> list[str]:
        """Eight columns, and those that were asked for."""
        return brief_columns(self.columns)

    def with_letters(self, correct: str = "holm") -> Evaluation:
        """Add the letters of the systems that each is significantly better than (`analysis.with_letters`)."""
        from surefoot.analysis.evaluation import with_letters
        from surefoot.analysis.tests import compare_pairs

        shown = list(dict.fromkeys(self["system"].tolist()))
        pairs = {one.measure: compare_pairs(one, shown, correct=correct, level=self.level) for one in self.scores}
        return with_letters(self, pairs if len(pairs) > 1 else next(iter(pairs.values())))

    def to_latex(
        self,
        columns: Sequence[str] | None = None,
        caption: str | None = None,
        label: str | None = None,
        *,
        letters: bool = False,
    ) -> str:
        """The rows as a LaTeX table; with ``letters`` the means have those of the systems that they are better than.

        The caption says which test, correction and level the letters and daggers stand for.
        """
        if not letters or "letter" in self.columns:
            return super().to_latex(columns, caption, label)
        shown = None if columns is None else letter_columns(columns)
        return self.with_letters().to_latex(shown, caption, label)

    def take(self, rows: npt.NDArray[np.intp]) -> Evaluation:
        """The rows at these indices, in this order."""
        return replace(self, columns={name: np.asarray(column)[rows] for name, column in self.columns.items()})

    def headings(self) -> dict[str, str]:
        """The risk measures as papers print them."""
        labels = {measure.name: measure.math_label.replace("%", r"\%") for measure in registered()}
        return labels | {"letter": "", "p": "$p$"}

    def superscripts(self) -> dict[str, str]:
        """The letters of the systems that a system is better than, at its mean."""
        return {"mean": "better_than"} if "better_than" in self.columns else {}


def letter_columns(columns: Sequence[str]) -> list[str]:
    """The columns with the letters among them.

    >>> letter_columns(["system", "mean", "p"])
    ['letter', 'system', 'mean', 'better_than', 'p']
    """
    return ["letter", *(kept for one in columns for kept in ((one, "better_than") if one == "mean" else (one,)))]


def _best(values: FloatArray, groups: Sequence[tuple[object, object]], left_out: BoolArray) -> BoolArray:
    """Which values are the largest of their group, as far as they are defined and not left out."""
    values = np.where(left_out, np.nan, values)
    largest: dict[tuple[object, object], float] = {}
    for group, value in zip(groups, values.tolist(), strict=True):
        if value == value:
            largest[group] = max(value, largest.get(group, value))
    return np.array([value == largest.get(group) for group, value in zip(groups, values.tolist(), strict=True)])


def with_letters(result: Evaluation, pairs: Pairs | Mapping[str, Pairs]) -> Evaluation:
    """Add the letter of each system, and those of the systems that it is significantly better than.

    Letters are in the order in which tables show the systems. Beyond the alphabet they are two, and commas part them.

    Parameters
    ----------
    result
        What `surefoot.evaluate` found.
    pairs
        What `surefoot.analysis.compare_pairs` found, by measure if the evaluation has several.

    Returns
    -------
    Evaluation
        Columns ``letter`` and ``better_than`` more; LaTeX prints the latter as superscripts of the means.

    Examples
    --------
    >>> from surefoot import evaluate, Scores
    >>> from surefoot.analysis import compare_pairs
    >>> scores = Scores([[0.2, 0.4, 0.3, 0.1], [0.3, 0.5, 0.4, 0.3]], ["old", "new"], ["q1", "q2", "q3", "q4"])
    >>> with_letters(evaluate(scores), compare_pairs(scores))["better_than"].tolist()
    ['', 'b']

    """
    names: list[str] = result["system"].tolist()
    order = dict.fromkeys(result.readable()["system"].tolist())
    letters = {system: letter_of(index) for index, system in enumerate(order)}
    found, between = [], "" if len(order) <= ALPHABET else ","
    for system, measure in zip(names, result.columns.get("measure", [""] * len(names)), strict=True):
        better = (pairs if isinstance(pairs, Pairs) else pairs[str(measure)]).better_than(system)
        found.append(between.join(letter for other, letter in letters.items() if other in better))
    columns: dict[str, Column] = {"letter": [letters[system] for system in names]}
    for name, column in result.columns.items():
        columns |= {name: column, "better_than": found} if name == "mean" else {name: column}
    legend = (pairs if isinstance(pairs, Pairs) else next(iter(pairs.values()))).legend
    return replace(result, columns=columns, notes=(*result.notes, legend))


def side_by_side(result: Evaluation, columns: Sequence[str] | None = None) -> Arranged:
    """The measures beside each other: a row for each system and alpha, a group of columns for each measure.

    Parameters
    ----------
    result
        What `surefoot.evaluate` found for several measures.
    columns
        The columns to show of each measure; all by default.

    Returns
    -------
    Arranged
        Columns such as ``urisk (nDCG@10)``; the rows in the order of the first measure's means.

    Examples
    --------
    >>> from surefoot import evaluate, Scores
    >>> both = [Scores([[0.2], [0.4]], ["old", "new"], ["q1"], measure) for measure in ("AP", "RR")]
    >>> print(*side_by_side(evaluate(both), ["system", "mean"]).columns, sep=", ")
    system, mean (AP), mean (RR)

    """
    whole = result.readable()
    chosen = list(columns or whole.columns)
    labels = [name for name in LABELS if name in whole.columns]
    rows = _rows_by_measure(whole, labels)
    first = next(iter(rows.values()))
    made: dict[str, Column] = {name: whole[name][list(first.values())] for name in labels if name in chosen}
    marks, heads = whole.highlights(), whole.headings()
    best: dict[str, BoolArray] = {}
    significant: dict[str, BoolArray] = {}
    names, groups = {}, {}
    for measure, by_key in rows.items():
        index = np.array([by_key[key] for key in first])
        for name in (name for name in chosen if name not in (*labels, "measure")):
            column = f"{name} ({measure})"
            made[column], groups[column] = whole[name][index], measure
            names[column] = heads.get(name, name.replace("_", " "))
            best |= {column: marks.best[name][index]} if name in marks.best else {}
            significant |= {column: marks.significant[name][index]} if name in marks.significant else {}
    return Arranged(
        whole.signature,
        made,
        whole.notes,
        stressed=Highlights(best, significant, marks.legend),
        heads={**heads, **names},
        raised=_raised(whole, made, list(rows)),
        grouped=groups,
    )


def _rows_by_measure(result: Evaluation, labels: Sequence[str]) -> dict[str, dict[tuple[Any, ...], int]]:
    """The row of each system and alpha, by measure."""
    found: dict[str, dict[tuple[Any, ...], int]] = {}
    for row, values in enumerate(result):
        found.setdefault(str(values.get("measure", "")), {})[tuple(values[name] for name in labels)] = row
    return found


def _raised(result: Evaluation, made: Mapping[str, Column], measures: Sequence[str]) -> dict[str, str]:
    pairs = [
        (f"{one} ({measure})", f"{other} ({measure})")
        for one, other in result.superscripts().items()
        for measure in measures
    ]
    return {one: other for one, other in pairs if one in made and other in made}
