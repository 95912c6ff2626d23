"""Compiled effectiveness measures of one topic, and of all topics of a run.

A measure is a function of ``grades``, those of the ranked documents, and where it is normalised of ``judged``, the
grades of all judged documents, highest first. Documents without judgment have the grade UNJUDGED and count as not
relevant; a cutoff of ALL is none. Grades below 1 have no gain.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from surefoot._numba import kernel
from surefoot._typing import Array
from surefoot.io.tokens import CROWDED, EMPTY, Token, Tokens, find, text_of

UNJUDGED = -(1 << 31)
ALL = (1 << 62) - 1
LARGEST_ERR_GRADE = 4

ERR, NDCG, NDCG_EXP, AP, RR, P, R, RBP, RBP_GRADED = range(9)
FOREIGN = -1
"""A measure that is left to ir_measures."""


@kernel
def count_relevant(judged: Array, rel: float) -> int:
    """How many of the judged documents have at least a grade."""
    count = 0
    while count < judged.size and judged[count] >= rel:
        count += 1
    return count


@kernel
def err(grades: Array, cutoff: int) -> float:
    """ERR@k, the expected reciprocal rank at which a user who reads downwards is satisfied.

    ERR@k = sum over i = 1..k of r_i / i prod over j < i of (1 - r_j), with r_i = (2^g_i - 1) / 2^4, as in the TREC
    Web track's gdeval: the highest grade is 4.
    Chapelle, Metzler, Zhang and Grinspan, "Expected reciprocal rank for graded relevance", CIKM 2009.

    >>> err(np.array([0, 3]), 20)
    0.21875
    """
    value, unsatisfied = 0.0, 1.0
    for index in range(min(grades.size, cutoff)):
        if grades[index] > 0:
            satisfied = (2.0 ** grades[index] - 1.0) / 2.0**LARGEST_ERR_GRADE
            value += unsatisfied * satisfied / (index + 1)
            unsatisfied *= 1.0 - satisfied
    return value


@kernel
def dcg(grades: Array, cutoff: int, exponential: bool) -> float:
    """DCG@k = sum over i = 1..k of gain_i / log2(i + 1), where a gain is the grade g, or 2^g - 1 if exponential.

    >>> dcg(np.array([0, 0, 2]), 3, True)
    1.5
    """
    value = 0.0
    for index in range(min(grades.size, cutoff)):
        if grades[index] > 0:
            gain = 2.0 ** grades[index] - 1.0 if exponential else np.float64(grades[index])
            value += gain / np.log2(index + 2.0)
    return value


@kernel
def ndcg(grades: Array, judged: Array, cutoff: int, exponential: bool) -> float:
    """nDCG@k, the DCG@k over that of the best possible ranking; 0 if nothing is relevant.

    The gain is the grade, as in trec_eval, or 2^grade - 1, as in gdeval: ``nDCG(dcg='exp-log2')``.
    Järvelin and Kekäläinen, "Cumulated gain-based evaluation of IR techniques", TOIS 20(4), 2002; the exponential
    gain is that of Burges et al., "Learning to rank using gradient descent", ICML 2005.

    >>> ndcg(np.array([0, 0, 1]), np.array([1, 0]), 3, False)
    0.5
    """
    best = dcg(judged, cutoff, exponential)
    return dcg(grades, cutoff, exponential) / best if best > 0 else 0.0


@kernel
def ap(grades: Array, judged: Array, cutoff: int, rel: float) -> float:
    """AP, the mean of the precisions at the ranks of the relevant documents, counting 0 for those not retrieved.

    AP@k = 1/R sum over relevant ranks i <= k of P@i, with R the number of relevant documents, as in trec_eval.
    Buckley and Voorhees, "Retrieval system evaluation", in TREC: Experiment and Evaluation, MIT Press, 2005.

    >>> ap(np.array([1, 0, 1]), np.array([1, 1, 1, 0]), 10, 1)
    0.5555555555555555
    """
    found, total = 0, 0.0
    for index in range(min(grades.size, cutoff)):
        if grades[index] >= rel:
            found += 1
            total += found / (index + 1)
    return total / count_relevant(judged, rel) if found > 0 else 0.0


@kernel
def rr(grades: Array, cutoff: int, rel: float) -> float:
    """RR@k, one over the rank of the first relevant document, 0 if none is among the first k.

    Kantor and Voorhees, "The TREC-5 confusion track", Information Retrieval 2, 2000.

    >>> rr(np.array([0, 0, 1, 1]), 10, 1)
    0.3333333333333333
    """
    for index in range(min(grades.size, cutoff)):
        if grades[index] >= rel:
            return 1.0 / (index + 1)
    return 0.0


@kernel
def hits(grades: Array, cutoff: int, rel: float) -> int:
    """The number of relevant documents among the first k."""
    found = 0
    for index in range(min(grades.size, cutoff)):
        found += grades[index] >= rel
    return found


@kernel
def precision(grades: Array, cutoff: int, rel: float) -> float:
    """P@k, the fraction of relevant documents among the first k; of k, even if fewer are retrieved.

    van Rijsbergen, "Information Retrieval", 2nd edition, Butterworths, 1979.

    >>> precision(np.array([1, 0, 2]), 5, 1)
    0.4
    """
    return hits(grades, cutoff, rel) / cutoff


@kernel
def recall(grades: Array, judged: Array, cutoff: int, rel: float) -> float:
    """R@k, the fraction of the relevant documents that is among the first k; 0 if nothing is relevant.

    van Rijsbergen, "Information Retrieval", 2nd edition, Butterworths, 1979.

    >>> recall(np.array([1, 0, 2]), np.array([2, 1, 1, 1]), 2, 1)
    0.25
    """
    found = hits(grades, cutoff, rel)
    return found / count_relevant(judged, rel) if found > 0 else 0.0


@kernel
def rbp(grades: Array, cutoff: int, rel: float, persistence: float) -> float:
    """RBP(rel=...), the relevance met per document by a user who goes on to the next one with probability p.

    RBP = (1 - p) sum over relevant ranks i of p^(i - 1).
    Moffat and Zobel, "Rank-biased precision for measurement of retrieval effectiveness", TOIS 27(1), 2008.

    >>> rbp(np.array([1, 0, 2]), 10, 1, 0.5)
    0.625
    """
    value, weight = 0.0, 1.0 - persistence
    for index in range(min(grades.size, cutoff)):
        if grades[index] >= rel:
            value += weight
        weight *= persistence
    return value


@kernel
def graded_rbp(grades: Array, cutoff: int, highest: float, persistence: float) -> float:
    """RBP without ``rel``: a document adds its grade over the highest in the qrels, as TREC-COVID computed it.

    RBP = (1 - p) sum over ranks i of p^(i - 1) g_i / highest.

    >>> graded_rbp(np.array([1, 0, 2]), 10, 2, 0.5)
    0.375
    """
    value, weight = 0.0, (1.0 - persistence) / highest
    for index in range(min(grades.size, cutoff)):
        if grades[index] > 0:
            value += weight * grades[index]
        weight *= persistence
    return value


@kernel
def measure(kind: int, grades: Array, judged: Array, cutoff: int, rel: float, persistence: float) -> float:
    """The value of a measure by its number."""
    if kind == ERR:
        return err(grades, cutoff)
    if kind in (NDCG, NDCG_EXP):
        return ndcg(grades, judged, cutoff, kind == NDCG_EXP)
    if kind == AP:
        return ap(grades, judged, cutoff, rel)
    if kind == RR:
        return rr(grades, cutoff, rel)
    if kind == P:
        return precision(grades, cutoff, rel)
    if kind == R:
        return recall(grades, judged, cutoff, rel)
    if kind == RBP_GRADED:
        return graded_rbp(grades, cutoff, rel, persistence)
    return rbp(grades, cutoff, rel, persistence)


class RunArrays(NamedTuple):
    """The arrays of a `Run`."""

    data: Array
    bounds: Array
    start: Array
    length: Array
    codes: Array


class QrelsArrays(NamedTuple):
    """The arrays of `Qrels`."""

    data: Array
    bounds: Array
    start: Array
    length: Array
    codes: Array
    grades: Array
    tables: Array
    slots: Array


class Plan(NamedTuple):
    """The measures to compute: kind, cutoff, lowest relevant grade and persistence of each."""

    kinds: Array
    cutoffs: Array
    rels: Array
    persistences: Array


@kernel
def measure_run(
    run: RunArrays,
    qrels: QrelsArrays,
    topic_of: Array,
    plan: Plan,
    skip: bool,
    grades: Array,
    values: Array,
    fractions: Array,
) -> None:
    """Fill in ``values[measure, topic]`` from a run and qrels, and ``fractions``, of the first documents judged.

    ``topic_of`` is the index in the qrels of each topic of the run, or -1; ``skip`` leaves out unjudged documents.
    ``grades`` is overwritten; it has room for the documents of a topic down to the largest cutoff.
    """
    for run_topic in range(topic_of.size):
        topic = topic_of[run_topic]
        if topic < 0:
            continue
        judged = qrels.grades[qrels.bounds[topic] : qrels.bounds[topic + 1]]
        count = look_up(run, qrels, run_topic, topic, False, grades)
        for row in range(plan.kinds.size):
            fractions[row, topic] = judged_fraction(grades[:count], plan.cutoffs[row])
        if skip:
            count = look_up(run, qrels, run_topic, topic, True, grades)
        for row in range(plan.kinds.size):
            if plan.kinds[row] != FOREIGN:
                values[row, topic] = measure(
                    plan.kinds[row], grades[:count], judged, plan.cutoffs[row], plan.rels[row], plan.persistences[row]
                )


@kernel
def judged_fraction(grades: Array, cutoff: int) -> float:
    """judged@k, the fraction of the first k documents that is judged; of all, if fewer are retrieved.

    >>> judged_fraction(np.array([1, UNJUDGED, 0, UNJUDGED]), 3)
    0.6666666666666666
    """
    depth, known = min(grades.size, cutoff), 0
    for rank in range(depth):
        known += grades[rank] != UNJUDGED
    return float(known / depth)


@kernel
def look_up(run: RunArrays, qrels: QrelsArrays, run_topic: int, topic: int, skip: bool, grades: Array) -> int:
    """Fill in the grades of a topic's first documents, as many as there is room for; returns their number."""
    keys = Tokens(text_of(qrels.data), qrels.start, qrels.length, qrels.codes)
    table = qrels.slots[qrels.tables[topic, 0] : qrels.tables[topic, 0] + qrels.tables[topic, 1]]
    text, count = text_of(run.data), 0
    for item in range(run.bounds[run_topic], run.bounds[run_topic + 1]):
        if count == grades.size:
            break
        slot = find(table, Token(text, run.start[item], run.length[item], run.codes[item]), keys)
        if slot != CROWDED and table[slot] != EMPTY:
            grades[count] = qrels.grades[table[slot]]
            count += 1
        elif not skip:
            grades[count] = UNJUDGED
            count += 1
    return count


@kernel
def look_up_run(run: RunArrays, qrels: QrelsArrays, topic_of: Array, grades: Array, sizes: Array) -> None:
    """Fill in ``grades[topic, rank]`` and ``sizes[topic]`` of the first documents of a run; see `measure_run`."""
    for run_topic in range(topic_of.size):
        if topic_of[run_topic] >= 0:
            topic = topic_of[run_topic]
            sizes[topic] = look_up(run, qrels, run_topic, topic, False, grades[topic])
