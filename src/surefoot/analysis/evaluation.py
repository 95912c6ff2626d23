"""The rows of an evaluation, and how they are shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from surefoot._typing import BoolArray, FloatArray
from surefoot.results import Column, Highlights, Result
from surefoot.risk.measures import registered
from surefoot.scores import Scores
from surefoot.stats.inference import LEVEL

JUDGED = "judged@k"
"""The column of the mean fraction of judged documents, k being the measure's cutoff."""
FEW_COLUMNS = 8
"""A table of so many columns shows all of them."""
DETAILS = ("frisk", "freward", "se", "zrisk", "georisk", "wins", "ties")
"""The columns that a terminal shows only on request; judged@k, which only runs have, takes the place of T_Risk."""


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
        from surefoot.analysis.paper_tables import with_letters
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
