"""The demo's commentary on its systems. Every sentence is computed from the scores."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from pathlib import Path
from textwrap import shorten, wrap

from surefoot.analysis.evaluate import evaluate
from surefoot.analysis.explore import explore
from surefoot.errors import SurefootError, counted
from surefoot.scores import Scores
from surefoot.stats.inference import LEVEL
from surefoot_lab.demo import GAIN_ONLY, RISK_AVERSE
from surefoot_lab.demo.files import DemoFiles

ALPHA, STRICT_ALPHA = 1.0, 5.0
"""A loss weighs two, and six, times as much as a gain of the same size."""

WIDTH, WORST = 100, 5


@dataclass(frozen=True)
class SystemComparison:
    """One system against the baseline. T_Risk and p are None where all queries differ by the same amount."""

    system: str
    mean: float
    wins: int
    losses: int
    loss20: int
    frisk: float
    freward: float
    average: TTest
    risk: TTest

    @property
    def t(self) -> float:
        """T_Risk to sort by; infinite for a system that changes every query alike."""
        return inf if self.risk.t is None else self.risk.t

    def pays(self, alpha: float) -> bool:
        """Whether the gains make up for the losses at this alpha, on these queries."""
        return self.freward >= (1 + alpha) * self.frisk


@dataclass(frozen=True)
class TTest:
    """T_Risk at an alpha, with p corrected for all systems and alphas tested."""

    t: float | None
    p: float | None

    @property
    def sign(self) -> int:
        """1 or -1 where T_Risk is significantly above or below 0, else 0."""
        if self.t is None or self.p is None or self.p >= LEVEL:
            return 0
        return 1 if self.t > 0 else -1


def commentary(
    scores: Scores, queries: Mapping[str, str], files: DemoFiles, baseline: str = "BM25", program: str = "surefoot"
) -> list[str]:
    """The commentary as lines of text: averages, risk, the queries hit hardest, and commands to run next.

    ``program`` is the command that starts Surefoot.
    """
    others = comparisons(scores, baseline)
    if not others:
        raise SurefootError(f"a story needs systems besides the baseline {baseline!r}")
    candidate = tempting(others, float(scores[baseline].mean()))
    return [
        *_averages(scores, others, baseline),
        "",
        *_risks(others, baseline),
        "",
        *_closer(scores, candidate, baseline, queries),
        "",
        *_safest(others, baseline),
        *_learned(others, baseline),
        *_next_steps(scores, candidate, baseline, files, program),
    ]


def comparisons(scores: Scores, baseline: str) -> list[SystemComparison]:
    """Every other system against the baseline, the best mean first."""
    found = evaluate(scores, baseline, alpha=[0.0, ALPHA], correct="holm")
    by_system: dict[str, list[dict[str, object]]] = {}
    for row in found.rows():
        by_system.setdefault(row["system"], []).append(row)
    fields = ("system", "mean", "wins", "losses", "loss20", "frisk", "freward")
    made = [
        SystemComparison(*(rows[0][field] for field in fields), *(TTest(row["trisk"], row["p_holm"]) for row in rows))  # type: ignore[arg-type]
        for system, rows in by_system.items()
        if system != baseline
    ]
    return sorted(made, key=lambda each: (-each.mean, each.system))


def candidate_of(scores: Scores, baseline: str) -> str:
    """The system that the commentary looks at more closely."""
    return tempting(comparisons(scores, baseline), float(scores[baseline].mean())).system


def tempting(others: list[SystemComparison], baseline_mean: float) -> SystemComparison:
    """The riskiest of the systems whose mean is at least the baseline's; if there are none, the best of the others."""
    better = [each for each in others if each.mean >= baseline_mean]
    return min(better or others[:1], key=lambda each: each.t)


def _averages(scores: Scores, others: list[SystemComparison], baseline: str) -> list[str]:
    best, own = others[0], float(scores[baseline].mean())
    size = f"{counted(len(scores.systems), 'system')} answered {counted(len(scores.topics), 'query')}."
    if best.mean <= own:
        result = f"On average none is better than {baseline}: its {scores.measure} is {own:.3f}."
    else:
        result = f"The best on average is {best.system}: its {scores.measure} is {best.mean:.3f}, "
        result += f"that of {baseline} {own:.3f}."
    return wrap(f"{size} {result} But an average hides which queries paid for it.", WIDTH)


def _risks(others: list[SystemComparison], baseline: str) -> list[str]:
    heading = (
        f"Against {baseline}, query by query. T_Risk weighs a loss {1 + ALPHA:g} times a gain (alpha = {ALPHA:g})."
    )
    width = max(len(each.system) for each in others)
    table = [f"  {'':{width}}   mean  better   worse  gain/loss  T_Risk        p"]
    for each in others:
        ratio = f"{each.freward / each.frisk:.2f}" if each.frisk else "-"
        t = "-" if each.risk.t is None else f"{each.risk.t:.2f}"
        p = "-" if each.risk.p is None else "< 0.001" if each.risk.p < 0.001 else f"{each.risk.p:.3f}"
        cells = f"{each.mean:.3f}  {each.wins:6,}  {each.losses:6,}  {ratio:>9}  {t:>6}  {p:>7}"
        table.append(f"  {each.system:{width}}  {cells}  {_verdict(each)}")
    paid = sum(each.pays(STRICT_ALPHA) for each in others)
    strict = (
        f"If a loss weighed {1 + STRICT_ALPHA:g} times a gain (alpha = {STRICT_ALPHA:g}), "
        f"the gains of {paid or 'none'} of the {len(others)} would make up for the losses."
    )
    return [heading, *table, *wrap(f"{strict} p is corrected by Holm's method over all tests in this table.", WIDTH)]


def _verdict(each: SystemComparison) -> str:
    average = {1: "better on average", 0: "level on average", -1: "worse on average"}[each.average.sign]
    risk = {1: "worth its losses", 0: "too close to call", -1: "losses not paid for"}[each.risk.sign]
    return f"{average}, {risk if each.losses else 'no losses'}"


def _closer(scores: Scores, candidate: SystemComparison, baseline: str, queries: Mapping[str, str]) -> list[str]:
    gap = candidate.mean - float(scores[baseline].mean())
    opening = (
        f"Look closer at {candidate.system}, {_why(gap)}. "
        f"Its mean differs by {gap:+.4f} ({_describe_mean(candidate)}); "
        f"it made {counted(candidate.losses, 'query')} worse, {candidate.loss20:,} by more than a fifth. "
        f"{_describe_risk(candidate)}"
    )
    lines = wrap(opening, WIDTH)
    explored = explore(scores, candidate.system, baseline, ALPHA)
    worst = [row for row in explored.rows()[:WORST] if row["delta"] < 0]
    if worst:
        lines.append(f"The queries it hit hardest ({scores.measure} of {baseline} -> {candidate.system}):")
    for row in worst:
        change = f"{row['baseline_score']:.3f} -> {row['system_score']:.3f}"
        lines.append(f"  {change}  {row['topic']}")
        lines.append(f"  {'':{len(change)}}  {shorten(queries.get(row['topic'], ''), WIDTH - len(change) - 6)}")
    return lines


def _why(gap: float) -> str:
    if gap < 0:
        return "the nearest to the baseline on average"
    return "the riskiest of those with no lower mean"


def _describe_mean(candidate: SystemComparison) -> str:
    if candidate.average.t is None:
        return "the same on every query"
    noise = "may be noise" if candidate.average.sign == 0 else "no noise"
    return f"{noise}, {_describe_p(candidate.average.p)}"


def _describe_risk(candidate: SystemComparison) -> str:
    if candidate.risk.t is None:
        return "All queries changed alike, so there is no risk to test."
    test = f"T_Risk {candidate.risk.t:.2f}, {_describe_p(candidate.risk.p)}"
    if candidate.risk.sign < 0:
        return f"Its gains do not make up for its losses weighed {1 + ALPHA:g} times, and that is no noise ({test})."
    if candidate.risk.sign > 0:
        return f"Its gains make up for its losses even weighed {1 + ALPHA:g} times ({test})."
    return f"Whether its gains make up for its losses weighed {1 + ALPHA:g} times, these queries do not show ({test})."


def _describe_p(p: float | None) -> str:
    if p is None:
        return "p undefined"
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def _safest(others: list[SystemComparison], baseline: str) -> list[str]:
    better = [each for each in others if each.average.sign > 0]
    if not better:
        return [f"No system is better than {baseline} on average beyond noise.", ""]
    safe = max(better, key=lambda each: each.t)
    text = (
        f"The safest of those that are better on average is {safe.system}: {counted(safe.wins, 'query')} better, "
        f"{safe.losses:,} worse. {_describe_risk(safe)}"
    )
    return [*wrap(text, WIDTH), ""]


def _learned(others: list[SystemComparison], baseline: str) -> list[str]:
    """The gain-only ranker beside the risk-averse one, where both are among the systems."""
    by_name = {each.system: each for each in others}
    plain, safe = by_name.get(GAIN_ONLY), by_name.get(RISK_AVERSE)
    if plain is None or safe is None:
        return []
    text = (
        f"{plain.system} and {safe.system} learned from the other models' scores; no query was ranked by a model that "
        f"had seen it. Trained only for gain, the first makes {counted(plain.losses, 'query')} worse than {baseline}, "
        f"{plain.loss20:,} by more than a fifth; the second, trained so that a loss weighs more, {safe.losses:,} and "
        f"{safe.loss20:,}. The mean loss goes from {plain.frisk:.4f} to {safe.frisk:.4f}, the mean from "
        f"{plain.mean:.3f} to {safe.mean:.3f}."
    )
    return [*wrap(text, WIDTH), ""]


def _next_steps(
    scores: Scores, candidate: SystemComparison, baseline: str, files: DemoFiles, program: str
) -> list[str]:
    folder = shlex.quote(str(files.directory))
    inputs = f"{folder}/runs/*.run --qrels {folder}/{files.qrels.name} --measure {scores.measure}"
    learn = ", ".join(path.name for path in files.letor.values())
    names = ", ".join(f"{path.name}" for path in (files.qrels, files.queries, files.documents))
    written = (
        f"Written to {Path(files.directory)}: {counted(len(files.runs), 'run')} in runs, {names}, and to learn from "
        f"{learn} in letor. Try next:"
    )
    return [
        *wrap(written, WIDTH),
        f"  {program} explore {inputs} --candidate {shlex.quote(candidate.system)} --baseline {shlex.quote(baseline)}",
        f"  {program} evaluate {inputs} --baseline {shlex.quote(baseline)} --alpha 0,1,5",
    ]
