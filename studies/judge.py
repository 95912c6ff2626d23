"""How soon is the verdict known? `judge` and five other orders of judging, over all pairs.

Protocol. Collections and shallower pools as in `holes`, with another seed and at most RUNS runs; each of POOLS pools
serves up to eight random pairs, whatever their verdicts. The unjudged documents of a pair are judged in six orders:

- `judge` (alpha 1), asked again at each of BUDGETS;
- weights: the difference of discounts, as in MTC (Carterette et al., SIGIR 2006);
- depth-k: the first documents of both rankings, then the second, ...;
- move-to-front (Cormack et al., SIGIR 1998): the lists of both runs of all topics; a list keeps its place while its
  documents are relevant and falls back by one for each that is not;
- bandit (Losada et al., SAC 2016): the same lists, the one with the largest mean of its beta distribution first;
- random.

Ties are broken at random. After each budget `GradeModel` is fitted to what is judged, and the rest drawn; the rest also
counts 0, as the field does it, for depth-k. On TREC DL 2019 the first three orders are also followed with the grades of
GPT-4 and Llama-3-8B as evidence.

Reported over all pairs: the share whose most frequent drawn verdict on U_Risk (alpha 1, 95 % t interval) is that once
all documents of both rankings are judged, as `judge` promises it; the root mean square error of U_Risk against that
value; and against its value by all judgments of the collection. Documents of neither ranking count in the ideal
ranking of nDCG, so that the last error has a floor that no order gets below. Intervals are 95 % intervals of the
difference from `judge`, pools resampled within collections.

What was looked at before. A first version went by the spread of drawn grades (seed 23, 40 runs, all four collections)
and was given up for weights times what a losing topic weighs more (seed 29), as its error after 20 judgments was
larger. Both errors were against all judgments, most of them the floor. Then, with the seed 101, 16 runs, 12 pairs each
of TREC DL 2019 and TREC-COVID, nine orders were compared against the value that `judge` promises. Errors after 20, 50
and 100 judgments, DL 2019 / COVID: weights times the spread of the grade .040 .037 .023 / .069 .047 .047; the former
`judge` .054 .038 .030 / .075 .041 .043; weights .058 .032 .025 / .085 .058 .036; depth-k .059 .032 .031 / .080 .058
.044; the spread that a grade gives U_Risk, normalised, .053 .033 .023 / .127 .063 .048; greedy reduction of the
variance of U_Risk by the draws .043 .029 .016 / .154 .083 .074, and times weights .041 .034 .020 / .096 .048 .038. The
first was chosen, for its errors after 20; that a losing topic weighs more was kept in it without a further look. With
language models, whose grades make the best ranking known, the normalised spread was kept. With the seed 57, 12 runs and
36 pairs, this order was behind weights and random order by the error after 50 judgments, and behind weights after 100
on the collections that it was not chosen on.

Then the order is chosen once more. Development: TREC DL 2019 and TREC-COVID, seed 61, 8 pools each of 12 runs drawn for
each pool, 64 pairs. Compared are (1) the spread of the grade times weights, as it is; (2) weights; (3) random; (4) the
greedy reduction of the variance of U_Risk, with the covariance of grades from the model: the variance of each grade at
given parameters, and what drawn parameters give the expected grades of all documents in common; (5) the same with gains
divided by the drawn ideal; (6) documents drawn with probabilities proportional to (1); (7) the mean of the ranks of (1)
and (4); (8) depth-k. Chosen is the order with the smallest mean, over both collections and the budgets 20, 50 and 100,
of the logarithm of the error, if its right verdicts over all pairs are at most 0.02 below those of (1) at each budget;
(1) stays if none is smaller. The chosen order is then computed once, with the seed 71, on TREC Web 2012, CODEC and DL-
Hard's documents, which no order was chosen on, and on DL-Hard's passages, which were not used before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from studies.holes import COLLECTIONS, Case, Collection
from studies.judged_collections import Grades, as_qrels, data, read_grades
from studies.kept import kept
from surefoot._typing import FloatArray
from surefoot.judgments.bounds import weights_of
from surefoot.judgments.credibility import draw_values
from surefoot.judgments.judged_runs import JudgedPair, JudgedRuns
from surefoot.judgments.next_judgments import VERDICTS, Uncertainty, verdicts_of
from surefoot.judgments.unjudged import GradeModel
from surefoot.results import Result, signature
from surefoot.risk.values import Linear

BUDGETS, RUNS, POOLS, DRAWS, RESAMPLES, SEED = (0, 20, 50, 100), 12, 2, 200, 2000, 57
NAMES = (*COLLECTIONS, "DL-Hard")
ORDERS = ("judge", "weights", "depth-k", "move-to-front", "bandit", "random")
ZERO = "depth-k, rest 0"
MODELS = {"GPT-4": "gpt-4", "Llama-3-8B": "llama-3-8b"}
VALUE = Linear(1.0)
Document = tuple[str, str]
Outcomes = dict[str, FloatArray]
"""By order: right, error, error by all judgments, of each pair and budget (pairs × budgets × 3)."""


def tables(less: int = 1) -> Iterator[tuple[str, Result]]:
    every = []
    for name in NAMES:
        found, pools = _outcomes(name, None, ORDERS, less)
        every.append((found, pools))
        yield f"Right verdicts and error of U_Risk: {name}", _table([(found, pools)], (*ORDERS, ZERO))
    yield "Right verdicts and error of U_Risk: all collections", _table(every, (*ORDERS, ZERO))
    yield "The same without DL 2019 and COVID, which were looked at", _table(every[2:], (*ORDERS, ZERO))
    for model in MODELS:
        both = [_outcomes("TREC DL 2019", model, ORDERS[:3], less)]
        yield f"Right verdicts and error of U_Risk: TREC DL 2019 with {model}", _table(both, ORDERS[:3])


def _outcomes(name: str, model: str | None, orders: tuple[str, ...], less: int) -> tuple[Outcomes, list[int]]:
    """What each order shows of the pairs of a collection, and the pool of each pair; pairs that are done are kept."""
    collection, random = Collection.read(name, RUNS), np.random.default_rng(SEED)
    graded = () if model is None else (as_qrels(read_grades(data() / f"trec-dl-2019/qrels.llm-{MODELS[model]}.txt")),)
    rows: dict[str, list[FloatArray]] = {}
    pools: list[JudgedRuns] = []
    for number, case in enumerate(collection.shallow(random, max(POOLS // less, 1))):
        judging = Judging(collection, case, graded, np.random.default_rng([SEED, number]))
        own = kept(f"judge-{name}-{model}-{number}".replace(" ", "-"), lambda judging=judging: judging.follow(orders))
        for order, found in own.items():
            rows.setdefault(order, []).append(found)
        pools.append(case.pair.runs)
    distinct = list(dict.fromkeys(pools))
    return {order: np.array(found) for order, found in rows.items()}, [distinct.index(pool) for pool in pools]


@dataclass
class Judging:
    """One pair, whose unjudged documents are judged in some order."""

    collection: Collection
    case: Case
    models: tuple[object, ...]
    random: np.random.Generator

    def follow(self, orders: tuple[str, ...]) -> Outcomes:
        """Judge in each order, and note what is known after each budget."""
        first = self.case.pair
        start: Grades = {t: {d: int(g) for d, g in first.runs.qrels.of_topic(t).items()} for t in first.runs.topics}
        complete = {topic: dict(own) for topic, own in start.items()}
        for topic, document in _unjudged(first):
            complete[topic][document] = self.collection.grades[topic][document]
        truths = self._read(complete, ()).delta, self.case.full.delta[self.case.order]
        found: dict[str, list[list[float]]] = {}
        for order in orders:
            judged, done = {topic: dict(own) for topic, own in start.items()}, 0
            pair = self._read(judged, self.models)
            model = GradeModel.fit(pair.runs, pair)
            fixed = None if order == "judge" else ORDER[order](self, first)
            for budget in BUDGETS:
                if budget:
                    chosen = _next(pair, model)[: budget - done] if fixed is None else fixed[done:budget]
                    for topic, document in chosen:
                        judged[topic][document] = self.collection.grades[topic][document]
                    pair, done = self._read(judged, self.models), budget
                    model = GradeModel.fit(pair.runs, pair)
                found.setdefault(order, []).append(_note(np.subtract(*draw_values(pair, model, None, DRAWS)), *truths))
                if order == "depth-k":
                    found.setdefault(ZERO, []).append(_note(pair.delta[np.newaxis], *truths))
        return {order: np.array(rows) for order, rows in found.items()}

    def _read(self, judged: Grades, models: tuple[object, ...]) -> JudgedPair:
        runs = JudgedRuns.read(self.collection.runs, as_qrels(judged), self.collection.measure, llm_qrels=models)
        both = runs.pair(self.case.pair.candidate, self.case.pair.baseline)
        assert runs.topics == self.case.pair.runs.topics
        return both

    def by_weight(self, pair: JudgedPair) -> list[Document]:
        weights = np.concatenate([np.abs(weights_of(pair, own))[own.unjudged] for own in pair.topics])
        return self._sorted(pair, -weights)

    def by_rank(self, pair: JudgedPair) -> list[Document]:
        ranks = []
        for own in pair.topics:
            first = np.full(own.codes.size, np.inf)
            for ranked in (own.own, own.base):
                first[ranked] = np.minimum(first[ranked], np.arange(ranked.size))
            ranks.append(first[own.unjudged])
        return self._sorted(pair, np.concatenate(ranks))

    def at_random(self, pair: JudgedPair) -> list[Document]:
        return self._sorted(pair, np.zeros(len(_unjudged(pair))))

    def _sorted(self, pair: JudgedPair, keys: FloatArray) -> list[Document]:
        documents = _unjudged(pair)
        return [documents[index] for index in np.lexsort((self.random.random(len(documents)), keys))]

    def move_to_front(self, pair: JudgedPair) -> list[Document]:
        return self._by_lists(pair, lambda relevant, n: relevant - n)

    def bandit(self, pair: JudgedPair) -> list[Document]:
        return self._by_lists(pair, lambda relevant, n: (1 + relevant) / (2 + n))

    def _by_lists(self, pair: JudgedPair, worth: Callable[[FloatArray, FloatArray], FloatArray]) -> list[Document]:
        """The next document of the list that is worth most by how many of its documents were relevant, of how many."""
        lists = []
        for topic, own in enumerate(pair.topics):
            ids, name = pair.documents(topic), pair.runs.topics[topic]
            lists += [[(name, ids[d]) for d in ranked if own.unjudged[d]] for ranked in (own.own, own.base)]
        relevant, n = np.zeros(len(lists)), np.zeros(len(lists))
        order: dict[Document, None] = {}
        while any(lists) and len(order) < BUDGETS[-1]:
            value = np.where([bool(own) for own in lists], worth(relevant, n), -np.inf)
            best = int(self.random.choice(np.flatnonzero(value == value.max())))
            topic, document = lists[best].pop(0)
            order[topic, document] = None
            relevant[best] += self.collection.grades[topic][document] > 0
            n[best] += 1
        return list(order)


ORDER: dict[str, Callable[[Judging, JudgedPair], list[Document]]] = {
    "weights": Judging.by_weight,
    "depth-k": Judging.by_rank,
    "move-to-front": Judging.move_to_front,
    "bandit": Judging.bandit,
    "random": Judging.at_random,
}


def _unjudged(pair: JudgedPair) -> list[Document]:
    return [
        (pair.runs.topics[topic], pair.documents(topic)[document])
        for topic, own in enumerate(pair.topics)
        for document in np.flatnonzero(own.unjudged).tolist()
    ]


def _next(pair: JudgedPair, model: GradeModel) -> list[Document]:
    drawn = Uncertainty.draw(pair, model, 1.0, DRAWS)
    chosen = (drawn.documents[index] for index in drawn.order())
    return [(pair.runs.topics[topic], pair.documents(topic)[document]) for topic, document in chosen]


def _note(deltas: FloatArray, complete: FloatArray, full: FloatArray) -> list[float]:
    values = VALUE(deltas)
    verdicts, expected = verdicts_of(values).tolist(), values.mean()
    right = max(VERDICTS, key=verdicts.count) == verdicts_of(VALUE(complete)[np.newaxis])[0]
    return [float(right), float(expected - VALUE(complete).mean()), float(expected - VALUE(full).mean())]


def _table(collections: list[tuple[Outcomes, list[int]]], orders: tuple[str, ...]) -> Result:
    """Shares and errors at each budget, with intervals of the difference from `judge`."""
    random, weights = np.random.default_rng(SEED), []
    for _, pools in collections:
        size = max(pools) + 1
        drawn = random.multinomial(size, np.full(size, 1 / size), RESAMPLES)
        weights.append(np.concatenate([np.ones((1, size)), drawn])[:, pools])
    together = np.concatenate(weights, axis=1)
    columns: dict[str, list[object]] = {"order": list(orders)}
    for kind, name in enumerate(("right", "error", "error, all judgments")):
        values = {order: _summary(collections, order, kind, together) for order in orders}
        for at, budget in enumerate(BUDGETS):
            columns[f"{name} {budget}"] = [_cell(values[order], values["judge"], at, order, kind) for order in orders]
    note = "in brackets 95 % intervals of the difference from judge, pools resampled"
    return Result(signature("judge", n=together.shape[1], n_draws=DRAWS), columns, (note,))


def _summary(collections: list[tuple[Outcomes, list[int]]], order: str, kind: int, weights: FloatArray) -> FloatArray:
    """The share or the root mean square in each resample, resamples × budgets; the first is of all pairs once."""
    cases = np.concatenate([found[order][:, :, kind] for found, _ in collections])
    cases = cases if kind == 0 else cases**2
    means = weights @ cases / weights.sum(axis=1, keepdims=True)
    return means if kind == 0 else np.sqrt(means)


def _cell(own: FloatArray, judge: FloatArray, at: int, order: str, kind: int) -> str:
    digits = 2 if kind == 0 else 4
    if order == "judge":
        return f"{own[0, at]:.{digits}f}"
    low, high = np.quantile((own - judge)[1:, at], [0.025, 0.975])
    return f"{own[0, at]:.{digits}f} ({low:+.{digits}f} to {high:+.{digits}f})"
