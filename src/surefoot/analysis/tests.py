"""Every system against its baseline by several tests and by a Bayesian model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import astuple
from functools import cache
from typing import TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from surefoot._typing import Columns, FloatArray, Progress
from surefoot.analysis.design import (
    Baseline,
    Design,
    Population,
    add_corrected,
    measure_columns,
    notes_on_few_topics,
    signature_of,
)
from surefoot.errors import SurefootError, choose
from surefoot.results import Result, signature
from surefoot.risk.functions import urisk
from surefoot.risk.measures import TRISK, URISK
from surefoot.risk.values import Family, Linear, normalise_alphas
from surefoot.scores import Scores, ScoresLike
from surefoot.stats.bayes import Posterior, posterior
from surefoot.stats.bootstrap import bootstrap_test
from surefoot.stats.inference import LEVEL, reported, validate_level
from surefoot.stats.permutation import flip_centre, flip_test, swap_test, t_test
from surefoot.stats.ranks import wilcoxon_test

TESTS = ("trisk", "bootstrap", "t", "wilcoxon", "flip", "max", "swap")
PREDICTED = 1000
"""The number of predicted tables of scores."""
CELLS = 1 << 22
"""The most predicted scores in memory at once."""

MODEL_NOTE = (
    "the model adds effects of systems and topics and one Gaussian noise for all systems: means are shrunken towards "
    "each other, and predictions know neither the bounds of a measure nor how far one system is from the baseline: "
    "take risk from --ci where many scores are tied or 0"
)


def run_tests(
    scores: ScoresLike,
    baseline: Baseline,
    alpha: npt.ArrayLike = 1.0,
    *,
    tests: Sequence[str] = TESTS,
    alternative: str = "two-sided",
    systems: Sequence[str] | None = None,
    population: Population = None,
    value: str | Family = "linear",
    correct: str | None = None,
    n_resamples: int = 10_000,
    seed: int = 0,
    progress: Progress | None = None,
) -> Result:
    """Every system against the baseline by several tests, one row for each system and alpha.

    Parameters
    ----------
    scores, baseline, alpha, systems, population, value
        As in `surefoot.evaluate`.
    tests
        Any of ``trisk`` (T_Risk against 0, by Student's distribution), ``bootstrap`` (the same by the studentised
        bootstrap), ``t`` (paired t test, alpha = 0), ``wilcoxon``, ``flip`` (sign flips), ``max`` (sign flips, adjusted
        for all systems) and ``swap`` (GeoRisk of system and baseline).
    alternative
        ``"two-sided"``, or ``"worse"``: the system is worse.
    correct
        Adds columns such as ``p_flip_holm``, adjusted over all systems, and over the alphas where the test depends on
        them.
    n_resamples, seed
        The number of resamples of the bootstrap and the permutation tests, and the random seed.
    progress
        Called with the number of resamples done for a test, their total, and a message.

    Returns
    -------
    Result
        Columns ``system, baseline, alpha, urisk, centre`` (the U_Risk expected without a system effect), ``trisk``, and
        the p of each test, such as ``p_flip``; NaN where there is nothing to test.

    Examples
    --------
    >>> draws = np.random.default_rng(1).random((3, 30)) ** 2
    >>> result = run_tests(Scores(draws, ["old", "new", "other"], range(30)), "old", alpha=5)
    >>> [(row["system"], round(row["p_trisk"], 3), round(row["p_flip"], 3)) for row in result.rows()[1:]]
    [('new', 0.017, 0.713), ('other', 0.009, 0.826)]

    """
    scores = Scores.of(scores)
    alphas = normalise_alphas(alpha)
    # Adjustments are for all systems, shown or not.
    whole = bool(correct) or "max" in tests
    design = Design.of(scores, baseline, systems, population, value, by_name=True, whole=whole)
    if design.baselines is None:
        raise SurefootError("tests need a baseline; name one")
    method: Method = {"alternative": alternative, "n_resamples": n_resamples, "seed": seed, "progress": progress}
    found = columns_of_tests(design, alphas, tests, **method)
    if correct is not None:
        add_corrected([found], [f"p_{test}" for test in tests if test != "max"], correct, design.family)
    measures = (URISK, TRISK)
    statistics = design.statistics(measures, alphas)
    table = measure_columns(design.systems, design.baseline_names, alphas, measures, statistics)
    trisk = table.pop("trisk")
    table |= {"centre": found["centre"], "trisk": trisk, **found}
    fields = {"alternative": alternative, "correct": correct, "n_resamples": n_resamples, "seed": seed}
    signature = signature_of("tests", [design], alphas, **fields)
    few = notes_on_few_topics(len(scores.topics), alphas, ["p"] if "trisk" in tests else [])
    return Result(signature, design.as_rows(table, alphas), (*scores.all_notes, *_notes(design, alphas, tests), *few))


class Method(TypedDict):
    """Options that tests by resampling share."""

    alternative: str
    n_resamples: int
    seed: int
    progress: Progress | None


def columns_of_tests(design: Design, alphas: FloatArray, tests: Sequence[str], **method: Unpack[Method]) -> Columns:
    """The U_Risk expected without a system effect (``centre``), and the p of each test, such as ``p_flip``."""
    for test in tests:
        choose(test, TESTS, "tests")
    rows, baselines = design.rows, np.broadcast_to(np.asarray(design.baselines), design.rows.shape)
    family, alternative = design.family, method["alternative"]
    flips = cache(lambda: flip_test(rows, baselines, alphas, family, **method))
    p: dict[str, Callable[[], FloatArray]] = {
        "trisk": lambda: t_test(rows, baselines, alphas, family, alternative),
        "bootstrap": lambda: bootstrap_test(rows, baselines, alphas, family, **method),
        "t": lambda: t_test(rows, baselines, 0.0, Linear, alternative),
        "wilcoxon": lambda: wilcoxon_test(rows, baselines, alternative),
        "flip": lambda: flips().p,
        "max": lambda: flips().p_max,
        "swap": lambda: _swaps(design, alphas, method),
    }
    centre = flip_centre(rows, baselines, alphas, family)
    return {"centre": centre, **{f"p_{test}": p[test]() for test in tests}}


def _swaps(design: Design, alphas: FloatArray, method: Method) -> FloatArray:
    """The p of the swap test, alphas × systems; NaN where system and baseline are not two rows of the population."""
    p = np.full((len(alphas), len(design.systems)), np.nan)
    members = sorted(design.population or design.scores.systems)
    for matrix, rows, indices in design.populations():
        for row, index in zip(rows, indices, strict=True):
            name = design.baseline_names[index]
            if design.population == "PAIR" or name in members:
                other = 1 if design.population == "PAIR" else members.index(name)
                p[:, index] = swap_test(matrix, row, other, alphas, design.family, **method).p
    return p


def _notes(design: Design, alphas: FloatArray, tests: Sequence[str]) -> list[str]:
    notes = []
    if alphas.max() > 0:
        notes.append(
            "p_trisk compares T_Risk with 0; without a system effect U_Risk is about the value in column centre, and "
            "p_flip compares with that value"
        )
        if design.family is Linear and {"flip", "max"} & set(tests):
            notes.append("p_flip and p_max are the same at every alpha: exchanging scores never changes |d|")
    if "swap" in tests and not set(design.baseline_names) <= set(design.scores.systems):
        notes.append("p_swap is undefined against a virtual baseline, which is not a system of the population")
    return notes


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
    progress: Progress | None = None,
) -> Result:
    """Is a system better than the baseline, given all systems? By the Gaussian model of Benham and others (SIGIR 2020).

    Parameters
    ----------
    scores
        Systems × topics of one effectiveness measure; anything that `Scores.of` takes.
    baseline
        A system.
    alpha
        The additional weight of losses in the predicted U_Risk; one or several.
    systems
        The rows to show; all by default. The model is fitted to all systems.
    loses_on
        The share of topics that ``p_loses`` is about.
    n_draws, seed
        The number of draws of the Gibbs sampler, and the random seed.
    level
        One minus the probability of intervals.
    progress
        Called with the number of tables predicted, their total, and a message.

    Returns
    -------
    Result
        For each system and alpha: ``mean``, the shrunken mean with an interval, ``p_better`` (the probability that its
        shrunken mean is above the baseline's), ``p_loses`` (the probability that it loses on more than that share of
        new topics) and the predicted U_Risk with an interval. Both probabilities are NaN for the baseline.

    Examples
    --------
    >>> scores = Scores([[0.2, 0.4, 0.4], [0.5, 0.6, 0.7]], ["old", "new"], ["q1", "q2", "q3"])
    >>> bool(bayes(scores, "old", n_draws=2000).rows()[1]["p_better"] > 0.8)
    True

    """
    alphas = normalise_alphas(alpha)
    design = Design.of(Scores.of(scores), systems=systems, by_name=True, whole=True)
    own = design.scores
    if not 0 <= loses_on < 1:
        raise SurefootError(f"loses_on must be a share of topics from 0 to below 1; got {loses_on:g}")
    drawn, row = posterior(own.values, n_draws, seed), own.row(baseline)
    ends = [validate_level(level) / 2, 1 - level / 2]
    shrunken = np.quantile(drawn.systems, ends, axis=0)
    thin = Posterior(*(part[:: max(1, n_draws // PREDICTED)] for part in (
        drawn.systems, drawn.topic_sd, drawn.system_sd, drawn.noise_sd)))  # fmt: skip
    predicted, losing = _predicted(thin, row, len(own.topics), alphas, np.random.default_rng([seed, 1]), progress)
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
        "p_loses": others * (losing > loses_on).mean(axis=0),
        "urisk_predicted": middle,
        "urisk_low": low,
        "urisk_high": high,
    }
    text = signature(
        "bayes", own, baseline=baseline, alpha=alphas.tolist(), loses_on=loses_on, level=level,
        n_draws=n_draws, seed=seed, systems=len(own.systems), topics=len(own.topics),
    )  # fmt: skip
    return Result(text, design.as_rows(table, alphas), (*own.all_notes, MODEL_NOTE))


def _predicted(
    drawn: Posterior, row: int, topics: int, alphas: FloatArray, rng: np.random.Generator, progress: Progress | None
) -> tuple[FloatArray, FloatArray]:
    """U_Risk (alphas × draws × systems) and the share of lost topics (draws × systems), in bounded memory."""
    draws, systems = drawn.systems.shape
    parts = np.array_split(np.arange(draws), min(draws, 1 + draws * systems * topics // CELLS))
    found, losing = [], []
    for part in reported(parts, draws, progress, "predicted tables"):
        differences = Posterior(*(values[part] for values in astuple(drawn))).differences(row, topics, rng)
        found.append(urisk(differences, np.zeros(topics), alphas))
        losing.append((differences < 0).mean(axis=2))
    return np.concatenate(found, axis=1), np.concatenate(losing)
