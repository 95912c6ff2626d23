"""Contributions of single documents to the change of a measure from one ranking to another.

A measure is a function of the documents' ranks. Each document has a value at its rank, and the values combine in a
form:

- ``sum`` (nDCG, P, R, RBP): the values add up, so a move contributes the value at the new rank minus that at the old.
- ``pairs`` (AP): besides its own value, each document adds the smaller value of every pair with another relevant one.
- ``cascade`` (RR, ERR): a document counts only if no document above it has satisfied the user. Each satisfies with a
  probability, its value at rank 1.

Where a move's effect depends on the others, its contribution is its Shapley value (Shapley, "A value for n-person
games", 1953): the change when the document goes from its old rank to its new one, averaged over all orders in which
the documents could move. When some have moved and others have not, two may share a rank; the user reads both there, in
either order. Contributions always add up to the change of the measure. A document that keeps its rank, or is not
relevant, contributes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot._typing import FloatArray, IntArray
from surefoot.effectiveness.measures import NATIVE, UNJUDGED, Form, Measure, parse_measure
from surefoot.effectiveness.scoring import refuse_high_grades
from surefoot.errors import SurefootError
from surefoot.io.document_lists import Qrels
from surefoot.native import kernel

Grades = IntArray | FloatArray
measure_ranking = kernel("measure_ranking")


@dataclass(frozen=True)
class Decomposition:
    """A measure as a function of the ranks of documents; rank 0 means not in the list.

    >>> ndcg = Decomposition(parse_measure("nDCG@10"))
    >>> ndcg.contributions(np.array([1, 0]), np.array([1, 0]), np.array([1, 3]), np.array([3, 1]))
    array([-0.5,  0. ])
    """

    measure: Measure

    @classmethod
    def of(cls, measure: object, qrels: Qrels) -> Decomposition:
        """The decomposition of a measure; its gains may depend on the highest grade of the qrels."""
        chosen = parse_measure(measure)
        if chosen.form is None:
            raise SurefootError(
                f"contributions of documents are defined for {', '.join(NATIVE)}; {chosen} is computed by ir_measures"
            )
        refuse_high_grades(chosen, qrels)
        return cls(chosen.scaled_to(qrels.numbers.max()))

    @property
    def form(self) -> Form | None:
        """How the values of documents combine."""
        return self.measure.form

    def discounts(self, ranks: IntArray) -> FloatArray:
        """The discount at each rank, relative to rank 1; 0 at rank 0 and below the cutoff."""
        deepest = min(int(ranks.max(initial=1)), self.measure.cutoff)
        counts = (ranks > 0) & (ranks <= deepest)
        return np.append(self.measure.discounts(deepest), 0.0)[np.where(counts, ranks - 1, -1)]

    def gains(self, grades: Grades, judged: Grades) -> FloatArray:
        """The value of a document of each grade at rank 1; ``judged`` are all grades of the topic, highest first."""
        distinct, index = np.unique(grades, return_inverse=True)
        return np.array([self._measured(np.array([grade], np.float64), judged) for grade in distinct])[index]

    def value(self, grades: Grades, judged: Grades, ranks: IntArray) -> float:
        """The measure of a ranking with documents of these grades at these ranks."""
        ranking = np.full(ranks.max(initial=1), UNJUDGED, np.float64)
        ranking[ranks[ranks > 0] - 1] = grades[ranks > 0]
        return self._measured(ranking, judged)

    def contributions(self, grades: Grades, judged: Grades, before: IntArray, after: IntArray) -> FloatArray:
        """The contribution of each document's move, from its rank before to its rank after, to the measure's change."""
        gains = self.gains(grades, judged)
        found = np.zeros(len(gains))
        relevant = np.flatnonzero(gains > 0)
        gains, before, after = gains[relevant], before[relevant], after[relevant]
        old, new = self.discounts(before), self.discounts(after)
        if self.form == "sum":
            found[relevant] = gains * (new - old)
        elif self.form == "pairs":
            found[relevant] = _pairs(gains * old, gains * new)
        else:
            found[relevant] = _cascade(gains, np.stack([before, after]), np.stack([old, new]))
        return found

    def _measured(self, ranking: FloatArray, judged: Grades) -> float:
        value = np.empty(1)
        measure_ranking(self.measure.formula, ranking, judged.astype(np.float64, order="C"), value)
        return float(value[0])


def _pairs(old: FloatArray, new: FloatArray) -> FloatArray:
    """Shapley values where every document adds its value, and every pair the smaller value of the two."""

    def smaller(one: FloatArray, other: FloatArray) -> FloatArray:
        both: FloatArray = np.minimum(one[:, None], other[None, :])
        np.fill_diagonal(both, 0.0)
        total: FloatArray = both.sum(axis=1)
        return total

    joint = smaller(new, old) - smaller(old, old) + smaller(new, new) - smaller(old, new)
    return new - old + joint / 2


def _cascade(satisfied: FloatArray, ranks: IntArray, discounts: FloatArray) -> FloatArray:
    """Shapley values where a document counts if none above it satisfies; ranks and discounts are 2 × documents.

    A Shapley value is the integral, over t from 0 to 1, of the expected change by one document's move if every other
    has moved with probability t (Owen, 1972). Here the integrand is a polynomial in t with a degree below the number of
    documents, which Gauss' quadrature integrates exactly.
    """
    reached = np.where(ranks > 0, ranks, np.inf)
    # Nobody reads below a document that certainly satisfies, whether it has moved or not.
    last = reached.max(axis=0)[satisfied == 1].min(initial=np.inf)
    read = reached.min(axis=0) <= last
    total = np.zeros(satisfied.size)
    total[read] = _cascade_of_all(satisfied[read], reached[:, read], discounts[:, read])
    return total


def _cascade_of_all(satisfied: FloatArray, ranks: FloatArray, discounts: FloatArray) -> FloatArray:
    count = satisfied.size
    if not count:
        return satisfied
    own = np.tile(np.arange(count), 2)
    # above[m, place, j]: whether document j precedes the place, before its move (m = 0) or after it (m = 1).
    order = ranks + np.arange(count) / (count + 1)
    above = (order[:, None, :] < order.reshape(-1)[None, :, None]) & (own[:, None] != np.arange(count))
    worth = np.tile(satisfied, 2) * discounts.reshape(-1)
    total = np.zeros(count)
    nodes, weights = np.polynomial.legendre.leggauss((count + 1) // 2)
    for t, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
        chance = satisfied * ((1 - t) * above[0] + t * above[1])
        others = _products_without(1 - chance)
        alone = worth * others[np.arange(2 * count), own]
        displaced = (np.repeat([1 - t, t], count) * worth)[:, None] * others * satisfied * (above[0] * 1.0 - above[1])
        total += weight * (alone[count:] - alone[:count] + displaced.sum(axis=0))
    return total


def _products_without(factors: FloatArray) -> FloatArray:
    """For each factor of a row, the product of the other factors; factors may be 0."""
    ones = np.ones((len(factors), 1))
    left: FloatArray = np.multiply.accumulate(np.hstack([ones, factors[:, :-1]]), axis=1)
    right: FloatArray = np.multiply.accumulate(np.hstack([ones, factors[:, :0:-1]]), axis=1)[:, ::-1]
    return left * right
