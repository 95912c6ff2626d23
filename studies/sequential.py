"""How often the sequential gate is wrong if it is looked at after every item, and how many items it saves.

docs/studies/sequential.md has the protocol, which was committed before the first run on the collections held back.
Streams have 1,000 items. The verdict of a stream is the first decision of `SequentialChecker`'s rules mean, tail and
losses, computed here for all streams at once; a table compares it with the gate itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from math import log

import numpy as np

from studies.gate_samples import FAIL, PASS, UNDECIDED, gate_of, strict_verdict
from studies.kept import Row, kept_row
from studies.version_pairs import DEVELOPMENT, HELD_BACK, planted, seed_of, sets
from surefoot import Rules, Scores, SequentialGate
from surefoot._typing import BoolArray, FloatArray
from surefoot.release_gate.checker import NET_SHARE
from surefoot.release_gate.finding import SLACK, VERDICTS, ScoredPair
from surefoot.release_gate.seen import SeenChecker
from surefoot.release_gate.sequential import PARTS, SHARE_GAP
from surefoot.release_gate.strict import Levels, StrictChecker, mean_interval
from surefoot.results import Result, by_column, signature
from surefoot.risk.distributions import normal_quantile
from surefoot.stats.inference import POWER
from surefoot.stats.mean_bounds import betting_capital, tail_capital

STREAMS, ITEMS, LEVEL = 1000, 1000, 0.05
TOLERANCE, TAIL, SHARE, LOSSES = 0.02, 0.25, 0.1, 0.8
FAIL_PARTS = 6 + 3 + 1 + 1
"""Parts of the level for failing: mean, tail, losses and large-losses, which is on but only reported."""
SIZES = (50, 100, 200, 500, 1000)
KINDS = ("equal", "better", "worse", "heavy")
TRUTHS = ("beyond by mean or tail", "beyond only by losses", "harmless")
NEVER = ITEMS + 1

try:
    np.float_ = np.float64  # type: ignore[attr-defined]  # confseq 0.0.11 is older than numpy 2
    betting_mart = import_module("confseq.betting").betting_mart
except ImportError as error:
    print(f"confseq is left out: {error}")
    betting_mart = None

Draw = Callable[[np.random.Generator, tuple[int, int]], FloatArray]


def first(paths: FloatArray, level: float) -> FloatArray:
    """After how many items each path reaches its level; NEVER if it does not."""
    hit = paths >= log(1 / level)
    return np.where(hit.any(axis=1), hit.argmax(axis=1) + 1, NEVER)


def by_mean(loss: FloatArray) -> tuple[FloatArray, FloatArray]:
    """When the mean passes and fails."""
    passed = first(betting_capital(loss, TOLERANCE, 1.0, TOLERANCE), LEVEL)
    return passed, first(betting_capital(-loss, -TOLERANCE, 1.0, TOLERANCE), LEVEL * PARTS["mean"] / FAIL_PARTS)


def by_tail(loss: FloatArray) -> tuple[FloatArray, FloatArray]:
    """When the tail passes and fails."""
    passed = first(tail_capital(loss, TAIL, SHARE, 1.0), LEVEL)
    return passed, first(tail_capital(-loss, -TAIL, SHARE, 1.0), LEVEL * PARTS["tail"] / FAIL_PARTS)


def by_losses(loss: FloatArray) -> FloatArray:
    """When the rule losses fails: its capital was enough, and losses exceed wins and the tolerance at this look."""
    found = []
    for row in loss:
        changed = np.flatnonzero(np.abs(row) > SLACK)
        lost = (row[changed] > SLACK).astype(np.float64)
        enough = (
            first(betting_capital(-lost, -LOSSES, 0.0, SHARE_GAP)[None], LEVEL / FAIL_PARTS)[0] if lost.size else NEVER
        )
        looks = np.arange(1, ITEMS + 1)
        net = np.cumsum(np.sign(np.where(np.abs(row) > SLACK, row, 0.0))) / looks > NET_SHARE + SLACK
        may = net & (np.cumsum(row) >= TOLERANCE * np.cumsum(np.abs(row) > SLACK))
        since = changed[int(enough) - 1] if enough <= lost.size else ITEMS
        late = np.flatnonzero(may[since:])
        found.append(since + late[0] + 1 if late.size else NEVER)
    return np.array(found)


def decided(loss: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The first verdict of each stream, and after how many items; some streams at a time, which fit in a cache."""
    found = [_decided(loss[start : start + 15]) for start in range(0, len(loss), 15)]
    verdict, when = (np.concatenate(own) for own in zip(*found, strict=True))
    return verdict, when


def _decided(loss: FloatArray) -> tuple[FloatArray, FloatArray]:
    (mean_pass, mean_fail), (tail_pass, tail_fail), fails = by_mean(loss), by_tail(loss), by_losses(loss)
    mean_fail = np.where(mean_pass < mean_fail, NEVER, mean_fail)
    tail_fail = np.where(tail_pass < tail_fail, NEVER, tail_fail)
    failed = np.minimum.reduce([mean_fail, tail_fail, fails])
    passed = np.maximum(mean_pass, tail_pass)
    when = np.minimum(passed, failed)
    return np.where(when == NEVER, UNDECIDED, np.where(failed <= passed, FAIL, PASS)), when


def true_values(loss: FloatArray) -> tuple[float, float, float]:
    """The mean loss, the tail at exactly the share, and the share of the changed that lose, of a whole population."""

    def worst(values: FloatArray) -> float:
        ordered, room = np.sort(np.maximum(values, 0.0))[::-1], SHARE * values.size
        weights = np.clip(room - np.arange(values.size), 0.0, 1.0)
        return float(ordered @ weights / room)

    changed = int(np.sum(np.abs(loss) > SLACK))
    return float(loss.mean()), worst(loss) - worst(-loss), float(np.sum(loss > SLACK) / max(changed, 1))


def truth_of(loss: FloatArray) -> str:
    mean, tail, share = true_values(loss)
    if mean > TOLERANCE + SLACK or tail > TAIL + SLACK:
        return "beyond by mean or tail"
    return "beyond only by losses" if share > LOSSES + SLACK else "harmless"


def two_points(low: float, high: float, p: float) -> Draw:
    return lambda random, shape: np.where(random.random(shape) < p, high, low)


def reciprocal_ranks(lost: float) -> Draw:
    """A third of the queries gets a new reciprocal rank, exchangeable with the old; then some fall to 0."""

    def draw(random: np.random.Generator, shape: tuple[int, int]) -> FloatArray:
        base, other = (np.asarray(1 / random.geometric(0.4, shape), np.float64) for _ in range(2))
        own = np.where(random.random(shape) < 1 / 3, other, base)
        return np.asarray(base - np.where(random.random(shape) < lost, 0.0, own))

    return draw


MEAN_RR = 0.4 * log(1 / 0.4) / 0.6
"""The expectation of 1 / G for a geometric G with p = 0.4."""

LIMIT_CELLS: dict[str, Draw] = {
    "normal, sd 0.1": lambda random, shape: np.clip(random.normal(TOLERANCE, 0.1, shape), -0.96, 1),
    "normal, sd 0.25": lambda random, shape: np.clip(random.normal(TOLERANCE, 0.25, shape), -0.96, 1),
    "zero-inflated: 80 % equal": lambda random, shape: np.where(
        random.random(shape) < 0.8, 0.0, np.clip(random.normal(5 * TOLERANCE, 0.2, shape), -0.8, 1)
    ),
    "RR": reciprocal_ranks(TOLERANCE / MEAN_RR),
    "0/1: 7 % lost, 5 % won": lambda random, shape: (
        np.digitize(random.random(shape), [0.05, 0.93]).astype(np.float64) - 1
    ),
    "2 % lose everything": two_points(0.0, 1.0, TOLERANCE),
    "tail at its limit: 4 % lose 1, others gain 0.15": two_points(-0.15, 1.0, 0.04),
    "losses at their limit: 80 % lose 0.03, others gain 0.02": two_points(-0.02, 0.03, 0.8),
}
"""Streams exactly at a limit: a pass and a fail are both wrong, up to the level."""


def with_interval(wrong: BoolArray) -> str:
    """A share in percent, with the 95 % interval of Clopper and Pearson."""
    from scipy.stats import beta

    count, of = int(wrong.sum()), wrong.size
    low = beta.ppf(0.025, count, of - count + 1) if count else 0.0
    high = beta.ppf(0.975, count + 1, of - count) if count < of else 1.0
    return f"{100 * count / of:.1f} ({100 * low:.1f} to {100 * high:.1f})"


def errors(name: str, streams: int) -> Row:
    """Streams exactly at a limit, and the same streams with random signs."""
    loss = LIMIT_CELLS[name](np.random.default_rng(seed_of(name)), (streams, ITEMS))
    verdict, _ = decided(loss)
    signs = np.random.default_rng(seed_of(name, "signs")).choice([-1.0, 1.0], loss.shape)
    swapped, when = decided(loss * signs)
    return {
        "streams": name,
        "at the limit: passed": with_interval(verdict == PASS),
        "at the limit: failed": with_interval(verdict == FAIL),
        "exchangeable: failed": with_interval(swapped == FAIL),
        "exchangeable: passed": f"{100 * np.mean(swapped == PASS):.0f}",
        "items, median": _items(when),
    }


def _items(when: FloatArray) -> str:
    middle = np.median(when)
    return f"{middle:.0f}" if middle < NEVER else "> 1000"


def populations(collections: Sequence[str]) -> Iterator[tuple[str, FloatArray]]:
    """All version pairs: the set and the losses of the whole population."""
    for collection in collections:
        for name, pairs in sets(collection).items():
            for base, own in pairs:
                yield name, base - own


def real_errors(collections: Sequence[str], word: str, streams: int) -> Row:
    """Streams of real pairs, resampled: one stream a pair, in turn, until there are enough."""
    chosen = [loss for _, loss in populations(collections) if truth_of(loss) == word]
    random = np.random.default_rng(seed_of(*collections, word))
    order = random.permutation(len(chosen))
    loss = np.array([random.choice(chosen[order[number % len(chosen)]], ITEMS) for number in range(streams)])
    verdict, when = decided(loss)
    wrong = verdict == (FAIL if word == "harmless" else PASS)
    shares = [f"{100 * np.mean(verdict == one):.0f}" for one in (PASS, UNDECIDED, FAIL)]
    return {
        "truth": word,
        "pairs": len(chosen),
        "wrong": with_interval(wrong),
        "pass · undecided · fail": " · ".join(shares),
        "items, median": _items(when),
    }


def of_kind(collections: Sequence[str], kind: str, most: int = 10) -> list[FloatArray]:
    """Up to ``most`` populations of each set: equal (within half a tolerance), better, worse by three, or heavy."""
    found = []
    for collection in collections:
        for name, pairs in sets(collection).items():
            random, own = np.random.default_rng(seed_of(name, kind)), 0
            for pair in pairs[random.permutation(len(pairs))]:
                made = planted(pair, random) if kind == "heavy" else pair
                if made is None or own == most:
                    continue
                loss = np.clip(made[0] - made[1], -1.0, 1.0)
                mean, tail, share = true_values(loss)
                holds = {
                    "equal": abs(mean) <= TOLERANCE / 2 and tail <= TAIL and share <= LOSSES,
                    "better": mean <= -TOLERANCE and tail <= TAIL and share <= LOSSES,
                    "worse": mean >= 3 * TOLERANCE,
                    "heavy": tail > TAIL and mean <= TOLERANCE,
                }
                if holds[kind]:
                    found.append(loss)
                    own += 1
    return found


def planned(loss: FloatArray) -> tuple[int, int]:
    """The queries at which a candidate without effect and of this spread passes in 80 % of gates: seen and strict.

    Strict has the same limits here. Its number is that of its mean rule (the sample, centred and repeated, with a
    margin for chance), and at least the fewest queries that pass anything.
    """
    pair = ScoredPair("new", "old", "", tuple(map(str, range(loss.size))), -loss, np.zeros(loss.size))
    seen = SeenChecker(pair, Rules()).resolution().needed or ITEMS
    centred = np.clip(loss - loss.mean(), -1.0, 1.0)
    low, high = STRICT_FEWEST, 20_000
    while high - low > 0.02 * high:
        middle = (low + high) // 2
        bound = mean_interval(np.resize(centred, middle), Levels(LEVEL, LEVEL), lowest=-1.0, highest=1.0).high
        margin = normal_quantile(POWER) * float(centred.std()) / middle**0.5
        low, high = (low, middle) if bound + margin <= TOLERANCE else (middle, high)
    return seen, high


def _strict_fewest() -> int:
    zeros = np.zeros(1)
    rules = Rules(evidence="strict", mean_tolerance=TOLERANCE, max_losses=LOSSES)
    return StrictChecker(ScoredPair("new", "old", "", ("q",), zeros, zeros), rules, n_tests=4).fewest_queries()


STRICT_FEWEST = _strict_fewest()


def savings(collections: Sequence[str], kind: str, streams: int) -> Row:
    """The items until a verdict, beside the numbers that a fixed gate plans."""
    chosen = of_kind(collections, kind)
    random = np.random.default_rng(seed_of(*collections, kind, "items"))
    each = max(1, streams // len(chosen))
    loss = np.array([random.choice(one, ITEMS) for one in chosen for _ in range(each)])
    verdict, when = decided(loss)
    used = np.minimum(when, ITEMS).reshape(len(chosen), each).mean(axis=1)
    right = verdict == (FAIL if kind in ("worse", "heavy") else PASS)
    seen, strict = np.minimum(np.array([planned(one) for one in chosen]).T, ITEMS)
    return {
        "candidates": kind,
        "pairs": len(chosen),
        "decided rightly, %": f"{100 * np.mean(right):.0f}",
        "wrongly, %": f"{100 * np.mean(~right & (verdict != UNDECIDED)):.1f}",
        "items: mean (median)": f"{used.mean():.0f} ({np.median(when):.0f})",
        "default plans": f"{seen.mean():.0f}",
        "strict plans": f"{strict.mean():.0f}",
        "saved of default's, %": f"{100 * (1 - used.sum() / seen.sum()):.0f}",
        "saved of strict's, %": f"{100 * (1 - used.sum() / strict.sum()):.0f}",
    }


def decided_by(collections: Sequence[str], kind: str, most: int = 2) -> Row:
    """Share of right decisions after n queries: sequential so far, and the fixed gates on the same first n."""
    chosen = of_kind(collections, kind, most)
    random = np.random.default_rng(seed_of(*collections, kind, "sizes"))
    loss = np.array([random.choice(one, ITEMS) for one in chosen])
    verdict, when = decided(loss)
    right = FAIL if kind in ("worse", "heavy") else PASS
    row: Row = {"candidates": kind, "pairs": len(chosen)}
    for size in SIZES:
        base = np.maximum(loss[:, :size], 0.0)
        drawn = [np.stack([old, old - own]) for old, own in zip(base, loss[:, :size], strict=True)]
        seen = [VERDICTS.index(gate_of(one).verdict) for one in drawn]
        strict = [strict_verdict(one) for one in drawn]
        shares = [(verdict == right) & (when <= size), np.array(seen) == right, np.array(strict) == right]
        row[f"{size} queries"] = " · ".join(f"{100 * np.mean(one):.0f}" for one in shares)
    return row


def against_confseq(collections: Sequence[str], kind: str) -> Row:
    """When the mean is decided, by our bets and by the default bets of confseq's one-sided betting martingale."""
    chosen = of_kind(collections, kind, 4)
    random = np.random.default_rng(seed_of(*collections, kind, "confseq"))
    loss = np.array([random.choice(one, ITEMS) for one in chosen])
    side, level = (-1, LEVEL * PARTS["mean"] / FAIL_PARTS) if kind == "worse" else (1, LEVEL)
    own = by_mean(loss)[side == -1]
    with np.errstate(all="ignore"):
        paths = [
            np.log(betting_mart((1 - side * one) / 2, (1 - side * TOLERANCE) / 2, level, theta=1.0)) for one in loss
        ]
    other = first(np.array(paths), level)
    return {
        "candidates": kind,
        "streams": len(loss),
        "Surefoot: mean (median)": _both(own),
        "confseq: mean (median)": _both(other),
        "Surefoot first, %": f"{100 * np.mean(own < other):.0f}",
    }


def _both(when: FloatArray) -> str:
    return f"{np.minimum(when, ITEMS).mean():.0f} ({_items(when)})"


def same_as_gate(collections: Sequence[str], streams: int = 30) -> Row:
    """The study's verdict after 100, 300 and 1,000 items, and that of the gate itself."""
    chosen = [loss for kind in KINDS for loss in of_kind(collections, kind, 1)]
    random = np.random.default_rng(3)
    same = of = 0
    for loss in chosen[:: max(1, len(chosen) // streams)]:
        gate, drawn = SequentialGate(None, "old", candidate="new"), random.choice(loss, ITEMS)
        result, shown = None, drawn.copy()
        for start, end in ((0, 100), (100, 300), (300, 1000)):
            base, own = np.maximum(drawn[start:end], 0.0), np.maximum(-drawn[start:end], 0.0)
            result = gate.add(Scores([base, own], ["old", "new"], [f"q{n}" for n in range(start, end)]))
            order = [int(name[1:]) for name in list(gate.items)[start:end]]
            shown[start:end] = drawn[order]
            verdict, when = decided(shown[None])
            expected = VERDICTS[int(verdict[0])] if when[0] <= end else "undecided"
            same, of = same + (result.verdict == expected), of + 1
            if result.verdict != "undecided":
                break
    return {"looks": of, "the same verdict": same}


def tables(less: int = 1) -> Iterator[tuple[str, Result]]:
    """Every table. Each row is kept when it is done, so that a study that was stopped goes on with the next one."""
    streams = STREAMS // less
    cells = {name: partial(errors, name, streams) for name in LIMIT_CELLS}
    yield "Errors of simulated streams over 1,000 looks, in percent", _table("errors", cells, streams)
    for title, own in (("development collections", DEVELOPMENT), ("collections held back", HELD_BACK)):
        real = {word: partial(real_errors, own, word, streams) for word in TRUTHS}
        yield f"Errors on the {title} over 1,000 looks, in percent", _table(f"real {own[0]}", real, streams)
        items = {kind: partial(savings, own, kind, streams) for kind in KINDS}
        yield f"Items used on the {title}", _table(f"items {own[0]}", items, streams)
        sizes = {kind: partial(decided_by, own, kind) for kind in KINDS}
        yield (
            f"Right decisions on the {title}: sequential · seen · strict, in percent",
            _table(f"sizes {own[0]}", sizes, streams),
        )
        if betting_mart is not None:
            means = {kind: partial(against_confseq, own, kind) for kind in ("equal", "better", "worse")}
            yield f"Items until the mean is decided on the {title}", _table(f"confseq {own[0]}", means, streams)
    same = {"all": partial(same_as_gate, DEVELOPMENT)}
    yield "The study and the gate itself", _table("same", same, streams)


def _table(name: str, rows: Mapping[str, Callable[[], Row]], streams: int) -> Result:
    kept = [kept_row(_file_name(f"{name} {row} {streams}"), compute) for row, compute in rows.items()]
    return Result(
        signature(f"sequential-{name.split()[0]}", streams=streams),
        by_column(kept),
    )


def _file_name(text: str) -> str:
    return "sequential-" + re.sub(r"[^a-z0-9]+", "-", text.lower())
