"""The verdict on a candidate, in values and in words: what each rule found, what changed, which queries got worse."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from surefoot.errors import counted, listed
from surefoot.release_gate.finding import (
    HELD_OUT,
    MOST_QUERIES,
    SHOWN,
    Finding,
    Resolution,
    ScoredPair,
    Verdict,
    worst_of,
)
from surefoot.release_gate.rules import CONTRACT, TIERS, UNDECIDED, Rules
from surefoot.results import Column, Result
from surefoot.risk.moments import Moments
from surefoot.risk.statistics import Comparison
from surefoot.stats.inference import LEVEL

COLUMNS = ("measure", "baseline", "rule", "verdict", "loss", "low", "high", "limit", "probability", "sentence")
"""The columns of a result, a row for each finding."""
WORDS = {"pass": "ship", "undecided": "not enough evidence", "fail": "don't ship"}
"""The first words of each verdict."""


@dataclass(frozen=True)
class Change:
    """What changed from a baseline to the candidate, over all topics; ``p`` is that of the paired t test."""

    measure: str
    baseline: str
    topics: int
    baseline_mean: float
    candidate_mean: float
    wins: int
    losses: int
    ties: int
    loss20: int
    noise: float | None = None
    p: float | None = None

    @classmethod
    def of(cls, pair: ScoredPair, noise: float | None) -> Change:
        """What changed in a pair; ``noise`` is how much a system differs from itself, where it was repeated."""
        compared = Comparison.of(pair.own, pair.base)
        wins, losses = int(compared.wins), int(compared.losses.n)
        means = (float(pair.base.mean()), float(pair.own.mean()))
        ties = len(pair.topics) - wins - losses
        p = float(Moments.of(pair.delta).p)
        return cls(
            pair.measure, pair.baseline, len(pair.topics), *means, wins, losses, ties, int(compared.loss20), noise,
            None if np.isnan(p) else p,
        )  # fmt: skip

    def words(self, noise: bool = False) -> str:
        """The change of the average and of single queries, as a clause that follows the candidate's name.

        ``noise``: whether the change of the mean may be noise.
        """
        moved, queries = self.candidate_mean - self.baseline_mean, counted(self.topics, "query")
        if self.ties == self.topics:
            return f"has the scores of {self.baseline} on all {queries} ({self.measure} {self.baseline_mean:.4f})"
        word = "is as good as" if abs(moved) < SHOWN else "is better than" if moved > 0 else "is worse than"
        unsure = ", which may be noise" if noise and abs(moved) >= SHOWN else ""
        means = f"{self.measure} {self.baseline_mean:.4f} → {self.candidate_mean:.4f}, {moved:+z.4f}{unsure}"
        worse = f"{self.losses:,} of {queries}" if self.losses else "no query"
        many = "none" if not self.loss20 else "all" if self.loss20 == self.losses else f"{self.loss20:,}"
        large = f", {many} of them by more than a fifth" if self.losses > 1 else ""
        if self.losses == 1:
            large = f", {'by' if self.loss20 else 'and not by'} more than a fifth"
        join = "but" if moved > 0 and self.losses else "and"
        return f"{word} {self.baseline} on average ({means}), {join} {worse} got worse{large}"


@dataclass(frozen=True)
class CumulativeChange:
    """The change of the mean since the ratchet's anchor, and since its first accepted candidate."""

    measure: str
    anchor: str
    since_anchor: float
    first: str
    since_first: float

    def __str__(self) -> str:
        if self.anchor == self.first and abs(self.since_anchor - self.since_first) < SHOWN:
            return (
                f"mean {self.measure} since {self.anchor}, the anchor and the first accepted: {self.since_first:+z.4f}"
            )
        return (
            f"mean {self.measure} since the anchor {self.anchor}: {self.since_anchor:+z.4f}; since {self.first}, "
            f"the first accepted: {self.since_first:+z.4f}"
        )


@dataclass(frozen=True)
class WorseQuery:
    """A query that lost, with both scores, and its text where that is known."""

    topic: str
    measure: str
    baseline: str
    baseline_score: float
    candidate_score: float
    delta: float
    text: str | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class GateResult(Result):
    """The verdict over all baselines, measures and rules, and its reasons; one row for each finding.

    Attributes
    ----------
    candidate, measures
        The system in question, and the effectiveness measures of the scores.
    rules
        The rules.
    loosened
        The options that are looser than those of the gate that accepted the ratchet's candidate.
    findings
        What each rule found against each baseline.
    changes
        Means, wins, losses and ties against each baseline.
    worst
        The queries that lost most against each baseline, at most five of each.
    cumulative
        The changes since the ratchet's anchor and its first accepted candidate, one for each measure.
    resolution
        What this number of queries can show.
    needs_repeats
        Whether the scores may be single trials of a random system, whose noise is not known.
    noun
        The word for queries in all sentences, such as ``"items"``.
    """

    candidate: str
    columns: Mapping[str, Column] = field(default_factory=dict, init=False)
    measures: tuple[str, ...]
    rules: Rules = field(default_factory=Rules)
    loosened: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    changes: tuple[Change, ...] = ()
    worst: tuple[WorseQuery, ...] = ()
    cumulative: tuple[CumulativeChange, ...] = ()
    resolution: Resolution | None = None
    needs_repeats: bool = False
    noun: str = "queries"

    def __post_init__(self) -> None:
        if self.noun != "queries":  # all other sentences are properties
            findings = tuple(replace(one, sentence=self.worded(one.sentence)) for one in self.findings)
            self.__dict__.update(findings=findings, notes=tuple(map(self.worded, self.notes)))
        self.__dict__["columns"] = {name: [getattr(one, name) for one in self.findings] for name in COLUMNS}

    def worded(self, text: str) -> str:
        """A sentence with the noun in place of "queries"."""
        if self.noun == "queries":
            return text
        topics = [*(one.topic for one in self.worst), *(one.where or "" for one in self.findings)]
        return with_noun(text, self.noun, {self.candidate, *self.baselines, *self.measures, *topics})

    @property
    def evidence(self) -> str:
        """The tier of evidence: ``"seen"``, ``"strict"`` or ``"sequential"``."""
        return self.rules.evidence

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of all findings: ``pass``, ``undecided`` or ``fail``."""
        return worst_of(finding.verdict for finding in self.findings)

    @property
    def leans(self) -> Literal["for", "against"] | None:
        """Which way an undecided verdict leans: against the candidate if any undecided rule does."""
        leanings = {finding.leans for finding in self.findings} - {None}
        if self.verdict != "undecided" or not leanings:
            return None
        return "against" if "against" in leanings else "for"

    @property
    def exit_code(self) -> int:
        """The exit code of the command: 0 for a pass, 1 for a fail; otherwise `Rules.undecided` decides."""
        if self.verdict == "undecided" and self.rules.undecided == "hold":
            return int(self.leans == "against")
        return {"pass": 0, "undecided": UNDECIDED[self.rules.undecided], "fail": 1}[self.verdict]

    @property
    def acceptable(self) -> bool:
        """Whether a ratchet may accept the candidate."""
        return self.verdict == "pass" or (self.verdict == "undecided" and self.rules.undecided == "pass")

    @property
    def baselines(self) -> tuple[str, ...]:
        """The baselines that the candidate was compared with."""
        return tuple(dict.fromkeys(change.baseline for change in self.changes))

    def headline(self) -> str:
        """The first line: what to do, with which candidate, and the tier of evidence."""
        leaning = {"against": ", leaning against", "for": ", leaning towards a pass", None: ""}[self.leans]
        against = f" against {listed(self.baselines)}" if self.baselines else ""
        named = f"{self.candidate}{against}, {listed(self.measures)}"
        return f"{WORDS[self.verdict]}{leaning}: {named} ({TIERS[self.evidence]})"

    def sentence(self, change: Change | None = None) -> str:
        """The answer in one sentence: the average, the queries that got worse, and whether the evidence is enough.

        It is about one comparison: the given one, or else the one that decides. Every command and page that judges a
        pair of systems uses this sentence.
        """
        change = change or self._deciding_change
        failed = any(one.rule == "mean" and one.verdict == "fail" for one in self.against(change))
        noise = not failed and (change.p or 0.0) >= LEVEL
        return self.worded(f"{self.candidate} {change.words(noise)}; {self._decision(change)}.")

    @property
    def _deciding_change(self) -> Change:
        found = None if self.verdict == "pass" else self.deciding
        same = (one for one in self.changes if found and (one.measure, one.baseline) == (found.measure, found.baseline))
        return next(same, self.changes[0])

    def _decision(self, change: Change) -> str:
        """The verdict on one comparison as a clause, with the reason unless it is a pass."""
        findings = self.against(change)
        if worst_of(one.verdict for one in findings) == "pass":
            return "it may ship" if self.verdict == "pass" else "this comparison passes"
        found = deciding(findings)
        if found.verdict == "fail":
            return f"it should not ship: {_clause(found.sentence)}"
        return f"the evidence is not enough to ship: {self._lacking(found, change)}"

    def _lacking(self, found: Finding, change: Change) -> str:
        """The reason why the evidence on a comparison is not enough."""
        if found.documents:
            return f"{counted(len(found.documents), 'unjudged document')} could change the verdict"
        if found.rule in ("identical", HELD_OUT) or self.resolution is None or change != self.changes[0]:
            return _clause(found.sentence)
        return self.resolution.brief(found.rule) or _clause(found.sentence)

    @property
    def deciding(self) -> Finding:
        """The finding that decides the verdict: see `deciding`."""
        return deciding(self.findings)

    @property
    def reason(self) -> str:
        """The reason for the verdict, in one sentence or two."""
        if not self.findings:
            return "Nothing was accepted before, so there is nothing to compare with."
        if self.verdict == "pass":
            first = next((one for one in self.findings if one.rule in ("mean", "identical")), self.findings[0])
            if len(self.findings) == 1 or first.rule == "identical":
                return first.sentence
            return f"All {counted(len(self.findings), 'rule')} hold. {first.sentence}"
        against = f" (Against {self.deciding.baseline}.)" if len(self.changes) > 1 else ""
        return f"{self.deciding.sentence}{against}"

    @property
    def next_step(self) -> str:
        """What to do now."""
        return self.worded(self._next_step())

    def _next_step(self) -> str:
        if self.verdict == "pass":
            return "Release it."
        if self.verdict == "undecided":
            return self._more_evidence()
        if self.deciding.rule in CONTRACT:
            from shlex import quote

            queries = quote(self.deciding.where or "QUERY")
            return f'Repair these queries, or accept the loss: surefoot gate ... --acknowledge {queries} --why "..."'
        return "Look at the queries that lost most: surefoot explore, with the same inputs."

    def _more_evidence(self) -> str:
        """How to get the evidence that would decide."""
        open_ = [one for one in self.findings if one.verdict == "undecided"]
        if documents := [one for finding in open_ for one in finding.documents]:
            several = counted(len(dict.fromkeys(documents)), "unjudged document")
            named = listed(f"{document} ({topic})" for topic, document in documents[:3])
            return f"Judge {several}, such as {named}: surefoot judge."
        if any(one.rule == "identical" for one in open_):
            return "Compare the rankings, or take a graded measure."
        if any(one.rule == HELD_OUT for one in open_):
            return "Score more queries, so that more are held out, or change the candidate."
        sampled = [one for one in open_ if one.rule not in CONTRACT]
        if self.needs_repeats:
            return "Run both systems several times on each query, and give the repeats (a column trial, or --repeats)."
        if not sampled:
            return "Score the protected queries that have not arrived."
        needed = [one.more_queries for one in sampled]
        failing = [one.more_queries for one in sampled if one.may_end_in_a_fail and one.more_queries is not None]
        if None in needed and not failing:
            return f"More than {MOST_QUERIES:,} queries like these would be needed: widen the limit, or decide by hand."
        hold = "Hold it. " if self.leans == "against" else ""
        number = min(failing) if failing else max(one or 1 for one in needed)
        about = f"About {counted(number, 'more query')} like these would decide"
        return f"{hold}{about}{', more likely against it' if failing else ''}."

    def against(self, change: Change) -> tuple[Finding, ...]:
        """The findings of one comparison."""
        return tuple(one for one in self.findings if (one.measure, one.baseline) == (change.measure, change.baseline))

    def with_texts(self, texts: Mapping[str, str]) -> GateResult:
        """The same, with the text of each query that lost."""
        return replace(self, worst=tuple(replace(one, text=texts.get(one.topic)) for one in self.worst))

    def __str__(self) -> str:
        from surefoot.release_gate.render import render_text

        return render_text(self)


def singular(noun: str) -> str:
    """The singular of a regular English plural.

    >>> [singular(noun) for noun in ("queries", "searches", "classes", "cases", "items")]
    ['query', 'search', 'class', 'case', 'item']
    """
    for plural, ending in (("ies", "y"), ("sses", "ss"), ("shes", "sh"), ("ches", "ch"), ("xes", "x")):
        if noun.endswith(plural):
            return noun.removesuffix(plural) + ending
    return noun.removesuffix("s")


def with_noun(text: str, noun: str, names: Collection[str] = ()) -> str:
    """Replace "query" and "queries" in a sentence by another noun, but not within these names.

    >>> with_noun("A query lost: query 7. See --queries.", "items", {"query 7"})
    'An item lost: query 7. See --queries.'
    >>> with_noun("2 queries lost, no query won", "stories")
    '2 stories lost, no story won'
    """
    one = singular(noun)
    kept = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True) if "quer" in name) or "(?!)"

    def word(found: re.Match[str]) -> str:
        if found["kept"]:
            return found[0]
        article = f"{found['a']}{'n' if one[0] in 'aeiou' else ''} " if found["a"] else ""
        return f"{article}{one if found['word'] == 'query' else noun}"

    return re.sub(rf"(?P<kept>{kept})|(?:\b(?P<a>[Aa]) )?(?<![-\w])(?P<word>query|queries)(?![-\w])", word, text)


def deciding(findings: Sequence[Finding]) -> Finding:
    """The finding that decides a verdict: the first that fails, or the undecided one with the lowest probability."""
    verdict = worst_of(finding.verdict for finding in findings)
    same = [one for one in findings if one.verdict == verdict]
    if verdict == "undecided":
        return min(same, key=lambda one: 0.0 if one.probability is None else one.probability)
    return same[0]


def _clause(sentence: str) -> str:
    """A sentence as the end of another one.

    >>> _clause("The mean fell by 0.1.")
    'the mean fell by 0.1'
    """
    clause = sentence.removesuffix(".")
    return f"t{clause[1:]}" if clause.startswith("The ") else clause
