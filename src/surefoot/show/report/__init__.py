"""The report: one HTML file with the verdict in words, and every measure behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from surefoot.errors import SurefootError
from surefoot.judgments.credibility import Credibility
from surefoot.scores import Scores
from surefoot.show.html import self_contained
from surefoot.show.report.payload import LARGEST_ALPHA, payload
from surefoot.show.report.rankings import Rankings

__all__ = ["LARGEST_ALPHA", "Rankings", "report"]

SCRIPTS = (
    *("special", "model", "contributions", "words", "surefoot.show:dom", "tables", "charts", "doubts", "sections"),
    *("details", "moves", "rankings", "link", "page"),
)
"""The parts of the page's script; each uses those before it."""


def report(
    scores: Scores | Sequence[Scores],
    baseline: str | None = None,
    alpha: float = 1.0,
    *,
    candidate: str | None = None,
    segments: Mapping[Any, object] | None = None,
    queries: Mapping[str, str] | None = None,
    rankings: Rankings | None = None,
    credible: Sequence[Credibility] = (),
) -> str:
    """An interactive HTML page that compares every system with any baseline at any alpha.

    The page needs no network and no server. Its reader can change the candidate, the baseline and alpha. The same
    arguments give the same text, as long as the versions named at its foot are the same.

    Parameters
    ----------
    scores
        The scores of all systems; of several measures, which the reader can choose from, if it is a sequence.
    baseline
        What to compare with first: a system, or MEAN (the default), MEDIAN or MAX of each topic.
    alpha
        The risk sensitivity that the page opens with.
    candidate
        The system that the page opens with. If None it is the one of the best mean, and since that was chosen from
        all, its test is corrected after Holm.
    segments
        The segment of each topic.
    queries
        The text of each topic.
    rankings
        The runs behind the scores. Then the page shows for each query what was ranked before and what now, and what
        each document's move contributes to the change.
    credible
        The credibility of the comparison that the page opens with, of one or more of the measures. Then the page shows
        how likely each query's loss is one for another assessor too.

    Returns
    -------
    str
        The page.

    Examples
    --------
    >>> scores = Scores([[0.2, 0.4, 0.4], [0.3, 0.1, 0.5]], ["old", "new"], ["q1", "q2", "q3"])
    >>> report(scores, baseline="old").startswith("<!doctype html>")
    True
    """
    several = [scores] if isinstance(scores, Scores) else list(scores)
    if not several:
        raise SurefootError("a report needs scores of at least one measure")
    data = payload(several, baseline, candidate, alpha, segments, queries, rankings, credible)
    return self_contained("surefoot.show.report", SCRIPTS, data)
