"""What to judge next: the unjudged documents whose grades would soonest show that the verdict is another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from surefoot._typing import BoolArray, FloatArray, IntArray
from surefoot.errors import InputError, SurefootError, counted, listed
from surefoot.io.document_lists import Qrels
from surefoot.io.trec_writer import ScoredTopics
from surefoot.judgments.bounds import delta_bounds
from surefoot.judgments.credibility import NO_CHANGE
from surefoot.judgments.judged_runs import JudgedPair, JudgedRuns, TopicPair
from surefoot.judgments.unjudged import GradeModel
from surefoot.results import Result, plain, signature
from surefoot.risk.alphas import validate_alpha
from surefoot.risk.moments import Moments
from surefoot.risk.values import Linear, Value
from surefoot.stats.inference import LEVEL, critical_value

VERDICTS = ("worse", "undecided", "better")
WORDS = {"undecided": "not enough evidence"}
N_DRAWS = 500
NEAREST = 0.05
"""The fraction of draws that counts as another verdict where fewer have one: those that come nearest to it."""


@dataclass(frozen=True, eq=False, kw_only=True)
class NextJudgments(Result):
    """A row for each document to judge, the most important first.

    ``verdict`` counts unjudged documents 0, ``expected`` at the mean over the grades that they probably have;
    ``chances`` are the probabilities of the verdicts once all is judged. ``settled`` says that no grade of an unjudged
    document can change the verdict.
    """

    verdict: str
    expected: str
    chances: Mapping[str, float]
    settled: bool
    unjudged: int

    def extra(self) -> dict[str, Any]:
        """The verdict and what may become of it, for JSON."""
        names = ("verdict", "expected", "chances", "settled", "unjudged")
        return {name: plain(getattr(self, name)) for name in names}


def next_judgments(
    runs: JudgedRuns,
    candidate: str,
    baseline: str,
    alpha: float = 0.0,
    *,
    budget: int = 50,
    level: float = LEVEL,
    n_draws: int = N_DRAWS,
    seed: int = 0,
) -> NextJudgments:
    """The documents to judge next, so that the verdict on a candidate soon is what all judgments would make it.

    The verdict is "better" or "worse" where the interval of U_Risk (Student's t over topics) excludes 0, else
    "undecided"; unjudged documents count 0. The grades of all of them are drawn from `GradeModel`. Draws with the same
    verdict need no judgment. In those with another one, each next document is the one whose grade moves U_Risk furthest
    towards its drawn value. So documents whose changes cancel each other come late. Judge some, merge, and ask again:
    the model learns from them.

    Parameters
    ----------
    runs
        Runs with judgments, read by `JudgedRuns.read`.
    candidate, baseline
        The names of two of the runs.
    alpha
        The additional weight of losses; 0 for the difference of the means.
    budget
        How many documents to name at most.
    level
        The significance level of the verdict.
    n_draws, seed
        How many times grades are drawn, and the seed.

    Returns
    -------
    NextJudgments
        Columns ``topic, document, priority, reason``; the priority is how far the judgment takes U_Risk on its way to
        another verdict, on average.

    Examples
    --------
    >>> topics = ("q1", "q2", "q3")
    >>> old, new = ({topic: {"bad": 1.0} for topic in topics}, {topic: {"good": 1.0} for topic in topics})
    >>> old["q4"], new["q4"] = {"good": 2.0, "d1": 1.0}, {"d2": 2.0, "good": 1.0}
    >>> qrels = {topic: {"good": 1, "bad": 0} for topic in (*topics, "q4")}
    >>> runs = JudgedRuns.read({"old": old, "new": new}, qrels, "nDCG@2")
    >>> found = next_judgments(runs, "new", "old")
    >>> found["document"].tolist(), found["reason"].tolist()
    (['d2', 'd1'], ['rank 1 of new', 'rank 2 of old'])
    """
    if budget < 1:
        raise SurefootError(f"the budget must be at least 1; got {budget}")
    if candidate == baseline:
        raise SurefootError(f"candidate and baseline are both {baseline}; name two runs")
    value, pair = Linear(validate_alpha(alpha)), runs.pair(candidate, baseline)
    bounds = delta_bounds(pair)
    current = verdict_of(value(pair.delta), level)
    settled = is_settled(current, value(bounds.low), value(bounds.high), level)
    found = Changes.draw(pair, GradeModel.of(runs), value, n_draws, seed)
    order, gains = found.order(0 if settled else budget, level)
    first, drawn = [found.documents[index] for index in order], found.drawn
    verdicts, expected = verdicts_of(drawn, level), verdict_of(drawn.mean(axis=0), level)
    chances = {name: float(np.mean(verdicts == name)) for name in VERDICTS}
    options = {"level": level, "runs": len(runs.rankings), "budget": budget, "n_draws": n_draws, "seed": seed}
    return NextJudgments(
        signature=signature(
            "judge", measure=runs.measure, candidate=candidate, baseline=baseline, alpha=alpha, **options
        ),
        columns={
            "topic": [runs.topics[topic] for topic, _ in first],
            "document": [pair.documents(topic)[document] for topic, document in first],
            "priority": gains,
            "reason": [_reason(pair, *document) for document in first],
        },
        notes=_notes(current, expected, chances, settled, len(found.documents)),
        verdict=current,
        expected=expected,
        chances=chances,
        settled=settled,
        unjudged=len(found.documents),
    )


def interval_of(x: FloatArray, level: float = LEVEL) -> tuple[FloatArray, FloatArray]:
    """Student's interval of the mean of each row of values, draws × topics; infinite for one topic."""
    moments = Moments.of(x)
    reach = np.nan_to_num(critical_value(x.shape[1], level) * moments.se, nan=np.inf)
    return moments.mean - reach, moments.mean + reach


def verdicts_of(x: FloatArray, level: float = LEVEL) -> npt.NDArray[Any]:
    """The verdict of each row of values, draws × topics."""
    low, high = interval_of(x, level)
    return np.select([high < 0, low > 0], [VERDICTS[0], VERDICTS[2]], VERDICTS[1])


def verdict_of(x: FloatArray, level: float = LEVEL) -> str:
    """The verdict of the values of all topics.

    >>> verdict_of(np.array([0.1, 0.2, 0.15])), verdict_of(np.array([-0.1, 0.2, 0.15]))
    ('better', 'undecided')
    """
    return str(verdicts_of(x[np.newaxis], level)[0])


def is_settled(verdict: str, low: FloatArray, high: FloatArray, level: float = LEVEL) -> bool:
    """Whether no values between the bounds have another verdict; a sufficient condition, from bounds of the spread."""
    topics = low.size
    if topics < 2:
        return True
    centre = (low + high).mean() / 2
    widest = np.maximum((low - centre) ** 2, (high - centre) ** 2).sum()
    factor = critical_value(topics, level) / np.sqrt(topics * (topics - 1))
    if verdict == "better":
        return bool(low.mean() - factor * np.sqrt(widest) > 0)
    if verdict == "worse":
        return bool(high.mean() + factor * np.sqrt(widest) < 0)
    reach = factor * np.sqrt(_narrowest(low, high))
    return bool(high.mean() - reach <= 0 <= low.mean() + reach)


def _narrowest(low: FloatArray, high: FloatArray) -> float:
    """The least sum of squares around their mean of values between bounds, which all move towards one centre."""
    centre = float((low + high).mean() / 2)
    for _ in range(100):
        centre = float(np.clip(centre, low, high).mean())
    return float(((np.clip(centre, low, high) - centre) ** 2).sum())


@dataclass(frozen=True, eq=False)
class Changes:
    """What the grades of unjudged documents change.

    ``documents`` are pairs of a topic and an index in its pair, ``changes`` what U_Risk gains by the drawn grade of
    each (draws × documents), ``drawn`` the values of all topics by all drawn grades, ``current`` those as judged.
    """

    documents: list[tuple[int, int]]
    changes: FloatArray
    drawn: FloatArray
    current: FloatArray

    @classmethod
    def draw(cls, pair: JudgedPair, model: GradeModel, value: Value, n: int, seed: int = 0) -> Changes:
        """Those of n draws of all unjudged grades."""
        random = np.random.default_rng(seed)
        shared = model.draw_shared(random, n)
        drawn = [model.fill(topic, own.codes, own.grades, shared, random) for topic, own in enumerate(pair.topics)]
        return cls.of(pair, value, drawn)

    @classmethod
    def of(cls, pair: JudgedPair, value: Value, grades: Sequence[IntArray]) -> Changes:
        """Those of given grades, draws × documents for each topic."""
        documents, changes, drawn = [], [], []
        for topic, (own, given) in enumerate(zip(pair.topics, grades, strict=True)):
            rest = np.repeat(own.rest[np.newaxis], len(given), axis=0)
            drawn.append(value(pair.deltas(own, given, rest)))
            for document in np.flatnonzero(own.unjudged).tolist():
                zeroed = given.copy()
                zeroed[:, document] = 0
                documents.append((topic, document))
                changes.append(drawn[-1] - value(pair.deltas(own, zeroed, rest)))
        by_topic = np.stack(drawn, axis=1)
        moved = np.reshape(changes, (len(documents), len(by_topic))).T / len(pair.topics)
        return cls(documents, moved, by_topic, value(pair.delta))

    def order(self, budget: int, level: float = LEVEL) -> tuple[list[int], FloatArray]:
        """The documents to judge, and how far each takes U_Risk on its way to another verdict.

        Each next one takes most off the mean square of what U_Risk has still to go plus the squares of the changes
        still to come: twice the mean product of its change and the way. Without the second term large changes that
        cancel each other would come last, and the verdict would waver until then.
        """
        another = self._another_verdict(level)
        changes, way = self.changes[another], self.drawn[another].mean(axis=1) - self.current.mean()
        last = np.where((np.abs(changes) > NO_CHANGE).any(axis=0), np.inf, np.finfo(np.float64).min)
        order, gains = [], []
        for _ in range(min(budget, len(self.documents))):
            gain = np.minimum(way @ changes, last)
            order.append(int(np.argmax(gain)))
            gains.append(max(float(gain[order[-1]]), 0.0) / max(np.sqrt(way.size) * np.linalg.norm(way), NO_CHANGE))
            last[order[-1]] = -np.inf
            way = way - changes[:, order[-1]]
        return order, np.array(gains)

    def _another_verdict(self, level: float) -> BoolArray:
        """The draws whose verdict is not the current one, or that come nearest to it."""
        low, high = interval_of(self.drawn, level)
        now = verdict_of(self.current, level)
        margin = {"better": low, "worse": -high, "undecided": np.minimum(-low, high)}[now]
        return np.asarray(margin <= max(0.0, float(np.quantile(margin, NEAREST, method="lower"))))


def _reason(pair: JudgedPair, topic: int, document: int) -> str:
    """Where the two rankings have a document."""
    own: TopicPair = pair.topics[topic]
    places = [
        f"rank {int(np.flatnonzero(ranked == document)[0]) + 1} of {name}"
        for name, ranked in ((pair.candidate, own.own), (pair.baseline, own.base))
        if (ranked == document).any()
    ]
    return ", ".join(places)


def _notes(verdict: str, expected: str, chances: Mapping[str, float], settled: bool, unjudged: int) -> tuple[str, ...]:
    def word(name: str) -> str:
        return WORDS.get(name, name)

    note = (
        f"the verdict on the candidate: {word(verdict)}; {counted(unjudged, 'document')} of the two rankings unjudged"
    )
    if settled:
        return note, "no judgment can change the verdict any more"
    likely = ", ".join(f"{word(name)} {100 * chance:.0f} %" for name, chance in chances.items())
    return note, f"with the grades that they probably have: {word(expected)}; once all are judged: {likely}"


Grades = dict[str, dict[str, float]]


def merge_qrels(qrels: Qrels, added: Iterable[Qrels]) -> ScoredTopics:
    """All judgments, topic by topic; a document with two different grades is an error.

    Parameters
    ----------
    qrels
        The judgments there are.
    added
        New ones.

    Returns
    -------
    iterable
        Each topic with its documents and their grades, for `surefoot.io.trec_writer.qrels_lines`.

    Examples
    --------
    >>> from surefoot.effectiveness.sources import load_qrels
    >>> merge_qrels(load_qrels({"q": {"d1": 1}}), [load_qrels({"q": {"d2": 0}})])
    [('q', [('d1', 1.0), ('d2', 0.0)])]
    """
    merged = _grades(qrels)
    for new in added:
        for topic, documents in _grades(new).items():
            own = merged.setdefault(topic, {})
            changed = [document for document, grade in documents.items() if own.get(document, grade) != grade]
            if changed:
                raise InputError(
                    new.path,
                    f"topic {topic}: {listed(changed, most=5)} has another grade in {qrels.path}; decide for one",
                )
            own.update(documents)
    return [(topic, list(own.items())) for topic, own in merged.items()]


def _grades(qrels: Qrels) -> Grades:
    return {topic: dict(zip(own, grades.tolist(), strict=True)) for topic, own, grades in qrels.by_topic()}
