"""A system against itself, with and without repeats, and systems whose tasks break.

The gate permutes the trials of each query between the two systems. The study draws from a table of all ways to choose
half of a query's trials, which is the same distribution and fast enough for 2,000 gates; the last table compares it
with the gate itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import combinations, permutations, product

import numpy as np
from scipy.stats import beta

from studies.gate_samples import gate_of, workers
from studies.judged_collections import data
from studies.kept import kept
from studies.version_pairs import seed_of
from surefoot import Rules, Scores, gate, read_scores, risk
from surefoot._typing import FloatArray
from surefoot.release_gate.checker import NET_SHARE
from surefoot.release_gate.finding import SLACK
from surefoot.release_gate.seen import LOSSES_SHARE, MEAN_SHARE, sign_test
from surefoot.results import Column, Result, by_column, signature
from surefoot.stats.repeats import split_trials

GATES, BREAKS, CHECKS, PERMUTATIONS = 2000, 500, 20, 299
ITEMS, TRIALS = (50, 100, 200, 500), (1, 2, 3, 5)
BROKEN = 0.1
RULES = Rules()

Draw = Callable[[np.random.Generator, FloatArray, int], FloatArray]
"""Trials × items of a system whose items have these expected scores."""


def _binary(random: np.random.Generator, expected: FloatArray, trials: int) -> FloatArray:
    return (random.random((trials, expected.size)) < expected).astype(np.float64)


def _graded(random: np.random.Generator, expected: FloatArray, trials: int) -> FloatArray:
    return np.clip(expected + 0.15 * random.standard_normal((trials, expected.size)), 0, 1)


def _reciprocal(random: np.random.Generator, expected: FloatArray, trials: int) -> FloatArray:
    """The reciprocal of a geometric rank, 0 beyond rank 10."""
    ranks = random.geometric(np.maximum(expected, 0.05), (trials, expected.size))
    return np.where(ranks <= 10, 1 / ranks, 0.0)


SCORES: dict[str, Draw] = {"0/1": _binary, "graded": _graded, "RR": _reciprocal}


def tables(less: int = 1) -> Iterator[tuple[str, Result]]:
    yield "Systems against themselves that fail, in percent (95 % interval)", _against_itself(GATES // less)
    yield "Broken tasks found, in percent (95 % interval)", _breaks(BREAKS // less)
    yield "One agent against itself: 50 tasks of tau-bench, 4 trials", _agent()
    yield "The permutations of the study and the gate itself on the same trials", _check(CHECKS // min(less, 4))


def fails(base: FloatArray, own: FloatArray, random: np.random.Generator) -> bool:
    """Whether the gate fails by the trials of two systems, as many of each; trials × items."""
    loss = base.mean(axis=0) - own.mean(axis=0)
    is_repeated = len(base) > 1
    worst = _tail(loss, is_repeated)
    tolerance, limit = RULES.limit("mean_tolerance") + SLACK, RULES.limit("max_tail_loss") + SLACK
    if _refused(loss):
        return True
    if loss.mean() <= tolerance and worst <= limit:
        return False  # no permutation can make it fail
    permuted = _permuted(base, own, random)
    tails = _tail(permuted, is_repeated)
    centre = tails.mean() if is_repeated else 0.0
    mean_p = (1 + np.sum(permuted.mean(axis=1) >= loss.mean() - SLACK)) / (1 + PERMUTATIONS)
    tail_p = (1 + np.sum(tails >= worst - SLACK)) / (1 + PERMUTATIONS)
    by_mean, by_tail = loss.mean() > tolerance, worst - centre > limit
    level = MEAN_SHARE * RULES.level
    return bool((by_mean and mean_p <= level) or (by_tail and tail_p <= level))


def _tail(loss: FloatArray, is_repeated: bool) -> FloatArray:
    """What the worst items lose; without repeats less what the best ones win."""
    count = int(risk.tail_count(loss.shape[-1], RULES.tail_share))
    ordered = np.partition(loss, (count - 1, loss.shape[-1] - count), axis=-1)
    worst = np.maximum(ordered[..., -count:], 0.0).mean(axis=-1)
    return np.asarray(worst if is_repeated else worst - np.maximum(-ordered[..., :count], 0.0).mean(axis=-1))


def _refused(loss: FloatArray) -> bool:
    """Whether the rule on the share of losses fails."""
    lost, won = int(np.sum(loss > 0)), int(np.sum(loss < 0))
    return (
        lost / max(lost + won, 1) > RULES.limit("max_losses") + SLACK
        and (lost - won) / loss.size > NET_SHARE + SLACK
        and sign_test(lost, won) <= LOSSES_SHARE * RULES.level
    )


def _permuted(base: FloatArray, own: FloatArray, random: np.random.Generator) -> FloatArray:
    """Losses under no effect, permutations × items: each item's trials are permuted, half to each system."""
    trials, items = base.shape
    pooled = np.concatenate([own, base])
    chosen = np.array([np.isin(range(2 * trials), one) for one in combinations(range(2 * trials), trials)])
    losses = (pooled.sum(axis=0) - 2 * (chosen @ pooled)) / trials
    return np.asarray(losses[random.integers(len(chosen), size=(PERMUTATIONS, items)), np.arange(items)])


def _expected(random: np.random.Generator, items: int) -> FloatArray:
    return random.uniform(0, 1, items)


def _against_itself(count: int) -> Result:
    cells = list(product(SCORES, ITEMS, TRIALS))
    with workers() as pool:
        failed = dict(zip(cells, pool.map(partial(_failed, count=count), cells), strict=True))
    rows = list(product(SCORES, ITEMS))
    columns: dict[str, Column] = {"scores": [kind for kind, _ in rows], "items": [items for _, items in rows]}
    for trials in TRIALS:
        name = f"{trials} trial{'s' * (trials > 1)}"
        columns[name] = [_share(failed[kind, items, trials], count) for kind, items in rows]
    return Result(signature("against-itself", n=count, level=RULES.level), columns)


def _failed(cell: tuple[str, int, int], count: int) -> int:
    """The number of gates of a system against itself that fail."""
    kind, items, trials = cell
    random, draw = np.random.default_rng(seed_of(*cell)), SCORES[kind]

    def one() -> bool:
        expected = _expected(random, items)
        return fails(draw(random, expected, trials), draw(random, expected, trials), random)

    name = f"gate-itself-{kind.replace('/', '')}-{items}-{trials}-{count}"
    return int(kept(name, lambda: {"failed": np.array([one() for _ in range(count)])})["failed"].sum())


def _share(hits: int, of: int) -> str:
    """A share in percent, with the interval of Clopper and Pearson."""
    low = beta.ppf(0.025, hits, of - hits + 1) if hits else 0.0
    high = beta.ppf(0.975, hits + 1, of - hits) if hits < of else 1.0
    return f"{100 * hits / of:.1f} ({100 * low:.1f} to {100 * high:.1f})"


def _breaks(count: int) -> Result:
    """A tenth of the tasks never succeeds any more; *repaired*: as many others now always succeed."""
    columns: dict[str, list[object]] = {"tasks that break": []}
    for name, least in (("any", 0.0), ("that succeed in half of the trials or more", 0.5)):
        for repaired in (False, True):
            columns["tasks that break"].append(f"{name}{', as many repaired' * repaired}")
            for items in (50, 200):
                random, found = np.random.default_rng(seed_of(name, repaired, items)), 0
                for _ in range(count):
                    expected = _expected(random, items)
                    broken = _broken(expected, least, repaired, random)
                    found += fails(_binary(random, expected, 5), _binary(random, broken, 5), random)
                columns.setdefault(f"{items} tasks × 5 trials", []).append(_share(found, count))
    return Result(signature("broken-tasks", n=count, level=RULES.level), columns)


def _broken(expected: FloatArray, least: float, repaired: bool, random: np.random.Generator) -> FloatArray:
    number = round(BROKEN * expected.size)
    hit = random.permutation(np.flatnonzero(expected >= least))[:number]
    found = expected.copy()
    found[hit] = 0.0
    if repaired:
        others = np.setdiff1d(np.flatnonzero(expected <= 1 - least), hit)
        found[random.permutation(others)[:number]] = 1.0
    return found


def _agent() -> Result:
    scores = read_scores(data() / "tau-bench" / "gpt-4o-airline-trials.csv", measure="success")
    verdicts = [gate(scores, old, candidate=new).verdict for old, new in permutations(scores.systems, 2)]
    trials = np.asarray(scores.values)
    agent = Scores([trials.mean(axis=0)], ["agent"], scores.topics, "success", trials={"agent": trials})
    halves = split_trials(agent, "agent")
    split = [gate(halves, old, candidate=new).verdict for old, new in permutations(halves.systems, 2)]
    rows = {"trial against trial, 12 orders": verdicts, "split_trials, 2 orders": split}
    columns: dict[str, Column] = {"comparison": list(rows)}
    columns |= {v: [found.count(v) for found in rows.values()] for v in ("pass", "undecided", "fail")}
    return Result(signature("tau-bench"), columns)


def _check(count: int) -> Result:
    """How often the study and the gate agree on whether 0/1 trials with broken tasks fail."""
    rows = []
    for trials in (1, 2, 5):
        random, both = np.random.default_rng(trials), []
        for number in range(count):
            expected = _expected(random, 50)
            other = _broken(expected, 0.5, False, random) if number % 2 else expected
            base, own = _binary(random, expected, trials), _binary(random, other, trials)
            means = np.stack([base.mean(axis=0), own.mean(axis=0)])
            repeated = Scores(means, ["old", "new"], range(50), trials={"old": base, "new": own})
            result = gate_of(means) if trials == 1 else gate(repeated, "old", candidate="new")
            both.append((fails(base, own, random), result.verdict == "fail"))
        study, own_gate = np.array(both).T
        rows.append((trials, count, int(own_gate.sum()), int(study.sum()), int(np.sum(study == own_gate))))
    names = ("trials", "gates", "gate fails", "study fails", "the same verdict")
    return Result(signature("dealing", n=count), by_column(rows, names))
