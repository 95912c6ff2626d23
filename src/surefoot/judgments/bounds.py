"""Bounds of differences over the grades of unjudged documents, and the values expected if people judged them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from surefoot._typing import BoolArray, FloatArray, IntArray
from surefoot.errors import counted
from surefoot.io.document_lists import digests_of
from surefoot.judgments.credibility import Credibility, credibility, draws_for
from surefoot.judgments.judged_runs import JudgedPair, JudgedRuns, TopicPair
from surefoot.results import Result, signature
from surefoot.risk.values import Linear

if TYPE_CHECKING:
    from surefoot.analysis.evaluate import Evaluation

MOST = 20_000
"""The largest number of assignments of grades that are tried; otherwise the bounds only enclose the difference."""
ROUNDING = 1e-12
"""Smaller changes of a difference are rounding."""
EXPECTED = ("mean", "delta", "urisk", "frisk", "trisk", "losses")
"""The values of `Credibility.summary` that `with_expected` shows, each with its interval."""


@dataclass(frozen=True, eq=False)
class DeltaBounds(Result):
    """A row for each topic; see `delta_bounds` for the columns."""

    @property
    def low(self) -> FloatArray:
        """The least differences."""
        return self["delta_low"]

    @property
    def high(self) -> FloatArray:
        """The largest differences."""
        return self["delta_high"]


def delta_bounds(pair: JudgedPair) -> DeltaBounds:
    r"""The least and largest difference of each topic over all grades of the unjudged documents of both rankings.

    Unjudged documents of neither ranking are not relevant. For nDCG, P, R and RBP the bounds are exact: a value is
    linear in the gains, and its denominator depends only on how many documents have each grade. So for given numbers
    the highest grades go where they count most. For ERR, AP and RR all combinations of the lowest and the
    highest grade are tried, which is exact as well: ERR is linear in the gain of each single document. Where there are
    too many to try, the candidate's largest value minus the baseline's least encloses the difference.

    Parameters
    ----------
    pair
        Two runs, by `JudgedRuns.pair`.

    Returns
    -------
    DeltaBounds
        Columns ``topic, delta, delta_low, delta_high, exact``; where ``exact`` is False the bounds only enclose.

    Examples
    --------
    >>> from surefoot.judgments.judged_runs import JudgedRuns
    >>> runs = {"old": {"q": {"d1": 2.0, "d2": 1.0}}, "new": {"q": {"d3": 2.0, "d1": 1.0}}}
    >>> found = delta_bounds(JudgedRuns.read(runs, {"q": {"d1": 1}}, "P@2").pair("new", "old"))
    >>> found.low, found.high
    (array([-0.5]), array([0.5]))
    """
    found = [_topic_bounds(pair, own) for own in pair.topics]
    low, high, exact = (np.array(column) for column in zip(*found, strict=True))
    columns = {"topic": np.array(pair.runs.topics), "delta": pair.delta, "delta_low": low, "delta_high": high}
    text = signature("bounds", measure=pair.runs.measure, system=pair.candidate, baseline=pair.baseline)
    return DeltaBounds(text, {**columns, "exact": exact.astype(np.bool_)}, _notes(pair.delta, low, high))


def with_urisk_bounds(result: Evaluation, runs: Mapping[str, JudgedRuns]) -> Evaluation:
    """An evaluation with ``urisk_least`` and ``urisk_most``, U_Risk at the least and largest difference of each topic.

    Parameters
    ----------
    result
        An evaluation of runs against a run, with linear values.
    runs
        The runs with their judgments, by the name of the measure.

    Returns
    -------
    Evaluation
        The same with two more columns; NaN for the baseline itself.
    """

    @cache
    def bounds(measure: str, system: str, baseline: str) -> DeltaBounds:
        return delta_bounds(runs[measure].pair(system, baseline))

    def ends(measure: str, system: str, baseline: str, alpha: float) -> tuple[float, ...]:
        found = bounds(measure, system, baseline)
        return tuple(float(Linear(alpha)(end).mean()) for end in (found.low, found.high))

    return _with_pair_columns(result, next(iter(runs)), ("urisk_least", "urisk_most"), ends)


def with_expected(result: Evaluation, runs: Mapping[str, JudgedRuns], seed: int = 0) -> Evaluation:
    """An evaluation with the expected values of each row, by people's judgments and calibrated language models.

    Parameters
    ----------
    result
        An evaluation of runs against a baseline, with linear values.
    runs
        The runs with their judgments and language models, by the name of the measure.
    seed
        The random seed.

    Returns
    -------
    Evaluation
        With columns ``expected_MEASURE`` and its 90 % interval, and by the models' grades only ``llm_urisk`` and
        ``llm_frisk``; NaN for the baseline itself.
    """

    @cache
    def found(measure: str, system: str, baseline: str) -> Credibility:
        return credibility(runs[measure], system, baseline, assessors="none", seed=seed)

    def values(measure: str, system: str, baseline: str, alpha: float) -> list[float]:
        summary = found(measure, system, baseline).summary(alpha)
        return [summary[name] for name in columns.values()]

    columns = {
        f"expected_{name}{end.removesuffix('_expected')}": name + end
        for name in EXPECTED
        for end in ("_expected", "_low", "_high")
    } | {"llm_urisk": "urisk_llm", "llm_frisk": "frisk_llm"}

    notes = dict.fromkeys(note for one in runs.values() for note in one.notes)
    note = (
        "expected_...: with the grades that people would give, and 90 % intervals, which held in 83 to 98 % of tested "
        "cases; other columns count unjudged documents 0"
    )
    shown = _with_pair_columns(result, next(iter(runs)), tuple(columns), values)
    head, version = shown.signature.rsplit("|", 1)
    judged = next(iter(runs.values()))
    drawn = f"llm={','.join(digests_of(judged.llm_qrels) or ())}|draws={draws_for(len(judged.topics))}|seed={seed}"
    return replace(shown, notes=(*shown.notes, *notes, note), signature=f"{head}|{drawn}|{version}")


def _with_pair_columns(
    result: Evaluation, measure: str, names: Sequence[str], of_pair: Callable[[str, str, str, float], Sequence[float]]
) -> Evaluation:
    """An evaluation with further columns: a function of measure, system, baseline and alpha; NaN for the baseline."""
    values = np.full((len(names), len(result)), np.nan)
    for index, row in enumerate(result.rows()):
        if row["system"] != row["baseline"]:
            values[:, index] = of_pair(row.get("measure", measure), row["system"], row["baseline"], row["alpha"])
    return replace(result, columns={**result.columns, **dict(zip(names, values, strict=True))})


def _notes(delta: FloatArray, low: FloatArray, high: FloatArray) -> tuple[str, ...]:
    doubtful = [
        f"{int((own & other).sum())} of {counted(int(own.sum()), kind)}"
        for kind, own, other in (("loss", delta < 0, high >= 0), ("win", delta > 0, low <= 0))
    ]
    return (f"{' and '.join(doubtful)} could be an artefact of unjudged documents",)


def _topic_bounds(pair: JudgedPair, own: TopicPair) -> tuple[float, float, bool]:
    grades = _assignments(pair, own)
    if grades is None:
        return _outer(pair, own)
    deltas = pair.deltas(own, grades, np.repeat(own.rest[np.newaxis], len(grades), axis=0))
    return float(deltas.min()), float(deltas.max()), True


def _assignments(pair: JudgedPair, own: TopicPair) -> IntArray | None:
    """The grades that can give the extremes, assignments × documents; None if there are too many."""
    measure, free = pair.runs.measure, np.flatnonzero(matters(pair, own))
    # Where the numerator is linear in the gains, more than the lowest and the highest grade may matter.
    is_graded = measure.form == "sum" and measure.gain != "binary"
    values = np.arange(pair.runs.levels) if is_graded else np.array([0, pair.runs.levels - 1])
    if measure.form == "sum":
        if comb(free.size + len(values) - 1, len(values) - 1) > MOST:
            return None
        chosen = _sorted_grades(values, free.size)
        order = np.argsort(weights_of(pair, own)[free], kind="stable")
        assigned = np.concatenate([chosen, chosen[:, ::-1]])
        free = free[order]
    else:
        if 2**free.size > MOST:
            return None
        assigned = (np.arange(2**free.size)[:, np.newaxis] >> np.arange(free.size) & 1) * values[1]
    grades = np.repeat(own.zero_filled[np.newaxis], len(assigned), axis=0)
    grades[:, free] = assigned
    return grades


def matters(pair: JudgedPair, own: TopicPair) -> BoolArray:
    """Which unjudged documents may change the difference; the others cannot, whatever the grades.

    No document can if the rankings are the same. For P and RBP a document cannot if it counts alike in both rankings,
    for RR if it is behind a judged relevant document wherever it is ranked.
    """
    measure, free = pair.runs.measure, own.unjudged
    if np.array_equal(own.own, own.base):
        return np.zeros_like(free)
    if measure.form == "sum" and measure.norm in ("none", "cutoff"):
        return np.asarray(free & (weights_of(pair, own) != 0))
    if measure.form != "cascade" or measure.gain != "binary":
        return free
    ahead = np.zeros_like(free)
    for ranked in (own.own, own.base):
        relevant = own.zero_filled[ranked] >= measure.rel
        ahead[ranked[np.cumsum(relevant) == 0]] = True
    return np.asarray(free & ahead)


def _sorted_grades(values: IntArray, size: int) -> IntArray:
    """All multisets of grades of a size, each in ascending order."""
    ends = np.array(list(combinations(range(size + len(values) - 1), len(values) - 1)), np.int64)
    ends = ends.reshape(-1, len(values) - 1) - np.arange(len(values) - 1)
    return np.asarray(values[(np.arange(size)[np.newaxis, :, np.newaxis] >= ends[:, np.newaxis]).sum(axis=2)])


def weights_of(pair: JudgedPair, own: TopicPair) -> FloatArray:
    """How much more a gain of each document counts for the candidate than for the baseline."""
    weights = np.zeros(own.codes.size)
    discounts = pair.runs.measure.discounts(max(own.own.size, own.base.size))
    weights[own.own] += discounts[: own.own.size]
    weights[own.base] -= discounts[: own.base.size]
    return weights


def _outer(pair: JudgedPair, own: TopicPair) -> tuple[float, float, bool]:
    """Enclosing bounds: each ranking at its best (few relevant documents elsewhere) less the other at its worst."""
    lowest, highest = own.zero_filled, np.where(own.unjudged, pair.runs.levels - 1, own.zero_filled)
    fewest, most = (_descending(grades, own.rest) for grades in (lowest, highest))

    def best(ranked: IntArray) -> float:
        return min(1.0, pair.value(highest[ranked], fewest)) if fewest[0] >= pair.runs.measure.rel else 1.0

    def worst(ranked: IntArray) -> float:
        return pair.value(lowest[ranked], most)

    return worst(own.own) - best(own.base), best(own.own) - worst(own.base), False


def _descending(grades: IntArray, rest: IntArray) -> IntArray:
    return np.sort(np.concatenate([grades, np.repeat(np.arange(rest.size), rest)]))[::-1]
