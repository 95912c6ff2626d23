"""How soon is the verdict known? `judge`, depth-k pooling, weights and random order, over all pairs.

Protocol. Collections and shallower pools as in `holes`, with another seed and at most RUNS runs; each pool serves eight
random pairs, whatever their verdicts. The unjudged documents of a pair are judged in four orders: that of `judge`
(alpha 1), asked again at each of BUDGETS; by rank (the first of both rankings, then the second, ...; topics in random
order); by the difference of discounts, as the weights of MTC (Carterette et al., SIGIR 2006); at random. After each
budget `GradeModel` is fitted to what is judged, and the rest drawn; as the field does it, the rest also counts 0.

Reported over all pairs: the share whose verdict on the mean (95 % t interval) is that of all judgments, where the drawn
verdict is the most frequent one; and the root mean square error of U_Risk, alpha 1. Intervals are those of the
difference from `judge`, pools resampled. Move-to-front and bandits were not computed. A first look, with the seed 23,
had the order by the spread of drawn grades, as with language models: it was behind weights (error after 20 judgments
0.0746 and 0.0577). So without language models `judge` goes by weights, times what a topic that loses weighs more; the
seed 29 was drawn for that, and nothing was changed after it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from studies.holes import Case, Collection
from studies.judged_collections import FILES, Grades, as_qrels
from surefoot._typing import FloatArray
from surefoot.judgments.credibility import draw_deltas
from surefoot.judgments.judged_runs import JudgedPair, JudgedRuns
from surefoot.judgments.next_judgments import VERDICTS, Uncertainty, verdict_of, verdicts_of
from surefoot.judgments.unjudged import GradeModel
from surefoot.results import Result, signature
from surefoot.risk.values import Linear

BUDGETS, RUNS, DRAWS, RESAMPLES, SEED = (0, 20, 50, 100), 40, 200, 2000, 29
ORDERS = ("judge", "weights", "depth-k", "random")
Key = tuple[str, str, int]
"""An order, how the rest counts, and the number of judgments."""


def tables(less: int = 1) -> Iterator[tuple[str, Result]]:
    every: list[Outcomes] = []
    for name in FILES:
        collection, random = Collection.read(name, RUNS), np.random.default_rng(SEED)
        found = Outcomes()
        for case in collection.shallow(random, less):
            judging = Judging(collection, case)
            for order in ORDERS:
                judging.follow(order, random, found)
            found.pools.append(case.pair.runs)
        every.append(found)
        yield f"Right verdicts and error of U_Risk: {name}, {collection.measure}", _table([found])
    yield "Right verdicts and error of U_Risk: all collections", _table(every)


@dataclass
class Outcomes:
    """Of each case whether the verdict was right, and the squared error of U_Risk; and the pool of each case."""

    right: dict[Key, list[float]] = field(default_factory=dict)
    error: dict[Key, list[float]] = field(default_factory=dict)
    pools: list[JudgedRuns] = field(default_factory=list)


class Judging:
    """One pair, whose unjudged documents are judged in some order."""

    def __init__(self, collection: Collection, case: Case) -> None:
        self._collection, self._first = collection, case
        self._truth = case.full.delta[case.order]
        qrels = case.pair.runs.qrels
        self._judged: Grades = {topic: {d: int(g) for d, g in qrels.of_topic(topic).items()} for topic in qrels.topics}

    def follow(self, order: str, random: np.random.Generator, found: Outcomes) -> None:
        """Judge in an order, and note what is known after each budget."""
        judged = {topic: dict(own) for topic, own in self._judged.items()}
        pair, model, done = self._first.pair, self._first.model, 0
        fixed = None if order == "judge" else self._sorted(order, random)
        for budget in BUDGETS:
            if budget:
                for topic, document in self._next(pair, model, fixed, done, budget):
                    judged[topic][document] = self._collection.grades[topic][document]
                pair, model, done = *self._again(judged), budget
            self._note(found, (order, "model", budget), draw_deltas(pair, model, None, DRAWS))
            self._note(found, (order, "0", budget), pair.delta[np.newaxis])

    def _again(self, judged: Grades) -> tuple[JudgedPair, GradeModel]:
        runs = JudgedRuns.read(self._collection.runs, as_qrels(judged), self._collection.measure)
        pair = runs.pair(self._first.pair.candidate, self._first.pair.baseline)
        return pair, GradeModel.fit(runs, pair)

    def _next(
        self, pair: JudgedPair, model: GradeModel, fixed: list[tuple[str, str]] | None, done: int, budget: int
    ) -> list[tuple[str, str]]:
        if fixed is not None:
            return fixed[done:budget]
        drawn = Uncertainty.draw(pair, model, 1.0, DRAWS)
        chosen = [drawn.documents[index] for index in drawn.order()[: budget - done]]
        return [(pair.runs.topics[topic], pair.documents(topic)[document]) for topic, document in chosen]

    def _sorted(self, order: str, random: np.random.Generator) -> list[tuple[str, str]]:
        """The documents by rank, by weight or at random."""
        pair, rows = self._first.pair, []
        for topic, own in enumerate(pair.topics):
            ids, discounts = pair.documents(topic), pair.runs.measure.discounts(max(own.own.size, own.base.size))
            for document in np.flatnonzero(own.unjudged).tolist():
                places = [np.flatnonzero(ranked == document) for ranked in (own.own, own.base)]
                weights = [float(discounts[place].sum()) for place in places]
                key = {
                    "depth-k": min(int(place[0]) for place in places if place.size),
                    "weights": -abs(weights[0] - weights[1]),
                }.get(order, 0)
                rows.append((key, random.random(), (pair.runs.topics[topic], ids[document])))
        return [document for _, _, document in sorted(rows)]

    def _note(self, found: Outcomes, key: Key, deltas: FloatArray) -> None:
        verdicts, value = verdicts_of(deltas).tolist(), Linear(1.0)
        right = max(VERDICTS, key=verdicts.count) == verdict_of(self._truth)
        found.right.setdefault(key, []).append(float(right))
        found.error.setdefault(key, []).append(float((value(deltas).mean() - value(self._truth).mean()) ** 2))


def _table(collections: list[Outcomes]) -> Result:
    """Shares and errors at each budget, with intervals of the difference from `judge`."""
    random = np.random.default_rng(SEED)
    resampled = [[_resample(one.pools, random) for one in collections] for _ in range(RESAMPLES)]
    whole = [list(range(len(one.pools))) for one in collections]
    columns: dict[str, list[object]] = {}
    for order, rest in ((order, rest) for rest in ("model", "0") for order in ORDERS):
        row: dict[str, object] = {"order": order, "rest": rest}
        for budget in BUDGETS:
            own, judge = (order, rest, budget), ("judge", "model", budget)
            row[f"right {budget}"] = _with_gap(collections, "right", own, judge, whole, resampled)
        for budget in BUDGETS:
            own, judge = (order, rest, budget), ("judge", "model", budget)
            row[f"error {budget}"] = _with_gap(collections, "error", own, judge, whole, resampled)
        for name, cell in row.items():
            columns.setdefault(name, []).append(cell)
    note = "in brackets 95 % intervals of the difference from judge with the model, pools resampled"
    return Result(signature("judge", n=sum(map(len, whole))), columns, (note,))


def _resample(pools: list[JudgedRuns], random: np.random.Generator) -> list[int]:
    names = list(dict.fromkeys(pools))
    chosen = [names[index] for index in random.integers(len(names), size=len(names))]
    return [case for name in chosen for case, own in enumerate(pools) if own is name]


def _with_gap(
    collections: list[Outcomes],
    kind: str,
    own: Key,
    judge: Key,
    whole: list[list[int]],
    resampled: list[list[list[int]]],
) -> str:
    def value(key: Key, chosen: list[list[int]]) -> float:
        cases = [getattr(one, kind)[key][case] for one, rows in zip(collections, chosen, strict=True) for case in rows]
        return float(np.mean(cases)) if kind == "right" else float(np.sqrt(np.mean(cases)))

    digits = 2 if kind == "right" else 4
    told = f"{value(own, whole):.{digits}f}"
    if own == judge:
        return told
    low, high = np.quantile([value(own, one) - value(judge, one) for one in resampled], [0.025, 0.975])
    return f"{told} ({low:+.{digits}f} to {high:+.{digits}f})"
