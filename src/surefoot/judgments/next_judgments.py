"""What to judge next: the unjudged documents whose grades cause most of the uncertainty about a candidate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from surefoot._process import generator
from surefoot._typing import FloatArray
from surefoot.errors import InputError, SurefootError, counted, listed
from surefoot.io.document_lists import Qrels, digests_of
from surefoot.io.trec_writer import ScoredTopics
from surefoot.judgments.bounds import weights_of
from surefoot.judgments.credibility import NO_CHANGE, draws_for
from surefoot.judgments.judged_runs import JudgedPair, JudgedRuns, TopicPair
from surefoot.judgments.unjudged import GradeModel
from surefoot.results import Result, plain, signature
from surefoot.risk.moments import Moments
from surefoot.risk.values import Linear, validate_alpha
from surefoot.stats.inference import LEVEL, critical_value

VERDICTS = ("worse", "undecided", "better")
WORDS = {"undecided": "not enough evidence"}
ENOUGH = 0.95
"""The probability of a verdict from which on nothing needs to be judged."""


@dataclass(frozen=True, eq=False, kw_only=True)
class NextJudgments(Result):
    """A row for each document to judge, the most important first.

    ``verdict`` is the most likely one once all documents are judged, ``probability`` how likely it is, and ``chances``
    those of all verdicts. ``urisk`` is expected, with the standard deviation ``urisk_sd`` that unjudged documents give
    it.
    """

    verdict: str
    probability: float
    chances: Mapping[str, float]
    urisk: float
    urisk_sd: float
    unjudged: int

    def extra(self) -> dict[str, Any]:
        """The verdict and how likely it is, for JSON."""
        names = ("verdict", "probability", "chances", "urisk", "urisk_sd", "unjudged")
        return {name: plain(getattr(self, name)) for name in names}


def next_judgments(
    runs: JudgedRuns,
    candidate: str,
    baseline: str,
    alpha: float = 0.0,
    *,
    budget: int = 50,
    level: float = LEVEL,
    enough: float = ENOUGH,
    n_draws: int | None = None,
    seed: int = 0,
) -> NextJudgments:
    """The documents to judge next, so that U_Risk of a candidate, and with it the verdict, is soon known.

    The verdict is "better" or "worse" where the interval of U_Risk (Student's t over topics) excludes 0, else
    "undecided". Unjudged documents do not count 0: their grades are drawn from `GradeModel`, and the verdict with the
    largest share of draws is given with this share. Documents come in the order of the uncertainty of U_Risk that their
    grades carry, whichever verdict they speak for. Judge some, merge, and ask again: the model learns from them.

    Parameters
    ----------
    runs
        Runs with judgments, read by `JudgedRuns.read`.
    candidate, baseline
        The names of two of the runs.
    alpha
        The additional weight of losses; 0 for the difference of the means.
    budget
        The largest number of documents to list.
    level
        The significance level of the verdict.
    enough
        No document is listed if the verdict has at least this probability.
    n_draws, seed
        How many times grades are drawn (by default as in `surefoot.credibility`), and the seed.

    Returns
    -------
    NextJudgments
        Columns ``topic, document, priority, reason``; the priority is the standard deviation that the grade of the
        document gives U_Risk; without language models, before the measure is normalised.

    Examples
    --------
    >>> topics = ("q1", "q2", "q3")
    >>> old, new = ({topic: {"bad": 1.0} for topic in topics}, {topic: {"good": 1.0} for topic in topics})
    >>> old["q4"], new["q4"] = {"good": 2.0, "d1": 1.0}, {"d2": 2.0, "good": 1.0}
    >>> qrels = {topic: {"good": 1, "bad": 0} for topic in (*topics, "q4")}
    >>> runs = JudgedRuns.read({"old": old, "new": new}, qrels, "nDCG@2")
    >>> found = next_judgments(runs, "new", "old", enough=1)
    >>> found["document"].tolist(), found["reason"].tolist()
    (['d2', 'd1'], ['rank 1 of new', 'rank 2 of old'])
    """
    if budget < 1:
        raise SurefootError(f"the budget must be at least 1; got {budget}")
    if not 0 < enough <= 1:
        raise SurefootError(f"the probability that is enough must lie above 0 and at most at 1; got {enough:g}")
    if candidate == baseline:
        raise SurefootError(f"candidate and baseline are both {baseline}; name two runs")
    alpha, pair, n_draws = validate_alpha(alpha), runs.pair(candidate, baseline), draws_for(len(runs.topics), n_draws)
    found = Uncertainty.draw(pair, GradeModel.of(runs, pair), alpha, n_draws, seed)
    chances = found.chances(level)
    verdict = max(VERDICTS, key=chances.__getitem__)
    is_enough = chances[verdict] >= enough and (enough < 1 or not found.documents)
    order = [] if is_enough else found.order()[:budget]
    first = [found.documents[index] for index in order]
    options = {"level": level, "runs": len(runs.rankings), "llm": digests_of(runs.llm_qrels), "budget": budget}
    options |= {"enough": enough, "n_draws": n_draws, "seed": seed}
    urisk = found.values.mean(axis=1)
    return NextJudgments(
        signature=signature(
            "judge", measure=runs.measure, candidate=candidate, baseline=baseline, alpha=alpha, **options
        ),
        columns={
            "topic": [runs.topics[topic] for topic, _ in first],
            "document": [pair.documents(topic)[document] for topic, document in first],
            "priority": found.priorities[order],
            "reason": [_reason(pair, *document) for document in first],
        },
        notes=(*_notes(verdict, chances, is_enough, len(found.documents)), *runs.notes),
        verdict=verdict,
        probability=chances[verdict],
        chances=chances,
        urisk=float(urisk.mean()),
        urisk_sd=float(urisk.std()),
        unjudged=len(found.documents),
    )


def verdicts_of(x: FloatArray, level: float = LEVEL) -> npt.NDArray[Any]:
    """The verdict of each row of values, draws × topics, by Student's interval of the mean; undecided for one topic."""
    moments = Moments.of(x)
    reach = np.nan_to_num(critical_value(x.shape[1], level) * moments.se, nan=np.inf)
    return np.select([moments.mean < -reach, moments.mean > reach], [VERDICTS[0], VERDICTS[2]], VERDICTS[1])


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """The uncertainty that the grades of unjudged documents cause.

    ``documents`` are pairs of a topic and an index in its pair, ``priorities`` the standard deviation that the grade of
    each gives U_Risk, to first order; without language models, that of the discounted gains, as the best ranking is
    hardly known. ``values`` are those of the topics by all drawn grades, draws × topics.
    """

    documents: list[tuple[int, int]]
    priorities: FloatArray
    values: FloatArray

    @classmethod
    def draw(cls, pair: JudgedPair, model: GradeModel, alpha: float, n: int, seed: int = 0) -> Uncertainty:
        """Estimate it by n draws of all unjudged grades.

        A change of the difference of a topic changes U_Risk by 1 + alpha times as much where the topic loses.
        """
        random = generator(seed)
        shared = model.draw_shared(random, n)
        documents: list[tuple[int, int]] = []
        priorities, drawn = [], []
        for topic, own in enumerate(pair.topics):
            grades = model.fill(topic, own.codes, own.grades, shared, random)
            rest = model.draw_rest(topic, own, shared, random)
            deltas = pair.deltas(own, grades, rest)
            drawn.append(deltas)
            weight = (1 + alpha * float(np.mean(deltas < -NO_CHANGE))) / len(pair.topics)
            spread = np.abs(weights_of(pair, own)) * grades.std(axis=0)
            for document in np.flatnonzero(own.unjudged).tolist():
                documents.append((topic, document))
                if model.layout.scales:
                    zeroed = grades.copy()
                    zeroed[:, document] = 0
                    spread[document] = np.std(deltas - pair.deltas(own, zeroed, rest))
                priorities.append(weight * float(spread[document]))
        return cls(documents, np.array(priorities), Linear(alpha)(np.stack(drawn, axis=1)))

    def order(self) -> list[int]:
        """The indices of the documents, the highest priority first."""
        return [int(index) for index in np.argsort(-self.priorities.round(12), kind="stable")]

    def chances(self, level: float = LEVEL) -> dict[str, float]:
        """The probability of each verdict once all documents are judged."""
        verdicts = verdicts_of(self.values, level)
        return {name: float(np.mean(verdicts == name)) for name in VERDICTS}


def _reason(pair: JudgedPair, topic: int, document: int) -> str:
    """The ranks of a document in the two rankings."""
    own: TopicPair = pair.topics[topic]
    places = [
        f"rank {int(np.flatnonzero(ranked == document)[0]) + 1} of {name}"
        for name, ranked in ((pair.candidate, own.own), (pair.baseline, own.base))
        if (ranked == document).any()
    ]
    return ", ".join(places)


def _notes(verdict: str, chances: Mapping[str, float], is_enough: bool, unjudged: int) -> tuple[str, ...]:
    def word(name: str) -> str:
        return WORDS.get(name, name)

    left = counted(unjudged, "document")
    if not unjudged:
        return (f"U_Risk of the candidate: {word(verdict)}; all documents of the two rankings are judged",)
    others = ", ".join(f"{word(name)} {100 * chances[name]:.0f} %" for name in VERDICTS if name != verdict)
    likely = f"{word(verdict)} (probability {100 * chances[verdict]:.0f} %; {others})"
    note = f"the expected verdict on U_Risk once all documents are judged: {likely}"
    rest = f"{left} of the two rankings unjudged"
    return note, rest + ("; the verdict is probable enough, so none needs to be judged" if is_enough else "")


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
    merged = {topic: dict(zip(own, grades.tolist(), strict=True)) for topic, own, grades in qrels.by_topic()}
    for new in added:
        for topic, ids, grades in new.by_topic():
            documents = dict(zip(ids, grades.tolist(), strict=True))
            own = merged.setdefault(topic, {})
            changed = [document for document, grade in documents.items() if own.get(document, grade) != grade]
            if changed:
                raise InputError(
                    new.path,
                    f"topic {topic}: {listed(changed, most=5)} has another grade in {qrels.path}; decide for one",
                )
            own.update(documents)
    return [(topic, list(own.items())) for topic, own in merged.items()]
