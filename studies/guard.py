"""Does a guard lower risk on unseen queries at the same mean, for rankers of every kind?

Protocol of 0.3, committed before its first run:

- Measured is the row ``chosen`` of `surefoot.guard.fitting`: five folds, and for each the guard is chosen by
  cross-validation on the other four, with all defaults. nDCG@10 of trec_eval. Every pair that was run is shown.
- Pairs: the 66 of version 0.2. A reranker over its own first stage where that is known (`studies/atlas/atlas.toml`
  lists them), `MORE_PAIRS`, models over BM25 otherwise. Of the embedded collection and of NFCorpus, 1,000 queries
  drawn by seed 0, the first 50 documents; rankers that learn are cross-fitted.
- The headline is over pairs whose F_Risk is above 0.015 and whose candidate has a higher mean than its baseline, by
  number of queries (below 60; 60 or more). Candidates below their baseline are a row of their own.
- Target: below 60 queries F_Risk -35 % at a mean of -0.3 % or better, as averages over pairs; over all pairs the mean
  is lower by more than noise (95 % paired interval below 0) no more often than by chance (1 in 40).
- The shipped rule of 0.2 is run on the same folds; differences have paired bootstrap intervals over pairs.
- Development pairs, on which kinds, weights, prior and rule are chosen: all other runs of DL 2019 and TREC-COVID over
  their BM25, and samples of 30 to 400 queries of the embedded collection and NFCorpus. None is among the 66, but the
  topics (DL 2019, TREC-COVID) and the rankers (embedded, NFCorpus) are.
- Held back until the rule is fixed: CODEC and both parts of DL-Hard (20 pairs); they are reported apart. The 0.2 study
  printed results of the old rule on them, no result of log-rank fusion has been seen there.
- docs/studies/guard.md states how many settings were tried on the development pairs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from surefoot_lab.demo.learned import learn
from surefoot_lab.demo.task import collection
from surefoot_lab.retrieval.collection import Collection, nfcorpus
from surefoot_lab.retrieval.models import MODELS
from surefoot_lab.retrieval.ranking import rank

from studies.atlas.collections import known_collections, load_collections
from studies.kept import kept
from surefoot._typing import FloatArray
from surefoot.effectiveness.measures import parse_measure
from surefoot.effectiveness.scoring import RunScorer
from surefoot.effectiveness.sources import load_qrels
from surefoot.errors import InputError
from surefoot.guard.fitting import GuardFit
from surefoot.guard.guard import Guard, Scale
from surefoot.guard.runs import RunPair, fit_guard_to_runs
from surefoot.guard.trial import CHOSEN, FOLDS, LabelledPair, Trial
from surefoot.guard.trial import UNGUARDED as NONE
from surefoot.io.trec_writer import qrels_lines
from surefoot.results import Result, by_column, signature
from surefoot.risk.values import Linear

MEASURE = "nDCG@10"
ENOUGH_RISK = 0.015
QUERIES, DEPTH, SEED = 1_000, 50, 0
SMALL, RESAMPLES = 60, 2_000
HELD_BACK = ("CODEC", "DL-Hard documents", "DL-Hard passages")
BEFORE, FORMER_WEIGHTS = "0.2", (0.1, 0.2, 0.3, 0.45, 0.6, 0.8, 1.0, 1.5, 2.0)

MORE_PAIRS = {
    "TREC-COVID": {
        "IRIT_marked_base": ("IRIT_marked_mu_pair", "IRIT_marked_un_pair"),
        "base.unipd.it": ("10x10.prf.unipd.it", "10x20.prf.unipd.it"),
        "smith.bm25": ("smith.rm3", "smith.ql"),
        "bm25_baseline": ("bm25t5", "T5R1"),
    }
}
"""By baseline, runs of the same group, beside those whose first stage the atlas names."""
MODELS_OVER_BM25 = ("BM25+RM3", "LM-Dir", "PL2", "TFIDF", "chargrams", "fusion")

Case = tuple[str, Path, Path, Path]
"""The name of the set, the baseline's run, the candidate's run, the judgments."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """The metric of each query of a pair: of the baseline, the candidate, and the guards, out of sample."""

    case: tuple[Any, ...]
    guard: str
    x: Mapping[str, FloatArray]

    @property
    def is_risky(self) -> bool:
        return self.frisk(NONE) > ENOUGH_RISK

    @property
    def is_better(self) -> bool:
        return bool(self.x[NONE].mean() > self.x["baseline"].mean())

    @property
    def is_small(self) -> bool:
        return self.x[NONE].size < SMALL

    def frisk(self, rule: str) -> float:
        return float(np.maximum(self.x["baseline"] - self.x[rule], 0).mean())

    def change(self, rule: str) -> tuple[float, float]:
        """The changes of the mean and of F_Risk against the candidate, in percent."""
        return percent(self.x[rule].mean(), self.x[NONE].mean()), percent(self.frisk(rule), self.frisk(NONE))

    def is_lower(self, rule: str) -> bool:
        """Whether the mean is lower than the candidate's by more than noise."""
        return self.interval(rule)[1] < 0

    def interval(self, rule: str) -> tuple[float, float]:
        """The 95 % paired bootstrap interval of the change of the mean."""
        change = self.x[rule] - self.x[NONE]
        drawn = np.random.default_rng(SEED).integers(change.size, size=(RESAMPLES, change.size))
        low, high = np.quantile(change[drawn].mean(axis=1), (0.025, 0.975))
        return float(low), float(high)


def tables(less: int = 1) -> Iterator[tuple[str, Result]]:
    found: list[Outcome] = []
    for index, case in enumerate(cases()):
        if index % less == 0:
            try:
                found.append(outcome(case))
            except InputError as error:
                print(f"left out: {error}", flush=True)
                continue
            print(f"{case[0]}: {case[2].name} over {case[1].name}", flush=True)
    yield f"On average over the pairs with F_Risk above {ENOUGH_RISK}", average_table(found)
    yield "Against the rule of 0.2", paired_table(found)
    yield "Every pair, out of sample", pairs_table(found)


def outcome(case: Case) -> Outcome:
    """The outcome of a pair; `studies.kept` has that of a pair that is done."""
    name = f"guard-{case[0]}-{_name(case[1])}-{_name(case[2])}"
    fitted = kept_outcome(name, case, lambda: fit_guard_to_runs(*case[1:], measure=MEASURE, anyway=True))
    return Outcome(case, fitted.guard, {**fitted.x, **kept(f"{name}-before", lambda: {BEFORE: before(case)})})


def kept_outcome(name: str, case: tuple[Any, ...], fit: Callable[[], GuardFit]) -> Outcome:
    """What a fit found on unseen queries, from `studies.kept` or computed."""

    def arrays() -> dict[str, Any]:
        found = fit()
        return {**found.outcomes, "guard": np.array(str(found.guard))}

    found = kept(name.replace("/", "-"), arrays)
    return Outcome(case, str(found.pop("guard")), found)


def before(case: Case) -> FloatArray:
    """The metric of each query by the rule of 0.2, out of sample.

    The default is interpolation with a weight of 0.6. Another weight, z scores or, from 100 queries on, the second
    stage are taken if their U_Risk is larger by a standard error.
    """
    runs, judged = labelled(*case[1:])
    size, scale = len(runs.topics), Scale.of(runs.pair)
    trial = Trial(judged, np.arange(size), ("z", *(("second-stage",) if size >= 100 else ())), 0.5, 0)
    own = np.stack([judged.measured(Guard("interpolation", weight, scale)) for weight in FORMER_WEIGHTS])
    found = np.empty(size)
    for fold in range(FOLDS):
        inside = trial.fold == fold
        values = np.vstack([trial.values(fold), own])[:, ~inside]
        default = values.shape[0] - len(FORMER_WEIGHTS) + FORMER_WEIGHTS.index(0.6)
        worth = Linear(0.5)(values - judged.baseline[~inside])
        ahead = worth - worth[default]
        lower = ahead.mean(axis=1) - ahead.std(axis=1, ddof=1) / np.sqrt(ahead.shape[1])
        lower[default], lower[0] = 0.0, -np.inf
        row = int(np.argmax(lower))
        if worth[row].mean() <= worth[0].mean():
            row = 0
        found[inside] = np.vstack([trial.values(), own])[row, inside]
    return found


def labelled(baseline: Path, candidate: Path, judgments: Path) -> tuple[RunPair, LabelledPair]:
    """Two runs of the topics that are judged, and how to measure a guard on them."""
    qrels = load_qrels(judgments)
    number_of = {topic: number for number, topic in enumerate(qrels.topics)}
    runs = RunPair.of(baseline, candidate)
    runs = runs.select([topic for topic in runs.topics if topic in number_of])
    index = [number_of[topic] for topic in runs.topics]
    scorer = RunScorer([parse_measure(MEASURE)], qrels)

    def metric(scores: FloatArray) -> FloatArray:
        return np.asarray(scorer.values(runs.run_by(scores, ""))[0, index])

    return runs, LabelledPair(runs.pair, runs.labels(qrels), metric, scorer.values(runs.baseline)[0, index])


def cases() -> Iterator[Case]:
    yield from run_cases()
    for name in ("embedded", "NFCorpus"):
        if name == "embedded" or "SUREFOOT_DATA" in os.environ:
            folder = written(name)
            for path in sorted(folder.glob("*.run")):
                if path.stem != "BM25":
                    yield name, folder / "BM25.run", path, folder / "qrels.txt"


def run_cases() -> Iterator[Case]:
    """The pairs of public runs."""
    for one in load_collections(list(known_collections()))[0]:
        more = MORE_PAIRS.get(one.name, {})
        pairs = [*one.reranked(), *((run, first) for first, runs in more.items() for run in runs)]
        yield from ((one.name, one.runs[first], one.runs[run], one.qrels) for run, first in pairs)


def written(name: str) -> Path:
    """The runs and judgments of a collection of text, in a folder that disappears with the process."""
    return Path(_folder(name).name)


@cache
def _folder(name: str) -> TemporaryDirectory[str]:
    task = sample(collection() if name == "embedded" else _nfcorpus())
    home = TemporaryDirectory(prefix="surefoot-study-")
    folder = Path(home.name)
    models = {model: MODELS[model] for model in MODELS if model in ("BM25", *MODELS_OVER_BM25)}
    for model, ranking in (rank(task, models, DEPTH) | learn(task)).items():
        (folder / f"{model}.run").write_text("".join(ranking.lines()), encoding="utf-8")
    judged = ((topic, list(grades.items())) for topic, grades in task.qrels.items() if topic in task.queries)
    (folder / "qrels.txt").write_text("".join(qrels_lines(judged)), encoding="utf-8")
    texts = (f"{topic}\t{' '.join(text.split())}\n" for topic, text in task.queries.items())
    (folder / "queries.tsv").write_text("".join(texts), encoding="utf-8")
    return home


def sample(task: Collection) -> Collection:
    topics = sorted(set(task.queries) & set(task.qrels))
    drawn = np.random.default_rng(SEED).permutation(topics)[:QUERIES].tolist()
    return Collection(task.documents, {topic: task.queries[topic] for topic in sorted(drawn)}, task.qrels, task.named)


def _nfcorpus() -> Collection:
    train, dev = nfcorpus(Path(os.environ["SUREFOOT_DATA"]) / "nfcorpus")
    return Collection(train.documents, {**train.queries, **dev.queries}, {**train.qrels, **dev.qrels}, named=False)


def pairs_table(found: Sequence[Outcome]) -> Result:
    rows = [row_of(one) for one in found]
    return Result(signature("guard-study", measure=MEASURE), by_column(rows))


def row_of(one: Outcome) -> dict[str, object]:
    (mean, risk), (low, high) = one.change(CHOSEN), one.interval(CHOSEN)
    difference = one.x[CHOSEN].mean() - one.x[NONE].mean()
    b = one.x["baseline"]
    return {
        "set": one.case[0],
        "baseline": _name(one.case[1]),
        "candidate": _name(one.case[2]),
        "queries": b.size,
        "baseline mean": f"{b.mean():.4f}",
        "mean": f"{one.x[NONE].mean():.4f}",
        "frisk": f"{one.frisk(NONE):.4f}",
        "mean in %": f"{mean:+.2f}",
        "change of mean": f"{difference:+.4f} [{low:+.4f}, {high:+.4f}]",
        "frisk in %": f"{risk:+.0f}",
        "0.2": "{:+.2f} / {:+.0f}".format(*one.change(BEFORE)),
        "losses": f"{(one.x[NONE] < b).sum()} to {(one.x[CHOSEN] < b).sum()}",
        "guard": one.guard,
    }


GROUPS: Mapping[str, Callable[[Outcome], bool]] = {
    "below 60 queries": lambda one: one.is_small and one.is_better,
    "below 60 queries, held back": lambda one: one.is_small and one.is_better and one.case[0] in HELD_BACK,
    "60 queries or more": lambda one: not one.is_small and one.is_better,
    "candidate below its baseline": lambda one: not one.is_better,
}


def average_table(found: Sequence[Outcome]) -> Result:
    """The average of percentages over pairs, for the choice, for each kind, and for the rule of 0.2."""
    rows = []
    for group, belongs in GROUPS.items():
        for rule in (CHOSEN, "log-rank", "z", "second-stage", BEFORE):
            own = [one for one in found if one.is_risky and belongs(one) and rule in one.x]
            if own:
                means, risks = np.transpose([one.change(rule) for one in own])
                rows.append({
                    "pairs": group,
                    "guard": rule,
                    "number": len(own),
                    "mean in %": f"{means.mean():+.2f} (median {np.median(means):+.2f})",
                    "frisk in %": f"{risks.mean():+.1f} (median {np.median(risks):+.0f})",
                    "reach the target": int(((means >= -0.3) & (risks <= -35)).sum()),
                    "lower by more than noise": sum(one.is_lower(rule) for one in own),
                })  # fmt: skip
    stated = signature("guard-study-average", measure=MEASURE)
    lower = {rule: sum(one.is_lower(rule) for one in found) for rule in (CHOSEN, BEFORE)}
    note = f"of all {len(found)} pairs the mean is lower by more than noise in {lower[CHOSEN]}, 0.2: {lower[BEFORE]}"
    return Result(stated, by_column(rows), (note,))


def paired_table(found: Sequence[Outcome]) -> Result:
    """The choice less the rule of 0.2: averages over pairs, with bootstrap intervals over pairs."""
    rows = []
    for group, belongs in GROUPS.items():
        own = [one for one in found if one.is_risky and belongs(one)]
        if len(own) < 2:
            continue
        row: dict[str, object] = {"pairs": group, "number": len(own)}
        for index, name in enumerate(("mean in %", "frisk in %")):
            row[name] = interval_of([one.change(CHOSEN)[index] - one.change(BEFORE)[index] for one in own])
        worth = [np.subtract(*(Linear(0.5)(one.x[rule] - one.x["baseline"]).mean() for rule in (CHOSEN, BEFORE)))
                 for one in own]  # fmt: skip
        rows.append({**row, "urisk at 0.5, thousandths": interval_of([1000 * value for value in worth])})
    stated = signature("guard-study-paired", measure=MEASURE, n_resamples=RESAMPLES)
    return Result(stated, by_column(rows))


def interval_of(values: Sequence[float]) -> str:
    """A mean with its 95 % bootstrap interval."""
    drawn = np.random.default_rng(SEED).choice(np.asarray(values), (RESAMPLES, len(values))).mean(axis=1)
    low, high = np.quantile(drawn, (0.025, 0.975))
    return f"{np.mean(values):+.2f} [{low:+.2f}, {high:+.2f}]"


def percent(value: float, of: float) -> float:
    return 100 * (value / of - 1) if of else 0.0


def _name(path: Path) -> str:
    return path.name.removesuffix(".gz").removesuffix(".run")
