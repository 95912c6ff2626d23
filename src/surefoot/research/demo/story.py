"""What the demo's systems teach, in plain words. Every sentence is computed from the scores at hand."""

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
from surefoot.research.demo.files import DemoFiles
from surefoot.research.demo.names import GAIN_ONLY, RISK_AVERSE
from surefoot.scores import Scores
from surefoot.stats.inference import LEVEL

ALPHA, STRICT_ALPHA = 1.0, 5.0
"""The story's exchange rates: a loss weighs two, and six, times as much as a gain of the same size."""

WIDTH, WORST = 100, 5


@dataclass(frozen=True)
class Standing:
    """How one system stands against the baseline. T_Risk and p are None where all queries differ by the same."""

    system: str
    mean: float
    wins: int
    losses: int
    loss20: int
    frisk: float
    freward: float
    average: Verdict
    risk: Verdict

    @property
    def t(self) -> float:
        """T_Risk to sort by: what changes every query alike has no risk to speak of."""
        return inf if self.risk.t is None else self.risk.t

    def pays(self, alpha: float) -> bool:
        """Do the gains make up for the losses at this exchange rate, on these queries?"""
        return self.freward >= (1 + alpha) * self.frisk


@dataclass(frozen=True)
class Verdict:
    """T_Risk at some alpha, with p corrected for the number of systems and alphas looked at."""

    t: float | None
    p: float | None

    @property
    def sign(self) -> int:
        """1 or -1 where T_Risk is significantly above or below 0, else 0: it may be noise."""
        if self.t is None or self.p is None or self.p >= LEVEL:
            return 0
        return 1 if self.t > 0 else -1


def tell(
    scores: Scores, queries: Mapping[str, str], files: DemoFiles, baseline: str = "BM25", program: str = "surefoot"
) -> list[str]:
    """The story as lines of text: averages, risk, the queries hit hardest, and where to look next.

    ``program`` is how the reader would call Surefoot.
    """
    others = standings(scores, baseline)
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


def standings(scores: Scores, baseline: str) -> list[Standing]:
    """How every other system stands against the baseline, the best mean first."""
    found = evaluate(scores, baseline, alpha=[0.0, ALPHA], correct="holm")
    by_system: dict[str, list[dict[str, object]]] = {}
    for row in found.rows():
        by_system.setdefault(row["system"], []).append(row)
    fields = ("system", "mean", "wins", "losses", "loss20", "frisk", "freward")
    made = [
        Standing(*(rows[0][field] for field in fields), *(Verdict(row["trisk"], row["p_holm"]) for row in rows))  # type: ignore[arg-type]
        for system, rows in by_system.items()
        if system != baseline
    ]
    return sorted(made, key=lambda standing: (-standing.mean, standing.system))


def candidate_of(scores: Scores, baseline: str) -> str:
    """The system that the story looks at more closely."""
    return tempting(standings(scores, baseline), float(scores[baseline].mean())).system


def tempting(others: list[Standing], baseline_mean: float) -> Standing:
    """The riskiest of those that the average speaks for; if it speaks for none, the best of the others."""
    recommended = [standing for standing in others if standing.mean >= baseline_mean]
    return min(recommended or others[:1], key=lambda standing: standing.t)


def _averages(scores: Scores, others: list[Standing], baseline: str) -> list[str]:
    best, own = others[0], float(scores[baseline].mean())
    size = f"{counted(len(scores.systems), 'system')} answered {counted(len(scores.topics), 'query')}."
    if best.mean <= own:
        result = f"On average none is better than {baseline}: its {scores.measure} is {own:.3f}."
    else:
        result = f"The best on average is {best.system}: its {scores.measure} is {best.mean:.3f}, "
        result += f"that of {baseline} {own:.3f}."
    return wrap(f"{size} {result} But an average hides which queries paid for it.", WIDTH)


def _risks(others: list[Standing], baseline: str) -> list[str]:
    heading = (
        f"Against {baseline}, query by query. T_Risk weighs a loss {1 + ALPHA:g} times a gain (alpha = {ALPHA:g})."
    )
    width = max(len(standing.system) for standing in others)
    table = [f"  {'':{width}}   mean  better   worse  gain/loss  T_Risk        p"]
    for each in others:
        ratio = f"{each.freward / each.frisk:.2f}" if each.frisk else "-"
        t = "-" if each.risk.t is None else f"{each.risk.t:.2f}"
        p = "-" if each.risk.p is None else "< 0.001" if each.risk.p < 0.001 else f"{each.risk.p:.3f}"
        figures = f"{each.mean:.3f}  {each.wins:6,}  {each.losses:6,}  {ratio:>9}  {t:>6}  {p:>7}"
        table.append(f"  {each.system:{width}}  {figures}  {_in_short(each)}")
    paid = sum(each.pays(STRICT_ALPHA) for each in others)
    strict = (
        f"Were a loss to weigh {1 + STRICT_ALPHA:g} times a gain (alpha = {STRICT_ALPHA:g}), "
        f"the gains of {paid or 'none'} of the {len(others)} would make up for the losses."
    )
    return [heading, *table, *wrap(f"{strict} p is corrected after Holm for all the tests made here.", WIDTH)]


def _in_short(standing: Standing) -> str:
    average = {1: "better on average", 0: "level on average", -1: "worse on average"}[standing.average.sign]
    risk = {1: "worth its losses", 0: "too close to call", -1: "losses not paid for"}[standing.risk.sign]
    return f"{average}, {risk if standing.losses else 'no losses'}"


def _closer(scores: Scores, candidate: Standing, baseline: str, queries: Mapping[str, str]) -> list[str]:
    gap = candidate.mean - float(scores[baseline].mean())
    opening = (
        f"Look closer at {candidate.system}, {_why(gap)}. Its mean differs by {gap:+.4f} ({_noise_words(candidate)}); "
        f"it made {counted(candidate.losses, 'query')} worse, {candidate.loss20:,} by more than a fifth. "
        f"{_risk_words(candidate)}"
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


def _noise_words(candidate: Standing) -> str:
    if candidate.average.t is None:
        return "the same on every query"
    noise = "may be noise" if candidate.average.sign == 0 else "no noise"
    return f"{noise}, {_p_words(candidate.average.p)}"


def _risk_words(candidate: Standing) -> str:
    if candidate.risk.t is None:
        return "All queries changed alike, so there is no risk to test."
    test = f"T_Risk {candidate.risk.t:.2f}, {_p_words(candidate.risk.p)}"
    if candidate.risk.sign < 0:
        return f"Its gains do not make up for its losses weighed {1 + ALPHA:g} times, and that is no noise ({test})."
    if candidate.risk.sign > 0:
        return f"Its gains make up for its losses even weighed {1 + ALPHA:g} times ({test})."
    return f"Whether its gains make up for its losses weighed {1 + ALPHA:g} times, these queries can't tell ({test})."


def _p_words(p: float | None) -> str:
    if p is None:
        return "p undefined"
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def _safest(others: list[Standing], baseline: str) -> list[str]:
    better = [standing for standing in others if standing.average.sign > 0]
    if not better:
        return [f"No system is better than {baseline} on average beyond noise.", ""]
    safe = max(better, key=lambda standing: standing.t)
    text = (
        f"The safest of those that are better on average is {safe.system}: {counted(safe.wins, 'query')} better, "
        f"{safe.losses:,} worse. {_risk_words(safe)}"
    )
    return [*wrap(text, WIDTH), ""]


def _learned(others: list[Standing], baseline: str) -> list[str]:
    """What it brings to train against risk, where both rankers are among the systems."""
    by_name = {standing.system: standing for standing in others}
    plain, safe = by_name.get(GAIN_ONLY), by_name.get(RISK_AVERSE)
    if plain is None or safe is None:
        return []
    text = (
        f"{plain.system} and {safe.system} learned from the other models' scores; no query was ranked by a model that "
        f"had seen it. Trained for gain alone, the first makes {counted(plain.losses, 'query')} worse than {baseline}, "
        f"{plain.loss20:,} by more than a fifth; the second, trained so that a loss weighs more, {safe.losses:,} and "
        f"{safe.loss20:,}. The mean loss goes from {plain.frisk:.4f} to {safe.frisk:.4f}, the mean from "
        f"{plain.mean:.3f} to {safe.mean:.3f}."
    )
    return [*wrap(text, WIDTH), ""]


def _next_steps(scores: Scores, candidate: Standing, baseline: str, files: DemoFiles, program: str) -> list[str]:
    folder = shlex.quote(str(files.directory))
    inputs = f"{folder}/runs/*.run --qrels {folder}/{files.qrels.name} --measure {scores.measure}"
    names = ", ".join(f"{path.name}" for path in (files.qrels, files.queries, files.documents))
    return [
        f"Written to {Path(files.directory)}: {counted(len(files.runs), 'run')} in runs, and {names}. Try next:",
        f"  {program} explore {inputs} --system {shlex.quote(candidate.system)} --baseline {shlex.quote(baseline)}",
        f"  {program} evaluate {inputs} --baseline {shlex.quote(baseline)} --alpha 0,1,5",
    ]
