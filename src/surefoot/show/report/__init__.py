"""The report: one HTML file with the verdict in words, and every measure behind it."""

from __future__ import annotations

import platform
from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from surefoot._names import group_topics
from surefoot._typing import FloatArray
from surefoot._version import __version__
from surefoot.errors import SurefootError
from surefoot.judgments.credibility import Credibility, count_real_losses
from surefoot.release_gate.rules import RulesLike
from surefoot.risk import validate_alpha
from surefoot.scores import VIRTUAL, Scores
from surefoot.show.html import self_contained
from surefoot.show.report.rankings import Rankings, rankings_payload
from surefoot.stats.inference import LEVEL, critical_value
from surefoot.stats.principal_axes import pca

__all__ = ["LARGEST_ALPHA", "Rankings", "opening", "packed", "report"]

LARGEST_ALPHA = 20.0
"""The largest value of the page's slider."""
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
    rules: RulesLike | None = None,
) -> str:
    """An interactive HTML page that compares every system with any baseline at any alpha.

    The page needs no network and no server. Its reader can change the candidate, the baseline and alpha. The same
    arguments give the same text with the same versions, which the foot of the page names.

    Parameters
    ----------
    scores
        The scores of all systems, or a sequence of them for several measures, from which the reader can choose.
    baseline
        The baseline that the page opens with: a system, or MEAN (the default), MEDIAN or MAX of each topic.
    alpha
        The risk sensitivity that the page opens with.
    candidate
        The system that the page opens with. None is the one with the best mean; since it is chosen among all systems,
        Holm's method corrects its test.
    segments
        The segment of each topic.
    queries
        The text of each topic.
    rankings
        The runs behind the scores. With them the page shows both rankings of each query, and the contribution of each
        document's move to the change.
    credible
        The credibility of the comparison that the page opens with, for one or more measures. With it the page shows the
        probability that each query loses for another assessor too.
    rules
        The rules of the gate, whose verdict is the heading if a candidate is named; the defaults if None.

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
    _refuse_mixed(several)
    first, alpha = several[0], validate_alpha(alpha)
    if alpha > LARGEST_ALPHA:
        raise SurefootError(f"a report shows alpha from 0 to {LARGEST_ALPHA:g}; got {alpha:g}")
    system, base = opening(first, baseline, candidate)
    # A candidate that was named is one test; one that the page chose is the best of many.
    planned = candidate is not None
    data = {
        "measures": [_measure(one, credible) for one in several],
        "systems": first.systems,
        "topics": first.topics,
        "texts": None if queries is None else [queries.get(topic, "") for topic in first.topics],
        "documents": None if rankings is None else rankings_payload(rankings, several, system, base),
        "start": {"system": system, "baseline": base, "alpha": alpha, "planned": planned},
        "decision": _decision(first, system, base, rules) if planned else None,
        "largest_alpha": LARGEST_ALPHA,
        "level": LEVEL,
        "critical": critical_value(len(first.topics)) if len(first.topics) > 1 else None,
        "segments": None if segments is None else _segments(first, segments),
        "surefoot": __version__,
        "versions": f"Surefoot {__version__}, Python {platform.python_version()}, numpy {np.__version__}",
    }
    return self_contained("surefoot.show.report", SCRIPTS, data)


def _measure(scores: Scores, credible: Sequence[Credibility]) -> dict[str, Any]:
    return {
        "name": scores.measure,
        "values": packed(scores.values),
        # Computed here, so that ties with a virtual baseline are ties in the page too.
        "virtual": {name: packed(scores.baseline(name)) for name in VIRTUAL},
        "map": _map(scores),
        "notes": scores.all_notes,
        "judged": None if scores.judged is None else packed(scores.judged),
        "credible": next((_credible(found, scores) for found in credible if found.measure == scores.measure), None),
    }


def _refuse_mixed(scores: Sequence[Scores]) -> None:
    first = scores[0]
    for one in scores[1:]:
        if (one.systems, one.topics) != (first.systems, first.topics):
            raise SurefootError(
                f"{one.measure} has other systems or topics than {first.measure}; a report needs the same"
            )
    names = [one.measure for one in scores]
    if len(set(names)) < len(names):
        raise SurefootError(f"a report shows each measure once; got {', '.join(names)}")


def packed(values: FloatArray) -> str:
    """Numbers as base64 of little-endian doubles: short, exact and quick to decode."""
    return b64encode(np.ascontiguousarray(values, dtype="<f8").tobytes()).decode("ascii")


def _credible(found: Credibility, scores: Scores) -> dict[str, Any]:
    """The credibility of one comparison, in the order of the scores' topics."""
    known = found["topic"].tolist()
    order = [known.index(topic) for topic in scores.topics]
    columns = {name: packed(found[name][order]) for name in ("p_loss", "low", "high")}
    fields = {"system": found.system, "baseline": found.baseline, "credible": found["credible"][order].tolist()}
    return {**fields, **columns, "real": count_real_losses(found.delta[order], found.draws[:, order], found.level / 2)}


def opening(scores: Scores, baseline: str | None, candidate: str | None) -> tuple[str, str]:
    """The system and the baseline that the page opens with."""
    baseline = "MEAN" if baseline is None else baseline
    scores.baseline(baseline)  # raises if there is no such system
    others = [system for system in scores.systems if system != baseline]
    if not others:
        raise SurefootError(f"a report needs a system besides the baseline {baseline!r}")
    if candidate == baseline:
        raise SurefootError(f"the candidate {candidate!r} is the baseline; name two that differ")
    system = max(others, key=lambda name: scores[name].mean()) if candidate is None else candidate
    scores.row(system)
    return system, baseline


def _decision(scores: Scores, system: str, baseline: str, rules: RulesLike | None) -> str | None:
    """The gate's sentence on a comparison; None if the gate can't judge it."""
    from surefoot.release_gate.gate import gate

    try:
        return gate(scores, baseline, candidate=system, rules=rules).sentence()
    except SurefootError:  # a measure with another range than 0 to 1
        return None


def _map(scores: Scores) -> dict[str, Any] | None:
    """Systems and virtual runs on two principal axes; None where all scores are 0, or there is only one axis."""
    if min(scores.values.shape) < 2:
        return None
    try:
        found = pca(scores)
    except SurefootError:
        return None
    return {"shares": found.shares[:2].tolist(), "points": found.coordinates.tolist()}


def _segments(scores: Scores, segments: Mapping[Any, object]) -> dict[str, Any]:
    """The names of the segments, and the index of each topic's segment."""
    groups = group_topics(scores.topics, segments)
    index_of = {topic: index for index, members in enumerate(groups.values()) for topic in members}
    return {"names": list(groups), "of": [index_of[topic] for topic in scores.topics]}
