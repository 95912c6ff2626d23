"""Every system against a baseline and against all others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from surefoot._names import as_names
from surefoot._typing import BoolArray, Columns, FloatArray, Progress
from surefoot.analysis.design import (
    RANK,
    Baseline,
    Design,
    Population,
    behind,
    caveats,
    derived,
    judged_means,
    measure_columns,
    signature_of,
    unequally_judged,
)
from surefoot.errors import SurefootError, choose
from surefoot.results import Column, Highlights, Result
from surefoot.risk.measures import GMEAN, MINUS, URISK, compute_all, evaluated, registered, tail_risk
from surefoot.risk.values import Family, normalise_alphas
from surefoot.scores import Scores, ScoresLike
from surefoot.stats.bootstrap import METHODS, BootstrapMethod
from surefoot.stats.inference import LEVEL, t_inference_of
from surefoot.stats.inference import correct as corrected

JUDGED = "judged@k"
"""The column of the mean fraction of judged documents, k being the measure's cutoff."""
FEW_COLUMNS = 8
"""A table of so many columns shows all of them."""
DETAILS = ("frisk", "freward", "se", "zrisk", "georisk", "wins", "ties")
"""The columns that a terminal shows only on request; judged@k, which only runs have, takes the place of T_Risk."""

DOUBTED = ("expected_", "llm_")
EXPECTED = ("expected_delta", "expected_delta_low", "expected_delta_high", "expected_urisk", "expected_losses")
"""The columns with grades by language models that a terminal shows by default."""


def brief_columns(columns: Mapping[str, Column]) -> list[str]:
    """The columns that a terminal shows by default: details only with their interval, the baseline if there are two.

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
        from surefoot.analysis.paper_tables import compare_pairs, with_letters

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
        from surefoot.analysis.paper_tables import letter_columns

        result = self.with_letters() if letters and "letter" not in self.columns else self
        if "letter" in result.columns and columns is not None and not {"letter", "better_than"} & {*columns}:
            columns = letter_columns(columns)
        return super(Evaluation, result).to_latex(columns, caption, label)

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


def _best(values: FloatArray, groups: Sequence[tuple[object, object]], left_out: BoolArray) -> BoolArray:
    """Which values are the largest of their group, as far as they are defined and not left out."""
    values = np.where(left_out, np.nan, values)
    largest: dict[tuple[object, object], float] = {}
    for group, value in zip(groups, values.tolist(), strict=True):
        if value == value:
            largest[group] = max(value, largest.get(group, value))
    return np.array([value == largest.get(group) for group, value in zip(groups, values.tolist(), strict=True)])


@dataclass(frozen=True, kw_only=True)
class Extras:
    """The columns of an evaluation beside its standard ones; `evaluate` describes them."""

    tail: tuple[float, ...]
    geometric: bool
    minus: bool
    tests: tuple[str, ...]
    correct: str | None
    extra: tuple[str, ...]
    ci: str | None
    method: dict[str, Any]
    level: float

    def table(self, design: Design, alphas: FloatArray) -> Columns:
        """The columns of one effectiveness measure, a row for each system and alpha."""
        has_baseline = design.baselines is not None
        measures = [*evaluated(has_baseline), *(tail_risk(fraction) for fraction in self.tail)]
        measures += [GMEAN] if self.geometric else []
        measures += [one for one in dict.fromkeys(behind(self.extra)) if one not in measures]
        minus = [measure for measure in MINUS if self.minus and (has_baseline or measure.needs != "baseline")]
        statistics = design.statistics([*measures, *minus], alphas)
        table = measure_columns(design.systems, has_baseline and design.baseline_names, alphas, measures, statistics)
        if (judged := design.scores.select(design.systems).judged) is not None:
            table[JUDGED] = judged_means(judged)
        if self.ci == "t":
            found = t_inference_of(statistics[URISK.source].at(alphas), self.level)  # type: ignore[union-attr]
            table |= {"urisk_low": found.low, "urisk_high": found.high}
        elif self.ci is not None:
            from surefoot.analysis.intervals import interval_columns

            resampling = {name: value for name, value in self.method.items() if name != "progress"}
            known = [one for one in measures if one.has_interval]
            method = BootstrapMethod(self.ci, self.level, **resampling)
            table |= interval_columns(design, alphas, known, method, self.method["progress"])
        table |= compute_all(minus, statistics, alphas)
        table |= derived(self.extra, design, alphas, table)
        shape = (len(alphas), len(design.systems))
        rows = {name: np.broadcast_to(column, shape).T.ravel() for name, column in table.items()}
        if self.tests:
            from surefoot.analysis.tests import run_tests

            tested = run_tests(
                design.scores, design.baseline, alphas, tests=self.tests, systems=design.systems,
                population=design.population, value=design.family, correct=self.correct, **self.method,
            )  # fmt: skip
            rows |= {name: tested[name] for name in tested.columns if name not in rows}
        return rows


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
        "tests": tuple(tests) or None,
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
        Systems × topics of one effectiveness measure, or a list of several; anything that `Scores.of` takes. Of systems
        with repeats the means over trials count; a note says so, with the noise floor.
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
        Adds the forms of ECIR 2020.
    ci
        Adds 95 % intervals, columns such as ``georisk_low`` and ``georisk_high``: ``"t"``, only of U_Risk;
        ``"studentised"``, ``"bca"``, ``"percentile"`` or ``"jackknife"`` of U_Risk, T_Risk, Z_Risk, GeoRisk, tails and
        registered measures (`surefoot.intervals`). They are over queries, and contain the noise of trials.
    tests
        Adds p values of other tests, ``"bootstrap", "t", "wilcoxon", "flip", "max", "swap"`` (`run_tests`), and
        ``centre``, what U_Risk would be without a system effect.
    correct
        Adds p values adjusted over all rows: ``"holm"``, ``"bonferroni"`` or ``"bh"``.
    n_resamples, seed
        Of the bootstrap and the permutation tests.
    level
        Where tables mark T_Risk as significant, and one minus the confidence of intervals.
    extra
        Adds columns by name: ``"correlation"`` with the baseline and any other measure that is not shown unasked,
        ``rank_NAME`` (1 for the best of an alpha, over all systems) and ``se_jackknife_NAME`` of any measure.
    letters
        Adds the letter of each system, in the order of the rows, and those of the systems whose mean is significantly
        lower: paired t tests of all pairs, corrected (``correct``, or Holm).
    progress
        Called with how many resamples of an interval or a test are done, of how many, and a message.

    Returns
    -------
    Evaluation
        Columns ``system, baseline, alpha, mean, urisk, frisk, freward, trisk, se, p, zrisk, georisk, wins, losses,
        ties, loss20``, then measures that were registered (`surefoot.risk.register`), then ``judged@k`` where scores
        are those of runs; without a baseline only those that need none. Undefined values are NaN: T_Risk of the
        baseline itself, or where all differences are equal.

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
    if not 0 < level < 1:
        raise SurefootError(f"level must be between 0 and 1; got {level:g}")
    if ci is not None:
        choose(ci, ("t", *METHODS), "ci")
    tests = _named_tests(tests)
    extras = Extras(
        tail=tuple(np.atleast_1d(tail).tolist()), geometric=geometric, minus=minus, tests=tests, correct=correct,
        extra=as_names(extra), ci=ci, method={"n_resamples": n_resamples, "seed": seed, "progress": progress},
        level=level,
    )  # fmt: skip
    alphas = normalise_alphas(alpha)
    shown = several[0].systems if systems is None else several[0].select(systems).systems
    # p is corrected, and ranks run, over all systems, whichever are shown: selecting rows must not change a number.
    whole = systems is None or correct is not None or any(name.startswith(RANK) for name in extras.extra)
    # The order of files must not either: systems are computed in the order of their names, and shown in theirs.
    chosen = None if whole else sorted(shown)
    baselines = baseline_list(baseline)
    designs = [Design.of(one.by_name(), own, chosen, population, value) for one in several for own in baselines]
    if designs[0].baselines is None and (extras.tail or ci == "t" or tests or (correct and not letters)):
        raise SurefootError("tail risk, t intervals and p values need a baseline; name one")
    tables = [extras.table(design, alphas) for design in designs]
    if correct is not None and len(baselines) > 1:
        from surefoot.analysis.tests import correct_over

        for first in range(0, len(tables), len(baselines)):
            correct_over(tables[first : first + len(baselines)], len(alphas), designs[first].family, correct)
    found = {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}
    if correct is not None and "p" in found:
        found[f"p_{correct}"] = corrected(found["p"], correct)
    if len(several) > 1:
        size = len(tables[0]["system"]) * len(baselines)
        found = {"measure": np.repeat([one.measure for one in several], size), **found}
    notes = (note for design, table in zip(designs, tables, strict=True) for note in _notes(design, alphas, table))
    resampled = resampling_fields(ci, tests, correct, level, n_resamples, seed)
    signature = signature_of("evaluate", designs, alphas, **resampled)
    result = Evaluation(signature, found, tuple(dict.fromkeys(notes)), level, tuple(several))
    result = _shown(result, shown, len(designs))
    return result.with_letters(correct or "holm") if letters else result


def _named_tests(tests: str | Sequence[str]) -> tuple[str, ...]:
    """The tests named; ``all`` is each of them."""
    names = as_names(tests)
    if names == ("all",):
        from surefoot.analysis.tests import TESTS

        return TESTS
    return names


def baseline_list(baseline: Baseline | Sequence[str]) -> list[Baseline]:
    """One or several baselines as a list."""
    if baseline is None or isinstance(baseline, str | Mapping) or not isinstance(baseline, Sequence):
        return [baseline]
    if not baseline:
        raise SurefootError("baseline names no system; name one, or leave it out")
    return list(dict.fromkeys(baseline))


def _shown(result: Evaluation, systems: Sequence[str], blocks: int) -> Evaluation:
    """The rows of some systems, in their order within each measure and baseline."""
    index = {name: index for index, name in enumerate(systems)}
    place = np.array([index.get(name, -1) for name in result["system"].tolist()])
    rows = np.flatnonzero(place >= 0)
    block = rows // (len(place) // blocks)
    return result.take(rows[np.lexsort((place[rows], block))])


def _notes(design: Design, alphas: FloatArray, table: Columns) -> list[str]:
    """Assumptions, and warnings about columns."""
    outside = []
    if design.population not in (None, "PAIR"):
        outside = [name for name in design.systems if name not in (design.population or ())]
    lowest, topics = float(design.scores.values.min()), len(design.scores.topics)
    unequal = unequally_judged(design.scores, design.systems, design.baseline_names)
    return [*design.scores.all_notes, *unequal, *caveats(alphas, table, lowest, topics, outside)]
