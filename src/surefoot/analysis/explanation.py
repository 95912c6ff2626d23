"""Which groups of queries carry the loss? Each half of the queries proposes groups, and the other half tests them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from surefoot import risk
from surefoot._process import generator
from surefoot._typing import BoolArray, FloatArray
from surefoot.analysis.query_features import (
    FEWEST,
    Condition,
    Feature,
    conditions_of,
    judged_feature,
    own_feature,
    ranking_features,
    text_features,
)
from surefoot.effectiveness.sources import sources_of
from surefoot.errors import SurefootError, counted, listed
from surefoot.io.document_lists import Run
from surefoot.results import Result, signature
from surefoot.scores import Scores, ScoresLike
from surefoot.stats.inference import correct, validate_level
from surefoot.stats.permutation import group_test, welch_t

LEVEL = 0.1
FEWEST_QUERIES = 8 * FEWEST
MOST_PROPOSED = 4
"""The most groups that a half proposes: each further test costs all of them power."""
LEAST_T = 1.5
"""The t that a group must reach on the half that proposes it."""
OTHERS = "all other queries"
COLUMNS = ("group", "queries", "loss", "topics", "mean_loss", "others", "delta", "p", "p_adjusted", "confirmed")


@dataclass(frozen=True, eq=False, kw_only=True)
class Explanation(Result):
    """A row for each group that was tested; see `explain` for the columns. ``members`` are the topics of each."""

    topics: tuple[str, ...]
    members: tuple[BoolArray, ...]

    def segments(self) -> dict[str, str]:
        """The segment of each topic, for `surefoot.analysis.evaluate_segments`, the gate and the report.

        A topic in several confirmed groups belongs to the first of them.
        """
        groups = [row for row, confirmed in enumerate(self["confirmed"]) if confirmed]
        found = dict.fromkeys(self.topics, OTHERS)
        for row in reversed(groups):
            found |= {topic: str(self["group"][row]) for topic, own in zip(self.topics, self.members[row], strict=True)
                      if own}  # fmt: skip
        return found

    def sentences(self) -> list[str]:
        """The confirmed groups in words."""
        return [_sentence(row) for row in self.rows() if row["confirmed"]]

    def readable(self) -> Result:
        """The rows with fractions in percent."""
        columns: dict[str, Any] = dict(self.columns)
        for name in ("queries", "loss"):
            columns[name] = [f"{100 * value:.0f} %" for value in self[name]]
        columns["confirmed"] = ["yes" if value else "no" for value in self["confirmed"]]
        return Result(self.signature, columns, self.notes)


def explain(
    scores: ScoresLike,
    system: str,
    baseline: str,
    *,
    queries: Mapping[str, str] | None = None,
    runs: Any = None,
    documents: Iterable[str] | None = None,
    features: Mapping[str, Mapping[str, object]] | None = None,
    level: float = LEVEL,
    n_resamples: int = 10_000,
    seed: int = 0,
) -> Explanation:
    """Which groups of queries carry the loss?

    Groups depend on the queries only, not on their scores: on their text, the agreement of the two rankings, the fall
    of the scores within a ranking, and the share of judged documents. The queries are split in random halves. One half
    proposes the group whose mean loss exceeds that of the other queries most (by Welch's t), then the next among the
    remaining queries, up to four. The other half tests each group, without the queries of the groups before it, by a
    studentised permutation test. Then the halves swap roles. Holm's correction at level / 2 on each half bounds the
    probability that any group is confirmed by chance by ``level``, whatever the dependence of groups and halves.

    Parameters
    ----------
    scores
        Systems × topics of one effectiveness measure; anything that `Scores.of` takes.
    system, baseline
        The system, and a system or MEAN, MEDIAN or MAX of each topic to compare it with.
    queries
        The text of each topic.
    runs
        The rankings of the two systems, as `surefoot.score_runs` takes them.
    documents
        The texts of the collection, to compute how rare words are; by default the queries' own texts.
    features
        Your own features: for each name, the value of each topic. Numbers are cut at quantiles, labels are groups.
    level
        The probability at which any group may be confirmed by chance.
    n_resamples, seed
        The number of resamples of the permutation tests, and the random seed, which also splits the queries.

    Returns
    -------
    Explanation
        Columns ``group, queries, loss, topics, mean_loss, others, delta, p, p_adjusted, confirmed``: the group in
        words, its fraction of the queries and of the loss, its number of topics in all, the mean loss max(0, baseline -
        system) of the group and of the other queries, the mean difference of the group, p, p adjusted (to compare with
        the level), and whether it is confirmed. Fractions and means are over all queries of the half that tested the
        group, or of both; only p leaves out the queries of groups before it. The largest excess of loss comes first.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> topics = [f"q{number}" for number in range(200)]
    >>> texts = {topic: "size 42 shoes" if rng.random() < 0.2 else "blue shoes" for topic in topics}
    >>> old = {topic: rng.uniform(0.4, 0.9) for topic in topics}
    >>> new = {topic: old[topic] - 0.3 * ("42" in texts[topic]) + rng.normal(0, 0.05) for topic in topics}
    >>> found = explain({"old": old, "new": new}, "new", "old", queries=texts)
    >>> [(row["group"], row["confirmed"]) for row in found.rows()]
    [('queries with a number', True)]

    """
    scores = Scores.of(scores)
    delta = scores[system] - scores.baseline(baseline)
    validate_level(level)
    if delta.size < FEWEST_QUERIES:
        raise SurefootError(
            f"groups are found on one half of the queries and tested on the other, which needs {FEWEST_QUERIES} "
            f"queries or more; got {delta.size}"
        )
    conditions = conditions_of(_features(scores, (system, baseline), queries, runs, documents, features))
    if not conditions:
        raise SurefootError(
            f"the {delta.size} queries have no features: give their texts (queries), or runs instead of a score table"
        )
    loss = np.maximum(-delta, 0.0)
    found = search(loss, conditions, n_resamples, seed) if loss.any() else []
    confirmed = without_redundant([one for one in found if one.p_adjusted <= level], loss)
    found = [*confirmed, *(one for one in found if one.p_adjusted > level)]
    fields = {"system": system, "baseline": baseline, "topics": delta.size, "groups": len(conditions), "level": level}
    text = signature("explain", scores, **fields, n_resamples=n_resamples, seed=seed)
    rows = [_row(one, delta, level) for one in found]
    columns = {name: np.array([row[name] for row in rows]) for name in COLUMNS}
    members = tuple(one.condition.members for one in found)
    notes = (*scores.all_notes, *_notes(rows, loss, len(conditions), level))
    return Explanation(signature=text, columns=columns, notes=notes, topics=scores.topics, members=members)


def _features(
    scores: Scores,
    names: tuple[str, str],
    queries: Mapping[str, str] | None,
    runs: Any,
    documents: Iterable[str] | None,
    features: Mapping[str, Mapping[str, object]] | None,
) -> Iterator[Condition | Feature]:
    if queries is not None:
        missing = [topic for topic in scores.topics if topic not in queries]
        if missing:
            raise SurefootError(f"no text of {counted(len(missing), 'topic')}: {listed(missing, 5)}")
        yield from text_features([queries[topic] for topic in scores.topics], documents)
    if runs is not None:
        system, baseline = _rankings(runs, names)
        yield from ranking_features(system, baseline, scores.topics)
    if scores.judged is not None:
        for name in names:
            if name in scores.systems:
                yield judged_feature(name, scores.judged[scores.row(name)])
    for name, values in (features or {}).items():
        yield from own_feature(name, [values.get(topic) for topic in scores.topics])


def _rankings(runs: Any, names: tuple[str, str]) -> list[Run]:
    """The runs of two systems."""
    sources = {source.expected_name("file"): source for source in sources_of(runs)}
    absent = [name for name in names if name not in sources]
    if absent:
        raise SurefootError(f"no run of {listed(absent)} among those given: {listed(sources)}")
    return [sources[name].load("file", "error") for name in names]


def _row(one: Tested, delta: FloatArray, level: float) -> dict[str, Any]:
    """The row of a group, over the half or halves that tested it; only p leaves out the groups before it."""
    inside, own = one.condition.members[one.tested_on], delta[one.tested_on]
    whole, within, others = (float(risk.frisk(part, np.zeros(part.size))) for part in (own, own[inside], own[~inside]))
    return {
        "group": one.condition.words,
        "queries": float(inside.mean()),
        "loss": float(inside.mean()) * within / whole if whole else 0.0,
        "topics": int(one.condition.members.sum()),
        "mean_loss": within,
        "others": others,
        "delta": float(own[inside].mean()),
        "p": one.p,
        "p_adjusted": one.p_adjusted,
        "confirmed": one.p_adjusted <= level,
    }


def _sentence(row: Mapping[str, Any]) -> str:
    return f"{row['group']}: {100 * row['queries']:.0f} % of queries, {100 * row['loss']:.0f} % of the loss"


def _notes(rows: Sequence[Mapping[str, Any]], loss: FloatArray, groups: int, level: float) -> Iterator[str]:
    """The findings in words."""
    confirmed = [row for row in rows if row["confirmed"]]
    yield from map(_sentence, confirmed)
    lost = int((loss > 0).sum())
    summary = (
        f"{counted(lost, 'query')} of {loss.size} lost, {loss.mean():.4f} on average; {groups} groups were compared"
    )
    if not confirmed:
        yield f"no group is confirmed at level {level:g}: the loss may be spread over all queries, or there are too few"
    yield f"{summary}; {len(rows)} tested on queries that did not propose them"


@dataclass(frozen=True, eq=False)
class Tested:
    """A proposed condition: the queries of the half or halves that tested it, its p and its adjusted p."""

    condition: Condition
    tested_on: BoolArray
    p: float
    p_adjusted: float

    def excess(self, loss: FloatArray) -> float:
        """The fraction of the loss less the fraction of the queries, where it was tested."""
        inside = self.condition.members[self.tested_on]
        return float(loss[self.tested_on][inside].sum() / max(loss[self.tested_on].sum(), 1e-300) - inside.mean())

    def merged_with(self, other: Tested) -> Tested:
        """The condition tested on both halves; one of them is enough to confirm it."""
        tested_on = self.tested_on | other.tested_on
        return Tested(self.condition, tested_on, min(self.p, other.p), min(self.p_adjusted, other.p_adjusted))


def search(loss: FloatArray, conditions: Sequence[Condition], n_resamples: int, seed: int) -> list[Tested]:
    """The conditions, each tested on a half that did not propose it, the largest excess first.

    Adjusted p are Holm's over the tests of a half, times 2 for the two halves: if each half falsely confirms a group
    with probability level / 2, either of them does with probability level at most, whatever their dependence.
    """
    first = np.zeros(loss.size, np.bool_)
    first[generator(seed).permutation(loss.size)[::2]] = True
    found: dict[bytes, Tested] = {}
    for half in (first, ~first):
        for one in confirmations(~half, proposed_by(half, loss, conditions), loss, n_resamples, seed):
            key = one.condition.members.tobytes()
            found[key] = found[key].merged_with(one) if key in found else one
    return sorted(found.values(), key=lambda one: -one.excess(loss))


def proposed_by(half: BoolArray, loss: FloatArray, conditions: Sequence[Condition]) -> list[Condition]:
    """The group with the highest t, then the one with the highest t among the remaining queries, and so on."""
    left, members = half.copy(), np.array([one.members for one in conditions])
    proposed: list[Condition] = []
    while len(proposed) < MOST_PROPOSED:
        testable = np.flatnonzero(_can_be_tested(members[:, left]))
        t = welch_t(loss[left], members[np.ix_(testable, left)])
        if not t.size or t.max() < LEAST_T:
            break
        best = int(testable[np.argmax(t)])
        proposed.append(conditions[best])
        left &= ~members[best]
    return proposed


def confirmations(
    half: BoolArray, proposed: Sequence[Condition], loss: FloatArray, n_resamples: int, seed: int
) -> list[Tested]:
    """Test each group among the queries that are in no group before it; groups too small to test drop out."""
    left, p = half.copy(), []
    for one in proposed:
        inside = one.members[np.newaxis, left]
        p.append(group_test(loss[left], inside, n_resamples, seed)[0] if _can_be_tested(inside)[0] else np.nan)
        left &= ~one.members
    adjusted = np.minimum(2 * correct(p, "holm"), 1.0)
    both = zip(proposed, p, adjusted, strict=True)
    return [Tested(one, half, float(own), float(two)) for one, own, two in both if np.isfinite(own)]


def _can_be_tested(members: BoolArray) -> BoolArray:
    """Which groups have enough queries on either side."""
    sizes = members.sum(axis=1)
    return np.asarray((sizes >= FEWEST) & (members.shape[1] - sizes >= FEWEST))


def without_redundant(found: Sequence[Tested], loss: FloatArray) -> list[Tested]:
    """The groups that still lose more than the other queries once the queries of earlier groups are left out.

    Dropping confirmed groups cannot make a confirmation false.
    """
    kept: list[Tested] = []
    left = np.ones(loss.size, np.bool_)
    for one in found:
        inside, outside = left & one.condition.members, left & ~one.condition.members
        if inside.any() and outside.any() and loss[inside].mean() > loss[outside].mean():
            kept.append(one)
            left = outside
    return kept
