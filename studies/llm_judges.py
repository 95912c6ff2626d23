"""What do a hundred judgments and a language model show of a candidate's risk? TREC DL 2019, half of the topics.

Protocol. Runs are reduced to the documents that NIST judged; truth is nDCG@10 by NIST's grades. Each of SPLITS random
splits halves the 43 topics, and each half serves once to calibrate: CALIBRATION documents are drawn at random from the
first ten of all runs there. On the other half nothing is judged at first. For each of PAIRS random ordered pairs of
runs, whose means differ by less than 0.1 on all topics, some share of the pair's documents (first ten of both) on the
other half is then judged, the largest difference of discounts first. The rest is drawn. Language models: GPT-4,
DeepSeek-V3, Llama-3-8B, or *none*: one that gives every document the same grade, so that only votes are left
and the best ranking is drawn from the same documents.

Reported: how often 90 % intervals hold the difference of a topic, its U_Risk (alpha 1) and F_Risk; the root mean square
error of U_Risk, beside that of the model's own grades (judged ones replaced); bins of p_loss; and the ratio of the
errors of each model and of *none*. Intervals of these figures are bootstraps over splits. Priors were chosen on these
43 topics before, by others, among about 25 settings; here one setting was computed, and is shown.

The verdict on the mean (95 % t interval) is *decided* where at least 90 % of the draws have the same verdict, and it is
better or worse; *wrong* of those are the ones that NIST's grades do not give.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from studies.holes import Collection
from studies.judged_collections import Calibration, Grades, as_qrels, data, read_grades
from surefoot._typing import FloatArray
from surefoot.effectiveness.sources import load_qrels
from surefoot.judgments.credibility import NO_CHANGE, draw_deltas
from surefoot.judgments.judged_runs import JudgedRuns
from surefoot.judgments.next_judgments import VERDICTS, verdict_of, verdicts_of
from surefoot.judgments.unjudged import GradeModel
from surefoot.release_gate.comparison import HELD
from surefoot.results import Result, signature
from surefoot.risk.values import Linear

SPLITS, PAIRS, CALIBRATION, SHARES = 3, 8, 100, (0.0, 0.1, 0.2, 0.5)
DRAWS, RESAMPLES, SEED, HEAD = 300, 2000, 41, 10
MODELS = {"GPT-4": ["gpt-4"], "DeepSeek-V3": ["deepseek-v3"], "Llama-3-8B": ["llama-3-8b"]}
MODELS |= {"none": []}


def tables(less: int = 1) -> Iterator[tuple[str, Result]]:
    collection, random = Collection.read("TREC DL 2019"), np.random.default_rng(SEED)
    graded = {
        name: read_grades(data() / f"trec-dl-2019/qrels.llm-{name}.txt") for files in MODELS.values() for name in files
    }
    cells: dict[tuple[str, float], Cell] = {(name, share): Cell() for name in MODELS for share in SHARES}
    for split in _splits(collection, random, max(SPLITS // less, 1)):
        for name, files in MODELS.items():
            qrels = [as_qrels(graded[file]) for file in files] or [_same_grades(collection.grades)]
            for share in SHARES:
                split.compare(collection, qrels, share, cells[name, share])
    yield "Intervals of 90 % and errors of U_Risk, a language model and some judgments", _coverage(cells)
    yield "Error of U_Risk as a multiple of that without a language model", _ratios(cells)
    for name in ("GPT-4", "Llama-3-8B"):
        note = "nothing judged on these topics; bounds of a right rate, 99 %"
        yield f"p_loss, {name}", cells[name, 0.0].losses.table("llm_judges", note)


@dataclass
class Cell:
    """What one language model with one share of judgments gives: a row for each pair, grouped by split."""

    delta: list[float] = field(default_factory=list)
    urisk: list[float] = field(default_factory=list)
    frisk: list[float] = field(default_factory=list)
    error: list[float] = field(default_factory=list)
    raw: list[float] = field(default_factory=list)
    decided: list[bool] = field(default_factory=list)
    wrong: list[bool] = field(default_factory=list)
    raw_decided: list[bool] = field(default_factory=list)
    raw_wrong: list[bool] = field(default_factory=list)
    losses: Calibration = field(default_factory=lambda: Calibration([], []))

    def add_verdicts(self, drawn: list[str], raw: str, truth: str) -> None:
        """Whether the draws, and the raw grades, decide, and are wrong then."""
        most = max(VERDICTS, key=drawn.count)
        self.decided.append(most != "undecided" and drawn.count(most) >= HELD * len(drawn))
        self.wrong.append(self.decided[-1] and most != truth)
        self.raw_decided.append(raw != "undecided")
        self.raw_wrong.append(raw not in ("undecided", truth))


@dataclass
class Split:
    """Judgments that calibrate, the topics to predict, and pairs of runs."""

    judged: Grades
    topics: list[str]
    pairs: list[tuple[str, str]]

    def compare(self, collection: Collection, models: list[object], share: float, cell: Cell) -> None:
        """Add what the draws for each pair say to a cell."""
        columns = [collection.full.topics.index(topic) for topic in self.topics]
        value = Linear(1.0)
        for pair in self.pairs:
            truth = collection.full.pair(*pair).delta[columns]
            judged = _with_judgments(self.judged, collection, pair, self.topics, share)
            runs = JudgedRuns.read(collection.runs, as_qrels(judged), collection.measure, llm_qrels=models)
            both = runs.pair(*pair)
            drawn = draw_deltas(both, GradeModel.fit(runs, both), None, DRAWS)
            drawn = drawn[:, [runs.topics.index(topic) for topic in self.topics]]
            cell.delta.append(float(np.mean(_held(drawn, truth))))
            cell.urisk.append(float(_held(value(drawn).mean(axis=1), value(truth).mean())))
            cell.frisk.append(float(_held(_frisk(drawn), _frisk(truth))))
            cell.error.append(float(value(drawn).mean() - value(truth).mean()))
            raw = _raw_delta(collection, models[0], judged, pair, self.topics)
            cell.raw.append(float(value(raw).mean() - value(truth).mean()))
            cell.add_verdicts(verdicts_of(drawn).tolist(), verdict_of(raw), verdict_of(truth))
            cell.losses.predicted.append((drawn < -NO_CHANGE).mean(axis=0))
            cell.losses.observed.append((truth < -NO_CHANGE).astype(float))


def _splits(collection: Collection, random: np.random.Generator, number: int) -> Iterator[Split]:
    means = {name: collection.full.pair(name, next(iter(collection.runs))).delta.mean() for name in collection.runs}
    every = [(a, b) for a in means for b in means if a != b and abs(means[a] - means[b]) < 0.1]
    for _ in range(number):
        topics = random.permutation(list(collection.full.topics)).tolist()
        middle = len(topics) // 2
        for known, unknown in ((topics[:middle], topics[middle:]), (topics[middle:], topics[:middle])):
            heads = sorted({(t, d) for own in collection.rankings.values() for t in known for d in own[t][:HEAD]})
            chosen = [heads[index] for index in random.choice(len(heads), CALIBRATION, replace=False)]
            judged: Grades = {}
            for topic, document in chosen:
                judged.setdefault(topic, {})[document] = collection.grades[topic][document]
            yield Split(judged, unknown, [every[index] for index in random.choice(len(every), PAIRS, replace=False)])


def _with_judgments(
    judged: Grades, collection: Collection, pair: tuple[str, str], topics: list[str], share: float
) -> Grades:
    """The judgments with those of a share of the pair's documents, the largest difference of discounts first."""
    weights: dict[tuple[str, str], float] = {}
    for name, sign in zip(pair, (1, -1), strict=True):
        for topic in topics:
            for rank, document in enumerate(collection.rankings[name][topic][:HEAD]):
                weights[topic, document] = weights.get((topic, document), 0.0) + sign / np.log2(rank + 2)
    order = sorted(weights, key=lambda one: (-abs(weights[one]), one))
    found = {topic: dict(own) for topic, own in judged.items()}
    for topic, document in order[: round(share * len(order))]:
        found.setdefault(topic, {})[document] = collection.grades[topic][document]
    return found


def _raw_delta(
    collection: Collection, model: object, judged: Grades, pair: tuple[str, str], topics: list[str]
) -> FloatArray:
    """The differences by the grades of a language model, judged ones replaced."""
    graded = {topic: load_qrels(model).of_topic(topic) | judged.get(topic, {}) for topic in topics}
    runs = {name: collection.runs[name] for name in pair}
    both = JudgedRuns.read(runs, graded, collection.measure)
    return both.pair(*pair).delta[[both.topics.index(topic) for topic in topics]]


def _same_grades(grades: Grades) -> object:
    return as_qrels({topic: dict.fromkeys(own, 0) for topic, own in grades.items()})


def _frisk(delta: FloatArray) -> FloatArray:
    return np.asarray(np.maximum(-delta, 0.0).mean(axis=-1))


def _held(drawn: FloatArray, truth: FloatArray | float) -> FloatArray:
    low, high = np.quantile(drawn, [0.05, 0.95], axis=0)
    return np.asarray((low - NO_CHANGE <= truth) & (truth <= high + NO_CHANGE))


def _resampled(values: list[float]) -> FloatArray:
    """The values of splits that are drawn with replacement, resamples × values; both halves of a split together."""
    own = np.reshape(values, (-1, 2 * PAIRS))
    chosen = np.random.default_rng(SEED).integers(len(own), size=(RESAMPLES, len(own)))
    return own[chosen].reshape(RESAMPLES, -1)


def _coverage(cells: dict[tuple[str, float], Cell]) -> Result:
    columns: dict[str, list[object]] = {}
    for (name, share), cell in cells.items():
        row: dict[str, object] = {"language model": name, "judged": f"{100 * share:.0f} %"}
        for kind in ("delta", "urisk", "frisk"):
            low, high = np.quantile(_resampled(getattr(cell, kind)).mean(axis=1), [0.025, 0.975])
            row[kind] = f"{np.mean(getattr(cell, kind)):.2f} ({low:.2f} to {high:.2f})"
        row |= {"error": _root(np.array(cell.error)), "raw grades": _root(np.array(cell.raw))}
        row |= {"decided": sum(cell.decided), "wrong": sum(cell.wrong)}
        row |= {"raw decided": sum(cell.raw_decided), "raw wrong": sum(cell.raw_wrong)}
        for column, value in row.items():
            columns.setdefault(column, []).append(value)
    return Result(signature("llm_judges", n=len(cell.error), n_draws=DRAWS, level=0.1), columns)


def _ratios(cells: dict[tuple[str, float], Cell]) -> Result:
    columns: dict[str, list[object]] = {"language model": [name for name in MODELS if name != "none"]}
    for share in SHARES:
        for name in columns["language model"]:
            own, none = cells[str(name), share].error, cells["none", share].error
            drawn = _root(_resampled(own)) / _root(_resampled(none))
            low, high = np.quantile(drawn, [0.025, 0.975])
            ratio = _root(np.array(own)) / _root(np.array(none))
            columns.setdefault(f"{100 * share:.0f} %", []).append(f"{ratio:.2f} ({low:.2f} to {high:.2f})")
    return Result(signature("llm_judges", n_resamples=RESAMPLES), columns, ("95 %, splits resampled",))


def _root(errors: FloatArray) -> FloatArray:
    return np.asarray(np.sqrt(np.mean(errors**2, axis=-1)))
