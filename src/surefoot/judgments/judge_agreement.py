"""How far two judges agree: on grades, on the order of systems, and on which queries lose."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from surefoot._typing import BoolArray, FloatArray, IntArray
from surefoot.effectiveness.scoring import Runs, score_runs
from surefoot.effectiveness.sources import load_qrels
from surefoot.errors import SurefootError
from surefoot.io.document_lists import Qrels, digests_of
from surefoot.io.trec import Names
from surefoot.judgments.credibility import NO_CHANGE
from surefoot.results import Result, signature
from surefoot.stats.bootstrap import bootstrap_weights
from surefoot.stats.inference import LEVEL
from surefoot.stats.ranks import kendall

LARGE = 0.1
"""Losses above this are large."""


@dataclass(frozen=True, eq=False, kw_only=True)
class JudgeAgreement(Result):
    """A row for each statistic and measure; ``confusion`` counts documents, a row for each grade of the first judge."""

    confusion: IntArray

    def extra(self) -> dict[str, Any]:
        """The confusion matrix, for JSON."""
        return {"confusion": self.confusion.tolist()}


def judge_agreement(
    first: object,
    second: object,
    runs: Runs | None = None,
    measures: Sequence[object] = ("nDCG@10",),
    *,
    names: Names = "file",
    n_resamples: int = 1000,
    seed: int = 0,
) -> JudgeAgreement:
    """Compare a second judge with a first, on the documents that both graded.

    Parameters
    ----------
    first, second
        Qrels; the first is taken as the truth.
    runs, names
        Two or more runs, as in `surefoot.score_runs`; all pairs are compared, in both directions.
    measures
        Effectiveness measures.
    n_resamples, seed
        The number of resamples of topics, and the random seed.

    Returns
    -------
    JudgeAgreement
        Columns ``statistic, measure, value, low, high`` with 95 % intervals: Cohen's kappa and the share of equal
        grades; with runs Kendall's tau of the systems' means, precision and recall of losing queries, the ratio of
        F_Risk, and the share of losses above 0.1 that the second sees as wins.

    Examples
    --------
    >>> first, second = {"q": {"d1": 1, "d2": 0, "d3": 0}}, {"q": {"d1": 1, "d2": 1, "d3": 0}}
    >>> judge_agreement(first, second, n_resamples=10)["value"].round(2).tolist()
    [0.4, 0.67]
    """
    judges = load_qrels(first), load_qrels(second)
    if not all(one.are_whole for one in judges):
        raise SurefootError("the grades of both judges must be whole numbers")
    common = _common(*judges)
    levels = 1 + max(max(pair) for own in common.values() for pair in own.values())
    counts = np.zeros((len(common), levels, levels), np.int64)
    for topic, own in enumerate(common.values()):
        np.add.at(counts[topic], tuple(np.array(list(own.values())).T), 1)
    weights = np.concatenate([np.ones((1, len(common))), *bootstrap_weights(len(common), n_resamples, seed)])
    rows = [(name, "", drawn) for name, drawn in _of_grades(np.einsum("rt,tij->rij", weights, counts))]
    for measure in measures if runs is not None else ():
        graded = [{t: {d: pair[side] for d, pair in own.items()} for t, own in common.items()} for side in (0, 1)]
        truth, seen = (score_runs(runs or [], one, measure, names) for one in graded)
        if len(truth.systems) < 2:
            raise SurefootError("losing queries need two or more runs; name another")
        rows += [(name, truth.measure, drawn) for name, drawn in _of_scores(truth.values, seen.values, weights)]
    low, high = np.transpose([_interval(drawn[1:]) for _, _, drawn in rows])
    confusion, documents = counts.sum(axis=0), int(counts.sum())
    notes = [f"grade {grade} of the first: {', '.join(map(str, row))}" for grade, row in enumerate(confusion.tolist())]
    tops = [int(one.numbers.max()) for one in judges]
    if tops[0] != tops[1]:
        notes.append(
            f"the largest grades are {tops[0]} and {tops[1]}; if these are different scales, map one to the other first"
        )
    return JudgeAgreement(
        signature=signature(
            "judges", judges=digests_of(judges), documents=documents, n_resamples=n_resamples, seed=seed
        ),
        columns={
            "statistic": [name for name, _, _ in rows],
            "measure": [measure for _, measure, _ in rows],
            "value": np.array([drawn[0] for _, _, drawn in rows]),
            "low": low,
            "high": high,
        },
        notes=(f"{documents} documents of {len(common)} topics; grades 0, 1, ... of the second judge:", *notes),
        confusion=confusion,
    )


def _interval(drawn: FloatArray) -> FloatArray:
    """The ends of the interval, over the resamples in which the statistic is defined."""
    known = drawn[~np.isnan(drawn)]
    with np.errstate(invalid="ignore"):  # of infinite ratios
        return np.quantile(known, [LEVEL / 2, 1 - LEVEL / 2]) if known.size else np.full(2, np.nan)


def _common(first: Qrels, second: Qrels) -> dict[str, dict[str, tuple[int, int]]]:
    """The grades of both judges, by topic and document."""
    found = {}
    for topic in first.topics:
        own, other = first.of_topic(topic), second.of_topic(topic)
        both = {d: (max(int(own[d]), 0), max(int(other[d]), 0)) for d in own if d in other}
        if both:
            found[topic] = both
    if not found:
        raise SurefootError(f"{first.path} and {second.path} have no document in common; give qrels of the same topics")
    return found


def _of_grades(counts: FloatArray) -> Iterator[tuple[str, FloatArray]]:
    """Kappa and the share of equal grades of confusion matrices, which are the last two axes."""
    shares = counts / counts.sum(axis=(1, 2), keepdims=True)
    equal = np.trace(shares, axis1=1, axis2=2)
    chance = (shares.sum(axis=1) * shares.sum(axis=2)).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        yield "kappa", (equal - chance) / (1 - chance)
    yield "equal grades", equal


def _of_scores(first: FloatArray, second: FloatArray, weights: FloatArray) -> Iterator[tuple[str, FloatArray]]:
    """Statistics of the scores by both judges, systems × topics, on weighted topics."""
    means = [weights @ scores.T for scores in (first, second)]
    yield "tau of means", np.array([kendall(own, other).tau for own, other in zip(*means, strict=True)])
    truth, seen = (scores[:, np.newaxis] - scores for scores in (first, second))
    lost, found = truth < -NO_CHANGE, seen < -NO_CHANGE
    large = truth < -LARGE

    def total(cells: FloatArray | BoolArray) -> FloatArray:
        return np.asarray(weights @ cells.sum(axis=(0, 1)))

    with np.errstate(invalid="ignore", divide="ignore"):
        yield "precision of losses", total(lost & found) / total(found)
        yield "recall of losses", total(lost & found) / total(lost)
        yield "ratio of F_Risk", total(np.maximum(-seen, 0)) / total(np.maximum(-truth, 0))
        yield "large losses seen as wins", total(large & (seen > NO_CHANGE)) / total(large)
