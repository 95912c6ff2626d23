"""Every measure for each segment of the topics: where does the average hide a loss?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from surefoot._names import NO_SEGMENT, group_topics
from surefoot._typing import Columns
from surefoot.analysis.design import Baseline, Design, Population, signature_of
from surefoot.analysis.evaluate import Evaluation, brief_columns, evaluate, resampling_fields
from surefoot.errors import SurefootError, counted, listed
from surefoot.results import Result
from surefoot.risk.values import Family, normalise_alphas
from surefoot.scores import Scores, ScoresLike
from surefoot.stats.inference import correct as corrected


@dataclass(frozen=True, eq=False)
class SegmentEvaluation(Result):
    """One row for each segment, system and alpha, the segment with the lowest gap first."""

    def brief(self) -> list[str]:
        """The columns of `brief_columns`."""
        return brief_columns(self.columns)


def evaluate_segments(
    scores: ScoresLike,
    segments: Mapping[Any, object],
    baseline: Baseline,
    alpha: npt.ArrayLike = 1.0,
    *,
    correct: str = "holm",
    systems: Sequence[str] | None = None,
    population: Population = None,
    value: str | Family = "linear",
    **columns: Any,
) -> SegmentEvaluation:
    """The columns of `surefoot.evaluate` for each segment of the topics.

    A segment of one topic has no test. Topics without a segment form the segment ``(none)``. Z_Risk and GeoRisk are
    computed within the segment; smooth values are fitted to all topics.

    Parameters
    ----------
    scores, baseline, alpha, systems, population, value
        As in `surefoot.evaluate`.
    segments
        Maps a topic to its segment.
    correct
        The correction of p: ``"holm"``, ``"bonferroni"`` or ``"bh"``.
    columns
        Further options of `surefoot.evaluate` such as ``tail`` and ``ci``.

    Returns
    -------
    SegmentEvaluation
        Columns ``segment`` and ``topics`` (their number), the columns of `surefoot.evaluate`, p corrected over segments
        × systems × alphas, and ``gap``: U_Risk in the segment minus U_Risk over all topics, in standard errors of a
        segment of its size, s_x / sqrt(n) with s_x over all topics. Segments are ordered by their lowest gap: the
        average hides most about the first.

    Examples
    --------
    >>> scores = Scores([[0.2, 0.4, 0.4, 0.1], [0.3, 0.5, 0.1, 0.1]], ["old", "new"], ["q1", "q2", "q3", "q4"])
    >>> found = evaluate_segments(scores, {"q1": "head", "q2": "head", "q3": "tail", "q4": "tail"}, "old", alpha=0)
    >>> [(row["segment"], round(row["urisk"], 3)) for row in found.rows() if row["system"] == "new"]
    [('tail', -0.15), ('head', 0.1)]

    """
    scores = Scores.of(scores)
    design = Design.of(scores, baseline, None, population, value)
    if design.baselines is None:
        raise SurefootError("segments are compared with a baseline; name one")
    groups = group_topics(scores.topics, segments)
    shown = scores.systems if systems is None else scores.select(systems).systems
    options: dict[str, Any] = {"population": population, "value": design.family, **columns}
    whole = evaluate(scores, baseline, alpha, **options)
    means = replace(scores, trials={})  # notes on repeats are about all queries
    parts = {
        segment: evaluate(means.select(topics=topics), baseline, alpha, **options) for segment, topics in groups.items()
    }
    sizes = np.array([len(topics) for topics in groups.values()])[:, np.newaxis]
    table: Columns = {"segment": np.array(list(parts))[:, np.newaxis], "topics": sizes}
    table |= {name: np.stack([part[name] for part in parts.values()]) for name in whole.columns}
    se = whole["se"] * np.sqrt(sizes.sum()) / np.sqrt(sizes)
    with np.errstate(invalid="ignore", divide="ignore"):
        table["gap"] = np.where(se > 0, (table["urisk"] - whole["urisk"]) / se, np.nan)
    for name in [name for name in table if name == "p" or (name.startswith("p_") and name != "p_max")]:
        table[f"{name}_{correct}"] = corrected(table[name], correct)
    rows = np.isin(whole["system"], shown)
    order = np.argsort(np.nan_to_num(table["gap"][:, rows], nan=np.inf).min(axis=1), kind="stable")
    shape = table["gap"].shape
    found = {name: np.broadcast_to(column, shape)[order][:, rows].ravel() for name, column in table.items()}
    alphas = normalise_alphas(alpha)
    named = {name: columns[name] for name in ("ci", "n_resamples", "seed", "tests") if name in columns}
    more = resampling_fields(**named, correct=correct)
    signature = signature_of("segments", [design], alphas, segments=len(groups), **more)
    return SegmentEvaluation(signature, found, tuple(_notes(scores, parts, groups)))


def _notes(scores: Scores, parts: Mapping[str, Evaluation], groups: Mapping[str, Sequence[str]]) -> list[str]:
    given = scores.all_notes
    notes = list(given)
    if NO_SEGMENT in groups:
        several, named = counted(len(groups[NO_SEGMENT]), "topic"), listed(groups[NO_SEGMENT])
        notes.append(f"{several} without a segment, shown as {NO_SEGMENT}: {named}")
    single = [segment for segment, topics in groups.items() if len(topics) < 2]
    if single:
        notes.append(f"no test in segments of one topic: {listed(single)}")
    for segment, part in parts.items():
        own = [note for note in part.notes if note not in given]
        notes += [f"{segment}: {note}" if "undefined" in note else note for note in own if segment not in single]
    return list(dict.fromkeys(notes))
