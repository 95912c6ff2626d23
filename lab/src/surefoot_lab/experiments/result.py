"""The result of an experiment: the papers' table, scores by query, tests against LambdaMART, and their files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from surefoot._typing import BoolArray, FloatArray, PathLike
from surefoot.io.atomic import write_text
from surefoot.lambdas.metrics import is_empty
from surefoot.results import Highlights, Result, plain
from surefoot.scores import Scores
from surefoot_lab.experiments.plan import Plan, TreeSettings, label
from surefoot_lab.experiments.tables import (
    PLAIN,
    LearnerScores,
    Marks,
    compare_published,
    intervals_table,
    main_table,
    significance_marks,
    significance_table,
)
from surefoot_lab.experiments.tradeoffs import Tradeoff, write_tradeoff

if TYPE_CHECKING:
    from surefoot.lambdas.metrics import Metric
    from surefoot_lab.experiments.jobs import Context

BASELINE = "BM25"


@dataclass(frozen=True, eq=False, kw_only=True)
class ExperimentResult(Result):
    """The papers' table of an experiment: one row for each group of baselines and learner.

    ``scores`` are those of all learners and baselines for each metric, the main one first; ``tests`` compare with plain
    LambdaMART; ``published`` is the paper's table beside ours, where data and plan are the paper's; ``chosen`` are the
    hyper-parameters of each fold; ``tradeoffs`` the risk and gain over alphas of each objective, where the plan asks;
    ``validation`` the mean metric on the validation queries of each fold after each tree.
    """

    plan: Plan
    scores: Mapping[str, Scores]
    tests: Result
    intervals: Result
    published: Result | None
    chosen: Sequence[TreeSettings]
    marks: Marks
    tradeoffs: Mapping[str, Tradeoff] = field(default_factory=dict)
    validation: Result | None = None

    @property
    def main(self) -> Scores:
        """The scores of the main metric."""
        return next(iter(self.scores.values()))

    @property
    def baseline(self) -> str:
        """The single baseline, the first group that learners are compared with."""
        return str(self.columns["compared_to"][0])

    def tables(self) -> dict[str, Result]:
        """The table, the tests and, where there are any, the published table and those of the trade-offs."""
        found = {"table": self, "tests": self.tests, "published": self.published}
        for objective, tradeoff in self.tradeoffs.items():
            found |= {f"{objective}-{name}": table for name, table in tradeoff.tables.items()}
        return {name: table for name, table in found.items() if table is not None}

    def highlights(self) -> Highlights:
        """Marks on what differs significantly from plain LambdaMART."""
        return Highlights({}, self.marks, f"differs from {PLAIN}: paired t over queries, Holm over all tests, 5 %")


def assemble(
    context: Context,
    measured: Mapping[str, Mapping[str, FloatArray]],
    chosen: Sequence[TreeSettings],
    trees_kept: Mapping[str, Sequence[int]],
) -> ExperimentResult:
    """Assemble the results of jobs: ``measured`` has each learner's metrics, ``trees_kept`` its trees by fold."""
    learners = _learner_scores(context, measured, _tree_notes(context, chosen, trees_kept))
    tests, columns = significance_table(learners), main_table(learners)
    means = ", ".join(
        f"{member} {learners.main[member].mean():.4f}" for members in learners.groups.values() for member in members
    )
    result = ExperimentResult(
        signature=learners.signature("experiment"),
        columns=columns,
        notes=(*learners.main.notes, f"{learners.main.measure} of the baselines: {means}"),
        plan=context.plan,
        scores=learners.scores,
        tests=tests,
        intervals=intervals_table(learners),
        published=None,
        chosen=chosen,
        marks=significance_marks(learners, columns, tests),
    )
    if not (context.dataset.is_mslr and context.plan.as_published):
        return result
    return replace(result, published=compare_published(result, learners))


def _learner_scores(
    context: Context, measured: Mapping[str, Mapping[str, FloatArray]], notes: Sequence[str]
) -> LearnerScores:
    plan, data, tested = context.plan, context.dataset.data, context.split.tested
    single = single_name(context.baseline, context.dataset.baseline)
    rankings = {single: context.baseline_scores}
    rankings |= {learned_name(name): scores for name, scores in context.learned.items()}
    empty = is_empty(data.labels, data.bounds)[tested]
    names = [data.queries[query] for query in tested.tolist()]

    def scores_of(name: str, metric: Metric) -> Scores:
        own = [values[name] for values in measured.values()]
        others = [metric(scores, data.labels, data.bounds)[tested] for scores in rankings.values()]
        rows = np.stack([*own, *others])
        if plan.empty == "one":
            rows[:, empty] = 1.0
        counts = ~empty if plan.empty == "drop" else np.ones_like(empty)
        topics = [topic for topic, keep in zip(names, counts.tolist(), strict=True) if keep]
        return Scores(rows[:, counts], [*measured, *rankings], topics, name, (*notes, _empty_note(plan, empty)))

    scores = {name: scores_of(name, metric) for name, metric in context.metrics.items()}
    learners = {label(*learner): learner for learner in plan.learners()}
    return LearnerScores(plan, scores, learners, _groups(single, context.learned))


def single_name(baseline: str, usual: str | None) -> str:
    """The name of the single baseline among the systems."""
    return BASELINE if baseline == usual else baseline


def learned_name(name: str) -> str:
    """The name of a learned baseline among the systems; without the prefix one would be named as a learner."""
    return f"baseline {name}"


def _groups(single: str, learned: Mapping[str, FloatArray]) -> dict[str, list[str]]:
    """The groups of baselines that learners are compared with: the single one, and the learned ones."""
    groups = {single: [single]}
    if learned:
        groups[f"learned{len(learned)}"] = [learned_name(name) for name in learned]
    return groups


def _tree_notes(context: Context, chosen: Sequence[TreeSettings], trees_kept: Mapping[str, Sequence[int]]) -> list[str]:
    plan = context.plan
    docs = ", ".join(map(str, plan.docs_per_leaf))
    scaled = ", ".join(str(plan.docs_of(number, context.dataset.data.labels.size)) for number in plan.docs_per_leaf)
    notes = (
        [f"docs per leaf {docs} scaled to {scaled}, as the data are smaller than MSLR-WEB10K"] if docs != scaled else []
    )
    notes += [f"changed from the protocol: {name} {ours} instead of {theirs}" for name, (theirs, ours)
              in plan.changed().items()]  # fmt: skip
    several = sorted({trees.min_child_samples for trees in chosen})
    notes.append(
        f"trees: at most {max(plan.trees)}, {', '.join(map(str, plan.leaves))} leaves, rate "
        f"{', '.join(map(str, plan.rates))}, docs per leaf {', '.join(map(str, several))}"
    )
    shown = (f"{name} {median(own):g} ({min(own)} to {max(own)})" for name, own in trees_kept.items())
    return [*notes, f"trees kept, median of the folds and range: {', '.join(shown)}"]


def _empty_note(plan: Plan, empty: BoolArray) -> str:
    what = {"zero": "count 0", "one": "count 1", "drop": "are left out"}[plan.empty]
    return f"{int(empty.sum())} of {empty.size} queries have no relevant document and {what}"


def write_experiment(result: ExperimentResult, folder: PathLike) -> None:
    """Write scores, tables, the plan, and a page that shows every learner against any baseline.

    Parameters
    ----------
    result
        The result of `experiment`.
    folder
        Where files are written.

    """
    from surefoot.io.tables import scores_csv
    from surefoot.show.report import report
    from surefoot.show.tables import render

    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    for number, (name, scores) in enumerate(result.scores.items()):
        write_text(path / (f"scores_{name}.csv" if number else "scores.csv"), scores_csv(scores))
    for name, table in {**result.tables(), "intervals": result.intervals, "validation": result.validation}.items():
        if table is not None:
            write_text(path / f"{name}.csv", render(table, "csv"))
    described = {"plan": asdict(result.plan), "chosen by fold": [asdict(trees) for trees in result.chosen]}
    write_text(path / "plan.json", json.dumps(plain(described), indent=2) + "\n")
    write_text(path / "report.html", report(result.main, result.baseline))
    for objective, tradeoff in result.tradeoffs.items():
        write_tradeoff(tradeoff.sweep, path / f"tradeoff-{objective}")
