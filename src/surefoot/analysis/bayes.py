"""Risk by a Bayesian model of all systems at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from surefoot._typing import Columns
from surefoot.errors import SurefootError
from surefoot.results import Result, signature
from surefoot.risk.functions import urisk
from surefoot.risk.values import normalise_alphas
from surefoot.scores import Scores, ScoresLike
from surefoot.stats.bayes import Posterior, posterior
from surefoot.stats.inference import LEVEL, validate_level

PREDICTED = 1000
"""Draws of whole tables of predicted scores."""

NOTE = (
    "the model adds effects of systems and topics and one Gaussian noise for all systems: means are shrunken towards "
    "each other, and predictions know neither the bounds of a measure nor how far a single system is from the baseline"
)


def bayes(
    scores: ScoresLike,
    baseline: str,
    alpha: npt.ArrayLike = 1.0,
    *,
    systems: Sequence[str] | None = None,
    loses_on: float = 0.5,
    n_draws: int = 24_000,
    seed: int = 0,
    level: float = LEVEL,
) -> Result:
    """Is a system better than the baseline, given all systems? By the Gaussian model of Benham and others (SIGIR 2020).

    Parameters
    ----------
    scores
        Systems × topics; whatever `Scores.of` takes.
    baseline
        A system.
    alpha
        The additional weight of losses, of the predicted U_Risk; one or several.
    systems
        The rows to show; all by default. The model is of all systems.
    loses_on
        The share of the topics of ``p_loses``.
    n_draws, seed
        Of the Gibbs sampler.
    level
        One minus the mass of intervals.

    Returns
    -------
    Result
        For each system and alpha: ``mean``, its shrunken mean with an interval, ``p_better`` (the probability that its
        shrunken mean is above the baseline's), ``p_loses`` (that it loses on more than the share of the topics, if all
        were scored again) and the predicted U_Risk with its interval. Both probabilities of the baseline are NaN.

    Examples
    --------
    >>> scores = Scores([[0.2, 0.4, 0.4], [0.5, 0.6, 0.7]], ["old", "new"], ["q1", "q2", "q3"])
    >>> bool(bayes(scores, "old", n_draws=2000).rows()[1]["p_better"] > 0.8)
    True

    """
    given, alphas = Scores.of(scores), normalise_alphas(alpha)
    own = given.by_name()
    shown = [own.row(name) for name in given.select(systems).systems]
    if not 0 <= loses_on < 1:
        raise SurefootError(f"the share of topics that p_loses is about lies from 0 to below 1; got {loses_on:g}")
    drawn, row = posterior(own.values, n_draws, seed), own.row(baseline)
    ends = [validate_level(level) / 2, 1 - level / 2]
    shrunken = np.quantile(drawn.systems, ends, axis=0)
    thin = Posterior(*(part[:: max(1, n_draws // PREDICTED)] for part in (
        drawn.systems, drawn.topic_sd, drawn.system_sd, drawn.noise_sd)))  # fmt: skip
    differences = thin.differences(row, len(own.topics), np.random.default_rng([seed, 1]))
    predicted = urisk(differences, np.zeros(len(own.topics)), alphas)
    others = np.where(np.arange(len(own.systems)) == row, np.nan, 1.0)
    low, middle, high = np.quantile(predicted, [ends[0], 0.5, ends[1]], axis=1)
    table: Columns = {
        "system": np.array(own.systems),
        "baseline": np.array([baseline] * len(own.systems)),
        "alpha": alphas[:, None],
        "mean": own.values.mean(axis=1),
        "shrunken": drawn.systems.mean(axis=0),
        "shrunken_low": shrunken[0],
        "shrunken_high": shrunken[1],
        "p_better": others * (drawn.systems > drawn.systems[:, row, None]).mean(axis=0),
        "p_loses": others * ((differences < 0).mean(axis=2) > loses_on).mean(axis=0),
        "urisk_predicted": middle,
        "urisk_low": low,
        "urisk_high": high,
    }
    shape = (len(alphas), len(own.systems))
    columns = {name: np.broadcast_to(column, shape).T[shown].ravel() for name, column in table.items()}
    text = signature(
        "bayes", own, baseline=baseline, alpha=alphas.tolist(), loses_on=loses_on, level=level,
        n_draws=n_draws, seed=seed, systems=len(own.systems), topics=len(own.topics),
    )  # fmt: skip
    return Result(text, columns, (*own.all_notes, NOTE))
