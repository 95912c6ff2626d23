"""A system against itself: half of its trials against the other half."""

from __future__ import annotations

import numpy as np

from surefoot.errors import SurefootError, listed
from surefoot.scores import Scores

HALVES = ("odd trials", "even trials")


def split_trials(scores: Scores, system: str) -> Scores:
    """The trials of one system as two systems: the first, third, ... trial against the others.

    >>> scores = Scores([[0.5]], ["a"], ["q1"], trials={"a": [[0.4], [0.6]]})
    >>> split_trials(scores, "a").values.tolist()
    [[0.4], [0.6]]
    """
    trials = scores.trials.get(system)
    if trials is None or len(trials) < 2:
        repeated = f"; repeated are {listed(scores.trials)}" if scores.trials else ""
        raise SurefootError(f"{system} needs two trials or more to be compared with itself{repeated}")
    halves = [trials[0::2], trials[1::2]]
    kept = np.flatnonzero(np.all([~np.isnan(half).all(axis=0) for half in halves], axis=0)).tolist()
    if not kept:
        raise SurefootError(f"no query has two trials of {system}")
    names = [f"{system} ({half})" for half in HALVES]
    parts = {name: half[:, kept] for name, half in zip(names, halves, strict=True)}
    means = [np.nanmean(part, axis=0) for part in parts.values()]
    return Scores(means, names, [scores.topics[place] for place in kept], scores.measure, scores.notes, trials=parts)
