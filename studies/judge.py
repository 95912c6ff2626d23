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
counts 0, as the field does it, for depth-k. On TREC DL 2019 some orders are also followed with the grades of GPT-4 and
Llama-3-8B as evidence.

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

Set before any of these was computed: the covariance of (4) and (5) is that of 1,000 draws, and the greedy steps treat
grades as normal; a losing topic weighs more in (4) to (7) as in (1). The check has 6 pools of at most 12 runs, and
compares the orders named at the top. With language models the chosen order replaces the normalised spread, so that
there is one order, if its mean logarithm of the error against all judgments (2 pools of TREC DL 2019 with the seed 61,
GPT-4 and Llama-3-8B) is not larger.

Chosen was (5), with a mean of -3.06. (4) had -3.10, but 0.06 fewer right verdicts than (1) after 50 judgments. The
others: (1) -2.85, (2) -2.96, (3) -2.71, (6) -2.76, (7) -2.93, (8) -2.85. The check did not confirm it: -3.57, against
-3.72 for (1), -3.77 for (2) and -3.68 for (8), with as many right verdicts. So `judge` was left as it was, which was
not in the protocol: it says nothing of a check that fails. With language models the normalised spread stayed by the
rule above, with -3.521 against -3.516. (5) has the gains of the measure here; the choice was computed with grades,
which is the same for nDCG, and with another stream of random numbers than the check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from studies.holes import Case, Collection
from studies.judged_collections import Grades, as_qrels, data, read_grades
from studies.kept import kept
from surefoot._typing import FloatArray, IntArray
from surefoot.judgments.bounds import weights_of
from surefoot.judgments.credibility import NO_CHANGE, draw_values
from surefoot.judgments.judged_runs import JudgedPair, JudgedRuns, TopicPair
from surefoot.judgments.next_judgments import VERDICTS, Uncertainty, verdicts_of
from surefoot.judgments.unjudged import GradeModel
from surefoot.results import Result, signature
from surefoot.risk.distributions import logistic
from surefoot.risk.values import Linear

BUDGETS, RUNS, POOLS, CHECK_POOLS, LLM_POOLS = (0, 20, 50, 100), 12, 8, 6, 2
DRAWS, COMMON, RESAMPLES = 200, 1000, 2000
CHOICE, CHECK = 61, 71
"""The seeds of the pools on which the order is chosen, and of those on which it is checked."""
CHOSEN_ON, HELD_BACK = ("TREC DL 2019", "TREC-COVID round 1"), ("TREC Web 2012", "CODEC", "DL-Hard", "DL-Hard passages")
FORMS = ("judge", "weights", "random", "greedy", "greedy, ideal", "sampled", "mean rank", "depth-k")
FIELD = ("weights", "depth-k", "move-to-front", "bandit", "random")
ZERO = "depth-k, rest 0"
MODELS = {"GPT-4": "gpt-4", "Llama-3-8B": "llama-3-8b"}
ALPHA = 1.0
VALUE = Linear(ALPHA)
Document = tuple[str, str]
Outcomes = dict[str, FloatArray]
"""By order: right, error, error by all judgments, of each pair and budget (pairs × budgets × 3)."""


def tables(less: int = 1) -> Iterator[tuple[str, Result]]:
    orders, number = tuple(dict.fromkeys((*FORMS, *FIELD))), max(POOLS // less, 1)
    chosen_on = [_outcomes(name, None, orders, CHOICE, number) for name in CHOSEN_ON]
    yield "The choice of the order", _choice(chosen_on, orders, 1)
    yield from _each("which the order was chosen on", CHOSEN_ON, chosen_on, orders)
    orders = ("judge", "greedy, ideal", *FIELD)
    held_back = [_outcomes(name, None, orders, CHECK, max(CHECK_POOLS // less, 1)) for name in HELD_BACK]
    yield from _each("which it was not chosen on", HELD_BACK, held_back, orders)
    orders, number = ("judge", "greedy, ideal", "weights", "depth-k"), max(LLM_POOLS // less, 1)
    models = [_outcomes(CHOSEN_ON[0], name, orders, CHOICE, number) for name in MODELS]
    yield "The choice of the order with language models", _choice(models, orders, 2)
    for name, found in zip(MODELS, models, strict=True):
        yield f"Right verdicts and error of U_Risk: {CHOSEN_ON[0]} with {name}", _table([found], (*orders, ZERO))


def _each(
    kind: str, names: tuple[str, ...], found: list[tuple[Outcomes, list[int]]], orders: tuple[str, ...]
) -> Iterator[tuple[str, Result]]:
    """A table for each collection, and one for all."""
    for name, own in zip(names, found, strict=True):
        yield f"Right verdicts and error of U_Risk: {name}, {kind}", _table([own], (*orders, ZERO))
    yield f"Right verdicts and error of U_Risk: all {kind}", _table(found, (*orders, ZERO))


def _outcomes(
    name: str, model: str | None, orders: tuple[str, ...], seed: int, number: int
) -> tuple[Outcomes, list[int]]:
    """The results of each order on the pairs of some pools, and the pool of each pair; finished pairs are kept."""
    whole, random = Collection.read(name), np.random.default_rng(seed)
    graded = () if model is None else (as_qrels(read_grades(data() / f"trec-dl-2019/qrels.llm-{MODELS[model]}.txt")),)
    rows: dict[str, list[FloatArray]] = {}
    pools: list[int] = []
    for pool in range(number):
        collection = whole.some(random, RUNS)
        for case in collection.shallow(random, 1):
            judging = Judging(collection, case, graded, (seed, len(pools)))
            for order in orders:
                key = f"judge-{seed}-{name}-{model}-{len(pools)}-{order}".replace(" ", "-")
                for label, found in kept(key, lambda one=judging, order=order: one.follow(order)).items():
                    rows.setdefault(label, []).append(found)
            pools.append(pool)
    return {order: np.array(found) for order, found in rows.items()}, pools


@dataclass
class Judging:
    """One pair, whose unjudged documents are judged in some order; ties are broken by ``random``."""

    collection: Collection
    case: Case
    models: tuple[object, ...]
    seed: tuple[int, int]

    @property
    def judged(self) -> Grades:
        """The judgments at the start."""
        runs = self.case.pair.runs
        return {topic: {d: int(g) for d, g in runs.qrels.of_topic(topic).items()} for topic in runs.topics}

    @cached_property
    def start(self) -> tuple[JudgedPair, GradeModel]:
        """The pair with the judgments at the start, and its model."""
        if not self.models:
            return self.case.pair, self.case.model
        pair = self._read(self.judged, self.models)
        return pair, GradeModel.fit(pair.runs, pair)

    @cached_property
    def truths(self) -> tuple[FloatArray, FloatArray]:
        """The differences of topics once both rankings are judged, and by all judgments of the collection."""
        complete = self.judged
        for topic, document in _unjudged(self.case.pair):
            complete[topic][document] = self.collection.grades[topic][document]
        return self._read(complete, ()).delta, self.case.full.delta[self.case.order]

    def follow(self, order: str) -> Outcomes:
        """Judge in an order, and record the estimates after each budget."""
        self.random, judged, done = np.random.default_rng(self.seed), self.judged, 0
        (pair, model), truths = self.start, self.truths
        fixed = FIXED[order](self, pair) if order in FIXED else None
        found: dict[str, list[list[float]]] = {}
        for budget in BUDGETS:
            if budget:
                chosen = ASKED[order](self, pair, model)[: budget - done] if fixed is None else fixed[done:budget]
                for topic, document in chosen:
                    judged[topic][document] = self.collection.grades[topic][document]
                pair, done = self._read(judged, self.models), budget
                model = GradeModel.fit(pair.runs, pair)
            found.setdefault(order, []).append(_note(np.subtract(*draw_values(pair, model, None, DRAWS)), *truths))
            if order == "depth-k":
                found.setdefault(ZERO, []).append(_note(pair.delta[np.newaxis], *truths))
        return {label: np.array(rows) for label, rows in found.items()}

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

    def judge(self, pair: JudgedPair, model: GradeModel) -> list[Document]:
        return _in(Uncertainty.draw(pair, model, ALPHA, DRAWS).order(), pair)

    def greedy(self, pair: JudgedPair, model: GradeModel) -> list[Document]:
        return _in(Doubt.draw(pair, model, False).order(BUDGETS[-1]), pair)

    def greedy_by_ideal(self, pair: JudgedPair, model: GradeModel) -> list[Document]:
        return _in(Doubt.draw(pair, model, True).order(BUDGETS[-1]), pair)

    def sampled(self, pair: JudgedPair, model: GradeModel) -> list[Document]:
        """Without replacement: the largest logarithms of the priorities with Gumbel's noise added."""
        priorities = Uncertainty.draw(pair, model, ALPHA, DRAWS).priorities
        keys = np.log(np.maximum(priorities, 1e-12)) + self.random.gumbel(size=priorities.size)
        return _in(np.argsort(-keys).tolist(), pair)

    def mean_rank(self, pair: JudgedPair, model: GradeModel) -> list[Document]:
        drawn, doubt = Uncertainty.draw(pair, model, ALPHA, DRAWS), Doubt.draw(pair, model, False)
        ranks = np.argsort(drawn.order()) + np.argsort(doubt.order(doubt.own.size))
        return _in(np.argsort(ranks, kind="stable").tolist(), pair)


FIXED: dict[str, Callable[[Judging, JudgedPair], list[Document]]] = {
    "weights": Judging.by_weight,
    "depth-k": Judging.by_rank,
    "move-to-front": Judging.move_to_front,
    "bandit": Judging.bandit,
    "random": Judging.at_random,
}
"""Orders that depend on the judgments only by the relevance of the documents passed."""
ASKED: dict[str, Callable[[Judging, JudgedPair, GradeModel], list[Document]]] = {
    "judge": Judging.judge,
    "greedy": Judging.greedy,
    "greedy, ideal": Judging.greedy_by_ideal,
    "sampled": Judging.sampled,
    "mean rank": Judging.mean_rank,
}
"""Orders that are asked again at each budget."""


@dataclass
class Doubt:
    """The weight of each unjudged document's gain in U_Risk, and the covariance of these gains.

    Where the model's parameters are known, gains vary by ``own``; what drawn parameters expect of them deviates by
    ``common`` from the mean (draws × documents, over the square root of the number of draws).
    """

    weights: FloatArray
    own: FloatArray
    common: FloatArray

    @classmethod
    def draw(cls, pair: JudgedPair, model: GradeModel, is_normalised: bool) -> Doubt:
        """Normalised: gains over the drawn value of the best ranking."""
        random, gains = np.random.default_rng(0), _gains(pair)
        shared, found = model.draw_shared(random, COMMON), []
        for topic, own in enumerate(pair.topics):
            left = own.unjudged
            at_least = _chances(model, topic, own, shared, random)
            grades = np.repeat(own.zero_filled[np.newaxis], COMMON, axis=0)
            grades[:, left] = (random.random((COMMON, int(left.sum()), 1)) < at_least).sum(axis=2)
            rest = model.draw_rest(topic, own, shared, random)
            lost = np.mean(pair.deltas(own, grades, rest) < -NO_CHANGE)
            scale = 1 / _best(pair, gains, grades, rest)[:, np.newaxis] if is_normalised else 1.0
            mean = at_least @ np.diff(gains)
            within = at_least @ np.diff(gains**2) - mean**2
            weights = weights_of(pair, own)[left] * (1 + ALPHA * lost) / len(pair.topics)
            found.append((weights, (within * scale**2).mean(axis=0), mean * scale))
        weights, within, means = (np.concatenate(parts, axis=-1) for parts in zip(*found, strict=True))
        return cls(weights, within, (means - means.mean(axis=0)) / np.sqrt(COMMON))

    def order(self, most: int) -> list[int]:
        """The document first that lowers the variance of U_Risk most if its grade is known, given those before it."""
        common, most = self.common, min(most, self.weights.size)
        load = self.own * self.weights + (common @ self.weights) @ common  # the covariance of each gain and U_Risk
        variance, factors = self.own + (common**2).sum(axis=0), np.zeros((most, self.weights.size))
        order: list[int] = []
        for step in range(most):
            value = load**2 / np.maximum(variance, 1e-12)
            value[order] = -1
            best = int(value.argmax())
            factors[step] = common[:, best] @ common - factors[:step, best] @ factors[:step]
            factors[step, best] += self.own[best]
            factors[step] /= np.sqrt(max(variance[best], 1e-12))
            load = load - factors[step] * (factors[step] @ self.weights)
            variance = variance - factors[step] ** 2
            order.append(best)
        return order


def _chances(
    model: GradeModel, topic: int, own: TopicPair, shared: FloatArray, random: np.random.Generator
) -> FloatArray:
    """P(grade >= g) of each unjudged document by drawn parameters, draws × documents × grades from 1 on."""
    odds, (fixed, varying) = model.odds, model._columns(topic, own.codes[own.unjudged])
    effects = odds.effects[topic] + shared @ odds.response[topic].T
    effects += random.standard_normal(effects.shape) @ np.linalg.cholesky(odds.conditional[topic]).T
    latent = odds.drawn_coefficients(shared) @ fixed.T + effects @ varying.T
    return np.asarray(logistic(latent[:, :, np.newaxis] - odds.drawn_thresholds(shared)[:, np.newaxis]))


def _gains(pair: JudgedPair) -> FloatArray:
    """The gain of a document of each grade at rank 1, before nDCG is divided by the value of the best ranking."""
    measure = pair.runs.measure
    plain = replace(measure, norm="none") if measure.norm == "ideal" else measure
    alone = replace(pair, runs=replace(pair.runs, measure=plain))
    return np.array([alone.value(np.array([grade]), np.array([grade])) for grade in range(pair.runs.levels)])


def _best(pair: JudgedPair, gains: FloatArray, grades: IntArray, rest: IntArray) -> FloatArray:
    """The value of the best ranking in each draw, at least that of one document; 1 where nothing is divided by it."""
    if pair.runs.measure.norm != "ideal":
        return np.ones(len(grades))
    numbers = np.arange(1, gains.size)
    above = rest[:, ::-1].cumsum(axis=1)[:, -2::-1] + (grades[:, np.newaxis] >= numbers[:, np.newaxis]).sum(axis=2)
    total = np.append(0.0, pair.runs.measure.discounts(pair.runs.measure.cutoff).cumsum())
    return np.asarray(np.maximum(total[np.minimum(above, total.size - 1)] @ np.diff(gains), gains[gains > 0].min()))


def _unjudged(pair: JudgedPair) -> list[Document]:
    found: list[Document] = []
    for topic, own in enumerate(pair.topics):
        ids = pair.documents(topic)
        found += [(pair.runs.topics[topic], ids[document]) for document in np.flatnonzero(own.unjudged).tolist()]
    return found


def _in(order: list[int], pair: JudgedPair) -> list[Document]:
    documents = _unjudged(pair)
    return [documents[index] for index in order]


def _note(deltas: FloatArray, complete: FloatArray, full: FloatArray) -> list[float]:
    values = VALUE(deltas)
    verdicts, expected = verdicts_of(values).tolist(), values.mean()
    right = max(VERDICTS, key=verdicts.count) == verdicts_of(VALUE(complete)[np.newaxis])[0]
    return [float(right), float(expected - VALUE(complete).mean()), float(expected - VALUE(full).mean())]


def _table(collections: list[tuple[Outcomes, list[int]]], orders: tuple[str, ...]) -> Result:
    """Shares and errors at each budget, with intervals of the difference from `judge`."""
    random, weights = np.random.default_rng(CHECK), []
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


def _choice(collections: list[tuple[Outcomes, list[int]]], orders: tuple[str, ...], kind: int) -> Result:
    """The mean logarithm of the error over collections and budgets, and the share of right verdicts at each budget."""
    ones = [np.ones((1, len(pools))) for _, pools in collections]
    columns: dict[str, list[object]] = {"order": list(orders), "mean log error": []}
    for order in orders:
        errors = [_summary([one], order, kind, own) for one, own in zip(collections, ones, strict=True)]
        columns["mean log error"].append(float(np.log(errors)[:, 0, 1:].mean()))
        right = _summary(collections, order, 0, np.concatenate(ones, axis=1))[0]
        for budget, share in zip(BUDGETS[1:], right[1:].tolist(), strict=True):
            columns.setdefault(f"right {budget}", []).append(share)
    return Result(signature("judge", n=sum(one.size for one in ones), n_draws=DRAWS), columns)


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
