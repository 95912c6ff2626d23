"""Does `explain` find planted groups, does it leave the others alone, and do real groups come back on other queries?

Protocol, written before the first run.

- Simulated queries have two to nine words of a Zipf vocabulary; a number, a question word and a negation each replace
  a word, at random and independently of each other and of the length. Scores are those of two exchangeable systems of
  `surefoot.stats.Simulator`, once with the built-in margins (ERR@20 of the Web track), once with margins like nDCG@10.
  `explain` is called as a user calls it, with the texts alone, all defaults but 999 permutations.
- Nothing planted: whatever is confirmed is false; at most a tenth of the collections may have a false group. The same
  where a group's losses are half as many and twice as large, so that its mean loss is that of the others. Beside it
  what a search without confirmation finds: any group with p below 0.05 on all queries.
- Planted: the candidate loses so much on all queries of a group, clipped at 0. Found is the planted group, false any
  other: features are independent, so no other group truly loses more. Of two planted groups each counts.
- Real queries: BM25 and candidates of the embedded collection and of NFCorpus, as in `studies.guard`. The queries are
  split in halves ten times; `explain` searches one half (splitting it once more), and the groups that it confirms
  are looked at on the other: do they again have more of the loss than of the queries, with p below 0.05 at the same
  test? Beside it the group with the highest t of the same half, without confirmation. Halves of one set of queries
  overlap between splits, so the counts are no independent trials.
- The constants of `surefoot.analysis.explanation` were set before any of this was run.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import numpy as np
from scipy.special import stdtr

from studies.collections import nominal_bounds
from studies.guard import MEASURE, written
from surefoot._typing import BoolArray, FloatArray
from surefoot.analysis.explanation import LEVEL, explain, search, without_redundant
from surefoot.analysis.query_features import Condition, conditions_of, ranking_features, text_features
from surefoot.effectiveness import score_runs
from surefoot.io.texts import read_queries
from surefoot.io.trec import read_run
from surefoot.results import Result, by_column, signature
from surefoot.stats.permutation import group_test, welch_t
from surefoot.stats.simulator import Simulator, ZeroInflatedBeta

NDCG = Simulator.standard(["old", "new"], ZeroInflatedBeta(zero=0.05, one=0.02, a=1.5, b=1.5), 0.7)
MARGINS = {"built-in": Simulator.standard(["old", "new"]), "like nDCG@10": NDCG}
COLLECTIONS, PERMUTATIONS, SPLITS = 200, 999, 10
SIZES = (50, 100, 200, 500, 1000)
AMOUNTS = (0.1, 0.2, 0.3)
NUMBER, QUESTION, LONG = "queries with a number", "questions", "words or more"


def tables(less: int = 1) -> Iterator[tuple[str, Result]]:
    count = max(COLLECTIONS // less, 2)
    yield "Nothing planted: collections with a false group", false_alarms(count)
    yield "One planted group", planted(count // 2)
    yield "Two planted groups", planted_pairs(count // 2)
    names = ("embedded", "NFCorpus") if "SUREFOOT_DATA" in os.environ else ("embedded",)
    for name in names:
        yield f"Groups of one half on the other: {name}", replication(name, max(SPLITS // less, 1))


def simulated_texts(count: int, random: np.random.Generator) -> list[str]:
    texts = []
    for _ in range(count):
        words = [f"w{rank}" for rank in random.zipf(1.3, random.integers(2, 10)) if rank < 2000] or ["w1"]
        words = [_letters(word) for word in words]
        for chance, choice in ((0.12, ["1998", "42", "7"]), (0.06, ["not", "without"])):
            if random.random() < chance:
                words[-1 if chance > 0.1 else len(words) // 2] = str(random.choice(choice))
        if random.random() < 0.25:
            words[0] = str(random.choice(["what", "how", "who"]))
        texts.append(" ".join(words))
    return texts


def _letters(word: str) -> str:
    """The name of a word without digits."""
    return word.translate(str.maketrans("0123456789", "abcdefghij"))


def members_of(words: str, texts: Sequence[str]) -> BoolArray:
    """The topics of a group that is planted."""
    if words == LONG:
        return np.array([len(text.split()) >= 8 for text in texts])
    return next(one.members for one in text_features(texts) if isinstance(one, Condition) and one.words == words)


def found_groups(values: FloatArray, texts: Sequence[str], seed: int) -> list[str]:
    """The confirmed groups, as a user gets them."""
    topics = [f"q{number}" for number in range(len(texts))]
    scores = {
        name: dict(zip(topics, row.tolist(), strict=True)) for name, row in zip(("old", "new"), values, strict=True)
    }
    texts_of = dict(zip(topics, texts, strict=True))
    found = explain(scores, "new", "old", queries=texts_of, n_resamples=PERMUTATIONS, seed=seed)
    return [str(row["group"]) for row in found.rows() if row["confirmed"]]


def unconfirmed(values: FloatArray, texts: Sequence[str]) -> bool:
    """Whether a search on all queries finds a group with p below 0.05."""
    loss = np.maximum(values[0] - values[1], 0)
    groups = np.array([one.members for one in conditions_of(text_features(texts))])
    return bool((stdtr(loss.size - 2, -welch_t(loss, groups)) < 0.05).any())


def rarer_losses(values: FloatArray, texts: Sequence[str], random: np.random.Generator) -> FloatArray:
    """Half as many losses, twice as large, for queries with a number: the same mean loss."""
    loss, inside = np.maximum(values[0] - values[1], 0), members_of(NUMBER, texts) & (values[1] < values[0])
    moved = np.where(random.random(loss.size) < 0.5, 0.0, 2 * loss)
    return np.stack([values[0], np.where(inside, values[0] - moved, values[1])])


def false_alarms(count: int) -> Result:
    rows = []
    for name, simulator in MARGINS.items():
        for rarer in (False, True):
            for size in SIZES:
                some, naive = 0, 0
                for seed in range(count):
                    random = np.random.default_rng([size, seed])
                    texts, values = simulated_texts(size, random), simulator.values(size, seed)
                    values = rarer_losses(values, texts, random) if rarer else values
                    some += bool(found_groups(values, texts, seed))
                    naive += unconfirmed(values, texts)
                _, high = nominal_bounds(count, LEVEL)
                rate = some / count
                rows.append((name, "rarer, larger losses" if rarer else "none", size, rate, f"at most {high:.3f}",
                             "above" if rate > high else "within", naive / count))  # fmt: skip
    names = ("margins", "difference", "queries", "false", "bounds", "verdict", "without confirmation")
    return Result(signature("explain-null", collections=count), by_column(rows, names))


def planted(count: int) -> Result:
    rows = []
    for name, simulator in MARGINS.items():
        for group in (NUMBER, QUESTION, LONG):
            for amount in AMOUNTS:
                for size in SIZES[1:4]:
                    found, false, _ = plant(simulator, {group: amount}, size, count)
                    rows.append((name, group, amount, size, found[0], false))
    return Result(
        signature("explain-planted", collections=count),
        by_column(rows, ("margins", "group", "loss", "queries", "found", "false")),
    )


def planted_pairs(count: int) -> Result:
    rows = []
    for name, simulator in MARGINS.items():
        for size in SIZES[1:4]:
            found, false, both = plant(simulator, {NUMBER: 0.3, LONG: 0.2}, size, count)
            rows.append((name, size, *found, both, false))
    names = ("margins", "queries", "number, 0.3", "long, 0.2", "both", "false")
    return Result(signature("explain-pairs", collections=count), by_column(rows, names))


def plant(simulator: Simulator, amounts: dict[str, float], size: int, count: int) -> tuple[list[float], float, float]:
    """How often each group is found, how often any other is, how often all are."""
    found, false, every = np.zeros(len(amounts)), 0, 0
    for seed in range(count):
        random = np.random.default_rng([size, seed])
        texts, values = simulated_texts(size, random), simulator.values(size, seed).copy()
        for group, amount in amounts.items():
            values[1] = np.maximum(values[1] - amount * members_of(group, texts), 0)
        groups = found_groups(values, texts, seed)
        hit = np.array([any(group in own for own in groups) for group in amounts])
        found += hit
        every += bool(hit.all())
        false += any(not any(group in own for group in amounts) for own in groups)
    return (found / count).tolist(), false / count, every / count


def replication(name: str, splits: int) -> Result:
    folder = written(name)
    queries = read_queries(folder / "queries.tsv")
    scores = score_runs(sorted(folder.glob("*.run")), folder / "qrels.txt", MEASURE)
    texts = [queries[topic] for topic in scores.topics]
    baseline = read_run(folder / "BM25.run")
    rows = []
    for system in scores.systems:
        if system == "BM25":
            continue
        ranked = ranking_features(read_run(folder / f"{system}.run"), baseline, scores.topics)
        conditions = conditions_of([*text_features(texts), *ranked])
        loss = np.maximum(scores["BM25"] - scores[system], 0)
        checked, guessed = [], []
        for split in range(splits):
            half = np.random.default_rng([split]).permutation(loss.size) < loss.size // 2
            checked += [checked_on(~half, loss, one) for one in confirmed_on(half, loss, conditions, split)]
            guessed.append(checked_on(~half, loss, highest_on(half, loss, conditions)))
        rows.append((system, len(conditions), *_summary(checked), *_summary(guessed)[1:3]))
        print(f"{name}: {system}", flush=True)
    names = ("candidate", "groups", "confirmed", "again more loss", "p < 0.05", "% of queries", "% of loss",
             "highest t: again more", "highest t: p < 0.05")  # fmt: skip
    return Result(
        signature("explain-replication", measure=MEASURE, queries=len(texts), splits=splits), by_column(rows, names)
    )


def confirmed_on(half: BoolArray, loss: FloatArray, conditions: Sequence[Condition], seed: int) -> list[Condition]:
    own = [Condition(one.words, one.members[half]) for one in conditions]
    by_words = {one.words: one for one in conditions}
    found = search(loss[half], [one for one in own if one.is_usable], PERMUTATIONS, seed)
    kept = without_redundant([one for one in found if one.p_adjusted <= LEVEL], loss[half])
    return [by_words[one.condition.words] for one in kept]


def highest_on(half: BoolArray, loss: FloatArray, conditions: Sequence[Condition]) -> Condition:
    t = welch_t(loss[half], np.array([one.members[half] for one in conditions]))
    return conditions[int(np.argmax(t))]


def checked_on(half: BoolArray, loss: FloatArray, one: Condition) -> tuple[float, float, float]:
    """The fractions of queries and of loss that a group has on a half, and p."""
    inside = one.members[half]
    p = group_test(loss[half], inside[np.newaxis], PERMUTATIONS)[0]
    return float(inside.mean()), float(loss[half][inside].sum() / loss[half].sum()), float(p)


def _summary(checked: Sequence[tuple[float, float, float]]) -> tuple[object, ...]:
    if not checked:
        return 0, 0, 0, "", ""
    queries, loss, p = np.array(checked).T
    means = (f"{100 * queries.mean():.0f}", f"{100 * loss.mean():.0f}")
    return len(checked), int((loss > queries).sum()), int((p < 0.05).sum()), *means
