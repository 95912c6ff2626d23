"""The evidence "sequential": verdicts that hold however often one looks, for items that arrive one after another.

Each rule has two gamblers. One bets that the loss is within the limit, one that it is beyond. If a gambler is wrong,
the capital reaches 1 / error at any time with probability at most ``error`` (Ville's inequality), so that looking after
every item costs nothing. A rule is decided by the gambler who gets there first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from surefoot._typing import BoolArray, FloatArray
from surefoot.errors import counted
from surefoot.release_gate.checker import Checker, Statistic, two_digits
from surefoot.release_gate.finding import MOST_QUERIES, SHOWN, Finding, Resolution, Verdict
from surefoot.release_gate.rules import Rules
from surefoot.stats.mean_bounds import betting_capital, tail_capital

PARTS = {"mean": 6, "tail": 3}
"""Parts of the level for failing by rule; every other rule has one part."""
SMALLEST_GAP, SHARE_GAP = 0.01, 0.05
"""The smallest scale of the bets on a mean, in units of the largest change, and the scale of the bets on a share."""
HORIZON = 2000
"""The sample is repeated to at least this many items to estimate when it would decide."""


@dataclass(frozen=True)
class Bet:
    """The values whose mean (or tail, of a ``share``) a rule bounds, their range, and the scale of the bets."""

    values: FloatArray
    limit: float
    lowest: float
    highest: float
    gap: float
    share: float | None = None

    def capitals(self) -> tuple[FloatArray, FloatArray]:
        """The log capital after each value, of the gambler for a pass and of the one for a fail."""
        return self._capital(1, self.highest), self._capital(-1, -self.lowest)

    def _capital(self, side: int, highest: float) -> FloatArray:
        values, limit = side * self.values, side * self.limit
        if self.share is not None:
            return tail_capital(values, limit, self.share, highest)
        return betting_capital(values, limit, highest, self.gap)

    def needed(self, wanted: tuple[float, float]) -> float:
        """About how many values like these decide: the sample repeated, and its growth from there on."""
        total = max(HORIZON, 2 * self.values.size)
        paths = replace(self, values=np.resize(self.values, total)).capitals()
        if shown := _first(paths, wanted)[1]:
            return shown
        half = total // 2
        rates = [(path[-1] - path[half]) / (total - half) for path in paths]
        left = [(level - path[-1], rate) for path, level, rate in zip(paths, wanted, rates, strict=True)]
        return min((total + lacking / rate for lacking, rate in left if rate > 0), default=np.inf)


@dataclass(frozen=True)
class SequentialChecker(Checker):
    """Checks one pair whose topics stand in the order of arrival.

    A gate fails if any rule does, so that the rules share the level. It passes only if all do, so that each has the
    whole level for passing (the intersection-union test, Berger 1982).
    """

    def bet(self, one: Statistic) -> Bet:
        """The bet on a statistic."""
        most, limit = self.rules.largest_change, self.rules.limit(one.option)
        if one.kind == "share":
            return Bet(one.values, limit, 0.0, 1.0, SHARE_GAP)
        share = self.rules.tail_share if one.kind == "tail" else None
        return Bet(one.values, limit, -most, one.weight * most, max(limit, SMALLEST_GAP * most), share)

    def fail_level(self, one: Statistic) -> float:
        """The level at which a rule fails."""
        share = PARTS.get(one.rule, 1) / sum(PARTS.get(rule, 1) for rule in self.rules_on)
        return share * self.rules.level / self.n_tests / one.parts

    def _judge(self, one: Statistic) -> Finding:
        limit, bet = self.rules.limit(one.option), self.bet(one)
        loss = self.tail_loss() if one.kind == "tail" else one.mean
        wanted = (np.log(1 / self.rules.level), np.log(1 / self.fail_level(one)))
        verdict: Verdict = "undecided"
        shown, last = 0, (0.0, 0.0)
        if bet.values.size:
            paths = bet.capitals()
            last = (float(paths[0][-1]), float(paths[1][-1]))
            verdict, shown = _first(paths, wanted, one.can_fail)
        if self.is_reported(one) and verdict != "fail":
            verdict, shown = "pass", 0
        fails = f"for a fail: {_part(last[1], wanted[1])}" if one.may_fail else "too small or too few losses for a fail"
        ending = {
            "pass": f", within the limit of {limit:g}" if loss >= SHOWN and one.kind != "share" else "",
            "undecided": f"; the limit is {limit:g}. Evidence for a pass: {_part(last[0], wanted[0])}, {fails}",
            "fail": f", beyond the limit of {limit:g}",
        }[verdict]
        after = f" (shown after {counted(shown, _noun(one))})" if shown else ""
        more = self._more(bet, (wanted[0], wanted[1] if one.may_fail else np.inf)) if verdict == "undecided" else None
        return self._new_finding(one, verdict, f"{one.claim}{ending}{after}.", loss=loss, more_queries=more)

    def _more(self, bet: Bet, wanted: tuple[float, float]) -> int | None:
        """About how many more queries decide if they are like these; None if too many or if there are no values."""
        if not bet.values.size:
            return None
        more = (bet.needed(wanted) - bet.values.size) * len(self.pair.topics) / bet.values.size
        return two_digits(max(more, 1)) if more <= MOST_QUERIES else None

    def resolution(self) -> Resolution:
        """The number of items at which a candidate without effect passes."""
        return Resolution(len(self.pair.topics), self.rules.limit("mean_tolerance"), 1, needed=self.expected_items())

    def expected_items(self) -> int:
        """About how many items like these, without an effect, pass mean and tail."""
        most = self.rules.largest_change
        centred = self.pair.with_delta(np.clip(self.pair.delta - self.pair.delta.mean(), -most, most))
        checker = replace(self, pair=centred, groups=None)
        wanted = (np.log(1 / self.rules.level), np.inf)
        rules = [rule for rule in self.rules_on if rule in ("mean", "tail")]
        bets = [checker.bet(one) for rule in rules for one in checker.statistics(rule)]
        return two_digits(min(max((bet.needed(wanted) for bet in bets), default=1), MOST_QUERIES))


def expected_items(loss: FloatArray, rules: Rules | None = None) -> dict[str, float]:
    """The items that streams of losses (rows) need until mean and tail are decided, and the shares of the verdicts.

    Undecided streams count with all their items.

    >>> found = expected_items(np.full((2, 400), -0.05))
    >>> found["items"], found["pass"]
    (106.0, 1.0)
    """
    rules = replace(rules or Rules(), evidence="sequential")
    most, parts = rules.largest_change, sum(PARTS.get(rule, 1) for rule in rules.sample_rules(has_segments=False))
    passed, failed = np.zeros(len(loss)), np.full(len(loss), np.inf)
    for rule, option, share in (("mean", "mean_tolerance", None), ("tail", "max_tail_loss", rules.tail_share)):
        limit = rules.limit(option)
        paths = Bet(loss, limit, -most, most, max(limit, SMALLEST_GAP * most), share).capitals()
        wanted = (1 / rules.level, parts / PARTS[rule] / rules.level)
        by_pass, by_fail = (_reached(path >= np.log(level)) for path, level in zip(paths, wanted, strict=True))
        passed, failed = np.maximum(passed, by_pass), np.minimum(failed, np.where(by_pass < by_fail, np.inf, by_fail))
    when = np.minimum(np.minimum(passed, failed), loss.shape[1])
    shares = {"pass": np.mean(passed < failed), "fail": np.mean((failed <= passed) & np.isfinite(failed))}
    found = {"items": np.mean(when), "median": np.median(when), **shares, "undecided": 1 - sum(shares.values())}
    return {name: float(value) for name, value in found.items()}


def _reached(hit: BoolArray) -> FloatArray:
    """The place of the first hit of each row, from 1 on; infinite if there is none."""
    return np.where(hit.any(axis=1), hit.argmax(axis=1) + 1.0, np.inf)


def _first(
    paths: tuple[FloatArray, FloatArray], wanted: tuple[float, float], can_fail: BoolArray | None = None
) -> tuple[Verdict, int]:
    """The verdict of the gambler who gets there first, and after how many items.

    The gambler for a fail is there once the capital was large enough and the losses so far can fail. So a verdict
    never changes with the items after it.
    """
    passed, failed = (path >= level for path, level in zip(paths, wanted, strict=True))
    if can_fail is not None:
        failed = np.logical_or.accumulate(failed) & can_fail
    places = [int(hit.argmax()) + 1 if hit.any() else 0 for hit in (passed, failed)]
    if places[1] and not 0 < places[0] < places[1]:
        return "fail", places[1]
    return ("pass", places[0]) if places[0] else ("undecided", 0)


def _part(capital: float, wanted: float) -> str:
    """The capital reached and the capital wanted, given as logarithms; rounding never shows less as the whole."""
    shown, whole = (f"{np.exp(min(value, 50.0)):.{digits}g}" for value, digits in ((capital, 2), (wanted, 3)))
    return f"{shown} of {whole}" if capital >= wanted or float(shown) < float(whole) else f"almost {whole} of {whole}"


def _noun(one: Statistic) -> str:
    """What the values of a statistic are."""
    return "changed query" if one.rule == "losses" else "query" if one.where is None else f"{one.where} query"
