"""The checks of the rules: pure functions of a pair of systems, each giving a finding."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import betainc

from surefoot import risk
from surefoot._typing import FloatArray
from surefoot.errors import SurefootError, counted, listed
from surefoot.release_gate.rules import Rules
from surefoot.scores import Scores
from surefoot.stats.corrections import correct
from surefoot.stats.inference import critical_value, t_inference

Verdict = Literal["pass", "warn", "fail"]
VERDICTS: tuple[Verdict, ...] = ("pass", "warn", "fail")
"""From best to worst."""

Measurements = Mapping[str, float | str | None]
Groups = Mapping[str, Sequence[str]]

ROUNDING = 1e-9
"""Slack for rounding errors, so that a loss of exactly the tolerance passes."""


@dataclass(frozen=True)
class Finding:
    """What one rule found: its verdict, what was measured, the limits under the same names, and one sentence."""

    rule: str
    baseline: str
    verdict: Verdict
    measured: Measurements
    limit: Measurements
    sentence: str


@dataclass(frozen=True)
class Pair:
    """The scores of a candidate (``own``) and of a baseline (``base``) on the same topics."""

    candidate: str
    baseline: str
    measure: str
    topics: tuple[str, ...]
    own: FloatArray
    base: FloatArray

    @classmethod
    def of(cls, scores: Scores, candidate: str, baseline: str) -> Pair:
        """The pair of two systems; the baseline may also be MEAN, MEDIAN or MAX of each topic."""
        return cls(candidate, baseline, scores.measure, scores.topics, scores[candidate], scores.baseline(baseline))

    @property
    def delta(self) -> FloatArray:
        """The difference on each topic; negative is a loss."""
        return self.own - self.base


def check_all(pair: Pair, rules: Rules, groups: Groups | None) -> list[Finding]:
    """The findings of all rules that are on and apply."""
    checks: dict[str, Callable[[], Finding]] = {
        "mean": lambda: check_mean(pair, rules),
        "risk": lambda: check_risk(pair, rules),
        "losses": lambda: check_losses(pair, rules),
        "large-losses": lambda: check_large_losses(pair, rules),
        "tail": lambda: check_tail(pair, rules),
    }
    if rules.protected:
        checks["protected"] = lambda: check_protected(pair, rules)
    if groups is not None:
        checks["segments"] = lambda: check_segments(pair, rules, groups)
    findings = [check() for name, check in checks.items() if name not in rules.off]
    if not findings:
        raise SurefootError("all rules are off, so nothing would be tested; leave one on")
    return findings


def check_mean(pair: Pair, rules: Rules) -> Finding:
    """Fails where the mean fell by more than the tolerance and significantly; one of the two warns."""
    test = _Test.of(pair.own, pair.base, 0.0)
    verdict = _both(test.value < -rules.mean_tolerance - ROUNDING, test.is_loss(rules.level))
    old, new = float(pair.base.mean()), float(pair.own.mean())
    moved = f"{abs(test.value):.4f} {'below' if test.value < 0 else 'above'}" if test.value else "equal to"
    return Finding(
        "mean",
        pair.baseline,
        verdict,
        {"difference": test.value, "p": test.p},
        {"difference": -rules.mean_tolerance, "p": rules.level},
        f"Mean {pair.measure} is {new:.4f}, {moved} the baseline's {old:.4f}{test.p_text}: "
        f"{_ending(verdict, test, rules.mean_tolerance)}.",
    )


def check_risk(pair: Pair, rules: Rules) -> Finding:
    """Fails where U_Risk lies below minus the tolerance and T_Risk below minus its critical value; one warns."""
    test = _Test.of(pair.own, pair.base, rules.alpha)
    verdict = _both(test.value < -rules.risk_tolerance - ROUNDING, test.is_loss(rules.level))
    critical = critical_value(len(pair.topics), rules.level)
    t_text = "" if np.isnan(test.t) else f", T_Risk {test.t:.2f}"
    return Finding(
        "risk",
        pair.baseline,
        verdict,
        {"urisk": test.value, "trisk": _defined(test.t), "p": test.p},
        {"urisk": -rules.risk_tolerance, "trisk": _defined(-critical), "p": rules.level},
        f"Losses weighing {1 + rules.alpha:g} times, the mean change is {test.value:.4f} (U_Risk{t_text}): "
        f"{_ending(verdict, test, rules.risk_tolerance)}.",
    )


def check_losses(pair: Pair, rules: Rules) -> Finding:
    """Warns where the fraction of topics that lost exceeds the limit, fails where it does so significantly."""
    lost = int(risk.compare(pair.own, pair.base).losses.n)
    return _check_fraction("losses", pair, lost, "lost", rules.max_losses, rules.level)


def check_large_losses(pair: Pair, rules: Rules) -> Finding:
    """The same for topics that lost more than 20 % of their score."""
    lost = int(risk.compare(pair.own, pair.base).loss20)
    return _check_fraction("large-losses", pair, lost, "lost more than 20 %", rules.max_large_losses, rules.level)


def check_tail(pair: Pair, rules: Rules) -> Finding:
    """Warns where the worst topics lost more than the limit on average, fails where they did so significantly.

    Significantly: the limit lies outside the t interval with the jackknife's standard error.
    """
    topics = len(pair.topics)
    value = float(risk.tail(pair.own, pair.base, rules.tail_share))
    reach = critical_value(topics, rules.level) * tail_se(pair.delta, rules.tail_share) if topics > 1 else np.inf
    limit = -rules.max_tail_loss
    verdict = _both(value < limit - ROUNDING, value + reach < limit - ROUNDING)
    worst = (
        "worst query" if (count := int(risk.tail_count(topics, rules.tail_share))) == 1 else f"{count} worst queries"
    )
    change = f"lost {-value:.4f}" if value < 0 else f"won {value:.4f}" if value > 0 else "lost nothing"
    ending = {
        "pass": f"within the limit of {rules.max_tail_loss:g}",
        "warn": f"beyond the limit of {rules.max_tail_loss:g}, but noise could do it",
        "fail": f"beyond the limit of {rules.max_tail_loss:g}, and more than noise",
    }
    return Finding(
        "tail",
        pair.baseline,
        verdict,
        {"tail": value, "high": _defined(value + reach)},
        {"tail": limit, "high": limit},
        f"The {worst} {change}{' on average' if count > 1 else ''}: {ending[verdict]}.",
    )


def check_protected(pair: Pair, rules: Rules) -> Finding:
    """Fails where a protected topic lost more than the tolerance; it is not a sample, so nothing is tested."""
    change = dict(zip(pair.topics, pair.delta.tolist(), strict=True))
    chosen = sorted(rules.protected, key=lambda topic: (change[topic], topic))
    lost = [topic for topic in chosen if change[topic] < -rules.protected_tolerance - ROUNDING]
    told = listed((f"{topic} ({change[topic]:.4f})" for topic in lost), most=5)
    several = counted(len(chosen), "protected query")
    sentence = f"{len(lost)} of {several} lost more than {rules.protected_tolerance:g}: {told}."
    return Finding(
        "protected",
        pair.baseline,
        "fail" if lost else "pass",
        {"delta": change[chosen[0]], "topic": chosen[0], "regressed": len(lost)},
        {"delta": -rules.protected_tolerance},
        sentence if lost else f"None of {several} lost more than {rules.protected_tolerance:g}.",
    )


def check_segments(pair: Pair, rules: Rules, groups: Groups) -> Finding:
    """Fails where a segment's mean fell by more than the tolerance and significantly after Holm; one of them warns."""
    index_of = {topic: index for index, topic in enumerate(pair.topics)}
    members = {name: [index_of[topic] for topic in own] for name, own in groups.items()}
    tests = {name: _Test.of(pair.own[rows], pair.base[rows], 0.0) for name, rows in members.items()}
    holm = correct([np.nan if test.p is None else test.p for test in tests.values()], "holm")
    adjusted = {
        name: _Test(test.value, test.t, _defined(p)) for (name, test), p in zip(tests.items(), holm, strict=True)
    }
    verdicts = {
        name: _both(test.value < -rules.segment_tolerance - ROUNDING, test.is_loss(rules.level))
        for name, test in adjusted.items()
    }
    verdict = worst_of(verdicts.values())
    first = min(adjusted, key=lambda name: (-VERDICTS.index(verdicts[name]), adjusted[name].value, name))
    sentence = f"None of {counted(len(groups), 'segment')} fell by more than {rules.segment_tolerance:g}."
    if verdict != "pass":
        sentence = _segments_sentence(adjusted, verdicts, first, rules.segment_tolerance)
    return Finding(
        "segments",
        pair.baseline,
        verdict,
        {"segment": first, "difference": adjusted[first].value, "p_holm": adjusted[first].p},
        {"difference": -rules.segment_tolerance, "p_holm": rules.level},
        sentence,
    )


def worst_of(verdicts: Iterable[Verdict]) -> Verdict:
    """The worst of some verdicts; ``pass`` if there are none."""
    return max(verdicts, key=VERDICTS.index, default="pass")


def tail_se(delta: FloatArray, fraction: float) -> float:
    """The jackknife's standard error of the tail, from one sort of the topics.

    If a topic of the tail is left out the next one moves up; if another is left out the tail stays.
    """
    topics = len(delta)
    ordered = np.sort(delta)
    count = int(risk.tail_count(topics - 1, fraction))
    left_out = np.full(topics, ordered[:count].sum())
    left_out[:count] += ordered[count] - ordered[:count]
    return float(np.sqrt((topics - 1) * np.var(left_out / count)))


@dataclass(frozen=True)
class _Test:
    """A mean value with its two-sided test; p is None for one topic, or where nothing changed."""

    value: float
    t: float
    p: float | None

    @classmethod
    def of(cls, own: FloatArray, base: FloatArray, alpha: float) -> _Test:
        found = t_inference(own, base, alpha)
        value, t = float(found.urisk), float(found.trisk)
        if np.isnan(t):
            # All topics changed by the same amount: t is undefined without variance, so the sign test is used.
            return cls(value, t, 2 * 0.5 ** len(own) if value and len(own) > 1 else None)
        return cls(value, t, float(found.p))

    def is_loss(self, level: float) -> bool:
        return self.value < 0 and self.p is not None and self.p < level

    @property
    def p_text(self) -> str:
        return "" if self.p is None else f" (p {_p(self.p)})"


def _both(beyond: bool, significant: bool) -> Verdict:
    return VERDICTS[int(beyond) + int(significant)]


def _ending(verdict: Verdict, test: _Test, tolerance: float) -> str:
    """Why a mean passes, warns or fails, as the end of a sentence."""
    if verdict == "fail":
        return f"beyond the tolerance of {tolerance:g}, and more than noise"
    if verdict == "warn" and test.value < -tolerance - ROUNDING:
        return f"beyond the tolerance of {tolerance:g}, but noise could do it"
    if verdict == "warn":
        return f"more than noise, but within the tolerance of {tolerance:g}"
    return f"within the tolerance of {tolerance:g}" if test.value < 0 else "no loss"


def _check_fraction(rule: str, pair: Pair, lost: int, verb: str, limit: float, level: float) -> Finding:
    """A fraction of topics against its limit: above it warns, significantly above it (exact binomial test) fails.

    The test is one-sided at half the level, since the two-sided tests detect a loss at half the level too.
    """
    topics = len(pair.topics)
    p = float(betainc(lost, topics - lost + 1, limit)) if lost else 1.0
    above = lost > limit * topics + ROUNDING
    verdict = _both(above, above and p < level / 2)
    ending = {
        "pass": f"within the limit of {100 * limit:g} %",
        "warn": f"above the limit of {100 * limit:g} %, but noise could do it (p {_p(p)})",
        "fail": f"above the limit of {100 * limit:g} %, and more than noise (p {_p(p)})",
    }
    return Finding(
        rule,
        pair.baseline,
        verdict,
        {"share": lost / topics, "p": p},
        {"share": limit, "p": level / 2},
        f"{lost} of {counted(topics, 'query')} {verb} ({100 * lost / topics:.0f} %): {ending[verdict]}.",
    )


def _segments_sentence(
    tests: Mapping[str, _Test], verdicts: Mapping[str, Verdict], first: str, tolerance: float
) -> str:
    """The segments that have the worst verdict for the same reason."""
    endings = {name: _ending(verdicts[name], test, tolerance) for name, test in tests.items()}
    alike = sorted((n for n in tests if endings[n] == endings[first]), key=lambda name: (tests[name].value, name))
    texts = (
        f"{name} ({tests[name].value:.4f}{'' if tests[name].p is None else f', p {_p(tests[name].p)} after Holm'})"
        for name in alike
    )
    return f"{listed(texts, most=5)}: {endings[first]}."


def _p(p: float | None) -> str:
    return "undefined" if p is None else "< 0.001" if p < 0.0005 else f"{p:.3f}"


def _defined(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
