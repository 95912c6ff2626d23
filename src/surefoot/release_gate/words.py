"""The words of a verdict: one line to act on, the reason, the next step, and what so many queries can show.

Every output of the gate takes its words from here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from surefoot.errors import counted, listed
from surefoot.release_gate.finding import MOST_QUERIES, Finding
from surefoot.release_gate.rules import CONTRACT, TIERS

if TYPE_CHECKING:
    from surefoot.release_gate.verdict import GateResult

WORDS = {"pass": "ship", "undecided": "not enough evidence", "fail": "don't ship"}
"""What a verdict means to the person who must decide."""


def headline(result: GateResult) -> str:
    """The first line: what to do, with which candidate, and the tier of evidence."""
    leaning = {"against": ", leaning against", "for": ", leaning towards a pass", None: ""}[result.leans]
    against = f" against {listed(result.baselines)}" if result.baselines else ""
    named = f"{result.candidate}{against}, {listed(result.measures)}"
    return f"{WORDS[result.verdict]}{leaning}: {named} ({TIERS[result.evidence]})"


def reason(result: GateResult) -> str:
    """The one reason for the verdict."""
    if not result.findings:
        return "Nothing was accepted before, so there is nothing to compare with."
    if result.verdict == "pass":
        return _reason_to_pass(result)
    finding = deciding(result)
    against = f" (Against {finding.baseline}.)" if len(result.changes) > 1 else ""
    return f"{finding.sentence}{against}"


def _reason_to_pass(result: GateResult) -> str:
    first = next((one for one in result.findings if one.rule in ("mean", "identical")), result.findings[0])
    if len(result.findings) == 1 or first.rule == "identical":
        return first.sentence
    return f"All {counted(len(result.findings), 'rule')} hold. {first.sentence}"


def deciding(result: GateResult) -> Finding:
    """The finding that the verdict rests on: the first that fails, or the undecided one that is least probable."""
    same = [one for one in result.findings if one.verdict == result.verdict]
    if result.verdict == "undecided":
        return min(same, key=lambda one: 0.0 if one.probability is None else one.probability)
    return same[0]


def next_step(result: GateResult) -> str:
    """What to do now."""
    if result.verdict == "pass":
        return "Release it."
    finding = deciding(result)
    if result.verdict == "fail" and finding.rule in CONTRACT:
        queries = finding.where or "QUERY"
        return f'Repair these queries, or accept the loss: surefoot gate ... --acknowledge {queries} --why "..."'
    if result.verdict == "fail":
        return "Look at the queries that lost most: surefoot explore, with the same inputs."
    return _next_evidence(result)


def _next_evidence(result: GateResult) -> str:
    open_ = [one for one in result.findings if one.verdict == "undecided"]
    if documents := [one for finding in open_ for one in finding.documents]:
        several = counted(len(dict.fromkeys(documents)), "unjudged document")
        named = listed(f"{document} ({topic})" for topic, document in documents[:3])
        return f"Judge {several}, such as {named}: surefoot judge."
    if any(one.rule == "identical" for one in open_):
        return "Compare the rankings, or take a graded measure."
    needed = [one.more_queries for one in open_ if one.rule not in CONTRACT]
    if result.needs_repeats:
        return "Run both systems several times on each query, and give the repeats (a column trial, or --repeats)."
    if not needed or None in needed:
        return f"More than {MOST_QUERIES:,} queries like these would be needed: widen the limit, or decide by hand."
    hold = "Hold it. " if result.leans == "against" else ""
    return f"{hold}About {counted(max(one or 1 for one in needed), 'more query')} like these would decide."


def resolution(result: GateResult) -> str:
    """What so many queries can show, and the fewest at which a pass is possible."""
    if result.resolution is None:
        return ""
    known = result.resolution
    fewest = f"A pass needs at least {counted(known.fewest, 'query')}"
    if known.smallest_loss is None or not known.tolerance:
        return f"{fewest}; there are {known.queries:,}."
    return (
        f"{counted(known.queries, 'query')} with differences of this spread can show a loss of "
        f"{known.smallest_loss:.3f} or more; for a tolerance of {known.tolerance:g} you need about {known.needed:,}. "
        f"{fewest}."
    )
