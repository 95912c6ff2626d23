"""Every system against a baseline and against all others."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from surefoot._names import as_names
from surefoot._typing import Columns, FloatArray, IntArray, Progress
from surefoot.analysis.design import (
    RANK,
    Baseline,
    Design,
    Population,
    add_corrected,
    derived_columns,
    judged_means,
    measure_columns,
    measures_of_columns,
    notes_on_columns,
    notes_on_unequal_judging,
    signature_of,
)
from surefoot.errors import SurefootError, choose
from surefoot.results import Column, Highlights, Result
from surefoot.risk.measures import GMEAN, MINUS, URISK, Risk, compute_all, evaluated, registered, tail_risk
from surefoot.risk.values import Family, normalise_alphas
from surefoot.scores import Scores, ScoresLike
from surefoot.stats.bootstrap import METHODS, BootstrapMethod
from surefoot.stats.inference import LEVEL, t_inference_of, validate_level

JUDGED = "judged@k"
"""The column of the mean fraction of judged documents, k being the measure's cutoff."""
FEW_COLUMNS = 8
"""Tables with at most this many columns show all of them."""
DETAILS = ("frisk", "freward", "se", "zrisk", "georisk", "wins", "ties")
"""The columns that a terminal shows only on request; judged@k, which only runs have, takes the place of T_Risk."""

DOUBTED = ("expected_", "llm_")
"""Prefixes of the columns with grades by language models."""
EXPECTED = ("expected_delta", "expected_delta_low", "expected_delta_high", "expected_urisk", "expected_losses")
"""Those of them that a terminal shows by default."""
POPULATION_COLUMNS, P_COLUMNS = "^(z|geo)(risk|minus)", "^p(_holm|_bh|_bonferroni)?$"
NOTES_ON = {
    "GeoRisk ": POPULATION_COLUMNS,
    "Z_Risk and GeoRisk ": POPULATION_COLUMNS,
    "p at alpha": P_COLUMNS,
    "on few topics intervals": "_low$",
}
"""Beginnings of notes that are only about some columns, which the patterns match."""


def brief_columns(columns: Mapping[str, Column]) -> list[str]:
    """The columns that a terminal shows by default: details only with an interval, the baseline if there are several.

    >>> brief_columns({"system": ["a"], "baseline": ["b"], "alpha": [1], **dict.fromkeys(("mean", "urisk", "p"), [0])})
    ['system', 'baseline', 'alpha', 'mean', 'urisk', 'p']
    """
    if len(columns) <= FEW_COLUMNS:
        return list(columns)
    details = (*DETAILS, "trisk") if JUDGED in columns else DETAILS
    hidden = {name for name in details if f"{name}_low" not in columns}
    if "expected_urisk" in columns:
        hidden |= {"p", "loss20", JUDGED, *(name for name in columns if name.startswith(DOUBTED))} - {*EXPECTED}
    if len(set(columns.get("baseline", ()))) == 1:
        hidden.add("baseline")
    return [name for name in columns if name not in hidden]


@dataclass(frozen=True, eq=False)
class Evaluation(Result):
    """One row for each measure, system and alpha; see `evaluate` for the columns."""

    level: float = LEVEL
    scores: tuple[Scores, ...] = ()

    def _blocks(self) -> IntArray:
        """The block of each row, by number: its measure, and its baseline if systems have several."""
        systems, baselines = self["system"].tolist(), self.columns.get("baseline", ())
        several = len({*zip(systems, baselines, strict=False)}) > len({*systems})
        names = [name for name in ("measure", "baseline" if several else "") if name in self.columns]
        rows = list(zip(systems, *(self[name].tolist() for name in names), strict=True))
        places = {block: place for place, block in enumerate(dict.fromkeys(row[1:] for row in rows))}
        return np.array([places[row[1:]] for row in rows])

    def only(self, names: Sequence[str]) -> Result:
        """Some of the columns, without notes that are only about others."""
        found = super().only(names)
        dropped = tuple(note for note, about in NOTES_ON.items() if not any(re.search(about, name) for name in names))
        return replace(found, notes=tuple(note for note in found.notes if not note.startswith(dropped)))

    def readable(self) -> Evaluation:
        """The rows by measure, baseline (if systems have several) and alpha, the best mean first."""
        order = np.lexsort((-self["mean"], self["alpha"], self._blocks()))
        names = [name for name in self.columns if name != JUDGED]
        if JUDGED in self.columns:
            names.insert(names.index("mean") + 1, JUDGED)
        return replace(self, columns={name: self[name][order] for name in names})

    def highlights(self) -> Highlights:
        """The best values of each measure and alpha, and where T_Risk is significant by the corrected p, if any."""
        groups = np.unique(np.stack([self._blocks(), self["alpha"]]), axis=1, return_inverse=True)[1].ravel()
        own = self["system"] == self.columns.get("baseline", np.array(""))
        best = {}
        for measure in registered():
            if measure.higher_is_better is not None and measure.name in self.columns:
                values = self[measure.name] * (1.0 if measure.higher_is_better else -1.0)
                # The baseline's own row says nothing about measures against the baseline.
                values[own & (measure.needs == "baseline")] = np.nan
                largest = np.full(len(self), -np.inf)
                np.fmax.at(largest, groups, values)
                best[measure.name] = values == largest[groups]
        headings = {one.name: one.math_label.replace("%", r"\%") for one in registered()} | {"letter": "", "p": "$p$"}
        marks = Highlights(best, headings=headings, superscripts={"mean": "better_than"})
        if "p" not in self.columns:
            return marks
        method = next((method for method in ("holm", "bonferroni", "bh") if f"p_{method}" in self.columns), None)
        significant = self[f"p_{method}" if method else "p"] < self.level
        legend = f"p < {self.level:g}, {method or 'not corrected'}"
        return replace(marks, significant={"trisk": significant}, legend=legend)

    def brief(self) -> list[str]:
        """The columns of `brief_columns`."""
        return brief_columns(self.columns)

    def with_letters(self, correct: str = "holm") -> Evaluation:
        """Add the letters of the systems that each is significantly better than (`analysis.with_letters`)."""
        from surefoot.analysis.paper_tables import with_letters

        return with_letters(self, correct)

    def to_latex(
        self,
        columns: Sequence[str] | None = None,
        caption: str | None = None,
        label: str | None = None,
        *,
        letters: bool = False,
    ) -> str:
        """The rows as a LaTeX table.

        ``letters`` marks each mean with the letters of the systems that it is significantly better than. The caption
        names the test, the correction and the level behind letters and daggers.
        """
        from surefoot.analysis.paper_tables import letter_columns

        result = self.with_letters() if letters and "letter" not in self.columns else self
        if "letter" in result.columns and columns is not None and not {"letter", "better_than"} & {*columns}:
            columns = letter_columns(columns)
        return super(Evaluation, result).to_latex(columns, caption, label)


def resampling_fields(
    ci: str | None = None,
    tests: Sequence[str] = (),
    correct: str | None = None,
    level: float = LEVEL,
    n_resamples: int = 10_000,
    seed: int = 0,
) -> dict[str, object]:
    """The fields of a signature about intervals, tests and corrections."""
    is_drawn = bool(tests) or ci in ("studentised", "percentile", "bca")
    return {
        "interval": ci and f"{ci}({1 - level:g})",
        "tests": as_names(tests) or None,
        "n_resamples": n_resamples if is_drawn else None,
        "seed": seed if is_drawn else None,
        "correct": correct,
    }


def evaluate(
    scores: ScoresLike,
    baseline: Baseline | Sequence[str] = None,
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
    level: float = LEVEL,
    extra: Sequence[str] = (),
    letters: bool = False,
    progress: Progress | None = None,
) -> Evaluation:
    """The risk of every system, for each alpha (and each effectiveness measure, if ``scores`` are several).

    Parameters
    ----------
    scores
        Systems × topics of one effectiveness measure, or a list of several; anything that `Scores.of` takes. A system
        with repeats counts by its means over trials; a note has the noise floor.
    baseline
        A system, MEAN, MEDIAN or MAX of each topic; several of them, which gives a row for each; or a mapping that
        gives each system its own.
    alpha
        The additional weight of losses; one or several.
    systems
        The rows to show; all by default.
    population
        The systems behind Z_Risk, GeoRisk and the virtual baselines: all, a list, or ``"PAIR"`` for a system and its
        baseline only.
    value
        ``"linear"``, ``"smooth"`` or ``"monotone"`` (fitted to the differences at hand), or a family of value
        functions.
    tail
        Adds tail risk at these fractions of the topics.
    geometric
        Adds the geometric mean.
    minus
        Adds the negative forms of ECIR 2020: U-, T-, Z- and Geo-.
    ci
        Adds 95 % intervals, columns such as ``georisk_low`` and ``georisk_high``: ``"t"``, only of U_Risk;
        ``"studentised"``, ``"bca"``, ``"percentile"`` or ``"jackknife"`` of U_Risk, T_Risk, Z_Risk, GeoRisk, tails and
        registered measures (`surefoot.intervals`). They are over queries, and contain the noise of trials.
    tests
        Adds p values of other tests, ``"bootstrap", "t", "wilcoxon", "flip", "max", "swap"`` (`run_tests`), and
        ``centre``, the U_Risk expected without a system effect.
    correct
        Adds p values adjusted over all rows: ``"holm"``, ``"bonferroni"`` or ``"bh"``.
    n_resamples, seed
        The number of resamples of the bootstrap and the permutation tests, and the random seed.
    level
        The significance level of T_Risk in tables, and one minus the confidence of intervals.
    extra
        Adds columns by name: ``"correlation"`` with the baseline, any other measure that is not shown by default,
        ``rank_NAME`` (1 for the best of an alpha, over all systems) and ``se_jackknife_NAME`` of any measure.
    letters
        Adds the letter of each system, in the order of the rows, and the letters of the systems with significantly
        lower means, by paired t tests of all pairs, corrected by ``correct`` or Holm's method.
    progress
        Called with the number of resamples done for an interval or a test, their total, and a message.

    Returns
    -------
    Evaluation
        Columns ``system, baseline, alpha, mean, urisk, frisk, freward, trisk, se, p, zrisk, georisk, wins, losses,
        ties, loss20``, then registered measures (`surefoot.risk.register`), then ``judged@k`` for scores of runs.
        Without a baseline, only those that need none. Undefined values are NaN, such as T_Risk of the baseline itself,
        or where all differences are equal.

    Examples
    --------
    >>> scores = Scores([[0.2, 0.4, 0.4], [0.3, 0.1, 0.5]], ["old", "new"], ["q1", "q2", "q3"])
    >>> result = evaluate(scores, baseline="old", alpha=[0, 5])
    >>> [round(row["urisk"], 4) for row in result.rows() if row["system"] == "new"]
    [-0.0333, -0.5333]

    """
    several = [Scores.of(one) for one in (scores if isinstance(scores, list | tuple) else [scores])]
    if not several:
        raise SurefootError("there are no scores to evaluate")
    validate_level(level)
    choose(ci or "t", ("t", *METHODS), "ci")
    tests, extra, fractions = as_names(tests), as_names(extra), np.atleast_1d(tail).tolist()
    if tests == ("all",):
        from surefoot.analysis.tests import TESTS

        tests = TESTS
    alphas, baselines = normalise_alphas(alpha), _baseline_list(baseline)
    # Corrections and ranks are over all systems, shown or not: selecting rows must not change a number.
    whole = systems is None or correct is not None or "max" in tests or any(name.startswith(RANK) for name in extra)
    shown = several[0].select(systems).systems
    designs = [
        Design.of(one, own, shown, population, value, by_name=True, whole=whole) for one in several for own in baselines
    ]
    if designs[0].baselines is None and (fractions or ci == "t" or tests or (correct and not letters)):
        raise SurefootError("tail risk, t intervals and p values need a baseline; name one")
    added = [*map(tail_risk, fractions), *([GMEAN] if geometric else []), *measures_of_columns(extra)]
    drawn: dict[str, Any] = {"n_resamples": n_resamples, "seed": seed}
    tables = []
    for design in designs:
        table = _measured(design, alphas, added, minus, ci, level, drawn, progress)
        table |= derived_columns(extra, design, alphas, table)
        if tests:
            from surefoot.analysis.tests import columns_of_tests

            table |= columns_of_tests(design, alphas, tests, alternative="two-sided", progress=progress, **drawn)
        tables.append(table)
    if correct is not None:
        corrected = [f"p_{test}" for test in tests if test != "max"]
        for first in range(0, len(tables), len(baselines)):
            add_corrected(tables[first : first + len(baselines)], corrected, correct, designs[first].family)
        add_corrected(tables, ["p"] if "p" in tables[0] else [], correct)
    both = list(zip(designs, tables, strict=True))
    notes = dict.fromkeys(note for design, table in both for note in _notes(design, alphas, table))
    resampled = resampling_fields(ci, tests, correct, level, n_resamples, seed)
    made = signature_of("evaluate", designs, alphas, **resampled)
    rows = _joined(both, alphas, by_measure=len(several) > 1)
    result = Evaluation(made, rows, tuple(notes), level, tuple(several))
    return result.with_letters(correct or "holm") if letters else result


def _measured(
    design: Design,
    alphas: FloatArray,
    added: Sequence[Risk],
    minus: bool,
    ci: str | None,
    level: float,
    drawn: dict[str, Any],
    progress: Progress | None,
) -> Columns:
    """The columns of the measures, alphas × systems: the standard ones, added ones, intervals, and negative forms."""
    has_baseline = design.baselines is not None
    measures = tuple(dict.fromkeys([*evaluated(has_baseline), *added]))
    negative = [measure for measure in MINUS if minus and (has_baseline or measure.needs != "baseline")]
    statistics = design.statistics([*measures, *negative], alphas)
    table = measure_columns(design.systems, has_baseline and design.baseline_names, alphas, measures, statistics)
    if (judged := design.scores.select(design.systems).judged) is not None:
        table[JUDGED] = judged_means(judged)
    if ci == "t":
        found = t_inference_of(statistics[URISK.source].at(alphas), level)  # type: ignore[union-attr]
        table |= {"urisk_low": found.low, "urisk_high": found.high}
    elif ci is not None:
        from surefoot.analysis.intervals import interval_columns

        known = [one for one in measures if one.has_interval]
        table |= interval_columns(design, alphas, known, BootstrapMethod(ci, level, **drawn), progress)
    return table | compute_all(negative, statistics, alphas)


def _joined(tables: Sequence[tuple[Design, Columns]], alphas: FloatArray, by_measure: bool) -> Columns:
    """The rows of all tables, with a column for their measures if there are several."""
    parts = []
    for design, table in tables:
        rows = design.as_rows(table, alphas)
        measure = {"measure": np.repeat(design.scores.measure, len(rows["system"]))} if by_measure else {}
        parts.append(measure | rows)
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _baseline_list(baseline: Baseline | Sequence[str]) -> list[Baseline]:
    """One or several baselines as a list."""
    if baseline is None or isinstance(baseline, str | Mapping) or not isinstance(baseline, Sequence):
        return [baseline]
    if not baseline:
        raise SurefootError("baseline names no system; name one, or leave it out")
    return list(dict.fromkeys(baseline))


def _notes(design: Design, alphas: FloatArray, table: Columns) -> list[str]:
    """Assumptions, and warnings about columns."""
    outside = []
    if design.population not in (None, "PAIR"):
        outside = [name for name in design.systems if name not in (design.population or ())]
    scores = design.scores
    unequal = notes_on_unequal_judging(scores, design.systems, design.baseline_names)
    return [*scores.all_notes, *unequal, *notes_on_columns(alphas, table, scores.lowest, len(scores.topics), outside)]
