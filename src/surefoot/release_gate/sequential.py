"""The evidence "sequential": verdicts that hold however often one looks, for items that arrive one after another.

Each rule has two gamblers. One bets that the loss is within the limit, one that it is beyond. If a gambler is wrong,
the capital reaches 1 / error at any time with probability at most ``error`` (Ville's inequality), so that looking after
every item costs nothing. A rule is decided by the gambler who gets there first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from surefoot._typing import FloatArray
from surefoot.errors import counted
from surefoot.release_gate.evidence import Evidence
from surefoot.release_gate.finding import MOST_QUERIES, SHOWN, SLACK, Finding, Verdict
from surefoot.release_gate.seen import SeenChecker, Statistic
from surefoot.risk.statistics import large_losses
from surefoot.risk.values import Linear
from surefoot.stats.betting import betting_capital, tail_capital

PARTS = {"mean": 6, "tail": 3}
"""The parts of the level for failing; every other rule has one part."""
SMALLEST_GAP, SHARE_GAP = 0.01, 0.05
"""The scale of the bets on a mean whose limit is below that (times the largest change), and on a share."""
AHEAD = 2000
"""How many items the sample is repeated to, to see when it would decide."""


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


@dataclass(frozen=True)
class SequentialChecker(SeenChecker):
    """Checks one pair whose topics stand in the order of arrival.

    A gate fails if any rule does, so that the rules share the level. It passes only if all do, so that each has the
    whole level for passing (the intersection-union test, Berger 1982).
    """

    deals: int = 1

    def findings(self, draws: FloatArray | None = None) -> list[Finding]:
        """The findings of the rules that are on."""
        found = [self._judged(one) for one in self.statistics()]
        segments = [one for one in found if one.rule == "segments"]
        others = [one for one in found if one.rule != "segments"]
        return others + ([self.worst_segment(segments, lambda one: one.loss or 0.0)] if segments else [])

    def statistics(self) -> Iterator[Statistic]:
        """The losses that the rules bound; churn is bounded as a share of all queries."""
        yield from super().statistics()
        if "churn" in self.rules_on:
            finding = self.churn()
            said = finding.sentence.partition(";")[0]
            yield Statistic("churn", "max_churn", Evidence(finding.loss or 0.0, 0.0, 0.0, 1.0), said, is_share=True)

    def bet(self, one: Statistic) -> Bet:
        """The bet on a statistic."""
        pair, most, limit = self.pair, self.rules.largest_change, self.rules.limit(one.option)
        gap = max(limit, SMALLEST_GAP * most)
        if one.rule == "tail":
            return Bet(pair.loss, limit, -most, most, gap, self.rules.tail_share)
        if one.is_share:
            values = {
                "losses": (pair.loss > SLACK)[np.abs(pair.loss) > SLACK],
                "large-losses": large_losses(pair.delta, pair.base),
                "churn": pair.delta != 0,
            }
            return Bet(values[one.rule].astype(np.float64), limit, 0.0, 1.0, SHARE_GAP)
        if one.rule == "risk":
            return Bet(-Linear(self.rules.alpha)(pair.delta), limit, -most, (1 + self.rules.alpha) * most, gap)
        loss = pair.loss if one.where is None else pair.at((self.groups or {})[one.where]).loss
        return Bet(loss, limit, -most, most, gap)

    def fail_level(self, one: Statistic | None = None) -> float:
        """The part of the level at which a rule fails."""
        own, parts = ("mean", 1) if one is None else (one.rule, one.parts)
        share = PARTS.get(own, 1) / sum(PARTS.get(rule, 1) for rule in self.rules_on)
        return share * self.rules.level / self.comparisons / parts

    def _judged(self, one: Statistic) -> Finding:
        limit, bet = self.rules.limit(one.option), self.bet(one)
        wanted = (np.log(1 / self.rules.level), np.log(1 / self.fail_level(one)))
        reported = one.is_share and not self.rules.is_given(one.option)
        verdict: Verdict = "undecided"
        shown, capitals = 0, (0.0, 0.0)
        if bet.values.size:
            paths = bet.capitals()
            capitals = (float(np.exp(min(paths[0][-1], 50.0))), float(np.exp(min(paths[1][-1], 50.0))))
            verdict, shown = _first(paths, wanted, may_fail=one.may_fail)
        if reported and verdict != "fail":
            verdict, shown = "pass", 0
        ending = {
            "pass": f", within the limit of {limit:g}" if one.evidence.loss >= SHOWN and not one.is_share else "",
            "undecided": f"; the limit is {limit:g}. Evidence for a pass: {capitals[0]:.2g} of "
            f"{np.exp(wanted[0]):.3g}, for a fail: {capitals[1]:.2g} of {np.exp(wanted[1]):.3g}",
            "fail": f", beyond the limit of {limit:g}",
        }[verdict]
        after = f" (shown after {counted(shown, 'query')})" if shown else ""
        return Finding(
            one.rule, self.pair.measure, self.pair.baseline, verdict, f"{one.said}{ending}{after}.",
            one.evidence.loss, limit=limit, where=one.where,
            more_queries=_more(bet, wanted) if verdict == "undecided" and bet.values.size else None,
        )  # fmt: skip

    def expected_items(self) -> int:
        """About how many items like these, without an effect, pass mean and tail."""
        most = self.rules.largest_change
        centred = self.pair.with_delta(np.clip(self.pair.delta - self.pair.delta.mean(), -most, most))
        checker = replace(self, pair=centred, groups=None)
        wanted = (np.log(1 / self.rules.level), np.inf)
        bets = [checker.bet(one) for one in checker.statistics() if one.rule in ("mean", "tail")]
        return _rounded(min(max((_needed(bet, wanted) for bet in bets), default=1), MOST_QUERIES))


def _first(
    paths: tuple[FloatArray, FloatArray], wanted: tuple[float, float], may_fail: bool = True
) -> tuple[Verdict, int]:
    """The verdict of the gambler who gets there first, and after how many items."""
    passed, failed = (np.flatnonzero(path >= level) for path, level in zip(paths, wanted, strict=True))
    if may_fail and failed.size and not (passed.size and passed[0] < failed[0]):
        return "fail", int(failed[0]) + 1
    return ("pass", int(passed[0]) + 1) if passed.size else ("undecided", 0)


def _more(bet: Bet, wanted: tuple[float, float]) -> int | None:
    """About how many more items decide if they are like these; None if too many."""
    more = _needed(bet, wanted) - bet.values.size
    return _rounded(max(more, 1)) if more <= MOST_QUERIES else None


def _needed(bet: Bet, wanted: tuple[float, float]) -> float:
    """About how many items like these decide: the sample repeated, and its growth from there on."""
    total = max(AHEAD, 2 * bet.values.size)
    paths = replace(bet, values=np.resize(bet.values, total)).capitals()
    if shown := _first(paths, wanted)[1]:
        return shown
    half = total // 2
    rates = [(path[-1] - path[half]) / (total - half) for path in paths]
    return min(
        (total + (level - path[-1]) / rate for path, level, rate in zip(paths, wanted, rates, strict=True) if rate > 0),
        default=np.inf,
    )


def _rounded(items: float) -> int:
    """A number of items with two digits."""
    return int(float(f"{items:.2g}"))
