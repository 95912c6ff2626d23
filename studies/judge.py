"""How many judgments until the verdict is that of all judgments: `judge`, depth-k pooling and random order.

Protocol. Collections and shallower pools as in `holes`, with another seed. Of each of CASES pairs whose verdict on the
mean changes when all documents of the two rankings are judged, these are judged one after the other: in the order of
`judge`; by rank (the first of both rankings, then the second, ...; topics in random order); by the best rank in any run
that was given, as a track pools, which also judges documents of other runs; or at random. Counted are the judgments
after which the verdict stays that of all. The verdict counts unjudged documents 0, as the field does; for `judge` those
are counted too after which the mean over the grades that `GradeModel` draws for them stays right. *All grades known* is
the order of `judge` if the grades were known beforehand, which no order can hope to beat by much.

The order of `judge` was chosen among 23 on TREC DL 2019 and TREC-COVID with other seeds (500 to 511), on 40 and 8
random runs and on 8 alike runs of each, for nDCG@10 and ERR@20; TREC Web 2012 and CODEC were not looked at. What made
the difference was to plan for the draws in which the verdict is another one: the others need no judgment.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from studies.holes import Case, Collection
from studies.judged_collections import FILES
from surefoot._typing import FloatArray, IntArray
from surefoot.effectiveness.measures import UNJUDGED
from surefoot.judgments.next_judgments import Changes, verdict_of
from surefoot.judgments.unjudged import GradeModel
from surefoot.results import Result, signature
from surefoot.risk.values import Linear

CASES, DRAWS, RESAMPLES, SEED = 20, 500, 2000, 23
Document = tuple[int, int]
"""A topic and the index of a document in its pair; -1 for a document of neither ranking."""


def tables(less: int = 1) -> Iterator[tuple[str, Result]]:
    every: list[Counts] = []
    for name in FILES:
        collection, random = Collection.read(name), np.random.default_rng(SEED)
        counts = Counts()
        pools = (case for _ in range(10) for case in collection.shallow(random, 1))
        changing = (judging for judging in map(Judging, pools) if judging.changes)
        for judging in islice(changing, CASES // less):
            orders = judging.orders(random).items()
            counts.pools.append(judging.model)
            for order, documents in orders:
                for filled in ("0", "expected") if order == "judge" else ("0",):
                    counts.needed.setdefault((filled, order), []).append(judging.needed(documents, filled))
        if counts.pools:
            every.append(counts)
            yield f"Judgments until the verdict is that of all: {name}, {collection.measure}", _table([counts])
    yield "Judgments until the verdict is that of all: all collections", _table(every)


@dataclass
class Counts:
    """Judgments that each order needed in the cases of a collection, and the model of each case: one for each pool."""

    needed: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    pools: list[GradeModel] = field(default_factory=list)

    def resample(self, random: np.random.Generator) -> list[int]:
        """Cases of pools that are drawn with replacement: cases of one pool depend on each other."""
        members = [[case for case, pool in enumerate(self.pools) if pool is one] for one in dict.fromkeys(self.pools)]
        return [case for one in random.integers(len(members), size=len(members)) for case in members[one]]


def _table(collections: list[Counts]) -> Result:
    """Medians and means of the cases of collections, and medians as multiples of that of `judge`, with intervals."""
    random, whole = np.random.default_rng(SEED), [list(range(len(counts.pools))) for counts in collections]
    resampled = [[counts.resample(random) for counts in collections] for _ in range(RESAMPLES)]
    columns: dict[str, list[object]] = {}
    for key in collections[0].needed:
        needed = [np.array(counts.needed[key]) for counts in collections]
        judge = [np.array(counts.needed["0", "judge"]) for counts in collections]
        times = [_median(needed, chosen) / _median(judge, chosen) for chosen in (whole, *resampled)]
        low, high = np.quantile(times[1:], [0.025, 0.975])
        row = {"unjudged": key[0], "order": key[1], "median": _median(needed, whole)}
        row |= {"mean": float(np.concatenate(needed).mean()), "times judge": times[0], "low": low, "high": high}
        for name, cell in row.items():
            columns.setdefault(name, []).append(cell)
    told = "low, high: 95 % interval of the multiple, pools resampled"
    return Result(signature("judge", n=sum(map(len, whole))), columns, (told,))


def _median(needed: list[IntArray], chosen: list[list[int]]) -> float:
    return float(np.median(np.concatenate([own[cases] for own, cases in zip(needed, chosen, strict=True)])))


class Judging:
    """One pair, whose unjudged documents are judged in some order."""

    def __init__(self, case: Case) -> None:
        self._pair, self.model = case.pair, case.model
        self._truth = [np.maximum(case.full.topics[topic].grades, 0).astype(np.int64) for topic in case.order]
        self._last = verdict_of(np.concatenate([self._delta(topic, grades) for topic, grades in self._with_all()]))
        self.changes = self._last != verdict_of(self._pair.delta)

    def _with_all(self) -> Iterator[tuple[int, FloatArray]]:
        return ((topic, grades[np.newaxis]) for topic, grades in enumerate(self._truth))

    def _delta(self, topic: int, grades: FloatArray) -> FloatArray:
        own = self._pair.topics[topic]
        return self._pair.deltas(own, grades, np.repeat(own.rest[np.newaxis], len(grades), axis=0))

    def orders(self, random: np.random.Generator) -> dict[str, list[Document]]:
        """The documents in each order."""
        expected = Changes.draw(self._pair, self.model, Linear(0.0), DRAWS)
        known = Changes.of(self._pair, Linear(0.0), [grades[np.newaxis] for grades in self._truth])
        shuffled = [expected.documents[index] for index in random.permutation(len(expected.documents))]
        judge, oracle = (
            [found.documents[index] for index in found.order(len(shuffled))[0]] for found in (expected, known)
        )
        return {
            "judge": judge,
            "depth of the pair": sorted(shuffled, key=self._rank),
            "depth of all runs": self._pooled(random),
            "random": shuffled,
            "all grades known": oracle,
        }

    def _rank(self, document: Document) -> int:
        own = self._pair.topics[document[0]]
        return min(int(np.flatnonzero(r == document[1])[0]) for r in (own.own, own.base) if (r == document[1]).any())

    def _pooled(self, random: np.random.Generator) -> list[Document]:
        """The unjudged documents of all runs by their best rank."""
        found = []
        for topic, (own, pool) in enumerate(zip(self._pair.topics, self.model.pools, strict=True)):
            index = {code: number for number, code in enumerate(own.codes.tolist())}
            for row in np.flatnonzero(pool.grades == UNJUDGED).tolist():
                best = -float(pool.features[row, -1])
                found.append((best, random.random(), (topic, index.get(int(pool.codes[row]), -1))))
        return [document for _, _, document in sorted(found)]

    def needed(self, documents: list[Document], filled: str) -> int:
        """After how many judgments the verdict stays that of all."""
        random = np.random.default_rng(0)
        own, shared = self._pair.topics, self.model.draw_shared(random, DRAWS)
        grades = [
            self.model.fill(topic, one.codes, one.grades, shared, random)
            if filled == "expected"
            else one.zero_filled[np.newaxis]
            for topic, one in enumerate(own)
        ]
        grades = [one.copy() for one in grades]
        deltas = np.array([self._delta(topic, one).mean() for topic, one in enumerate(grades)])
        last = 0 if verdict_of(deltas) == self._last else 1
        for number, (topic, document) in enumerate(documents, start=1):
            if document < 0:
                continue
            grades[topic][:, document] = self._truth[topic][document]
            deltas[topic] = self._delta(topic, grades[topic]).mean()
            if verdict_of(deltas) != self._last:
                last = number + 1
        return last
