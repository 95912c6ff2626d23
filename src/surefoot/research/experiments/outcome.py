"""What came out of an experiment: scores by query, the papers' table, tests against LambdaMART, files of all that."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from surefoot.io.atomic import write_text
from surefoot.learn.metrics import is_empty
from surefoot.research.experiments.plan import Plan, Trees, label
from surefoot.research.experiments.published import beside
from surefoot.research.experiments.tables import Compared, differences_table, intervals_table, main_table
from surefoot.results import Result, plain
from surefoot.scores import FloatArray, Scores

if TYPE_CHECKING:
    from surefoot.learn.metrics import Metric
    from surefoot.research.experiments.jobs import Ground

BASELINE = "BM25"


@dataclass(frozen=True, eq=False)
class Outcome:
    """Scores of all learners and baselines for each metric, the main one first, and the tables made of them.

    ``published`` is the paper's table beside ours, where data and plan are the paper's.
    """

    plan: Plan
    scores: Mapping[str, Scores]
    table: Result
    tests: Result
    intervals: Result
    published: Result | None
    chosen: Sequence[Trees]

    @property
    def main(self) -> Scores:
        """The scores of the main metric."""
        return next(iter(self.scores.values()))


def outcome_of(
    ground: Ground,
    measured: Mapping[str, Mapping[str, FloatArray]],
    chosen: Sequence[Trees],
    kept: Mapping[str, Sequence[int]],
) -> Outcome:
    """Put the results of units together: ``measured`` has each learner's metrics, ``kept`` its trees by fold."""
    plan, data = ground.plan, ground.dataset.data
    tested = ground.split.tested
    single = single_name(ground.baseline, ground.dataset.baseline)
    rankings = {single: ground.single, **{learned_name(name): rows for name, rows in ground.learned.items()}}
    empty = is_empty(data.labels, data.bounds)[tested]
    notes = (*_settings_notes(ground, chosen, kept), _empty_note(plan, empty))
    names = [data.queries[query] for query in tested.tolist()]

    def scores_of(name: str, metric: Metric) -> Scores:
        own = [values[name] for values in measured.values()]
        others = [metric(rows, data.labels, data.bounds)[tested] for rows in rankings.values()]
        rows = np.stack([*own, *others])
        if plan.empty == "one":
            rows[:, empty] = 1.0
        counts = ~empty if plan.empty == "drop" else np.ones_like(empty)
        topics = [topic for topic, keep in zip(names, counts.tolist(), strict=True) if keep]
        return Scores(rows[:, counts], [*measured, *rankings], topics, name, notes)

    scores = {name: scores_of(name, metric) for name, metric in ground.metrics.items()}
    compared = Compared(plan, scores, {label(*each): each for each in plan.learners()}, _groups(single, ground.learned))
    tests = differences_table(compared)
    table = main_table(compared, tests)
    published = beside(plan, table, compared) if ground.dataset.is_mslr and plan.as_published else None
    return Outcome(plan, scores, table, tests, intervals_table(compared), published, chosen)


def single_name(baseline: str, usual: str | None) -> str:
    """What the single baseline is called."""
    return BASELINE if baseline == usual else baseline


def learned_name(name: str) -> str:
    """What a learned baseline is called, as one of them has the name of a learner."""
    return f"baseline {name}"


def _groups(single: str, learned: Mapping[str, FloatArray]) -> dict[str, list[str]]:
    """What is compared with: the single baseline, and the average over the learned ones."""
    groups = {single: [single]}
    if learned:
        groups[f"learned{len(learned)}"] = [learned_name(name) for name in learned]
    return groups


def _settings_notes(ground: Ground, chosen: Sequence[Trees], kept: Mapping[str, Sequence[int]]) -> list[str]:
    plan = ground.plan
    docs = ", ".join(map(str, plan.docs_per_leaf))
    scaled = ", ".join(str(plan.docs_of(number, ground.dataset.data.labels.size)) for number in plan.docs_per_leaf)
    notes = (
        [f"docs per leaf {docs} scaled to {scaled}, as the data are smaller than MSLR-WEB10K"] if docs != scaled else []
    )
    several = sorted({trees.docs_per_leaf for trees in chosen})
    notes.append(
        f"trees: at most {max(plan.trees)}, {', '.join(map(str, plan.leaves))} leaves, rate "
        f"{', '.join(map(str, plan.rates))}, docs per leaf {', '.join(map(str, several))}"
    )
    shown = (f"{name} {median(own):g} ({min(own)} to {max(own)})" for name, own in kept.items())
    return [*notes, f"trees kept, median of the folds and range: {', '.join(shown)}"]


def _empty_note(plan: Plan, empty: npt.NDArray[np.bool_]) -> str:
    what = {"zero": "count 0", "one": "count 1", "drop": "are left out"}[plan.empty]
    return f"{int(empty.sum())} of {empty.size} queries have no relevant document and {what}"


def write_outcome(outcome: Outcome, folder: str | os.PathLike[str]) -> None:
    """Write scores, tables and a page that shows every learner against any baseline."""
    from surefoot.io.results import render
    from surefoot.io.tables import scores_csv
    from surefoot.show.report import report

    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    for number, (name, scores) in enumerate(outcome.scores.items()):
        write_text(place / (f"scores_{name}.csv" if number else "scores.csv"), scores_csv(scores))
    tables = {"table": outcome.table, "tests": outcome.tests, "intervals": outcome.intervals}
    if outcome.published is not None:
        tables["published"] = outcome.published
    for name, table in tables.items():
        write_text(place / f"{name}.csv", render(table, "csv"))
    described = {"plan": asdict(outcome.plan), "chosen by fold": [asdict(trees) for trees in outcome.chosen]}
    write_text(place / "plan.json", json.dumps(plain(described), indent=2) + "\n")
    single = next(iter(outcome.table.columns["compared_to"]))
    write_text(place / "report.html", report(outcome.main, str(single)))
