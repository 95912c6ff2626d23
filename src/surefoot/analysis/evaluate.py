"""Every system against a baseline and against all others: the table that most users come for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from surefoot import risk
from surefoot.analysis.columns import Wanted
from surefoot.analysis.design import Baseline, Population, Setting, signature_of
from surefoot.analysis.figures import Columns
from surefoot.errors import SurefootError, listed
from surefoot.results import Emphasis, Result
from surefoot.risk.values import Family
from surefoot.scores import FloatArray, Scores
from surefoot.stats.inference import LEVEL
from surefoot.stats.inference import correct as corrected


@dataclass(frozen=True, eq=False)
class Evaluation(Result):
    """One row for each measure, system and alpha; see `evaluate` for the columns."""

    def readable(self) -> Evaluation:
        """The rows by measure and alpha, the best mean first."""
        measures = list(self.columns.get("measure", [""] * len(self)))
        place = np.array([measures.index(measure) for measure in measures])
        order = np.lexsort((-np.asarray(self.columns["mean"]), np.asarray(self.columns["alpha"]), place))
        return self.only(order)

    def emphasis(self) -> Emphasis:
        """The best figures of each measure and alpha, and where T_Risk is significant by the corrected p, if any."""
        groups = [*zip(self.columns.get("measure", [""] * len(self)), self["alpha"].tolist(), strict=True)]
        own = self["system"] == self["baseline"] if "baseline" in self.columns else np.zeros(len(self), np.bool_)
        best = {
            name: _best(self[name] * sign, groups, own if name in AGAINST_BASELINE else np.zeros_like(own))
            for name, sign in BETTER.items()
            if name in self.columns
        }
        if "p" not in self.columns:
            return Emphasis(best, {}, "")
        method = next((method for method in ("holm", "bonferroni", "bh") if f"p_{method}" in self.columns), None)
        significant = self[f"p_{method}" if method else "p"] < LEVEL
        return Emphasis(best, {"trisk": significant}, f"p < {LEVEL:g}, {method or 'not corrected'}")

    def only(self, rows: npt.NDArray[np.intp]) -> Evaluation:
        """The rows at these places, in this order."""
        columns = {name: np.asarray(column)[rows] for name, column in self.columns.items()}
        return Evaluation(self.signature, columns, self.notes)


BETTER = {"mean": 1, "urisk": 1, "frisk": -1, "freward": 1, "trisk": 1, "zrisk": 1, "georisk": 1, "gmean": 1}
BETTER |= {"wins": 1, "losses": -1, "loss20": -1}
"""Columns in which one figure is best: the largest (1) or the smallest (-1)."""

AGAINST_BASELINE = {"urisk", "frisk", "freward", "trisk", "wins", "losses", "loss20"}
"""Columns in which the baseline's own row says nothing."""


def _best(
    figures: npt.NDArray[np.float64], groups: Sequence[tuple[object, object]], left_out: npt.NDArray[np.bool_]
) -> npt.NDArray[np.bool_]:
    """The largest figures of each group, as far as they are defined and not left out."""
    figures = np.where(left_out, np.nan, figures)
    largest: dict[tuple[object, object], float] = {}
    for group, figure in zip(groups, figures.tolist(), strict=True):
        if figure == figure:
            largest[group] = max(figure, largest.get(group, figure))
    return np.array([figure == largest.get(group) for group, figure in zip(groups, figures.tolist(), strict=True)])


def evaluate(
    scores: Scores | Sequence[Scores],
    baseline: Baseline = None,
    alpha: npt.ArrayLike = 1.0,
    *,
    systems: Sequence[str] | None = None,
    population: Population = None,
    value: str | Family = "linear",
    tail: float | Sequence[float] = (),
    geometric: bool = False,
    minus: bool = False,
    ci: str | None = None,
    tests: Sequence[str] = (),
    correct: str | None = None,
    n_resamples: int = 10_000,
    seed: int = 0,
) -> Evaluation:
    """The risk of every system, for each alpha (and each measure, if ``scores`` are several).

    Columns: ``system, baseline, alpha, mean, urisk, frisk, freward, trisk, se, p, zrisk, georisk, wins, losses, ties,
    loss20``; without a baseline only those that need none. Undefined figures are NaN: T_Risk of the baseline itself, or
    where all differences are alike.

    ``baseline`` is a system, MEAN, MEDIAN or MAX of each topic, or a mapping that gives each system its own.
    ``population`` holds the systems behind Z_Risk, GeoRisk and the virtual baselines: all, a list, or ``"PAIR"`` for a
    system and its baseline alone. ``value`` is ``"linear"``, ``"smooth"`` (fitted to the differences at hand) or a
    family of value functions. ``tail`` adds a column for each share, ``geometric`` the geometric mean, ``minus`` the
    forms of ECIR 2020, ``correct`` p values adjusted over all rows. ``ci`` adds 95 % intervals, columns such as
    ``georisk_low`` and ``georisk_high``: ``"t"`` of U_Risk alone; ``"percentile"``, ``"bca"`` or ``"jackknife"`` of
    U_Risk, T_Risk, Z_Risk, GeoRisk and tails (`surefoot.stats.intervals`).
    ``tests`` adds p values of other tests, ``"t", "wilcoxon", "flip", "max", "swap"`` (`surefoot.stats.permutation`),
    and ``centre``, what U_Risk would be without a system effect. ``n_resamples`` and ``seed`` are for whatever is drawn
    at random.

    >>> scores = Scores([[0.2, 0.4, 0.4], [0.3, 0.1, 0.5]], ["old", "new"], ["q1", "q2", "q3"])
    >>> result = evaluate(scores, baseline="old", alpha=[0, 5])
    >>> [round(row["urisk"], 4) for row in result.rows() if row["system"] == "new"]
    [-0.0333, -0.5333]
    """
    several = [scores] if isinstance(scores, Scores) else list(scores)
    if not several:
        raise SurefootError("there are no scores to evaluate")
    shares = tuple(np.atleast_1d(tail).tolist())
    wanted = Wanted(shares, geometric, minus, ci, tuple(tests), correct, n_resamples, seed)
    alphas = risk.sweep_of(alpha)
    chosen = None if systems is None else several[0].select(systems).systems
    # p is corrected for all systems, whichever are shown: a choice of rows must not make a finding.
    settings = [Setting.of(one, baseline, None if correct else chosen, population, value) for one in several]
    wanted.check(settings[0])
    tables = [wanted.table(setting, alphas) for setting in settings]
    columns = {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}
    if correct is not None:
        columns[f"p_{correct}"] = corrected(columns["p"], correct)
    if len(several) > 1:
        columns = {"measure": np.repeat([one.measure for one in several], len(tables[0]["system"])), **columns}
    notes = (note for setting, table in zip(settings, tables, strict=True) for note in _notes(setting, alphas, table))
    stated = signature_of("evaluate", settings, alphas, **wanted.stated())
    result = Evaluation(stated, columns, tuple(dict.fromkeys(notes)))
    return result if chosen is None or correct is None else _shown(result, chosen, len(several))


def _shown(result: Evaluation, systems: Sequence[str], measures: int) -> Evaluation:
    """The rows of some systems, in their order within each measure."""
    names: list[str] = result["system"].tolist()
    place, block = {name: place for place, name in enumerate(systems)}, len(names) // measures
    rows = [row for row, name in enumerate(names) if name in place]
    return result.only(np.array(sorted(rows, key=lambda row: (row // block, place[names[row]])), dtype=np.intp))


def _notes(setting: Setting, alphas: FloatArray, table: Columns) -> list[str]:
    """What was assumed, and what a reader should know before trusting a column."""
    notes = list(setting.scores.notes)
    if alphas.max() > 2:
        notes.append("GeoRisk at alpha > 2 is not consistent: a better score on one topic can lower it")
    if setting.population not in (None, "PAIR"):
        outside = [name for name in setting.systems if name not in (setting.population or ())]
        if outside:
            notes.append(f"Z_Risk and GeoRisk are undefined outside the population: {listed(outside)}")
    if setting.scores.values.min() < 0:
        notes.append("Z_Risk and GeoRisk are undefined: some scores are below 0")
    if setting.baselines is not None:
        untested = table["system"][np.isnan(table["trisk"]) & (table["system"] != table["baseline"])]
        if len(untested):
            reason = "all values are alike" if len(setting.scores.topics) > 1 else "there is only one topic"
            notes.append(f"T_Risk and p are undefined where {reason}: {listed(dict.fromkeys(untested.tolist()))}")
    return notes
